"""The order-parameter equations against online SGD: z-scores at each D and at the limit, and how the gap shrinks.

A run fluctuates around the equations by O(1/sqrt(D)), and the mean over runs is off by O(1/D). So the mean gap at
several D is fitted by a + b/D, and z = a/sd(a) at D = inf is what must be noise alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidProblem
from .flow import State, Trajectory, integrate
from .problem import HeadsProblem
from .simulation import Runs, simulate
from .table import flat, overlap_names

_SLACK = 1e-12  # thresholds that do not move agree exactly: 0/0 would be no z-score


@dataclass(frozen=True)
class Comparison:
    """Rows to tabulate, and for each D the root mean square over runs, times and overlaps of their gap (spread)."""

    rows: list[dict[str, Any]]
    dimensions: tuple[int, ...]
    spread: np.ndarray
    order: float
    worst: float


def compare(
    problem: HeadsProblem,
    start: State,
    tau: np.ndarray,
    rate: float,
    dimensions: Sequence[int],
    seeds: int = 16,
    *,
    samples: int = 2048,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Run both from the same overlaps and compare at the times `tau` (the start excluded).

    Parameters
    ----------
    start : State
        Common start; its overlaps are planted exactly in every run.
    dimensions : sequence of int
        At least two values of D.
    seeds : int
        Runs for each D.

    Returns
    -------
    Comparison
        `order` is p of spread ~ D^-p: 1/2 where fluctuations rule, up to 1 where the mean gap does, 0 if the
        equations are wrong; `worst` the largest |z| at D = inf.

    Raises
    ------
    InvalidProblem
        If a parameter is out of range, or fewer than two dimensions or four seeds are given.
    """
    sizes = sorted(set(dimensions))
    if len(sizes) < 2:
        raise InvalidProblem(f"dimensions = {list(dimensions)} show no trend; allowed: at least two different values")
    if seeds < 4:
        raise InvalidProblem(f"seeds = {seeds} give no error estimate; allowed: seeds >= 4")
    if start.b.any() and np.ptp(start.b):
        raise InvalidProblem("the thresholds of the start differ; allowed: one value for all heads")
    runs = []
    for index, dimension in enumerate(sizes):
        report = None if progress is None else (lambda share, i=index: progress((i + share) / len(sizes)))
        draws = np.random.SeedSequence([seed, dimension]).generate_state(seeds)
        runs.append(
            simulate(
                problem,
                dimension,
                rate,
                tau,
                draws,
                threshold=float(start.b[0]),
                planted=(start.m, start.r),
                progress=report,
            )
        )
    rows: list[dict[str, Any]] = []
    names = ["risk", *overlap_names(problem.heads, problem.signal.features)]
    theory = [integrate(problem, start, _with_zero(one.tau), rate, samples=samples, max_samples=samples, seed=seed)
              for one in runs]  # fmt: skip
    gaps, errors, spread = [], [], []
    for one, expected in zip(runs, theory, strict=True):
        simulated, predicted, predicted_err = _values(one), *_expected(expected, len(one.tau))
        gap = simulated - predicted
        error = np.sqrt(simulated.var(axis=0, ddof=1) / seeds + (predicted_err / 2) ** 2)
        gaps.append(gap.mean(axis=0))
        errors.append(error)
        spread.append(float(np.sqrt((gap[:, 1:, 1:] ** 2).mean())))
        rows += _rows(one.dimension, one.tau, names, predicted, predicted_err, simulated.mean(axis=0), error)
    limit, limit_err = _extrapolate(np.array(sizes, dtype=float), np.stack(gaps), np.stack(errors))
    predicted, predicted_err = _expected(theory[-1], len(tau))
    last = _rows(np.inf, runs[-1].tau, names, predicted, predicted_err, predicted + limit, limit_err)
    order = -np.polyfit(np.log(sizes), np.log(spread), 1)[0]
    worst = max(abs(row["z"]) for row in last)
    return Comparison([*rows, *last], tuple(sizes), np.array(spread), float(order), worst)


def _with_zero(tau: np.ndarray) -> np.ndarray:
    return tau if tau[0] == 0 else np.concatenate([[0.0], tau])


def _values(runs: Runs) -> np.ndarray:
    """Seeds x times x (risk, overlaps)."""
    return np.array(
        [
            [(runs.risk[s, t], *flat(runs.m[s, t], runs.q[s, t], runs.b[s, t])) for t in range(len(runs.tau))]
            for s in range(len(runs.risk))
        ]
    )


def _expected(t: Trajectory, count: int) -> tuple[np.ndarray, np.ndarray]:
    values = [(t.risk[i], *flat(t.m[i], t.q[i], t.b[i])) for i in range(len(t.tau))]
    errors = [(t.risk_err[i], *flat(t.m_err[i], t.q_err[i], t.b_err[i])) for i in range(len(t.tau))]
    return np.array(values)[-count:], np.array(errors)[-count:]


def _extrapolate(sizes: np.ndarray, gaps: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares gap = a + b/D for every time and quantity; a and its standard deviation."""
    weight = 1.0 / (errors + _SLACK) ** 2
    x = (1.0 / sizes)[:, None, None]
    s0, s1, s2 = weight.sum(axis=0), (weight * x).sum(axis=0), (weight * x * x).sum(axis=0)
    y0, y1 = (weight * gaps).sum(axis=0), (weight * x * gaps).sum(axis=0)
    determinant = s0 * s2 - s1 * s1
    return (s2 * y0 - s1 * y1) / determinant, np.sqrt(s2 / determinant)


def _rows(dimension, tau, names, predicted, predicted_err, simulated, error) -> list[dict[str, Any]]:
    rows = []
    for t, time in enumerate(tau):
        if time == 0:
            continue
        for i, name in enumerate(names):
            gap = float(simulated[t, i] - predicted[t, i])
            rows.append(
                {
                    "dimension": float(dimension),
                    "tau": float(time),
                    "quantity": name,
                    "theory": float(predicted[t, i]),
                    "theory_err": float(predicted_err[t, i]),
                    "simulation": float(simulated[t, i]),
                    "gap": gap,
                    "gap_err": float(error[t, i]),
                    "z": gap / float(error[t, i] + _SLACK),
                }
            )
    return rows
