"""Replica-symmetric ERM: from a problem to its fixed points with error bars (theory.md sections 4, 5, 8)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..solvers.fixed_point import FixedPointResult, iterate, jacobian, newton
from ..types import Conjugates, Overlaps, Solution, Status
from . import error_bars, ridge, stability
from .discretise import ladder
from .erm_map import Equations, State, overlap_chart

# bound on the undamped residual at every level; the inner integrations are good to about 1e-10
TOLERANCE = 1e-9
# two fixed points closer than this in every overlap, relative to its scale, are one
SAME = 1e-4
# (damping, plain steps before mixing) tried in turn: the map may overshoot by decades, back and forth, which only
# damped steps in the chart calm down
RETRIES = ((0.0, 4), (0.7, 40))
STARTS = ("informed", "uninformed")


def starting_point(problem: Problem, init: str) -> np.ndarray:
    """Overlaps near the teacher (informed) or nearly orthogonal to it (uninformed; exactly is a symmetric point)."""
    m = 0.95 if init == "informed" else 0.02
    V_k, V_v = 1.0 / (problem.reg_k + problem.alpha / 4), 1.0 / (problem.reg_v + problem.alpha / 2)
    q = 1.0 if init == "informed" else 0.5
    return np.array([m, q, V_k, m, q, V_v])


def fixed_points(
    problem: Problem,
    *,
    rtol: float | None = None,
    init: str = "both",
    start: Solution | None = None,
    seed: int = 0,
    damping: float = 0.0,
    accelerate: bool = True,
    max_evaluations: int = 300,
    threads: int | None = None,
) -> list[Solution]:
    """Every distinct fixed point reached from the starts, lowest objective first, with error estimates.

    Nodes grow level by level until the error estimate of test_risk is within `rtol`; each level starts from the last.

    Parameters
    ----------
    rtol : float, optional
        Relative error asked of test_risk; by default 1e-4 for softmax at L = 2 and 1e-3 otherwise.
    init : {"informed", "uninformed", "both"}
    start : Solution, optional
        Start from its overlaps instead.
    seed : int
        Seed of random nodes.
    damping : float
        Weight of the old iterate in [0, 1).
    accelerate : bool
        Anderson and Newton steps; otherwise plain damped iteration.

    Raises
    ------
    InvalidProblem
        For an unknown start.
    """
    if problem.is_population:
        from .population import erm_population

        return [erm_population(problem, rtol)]
    starts = _starts(problem, init, start)
    if ridge.applies(problem):
        names = tuple(name for name, _ in starts)
        return [ridge.solution(problem, rtol=1e-3 if rtol is None else rtol, init=names, seed=seed)]
    levels = ladder(problem, seed=seed, threads=threads)
    rtol = levels.default_rtol if rtol is None else rtol
    options = _Options(rtol, damping, accelerate, max_evaluations)
    paths = [_Path(problem, levels, options, (name,), x) for name, x in starts]
    for path in paths:
        path.begin()
    paths = _merge(paths)
    for path in paths:
        path.refine()
    paths = sorted(_merge(paths), key=lambda path: (not path.converged, path.objective))
    solutions = [path.solution(seed) for path in paths]
    return [replace(solution, branch=rank, selected=rank == 0) for rank, solution in enumerate(solutions)]


def _starts(problem: Problem, init: str, start: Solution | None) -> list[tuple[str, np.ndarray]]:
    if start is not None:
        return [("given", np.array(start.overlaps))]
    if init not in (*STARTS, "both"):
        raise InvalidProblem(f"init = {init!r} is unknown; known: informed, uninformed, both")
    names = STARTS if init == "both" else (init,)
    return [(name, starting_point(problem, name)) for name in names]


@dataclass(frozen=True)
class _Options:
    rtol: float
    damping: float
    accelerate: bool
    max_evaluations: int


class _Path:
    """One start followed through the levels of nodes."""

    def __init__(self, problem: Problem, levels, options: _Options, names: tuple[str, ...], x: np.ndarray) -> None:
        self.problem, self.levels, self.options, self.names = problem, levels, options, names
        self.x, self.slope = x, None
        self.states: list[State] = []
        self.level = 0
        self.result: FixedPointResult | None = None
        self._errors: dict[str, float] | None = None
        self.evaluations = 0
        self.chart = overlap_chart()
        self.method = ""

    @property
    def converged(self) -> bool:
        return self.result.status is Status.CONVERGED

    @property
    def objective(self) -> float:
        value = self.states[-1].numbers["objective"]
        return value if math.isfinite(value) else math.inf

    def begin(self) -> None:
        """Solve on the coarsest nodes on which the iteration converges."""
        for level in self.levels.entries:
            self.level = level
            self.states.clear()
            equations = self._equations(self.level)
            self._record(equations, self._enter(equations))
            if self.converged:
                return

    def _enter(self, equations: Equations) -> FixedPointResult:
        """Plain steps choose the basin; then Anderson, then Newton."""
        if not self.options.accelerate:
            return self._iterate(equations, self.x, TOLERANCE)
        for damping, plain_steps in RETRIES:
            result = self._iterate(equations, self.x, 1e-3, damping, plain_steps)
            if result.status is Status.CONVERGED:
                return self._polish(equations, result)
        return result

    def refine(self) -> None:
        """Solve on finer and finer nodes until the error of test_risk is small enough or the nodes are at their cap."""
        while self.converged and self.level + 1 < self.levels.count:
            self.level += 1
            equations = self._equations(self.level)
            if self.options.accelerate:
                result = self._polish(equations, self.result)
            else:
                result = self._iterate(equations, self.result.x, TOLERANCE)
            self._record(equations, result)
            if self.converged and self._accurate():
                return

    def solution(self, seed: int) -> Solution:
        state, problem = self.states[-1], self.problem
        result, numbers = self.result, state.numbers
        errors = self.errors()
        verdict = stability.assess(self._equations, self.level, self.levels.stability_cap, state)
        accuracy_met = errors["test_risk"] <= self.options.rtol * abs(numbers["test_risk"])
        notes = [verdict.message] if self.converged else [_FAILURES[result.status]]
        if self.converged and not accuracy_met:
            notes.insert(0, "the error of test_risk is larger than asked: the nodes are at their cap")
        return Solution(
            problem=problem,
            estimator="erm",
            status=result.status,
            message="; ".join(note for note in notes if note),
            overlaps=Overlaps(*map(float, result.x)),
            conjugates=Conjugates(*map(float, state.conjugates)),
            test_risk=float(numbers["test_risk"]),
            train_loss=float(numbers["train_loss"]),
            objective=float(numbers["objective"]),
            attention_relevant=float(numbers["attention_relevant"]),
            errors={**errors, "replicon": verdict.replicon_error, "prox_jump": verdict.prox_jump_error},
            init=self.names,
            replicon=verdict.replicon,
            prox_jump=verdict.prox_jump,
            rs_stable=verdict.stable if self.converged else None,
            prox_global=state.sums.certain,
            accuracy_met=bool(accuracy_met),
            residual=result.residual,
            iterations=self.evaluations,
            method=f"{self.method}; {self._equations(self.level).channel.description}",
            nodes=self._equations(self.level).channel.nodes,
            seed=seed,
            rtol=self.options.rtol,
        )

    def errors(self) -> dict[str, float]:
        """Error estimate of each number of the last state, computed once."""
        if self._errors is None:
            self._errors = error_bars.estimate(self.states, self._equations, self.level, self.chart, TOLERANCE)
        return self._errors

    def _accurate(self) -> bool:
        return self.errors()["test_risk"] <= self.options.rtol * abs(self.states[-1].numbers["test_risk"])

    def _equations(self, level: int) -> Equations:
        return Equations(self.problem, self.levels.channel(level))

    def _iterate(
        self, equations: Equations, x: np.ndarray, tolerance: float, damping: float = 0.0, plain_steps: int = 4
    ) -> FixedPointResult:
        self.method = "anderson" if self.options.accelerate else "damped iteration"
        return iterate(
            equations,
            x,
            tolerance=tolerance,
            max_evaluations=self.options.max_evaluations,
            damping=max(damping, self.options.damping),
            accelerate=self.options.accelerate,
            chart=self.chart,
            plain_steps=plain_steps,
        )

    def _polish(self, equations: Equations, last: FixedPointResult) -> FixedPointResult:
        """Newton from the last point; where it fails, a new Jacobian, then Anderson."""
        for renew in (self.slope is None, True):
            if renew:
                value = equations(last.x)
                self.slope = jacobian(equations, last.x, value, self.chart)
            result, slope = newton(equations, last.x, self.slope, tolerance=TOLERANCE, chart=self.chart)
            if result.status is Status.CONVERGED:
                self.method, self.slope = "anderson, then newton", slope
                return result
        self.slope = None
        return self._iterate(equations, last.x, TOLERANCE)

    def _record(self, equations: Equations, result: FixedPointResult) -> None:
        self.result, self._errors = result, None
        self.states.append(equations.evaluate(result.x))
        self.evaluations += equations.evaluations


_FAILURES = {
    Status.MAX_ITER: "not converged within the allowed map evaluations; more damping may help",
    Status.STALLED: "the residual stopped falling above the tolerance",
    Status.NONFINITE: "the map left its domain or overflowed; more damping or another start may help",
    Status.OUT_OF_DOMAIN: "the overlaps left their domain; more damping or another start may help",
}


def _merge(paths: list[_Path]) -> list[_Path]:
    """One path for each distinct fixed point, keeping the names of all starts that reached it."""
    distinct: list[_Path] = []
    for path in paths:
        for other in distinct:
            x, y = path.states[-1].x, other.states[-1].x
            if path.converged and other.converged and np.all(np.abs(x - y) <= SAME * path.chart.scale(y)):
                other.names += path.names
                break
        else:
            distinct.append(path)
    return distinct
