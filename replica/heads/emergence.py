"""Predicted growth of emergence times with log(sqrt(D)) beside those of the equations and of online SGD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidProblem
from .flow import State, integrate, random_start
from .problem import HeadsProblem
from .saddles import Stage, predicted_times, stages_visited
from .simulation import simulate
from .stages import emergence_times

_LEVEL = 0.2  # a feature has emerged at this share of its overlap at the saddle: above, growth is slow
_NODES = 512  # the starts are random: their spread is far above the error of these averages


def emergence(
    problem: HeadsProblem,
    dimensions: Sequence[int],
    rate: float,
    tau: np.ndarray,
    seeds: int = 8,
    *,
    far: Sequence[int] = (),
    norm: float = 0.1,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """One row for each D and feature.

    The predicted time, from the rates on the way to the saddles that training visits (`replica.heads.saddles`), leaves
    out a constant, since m starts at norm/sqrt(D) times a random number and emergence is at a fifth of the value at the
    next saddle: compare its growth with log(sqrt(D)), the slope, and the order of features. The equations start from
    the overlaps that each run has at tau = 0, so their times are comparable one by one.

    Parameters
    ----------
    dimensions : sequence of int
        At least two values of D for both.
    far : sequence of int
        More values of D, for the equations only.

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
    far = sorted(set(far) - set(sizes))
    if far and far[0] < 1:
        raise InvalidProblem(f"far = {far[0]} is not possible; allowed: whole numbers >= 1")
    features = problem.signal.features
    visited = [
        stages_visited(
            problem, rate, norm, float(tau[-1]), max(*sizes, *far), random_start(problem, 1, 1.0, s).m, seed=seed
        )
        for s in range(seed, seed + seeds)
    ]
    targets = _targets(visited, features)
    times: dict[int, dict[str, np.ndarray]] = {}
    done, total = 0, (len(sizes) + len(far)) * seeds

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done / (2 * total))

    for dimension in sizes:
        draws = np.random.SeedSequence([seed, dimension]).generate_state(seeds)
        runs = simulate(problem, dimension, rate, tau, draws, norm=norm, test=1)
        tick(seeds)
        starts = [State(m, q - m @ m.T, b) for m, q, b in zip(runs.m[:, 0], runs.q[:, 0], runs.b[:, 0], strict=True)]
        simulated = np.array([emergence_times(runs.tau, m, targets) for m in runs.m])
        times[dimension] = {
            "simulated": simulated,
            "equations": _solve(problem, starts, runs.tau, rate, targets, seed, tick),
        }
    for dimension in far:
        starts = [random_start(problem, dimension, norm, s) for s in range(seed, seed + seeds)]
        tick(seeds)
        times[dimension] = {"equations": _solve(problem, starts, tau, rate, targets, seed, tick)}
    for dimension, found in times.items():
        found["predicted"] = np.array([predicted_times(one, features, norm, dimension) for one in visited])
    # the starts of `far` differ in their size alone: compared start by start
    paired = len(far) > 1
    far_or_near = far if paired else sizes
    fits = {
        "predicted": [_slope(far_or_near, times, "predicted", f, paired) for f in range(features)],
        "equations": [_slope(far_or_near, times, "equations", f, paired) for f in range(features)],
        "simulated": [_slope(sizes, times, "simulated", f, False) for f in range(features)],
    }
    rows: list[dict[str, Any]] = []
    for dimension, found in times.items():
        for f in range(features):
            # the stage that the feature leaves, or the last one if it stays, of every start
            left = [[stage for stage in one if f not in stage.learned][-1] for one in visited]
            rates = np.array([stage.rates[-1, f] for stage in left])
            spread = 2 * rates.std(ddof=1) / np.sqrt(seeds)
            row = {
                "dimension": dimension,
                "feature": f + 1,
                "variance": float(problem.signal.moments()[1][f, f]),
                "learned_before": "+".join(str(g + 1) for g in left[0].learned),
                "rate": float(rates.mean()),
                "rate_err": float(spread + np.mean([stage.rates_err[-1, f] for stage in left])),
                "residual": max(stage.residual for stage in left),
                "predicted": float(found["predicted"][:, f].mean()),
                "slope": fits["predicted"][f][0],
            }
            columns = {name: found[name][:, f] for name in ("equations", "simulated") if name in found}
            if "simulated" in columns:
                # paired by their start, whose random size shifts both times alike
                columns["difference"] = columns["simulated"] - columns["equations"]
            for name, values in columns.items():
                seen = values[np.isfinite(values)]
                row[name] = float(seen.mean()) if len(seen) else None
                row[f"{name}_err"] = float(2 * seen.std(ddof=1) / np.sqrt(len(seen))) if len(seen) > 1 else None
                row["seen"] = len(seen)
            for name in ("equations", "simulated"):
                row[f"slope_{name}"], row[f"slope_{name}_err"] = fits[name][f]
            rows.append(row)
    return rows


def _targets(visited: list[list[Stage]], features: int) -> np.ndarray:
    """A share of max_h |m_hf| at the saddle where feature f is first learned, mean over starts; nan if it never is."""
    targets = np.full(features, np.nan)
    for f in range(features):
        sizes = [next((np.abs(s.state.m[:, f]).max() for s in one if f in s.learned), np.nan) for one in visited]
        if np.isfinite(sizes).any():
            targets[f] = _LEVEL * np.nanmean(sizes)
    return targets


def _solve(problem, starts, tau, rate, targets, seed, tick) -> np.ndarray:
    """Emergence times by the equations, starts x features; every start has its own nodes, so that all errors spread."""
    times = []
    for index, start in enumerate(starts):
        nodes = {"samples": _NODES, "max_samples": _NODES, "count": 2, "seed": seed + index}
        path = integrate(problem, start, tau, rate, **nodes)
        times.append(emergence_times(path.tau, path.m, targets))
        tick(1)
    return np.array(times)


def _slope(sizes, times, name: str, feature: int, paired: bool) -> tuple[float | None, float | None]:
    """Slope of times against log(sqrt(D)) and two standard errors, from the runs that saw the feature.

    `paired`: the mean of the least-squares slopes of every start; otherwise one slope through all runs.
    """
    x = np.log(np.sqrt(sizes))
    values = np.array([times[size][name][:, feature] for size in sizes])
    if paired:
        values = values[:, np.isfinite(values).all(axis=0)]
        slopes = np.polyfit(x, values, 1)[0] if values.size else np.empty(0)
        error = 2 * slopes.std(ddof=1) / np.sqrt(len(slopes)) if len(slopes) > 1 else None
        return (float(slopes.mean()) if len(slopes) else None), None if error is None else float(error)
    x, y = np.repeat(x, values.shape[1]), values.ravel()
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    if len(y) < 3 or np.ptp(x) == 0:
        return None, None
    centred = x - x.mean()
    slope = (centred @ y) / (centred @ centred)
    rest = y - y.mean() - slope * centred
    return float(slope), float(2 * np.sqrt((rest @ rest) / (len(y) - 2) / (centred @ centred)))
