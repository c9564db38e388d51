"""The statements of theory-dynamics.md part B (arXiv 2603.06248, theorems 3.2 and 3.3) as measurements on runs.

Each `Theorem.measure` turns a finished run into a violation and its limit; the statement holds on the run where the
violation is at most the limit. Limits are rounding or integration tolerance where a statement is exact. The runs
are random instances that meet the hypotheses; on a run that does not meet them a measure exceeds its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import InvalidProblem
from ..schema import Column
from .plan import METHODS, Plan
from .problem import FlowProblem, bounded, whole
from .reduced import reduced_descent, reduced_flow
from .result import FlowResult
from .train import train

COLUMNS = (
    Column("check", "text", "name of the statement"),
    Column("statement", "text", "what is claimed"),
    Column("method", "text", "flow or descent"),
    Column("instances", "integer", "random instances tried"),
    Column("passed", "integer", "instances on which the violation is within its limit"),
    Column("worst", "number", "violation of the instance that is nearest to its limit, or beyond"),
    Column("limit", "number", "limit of that instance"),
    Column("worst_seed", "integer", "seed of that instance"),
    Column("holds", "flag", "whether all instances passed"),
    Column("time", "number", "last time of the runs"),
    Column("lr", "number", "step of descent; null for flow"),
    Column("version", "text", "version of the package"),
)
SHORTEST = 1e3  # last time from which a limit of large t can be judged
REDUCED_STEPS = 2_000  # of the plain numpy descent, which is the slow road


def _sharpness(result: FlowResult) -> float:
    """Relative accuracy of recorded numbers: rounding for descent, 100 times the tolerance for the flow."""
    return 1e-11 if result.plan.method == "descent" else 100 * result.plan.rtol


def _ordered(result: FlowResult, values: np.ndarray) -> np.ndarray:
    return values[:, np.argsort(-result.u[0])]


def order_kept(result: FlowResult) -> tuple[float, float]:
    """-(smallest gap u_i - u_j or s_i - s_j ever seen, u_i(0) > u_j(0)); the start, where s is tied, left out."""
    rises = [np.diff(_ordered(result, values)[1:], axis=1).max() for values in (result.u, result.s[:, 0])]
    return float(max(rises)), 0.0


def gaps_grow(result: FlowResult) -> tuple[float, float]:
    """Largest decrease of a gap u_i - u_{i+1} between two records."""
    gaps = -np.diff(_ordered(result, result.u), axis=1)
    return -float(np.diff(gaps, axis=0).min()), _sharpness(result) * float(np.abs(result.u).max())


def ratio_bound(result: FlowResult) -> tuple[float, float]:
    """max s_j/s_0 (1 + (delta/p) int gamma) - 1, delta the smallest gap of u(0)."""
    s = _ordered(result, result.s[1:, 0])
    delta = -np.diff(_ordered(result, result.u)[0]).max()
    growth = 1.0 + delta / s.shape[1] * result.int_gamma[1:]
    return float(np.max(s[:, 1:] / s[:, :1] * growth[:, None]) - 1.0), _sharpness(result)


def grows_like_log(result: FlowResult) -> tuple[float, float]:
    """Largest excess of int gamma over its two explicit bounds, which are both of order log t.

    With b = |beta*|^2 and G = int gamma, the margin <u, s> is at least <u, s>(0) + b G/p and at most max u(0) + b G,
    so 1/(1 + exp(max u(0) + b G)) <= dG/dt <= 1/(1 + exp(<u, s>(0) + b G/p)), that is, with
    H(G; x, c) = G + e^x (e^{c G} - 1)/c:   H(G; <u,s>(0), b/p) <= t <= H(G; max u(0), b).
    A step of descent may overshoot the upper bound by its own size.
    """
    b, u, G, t = result.problem.norm**2, result.u[0], result.int_gamma[1:], result.t[1:]
    margin = float(np.min(result.s[0] @ u))
    slack = (result.plan.lr or 0.0) * result.scalars["gamma"][0] * max(1.0, b)
    upper = _time_needed(np.maximum(G - slack, 0.0), margin, b / u.size)
    lower = _time_needed(G, float(u.max()), b)
    return float(np.max(np.maximum(upper / t, t / lower)) - 1.0), _sharpness(result)


def _time_needed(G: np.ndarray, x: float, c: float) -> np.ndarray:
    return G + np.exp(x) * np.expm1(c * G) / c


def stays_finite(result: FlowResult) -> tuple[float, float]:
    """Share of int gamma gained in the last decade of t."""
    earlier = np.interp(np.log1p(result.t[-1] / 10), np.log1p(result.t), result.int_gamma)
    return float(abs(1.0 - earlier / result.int_gamma[-1])), 1e-3


def sum_conserved(result: FlowResult) -> tuple[float, float]:
    """Largest drift of sum_i a_i."""
    sums = result.A.sum(axis=2)
    return float(np.abs(sums - sums[0]).max()), _sharpness(result) * (1.0 + float(np.abs(result.A).max()))


def rank_one(result: FlowResult) -> tuple[float, float]:
    """1 - rank-one share of V, after the start V = 0."""
    return float(np.max(1.0 - result.scalars["rank_one_share"][1:])), _sharpness(result)


def loss_falls(result: FlowResult) -> tuple[float, float]:
    """Largest rise of the loss between records, in units of the loss at the start."""
    loss = result.scalars["loss"]
    return float(np.diff(loss).max() / loss[0]), _sharpness(result)


def loss_vanishes(result: FlowResult) -> tuple[float, float]:
    """Loss at the end times |beta*|^2 t: the margin grows like log(|beta*|^2 t/p) or faster, so it is below about p."""
    value = float(result.scalars["loss"][-1] * result.problem.norm**2 * result.t[-1])
    return value, 1.1 * result.problem.tokens


def reduced_agrees(result: FlowResult) -> tuple[float, float]:
    """Largest difference of (u, A, int gamma) to the reduced system, in units of the largest entry."""
    problem, plan = result.problem, result.plan
    if plan.method == "descent":
        keep = result.steps <= REDUCED_STEPS
        pair = reduced_descent(problem, plan.lr, result.steps[keep])
    else:
        keep = slice(None)
        pair = reduced_flow(problem, result.t)
    found = (result.u[keep], result.A[keep], result.int_gamma[keep])
    misses = [np.abs(a - b).max() / (1.0 + np.abs(b).max()) for a, b in zip(found, pair, strict=True)]
    return float(max(misses)), _sharpness(result)


def one_sink(result: FlowResult) -> tuple[float, float]:
    """Share of rows whose largest weight at the end is not on the common token."""
    return 1.0 - float(result.scalars["sink_share"][-1]), 0.0


def _logistic(seed: int) -> FlowProblem:
    dim, tokens, norm = _shape(seed)
    return FlowProblem(dim=dim, tokens=tokens, norm=norm, scale_v=0.1, scale_a=0.0, seed=seed)


def _square(seed: int) -> FlowProblem:
    dim, tokens, norm = _shape(seed)
    return FlowProblem(loss="square", dim=dim, tokens=tokens, norm=norm, scale_v=0.0, scale_a=0.3, seed=seed)


def _map(seed: int) -> FlowProblem:
    """Rows that differ by little against the gap of the two largest u(0): from far apart they may keep their sinks."""
    problem = _logistic(seed)
    W, _, target, _ = problem.arrays()
    second, first = np.sort(W @ target)[-2:]
    return replace(problem, rows=6, scale_a=0.02 * float(first - second))


def _shape(seed: int) -> tuple[int, int, float]:
    rng = np.random.default_rng([seed, 3])
    return int(rng.integers(2, 13)), int(rng.integers(2, 13)), float(rng.uniform(0.5, 2.0))


@dataclass(frozen=True)
class Theorem:
    """A statement, the random instances that meet its hypotheses, and the measure of its violation."""

    name: str
    statement: str
    instance: Callable[[int], FlowProblem]
    measure: Callable[[FlowResult], tuple[float, float]]


THEOREMS = (
    Theorem("order-kept", "logistic, a(0) = 0: the order of u and s is kept", _logistic, order_kept),
    Theorem("gaps-grow", "logistic, a(0) = 0: every gap u_i - u_j grows", _logistic, gaps_grow),
    Theorem("ratio-bound", "logistic: s_j/s_0 <= 1/(1 + (delta/p) int gamma)", _logistic, ratio_bound),
    Theorem("log-growth", "logistic: int gamma = Theta(log t)", _logistic, grows_like_log),
    Theorem("loss-falls", "logistic: the loss never rises", _logistic, loss_falls),
    Theorem("loss-vanishes", "logistic: the loss goes to 0, like 1/t", _logistic, loss_vanishes),
    Theorem("sum-conserved", "softmax: sum_i a_i is conserved (logistic)", _logistic, sum_conserved),
    Theorem("reduced-logistic", "logistic: (u, a) and (V, a) systems agree", _logistic, reduced_agrees),
    Theorem("finite-integral", "square: int gamma is finite", _square, stays_finite),
    Theorem("rank-one", "square, V(0) = 0: V = beta* u^T/|beta*|^2", _square, rank_one),
    Theorem("sum-conserved-square", "softmax: sum_i a_i is conserved (square)", _square, sum_conserved),
    Theorem("reduced-square", "square: (u, a) and (V, a) systems agree", _square, reduced_agrees),
    Theorem("one-sink", "attention map, A(0) small: every row goes to the same token", _map, one_sink),
    Theorem("reduced-map", "attention map: reduced and full systems agree", _map, reduced_agrees),
)


def check_theorems(
    instances: int = 10,
    seed: int = 0,
    time: float = 1e6,
    steps: int = 100_000,
    lr: float = 0.1,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Measure every theorem on random instances, under the flow up to `time` and under `steps` steps of descent.

    Returns
    -------
    rows with the columns of `COLUMNS`, in the order of `THEOREMS`, flow before descent.

    Raises
    ------
    InvalidProblem
        For a number out of range.
    """
    instances, seed = whole("instances", instances, 1, 10_000), whole("seed", seed, 0, 2**62)
    steps = whole("steps", steps, 1_000, 10**9)
    time = bounded("time", time, SHORTEST, 1e12)
    plans = {"flow": Plan("flow", time=time), "descent": Plan("descent", time=steps * lr, lr=lr)}
    if plans["descent"].time < SHORTEST:
        raise InvalidProblem(
            f"steps * lr = {steps * lr:g} is too short for limits of t; allowed: at least {SHORTEST:g}"
        )
    report = progress or (lambda _: None)
    found: dict[tuple[str, str], list[tuple[float, float, int]]] = {}
    for index in range(instances):
        for theorem, method, result in _runs(seed + index, plans):
            found.setdefault((theorem.name, method), []).append((*theorem.measure(result), seed + index))
        report((index + 1) / instances)
    return [_row(theorem, plans[method], found[theorem.name, method]) for theorem in THEOREMS for method in METHODS]


def _runs(seed: int, plans: dict[str, Plan]) -> Iterator[tuple[Theorem, str, FlowResult]]:
    done: dict[tuple[Any, str], FlowResult] = {}
    for theorem in THEOREMS:
        for method, plan in plans.items():
            key = theorem.instance, method
            if key not in done:
                done[key] = train(theorem.instance(seed), plan)
            yield theorem, method, done[key]


def _row(theorem: Theorem, plan: Plan, measured: list[tuple[float, float, int]]) -> dict[str, Any]:
    passed = sum(violation <= limit for violation, limit, _ in measured)
    worst, limit, seed = max(measured, key=lambda found: found[0] - found[1])
    return {
        "check": theorem.name,
        "statement": theorem.statement,
        "method": plan.method,
        "instances": len(measured),
        "passed": passed,
        "worst": worst,
        "limit": limit,
        "worst_seed": seed,
        "holds": passed == len(measured),
        "time": plan.time,
        "lr": plan.lr,
        "version": __version__,
    }
