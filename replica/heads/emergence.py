"""Predicted escape times log(sqrt(D))/rate_f beside those of the equations and of online SGD, for several D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidProblem
from .escape import escape, unspecialised
from .flow import State, integrate
from .problem import HeadsProblem
from .simulation import simulate
from .stages import emergence_times

_NODES = 512  # the starts are random: their spread is far above the error of these averages


def emergence(
    problem: HeadsProblem,
    dimensions: Sequence[int],
    rate: float,
    tau: np.ndarray,
    seeds: int = 8,
    *,
    norm: float = 0.1,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """One row for each D and feature.

    The predicted time leaves out a constant, since m starts at norm/sqrt(D) times a random number and emergence is at
    half of the last value: compare the growth with D, which is log(sqrt(D'/D))/rate_f, and the order of features.
    The equations start from the overlaps that each run has at tau = 0, so their times are comparable one by one.

    Raises
    ------
    InvalidProblem
        If fewer than two dimensions or two seeds are given, or tau does not start at 0.
    """
    sizes = sorted(set(dimensions))
    if len(sizes) < 2:
        raise InvalidProblem(f"dimensions = {list(dimensions)} show no trend; allowed: at least two different values")
    if seeds < 2:
        raise InvalidProblem(f"seeds = {seeds} give no error estimate; allowed: seeds >= 2")
    if tau[0] != 0:
        raise InvalidProblem(f"tau starts at {tau[0]:g}; allowed: tau from 0")
    fixed = unspecialised(problem)
    state = State(fixed.m, fixed.r + norm**2 * np.eye(problem.heads), fixed.b)
    rows: list[dict[str, Any]] = []
    for index, dimension in enumerate(sizes):
        report = None if progress is None else (lambda share, i=index: progress((i + share) / len(sizes)))
        predicted = escape(problem, state, dimension, samples=1024)
        draws = np.random.SeedSequence([seed, dimension]).generate_state(seeds)
        runs = simulate(problem, dimension, rate, tau, draws, norm=norm, test=1, progress=report)
        simulated = np.array([emergence_times(runs.tau, m) for m in runs.m])
        equations = []
        for s in range(seeds):
            m, b = runs.m[s, 0], runs.b[s, 0]
            start = State(m, runs.q[s, 0] - m @ m.T, b)
            path = integrate(problem, start, runs.tau, rate, samples=_NODES, max_samples=_NODES, count=2, seed=seed)
            equations.append(emergence_times(path.tau, path.m))
        for f in range(problem.signal.features):
            row = {
                "dimension": dimension,
                "feature": f + 1,
                "variance": float(predicted.variances[f]),
                "rate": float(predicted.feature_rates[f]),
                "rate_err": float(predicted.feature_rates_err[f]),
                "predicted": float(predicted.times[f]),
            }
            solved, seen_at = np.array(equations)[:, f], simulated[:, f]
            # paired by their start, whose random size shifts both times alike
            for name, values in (("equations", solved), ("simulated", seen_at), ("difference", seen_at - solved)):
                seen = values[np.isfinite(values)]
                row[name] = float(seen.mean()) if len(seen) else None
                row[f"{name}_err"] = float(2 * seen.std(ddof=1) / np.sqrt(len(seen))) if len(seen) > 1 else None
                row["seen"] = len(seen)
            rows.append(row)
    return rows
