"""Bayes-optimal fixed points of a problem: overlaps, risk, free entropy, error bars, and which branch wins."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bayes.channel import ChannelAverages
from ..bayes.channels import channel_for
from ..bayes.state_evolution import (
    FixedPoint,
    StateEvolution,
    informed_start,
    jacobian,
    solve,
    uninformed_start,
)
from ..errors import InvalidProblem
from ..models.checks import check_solver
from ..types import Conjugates, Overlaps, Solution

if TYPE_CHECKING:
    from ..models.problem import Problem

STARTS = {"informed": informed_start, "uninformed": lambda _: uninformed_start()}
INITS = {"informed": ("informed",), "uninformed": ("uninformed",), "both": ("uninformed", "informed")}
SAME = 1e-6  # largest difference in log(1 - q) between two computations of one fixed point
ROUND_OFF = 1e-13


def fixed_points(
    problem: Problem,
    *,
    rtol: float | None = None,
    init: str = "both",
    start: Solution | None = None,
    seed: int = 0,
    damping: float = 0.0,
    accelerate: bool = True,
) -> list[Solution]:
    """Fixed points of Bayes-optimal state evolution, the best first (theory.md section 6).

    Parameters
    ----------
    problem : Problem
        Its activation and penalties play no part; alpha = inf gives the population risk.
    rtol : float, optional
        Relative error asked of the test risk; the integration is refined until its error estimate is below, or until
        it cannot be refined, which `accuracy_met` tells. By default 1e-6 where the integration is deterministic and
        1e-4 where its nodes are random.
    init : {"informed", "uninformed", "both"}
        From the posterior that knows eps, or from q = 0, which is what message passing reaches.
    start : Solution, optional
        Start from its overlaps instead.
    seed : int
        Of the quasi-random nodes, where the channel needs them.
    damping : float
        Weight of the old iterate, in [0, 1).
    accelerate : bool
        Longer steps and Newton's; otherwise plain damped iteration.

    Returns
    -------
    list of Solution
        Distinct fixed points by decreasing free entropy. The first is the information-theoretic branch if both
        starts were asked for.

    Raises
    ------
    InvalidProblem
        For an unknown or impossible start, or options out of range.
    """
    check_solver(rtol, damping, seed)
    if init not in INITS:
        raise InvalidProblem(f"init = {init!r} is unknown; known: {', '.join(INITS)}")
    if problem.is_population:
        from .population import bayes_population

        return [bayes_population(problem, rtol)]
    names = ("given",) if start is not None else INITS[init]
    runs = [_Run(problem, name, rtol, seed, {"damping": damping, "accelerate": accelerate}) for name in names]
    for run in runs:
        run.begin(start)
    runs = _distinct(runs)
    for run in runs:
        run.refine()
    ranked = sorted(_distinct(runs), key=lambda run: (not run.solution.converged, -run.solution.free_entropy))
    return [replace(run.solution, branch=rank, selected=rank == 0) for rank, run in enumerate(ranked)]


def observables(averages: ChannelAverages, x: np.ndarray, alpha: float, noise: float) -> np.ndarray:
    """Test risk, free entropy per D, and E w_1.

    risk = Delta^2 + (1 - q_v) + q_v E(1 - w_1);
    phi = (1/2) sum_a (q_a + log(1 - q_a)) + alpha [E log pi_1 - (1/2) log(2 pi e tau^2) + E(-log p_1)].
    Without noise phi at q_v = 1 is +inf for alpha > 1.
    """
    miss = np.exp(x)
    risk = noise**2 + miss[1] + (1.0 - miss[1]) * averages.misplaced
    variance = miss[1] + noise**2
    if variance == 0.0:
        return np.array([risk, math.inf, 1.0 - averages.misplaced])
    log_z = averages.log_prior + averages.surprise - 0.5 * math.log(2.0 * math.pi * math.e * variance)
    entropy = 0.5 * float(np.sum(1.0 - miss + x)) + alpha * log_z
    return np.array([risk, entropy, 1.0 - averages.misplaced])


class _Run:
    """One start, followed at finer and finer levels of integration until the risk is accurate enough."""

    def __init__(self, problem: Problem, name: str, rtol: float | None, seed: int, options: dict[str, Any]) -> None:
        channel = channel_for(problem, seed)
        self.problem, self.seed, self.options, self.names = problem, seed, options, (name,)
        self.rtol = channel.default_rtol if rtol is None else rtol
        self.evolution = StateEvolution(channel, problem.alpha, problem.noise)
        self.point: FixedPoint
        self.solution: Solution

    def begin(self, start: Solution | None) -> None:
        """Solve at the coarsest level."""
        x = STARTS[self.names[0]](self.evolution) if start is None else _from_overlaps(start)
        self._solve(x)

    def refine(self) -> None:
        """Solve at finer levels, each from the last, until the risk is accurate enough."""
        evolution = self.evolution
        while self.solution.converged and not self.solution.accuracy_met:
            if evolution.level >= evolution.channel.levels - 1:
                break
            evolution.level += 1
            self._solve(self.point.x)

    def _solve(self, x: np.ndarray) -> None:
        self.point = solve(self.evolution, x, **self.options)
        found = _solution(self.problem, self.evolution, self.point, self.rtol, self.seed)
        self.solution = replace(found, init=self.names, iterations=self.evolution.calls)

    def absorb(self, other: _Run) -> None:
        """Take over the starts of a run that ended at the same point."""
        self.names += other.names
        self.solution = replace(self.solution, init=self.names)

    def same(self, other: _Run) -> bool:
        """Whether both ended at one fixed point, to within their errors."""
        if self.point.recovered or other.point.recovered:
            return self.point.recovered and other.point.recovered
        slack = SAME
        for solution in (self.solution, other.solution):
            slack += max(solution.errors[f"V_{key}"] / getattr(solution.overlaps, f"V_{key}") for key in "kv")
        return bool(np.all(np.abs(self.point.x - other.point.x) <= slack))


def _distinct(runs: list[_Run]) -> list[_Run]:
    found: list[_Run] = []
    for run in runs:
        twin = next((other for other in found if run.same(other)), None)
        if twin is None:
            found.append(run)
        else:
            twin.absorb(run)
    return found


def _from_overlaps(start: Solution) -> np.ndarray:
    V_k, V_v = start.overlaps.V_k, start.overlaps.V_v
    if start.estimator != "bayes" or not (0.0 < V_k <= 1.0 and 0.0 <= V_v <= 1.0):
        raise InvalidProblem(
            f"start = {start.estimator} with V_k = {V_k:g}, V_v = {V_v:g}; allowed: a solution of bayes"
        )
    with np.errstate(divide="ignore"):
        return np.log([V_k, V_v])


def _solution(problem: Problem, evolution: StateEvolution, point: FixedPoint, rtol: float, seed: int) -> Solution:
    values = observables(point.averages, point.x, problem.alpha, problem.noise)
    x_error, errors = _errors(problem, evolution, point, values)
    miss = np.exp(point.x)
    hat_k, hat_v = map(float, np.expm1(-point.x) + 0.0)
    miss_k, miss_v = map(float, miss)
    q_k, q_v = map(float, -np.expm1(point.x) + 0.0)
    named = dict(zip(("test_risk", "free_entropy", "attention_relevant"), errors, strict=True))
    for index, key in enumerate("kv"):
        absolute = float(x_error[index] * miss[index]) + ROUND_OFF * (1.0 - float(miss[index]))
        named |= {f"{letter}_{key}": absolute for letter in "mq"}
        named[f"V_{key}"] = float((x_error[index] + ROUND_OFF) * miss[index])
    return Solution(
        problem=problem,
        estimator="bayes",
        status=point.status,
        message=point.message,
        overlaps=Overlaps(q_k, q_k, miss_k, q_v, q_v, miss_v),
        conjugates=Conjugates(hat_k, hat_k, hat_k, hat_v, hat_v, hat_v),
        test_risk=float(values[0]),
        free_entropy=float(values[1]),
        attention_relevant=float(values[2]),
        errors=named,
        accuracy_met=bool(named["test_risk"] <= rtol * values[0]),
        residual=point.residual,
        method=f"order-preserving newton; {evolution.channel.method}",
        nodes=evolution.channel.nodes(evolution.level),
        seed=seed,
        rtol=rtol,
    )


def _errors(
    problem: Problem, evolution: StateEvolution, point: FixedPoint, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Error of x and of the observables by one evaluation on other nodes, without solving again.

    delta x = (I - dF/dx)^{-1} (F_r(x) - x), delta O = grad O . delta x + O_r(x) - O(x)  (theory.md section 4).
    """
    alpha, noise, level = problem.alpha, problem.noise, evolution.level
    if point.recovered:
        finer = evolution.channel.known_position(math.exp(point.x[0]), level + 1)
        shift = -math.log1p(alpha * finer.info_k) - point.x[0]
        risk = abs(finer.misplaced - point.averages.misplaced) + abs(shift) * point.averages.misplaced
        return np.array([abs(shift), 0.0]), np.array([risk + ROUND_OFF * values[0], 0.0, risk + ROUND_OFF])
    slope, gradient = jacobian(evolution, point.x, point.averages)
    try:
        inverse = np.linalg.inv(np.eye(2) - slope)
    except np.linalg.LinAlgError:  # exactly at a spinodal: the error is unknown
        inverse = np.full((2, 2), np.nan)
    variance = math.exp(point.x[1]) + noise**2
    shifts, changes = [], []
    for row in evolution.channel.samples(*np.exp(point.x), noise, level):
        image = np.array([-math.log1p(alpha * row[0]), math.log(variance / (variance + alpha * row[1]))])
        shift = inverse @ (image - point.x)
        there = ChannelAverages(*(row + gradient @ shift))
        shifts.append(shift)
        changes.append(observables(there, point.x + shift, alpha, noise) - values)
    scale = np.array([values[0], abs(values[1]) + alpha, 1.0])
    return _spread(np.array(shifts)), _spread(np.array(changes)) + ROUND_OFF * scale


def _spread(deviations: np.ndarray) -> np.ndarray:
    """Half-width at 95 % of the mean of independent deviations, or the size of a single one."""
    count = len(deviations)
    if count == 1:
        return np.abs(deviations[0])
    from scipy.special import stdtrit

    standard = np.sqrt(np.var(deviations, axis=0, ddof=1) / count)
    return stdtrit(count - 1, 0.975) * standard
