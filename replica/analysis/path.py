"""One start followed to a fixed point through finer and finer nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..models.problem import Problem
from ..solvers.fixed_point import FixedPointResult, iterate, jacobian, newton
from ..types import Conjugates, Overlaps, Solution, Status
from . import error_bars, manifold, stability
from .discretise import Ladder
from .erm_map import Equations, State, overlap_chart

# bound on the undamped residual at every level: this share of the accuracy asked for, not closer than the inner
# integrations allow, which are good to about 1e-10, and not looser than Newton steps reach in one more
SHARE, TIGHTEST, LOOSEST = 1e-5, 1e-9, 1e-6
# (damping, plain steps before mixing) tried in turn: the map may overshoot by decades, back and forth, which only
# damped steps in the chart calm down
RETRIES = ((0.0, 4), (0.9, 40))
STARTS = ("informed", "uninformed")
# residual up to which a point that is not converged is next to a solution; elsewhere the objective has no meaning
NEAR = 1e-2


def starting_point(problem: Problem, init: str) -> np.ndarray:
    """Overlaps near the teacher (informed) or nearly orthogonal to it (uninformed; exactly is a symmetric point)."""
    m = 0.95 if init == "informed" else 0.02
    V_k, V_v = 1.0 / (problem.reg_k + problem.alpha / 4), 1.0 / (problem.reg_v + problem.alpha / 2)
    q = 1.0 if init == "informed" else 0.5
    size = problem.data.informed_norm if init == "informed" else 1.0
    return np.array([size * m, size**2 * q, V_k, m, q, V_v])


@dataclass(frozen=True)
class PathOptions:
    """How to iterate: see `replica.analysis.erm.fixed_points`."""

    rtol: float
    damping: float = 0.0
    accelerate: bool = True
    max_evaluations: int = 300

    @property
    def tolerance(self) -> float:
        """Bound on the undamped residual."""
        return min(max(TIGHTEST, SHARE * self.rtol), LOOSEST)


class Path:
    """One start followed through the levels of nodes."""

    def __init__(
        self, problem: Problem, levels: Ladder, options: PathOptions, names: tuple[str, ...], x: np.ndarray
    ) -> None:
        self.problem, self.levels, self.options, self.names = problem, levels, options, names
        self.x, self.slope = x, None
        self.states: list[State] = []
        self.level = 0
        self.result: FixedPointResult | None = None
        self._estimate: error_bars.Estimate | None = None
        self._errors_before: dict[str, float] | None = None
        self.evaluations = 0
        self.chart = overlap_chart()
        self.method = ""

    @property
    def converged(self) -> bool:
        """Whether the iteration on the last nodes converged."""
        return self.result.status is Status.CONVERGED

    @property
    def objective(self) -> float:
        """Objective on the last nodes; inf if it is not finite, or far from stationary."""
        value = self.states[-1].numbers["objective"]
        return value if math.isfinite(value) and self.result.residual <= NEAR else math.inf

    def begin(self) -> None:
        """Solve on the coarsest nodes on which the iteration converges."""
        for level in self.levels.entries:
            self.level = level
            self.states.clear()
            self._estimate = None
            equations = self._equations(self.level)
            self._record(equations, self._enter(equations))
            if self.converged:
                return

    def _enter(self, equations: Equations) -> FixedPointResult:
        """Plain steps choose the basin; then Anderson, then Newton."""
        if not self.options.accelerate:
            return self._iterate(equations, self.x, self.options.tolerance)
        for damping, plain_steps in RETRIES:
            result = self._iterate(equations, self.x, 1e-3, damping, plain_steps)
            if result.status is Status.CONVERGED:
                return self.polish(equations, result)
        return result

    def refine(self) -> None:
        """Solve on finer and finer nodes until the error of test_risk is small enough or the nodes are at their cap."""
        while self.converged and self.level + 1 < self.levels.count:
            self.level = self.levels.after(self.level, self._excess())
            equations = self._equations(self.level)
            if self.options.accelerate:
                result = self.polish(equations, self.result)
            else:
                result = self._iterate(equations, self.result.x, self.options.tolerance)
            self._record(equations, result)
            if self.converged and self._excess() <= 1.0:
                return

    def solution(self, seed: int) -> Solution:
        """What was found, with its errors and the verdict on replica symmetry."""
        state, problem = self.states[-1], self.problem
        result, numbers = self.result, state.numbers
        errors = dict(self.errors())
        overlaps, conjugates = Overlaps(*map(float, result.x)), Conjugates(*map(float, state.conjugates))
        caps = self.levels.stability_cap, self.levels.count - 1
        verdict = stability.assess(self._equations, self.level, caps, state, self.chart, self._estimate.moves)
        growth = manifold.off_manifold(problem, overlaps, conjugates, seed=seed) if self.converged else manifold.UNKNOWN
        errors |= {"replicon": verdict.replicon_error, "prox_jump": verdict.prox_jump_error, "off_m": growth.error}
        if not self.converged:
            # the errors are those of solutions: they do not hold what is left of the iteration
            errors = dict.fromkeys(errors, math.nan)
        accuracy_met = errors["test_risk"] <= self.options.rtol * abs(numbers["test_risk"])
        notes = [verdict.message] if self.converged else [_FAILURES[result.status]]
        if self.converged and not accuracy_met:
            notes.insert(0, "the error of test_risk is larger than asked: the nodes are at their cap")
        return Solution(
            problem=problem,
            estimator="erm",
            status=result.status,
            message="; ".join(note for note in notes if note),
            overlaps=overlaps,
            conjugates=conjugates,
            test_risk=float(numbers["test_risk"]),
            train_loss=float(numbers["train_loss"]),
            objective=float(self.objective) if math.isfinite(self.objective) else math.nan,
            attention_relevant=float(numbers["attention_relevant"]),
            errors=errors,
            init=self.names,
            replicon=verdict.replicon,
            prox_jump=verdict.prox_jump,
            off_m=growth.value,
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
        if self._estimate is None:
            self._estimate = error_bars.estimate(
                self.states,
                self._equations,
                self.level,
                self.chart,
                self.options.tolerance,
                self._errors_before,
            )
        return self._estimate.errors

    def _excess(self) -> float:
        """Error of test_risk over the one asked for; nan if it cannot be told yet."""
        return self.errors()["test_risk"] / (self.options.rtol * abs(self.states[-1].numbers["test_risk"]))

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

    def polish(self, equations: Equations, last: FixedPointResult) -> FixedPointResult:
        """Newton from the last point; where it fails, a new Jacobian, then Anderson."""
        for renew in (self.slope is None, True):
            if renew:
                value = equations(last.x)
                self.slope = jacobian(equations, last.x, value, self.chart)
            result, slope = newton(equations, last.x, self.slope, tolerance=self.options.tolerance, chart=self.chart)
            if result.status is Status.CONVERGED:
                self.method, self.slope = "anderson, then newton", slope
                return result
        self.slope = None
        return self._iterate(equations, last.x, self.options.tolerance)

    def _record(self, equations: Equations, result: FixedPointResult) -> None:
        self._errors_before = None if self._estimate is None else self._estimate.errors
        self.result, self._estimate = result, None
        self.states.append(equations.evaluate(result.x))
        self.evaluations += equations.evaluations


_FAILURES = {
    Status.MAX_ITER: "not converged within the allowed map evaluations; more damping may help",
    Status.STALLED: "the residual stopped falling above the tolerance",
    Status.NONFINITE: "the map left its domain or overflowed; more damping or another start may help",
    Status.OUT_OF_DOMAIN: "the overlaps left their domain; more damping or another start may help",
}
