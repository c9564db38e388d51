"""Predicted growth of emergence times with log(sqrt(D)) beside those of the equations and of online SGD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InvalidProblem
from ..models.checks import number
from .flow import State, integrate, random_start
from .problem import HeadsProblem
from .saddles import FIRST, Stage, check_separable, last_without, predicted_times, stages_visited
from .simulation import Runs, simulate
from .stages import emergence_times

_NODES = 512  # the starts are random: their spread is far above the error of these averages
Times = dict[int, dict[str, np.ndarray]]  # by D, then by kind: starts x features


def emergence(
    problem: HeadsProblem,
    dimensions: Sequence[int],
    rate: float,
    tau: np.ndarray,
    seeds: int = 8,
    *,
    far: Sequence[int] = (),
    norm: float = 0.1,
    level: float = 0.2,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """One row for each D and feature.

    A feature has emerged when max_h |m_hf| reaches the share `level` of its value at the saddle where it is learned,
    mean over starts, or 0.1 if no start learns it in time. The prediction is when its linear growth along the
    trajectory of the features before it does (`replica.heads.saddles`); the equations keep all features nonlinear;
    online SGD runs at finite D. All three start from the overlaps that a run of SGD has at tau = 0, so that they are
    compared run by run.

    SGD at finite D also renews overlaps of O(1/sqrt(D)) by its own noise, which the equations leave out: its times are
    shorter, the less the larger D, so that its slope from small D is a little above the prediction.

    Parameters
    ----------
    dimensions : sequence of int
        At least two values of D for all three.
    far : sequence of int
        More values of D, for prediction and equations only.
    level : float
        Between 0 and 1. It matters little: for the second of the features of `study.emergence` the slope of the
        equations is 2.7 at 0.1 and 2.8 at 0.2 and 0.4, from four starts. Linear growth ends at order one, so the
        prediction is 0.1 per cent off at 0.1 and 7 per cent at 0.4.

    Raises
    ------
    InvalidProblem
        If fewer than two dimensions or two seeds are given, tau does not start at 0, level or norm are out of range, or
        the law of theta changes with the sign of one theta_f (`saddles.check_separable`).
    """
    sizes = sorted(set(dimensions))
    if len(sizes) < 2:
        raise InvalidProblem(f"dimensions = {list(dimensions)} show no trend; allowed: at least two different values")
    if seeds < 2:
        raise InvalidProblem(f"seeds = {seeds} give no error estimate; allowed: seeds >= 2")
    if tau[0] != 0:
        raise InvalidProblem(f"tau starts at {tau[0]:g}; allowed: tau from 0")
    if not 0 < level < 1:
        raise InvalidProblem(f"level = {level:g} is no share of an overlap; allowed: 0 < level < 1")
    number("norm", norm, minimum=0.0, strict=True)
    far = sorted(set(far) - set(sizes))
    if far and far[0] < 1:
        raise InvalidProblem(f"far = {far[0]} is not possible; allowed: whole numbers >= 1")
    check_separable(problem)
    done, total = 0, (2 * len(sizes) + len(far)) * seeds

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done / total)

    runs: dict[int, Runs] = {}
    starts: dict[int, list[State]] = {}
    for dimension in sizes:
        draws = np.random.SeedSequence([seed, dimension]).generate_state(seeds)
        runs[dimension] = run = simulate(problem, dimension, rate, tau, draws, norm=norm, test=1)
        first = zip(run.m[:, 0], run.q[:, 0], run.b[:, 0], strict=True)
        starts[dimension] = [State(m, q - m @ m.T, b) for m, q, b in first]
        tick(seeds)
    for dimension in far:
        starts[dimension] = [random_start(problem, dimension, norm, s) for s in range(seed, seed + seeds)]
    visited: dict[int, list[list[Stage]]] = {}
    for dimension, some in starts.items():
        visited[dimension] = []
        for index, start in enumerate(some):
            visited[dimension].append(stages_visited(problem, start, tau, rate, _NODES, seed + index))
            tick(1)
    features = problem.signal.features
    overlaps = _saddle_overlaps([stages for some in visited.values() for stages in some], features)
    targets = np.where(np.isnan(overlaps), FIRST, level * overlaps)
    times: Times = {}
    for dimension, some in visited.items():
        times[dimension] = {"predicted": np.array([predicted_times(stages, targets) for stages in some])}
        pairs = enumerate(zip(starts[dimension], some, strict=True), start=seed)
        times[dimension]["equations"] = np.array(
            [_by_equations(problem, start, stages, rate, targets, one) for one, (start, stages) in pairs]
        )
        if dimension in runs:
            run = runs[dimension]
            times[dimension]["simulated"] = np.array([emergence_times(run.tau, m, targets) for m in run.m])
    return _rows(problem, times, visited, sizes, far)


def _saddle_overlaps(visited: list[list[Stage]], features: int) -> np.ndarray:
    """Max_h |m_hf| at the saddle where feature f is first learned, mean over starts; nan if it never is."""
    overlaps = np.full(features, np.nan)
    for f in range(features):
        sizes = [next((s.sizes[-1, f] for s in stages if f in s.learned), np.nan) for stages in visited]
        if np.isfinite(sizes).any():
            overlaps[f] = np.nanmean(sizes)
    return overlaps


def _rows(
    problem: HeadsProblem, times: Times, visited: dict[int, list[list[Stage]]], sizes: list[int], far: list[int]
) -> list[dict[str, Any]]:
    variances = np.diag(problem.signal.moments()[1])
    # the starts of `far` differ in their size alone: compared start by start
    paired = len(far) > 1
    far_or_near = far if paired else sizes
    slopes = []
    for f in range(len(variances)):
        found = {"feature": f + 1, "variance": float(variances[f])}
        for name, where, pairs in (
            ("predicted", far_or_near, paired),
            ("equations", far_or_near, paired),
            ("simulated", sizes, False),
        ):
            values = {size: times[size][name][:, f] for size in where}
            found[f"slope_{name}"], found[f"slope_{name}_err"] = _slope(values, pairs)
        # run by run, so that the random size of the starts cancels
        gap, error = _slope(
            {size: times[size]["simulated"][:, f] - times[size]["predicted"][:, f] for size in sizes}, False
        )
        found |= {"slope_gap": gap, "slope_gap_err": error, "slope_z": 2 * gap / error if error else None}
        slopes.append(found)
    rows: list[dict[str, Any]] = []
    for dimension, found in times.items():
        for f, common in enumerate(slopes):
            left = [last_without(stages, f) for stages in visited[dimension]]
            rates = np.array([stage.rates[f] for stage in left])
            row = {
                **common,
                "dimension": dimension,
                "learned_before": "+".join(str(g + 1) for g in left[0].learned),
                "rate": float(rates.mean()),
                "rate_err": float(_error(rates) + np.mean([stage.rates_err[f] for stage in left])),
                "residual": max(stage.residual for stage in left),
            }
            columns = {name: values[:, f] for name, values in found.items()}
            if "simulated" in columns:
                columns["difference"] = columns["simulated"] - columns["predicted"]
            for name, values in columns.items():
                seen = values[np.isfinite(values)]
                never = name == "predicted" and np.isinf(values).any()
                row[name] = float(seen.mean()) if len(seen) else (float("inf") if never else None)
                row[f"{name}_err"] = _error(seen)
            row["seen"] = int(sum(np.isfinite(columns.get("simulated", columns["equations"]))))
            rows.append(row)
    return rows


def _error(values: np.ndarray) -> float | None:
    return float(2 * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _by_equations(
    problem: HeadsProblem, start: State, stages: list[Stage], rate: float, targets: np.ndarray, seed: int
) -> np.ndarray:
    """Emergence times by the equations of all features."""
    last = stages[-1]
    sizes = last.sizes
    if len(last.learned) < len(targets):  # otherwise they have been integrated already
        options = {"samples": _NODES, "max_samples": _NODES, "count": 2, "seed": seed, "rtol": 0.1}
        sizes = np.abs(integrate(problem, start, last.tau, rate, **options).m).max(axis=1)
    return emergence_times(last.tau, sizes[:, None], targets)


def _slope(times: dict[int, np.ndarray], paired: bool) -> tuple[float | None, float | None]:
    """Slope of times, by D, against log(sqrt(D)) and two standard errors, from the runs with a time.

    `paired`: the mean of the least-squares slopes of every start; otherwise one slope through all runs.
    """
    x, values = np.log(np.sqrt(list(times))), np.array(list(times.values()))
    if paired:
        values = values[:, np.isfinite(values).all(axis=0)]
        slopes = np.polyfit(x, values, 1)[0] if values.size else np.empty(0)
        return (float(slopes.mean()) if len(slopes) else None), _error(slopes)
    x, y = np.repeat(x, values.shape[1]), values.ravel()
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    if len(y) < 3 or np.ptp(x) == 0:
        return None, None
    centred = x - x.mean()
    slope = (centred @ y) / (centred @ centred)
    rest = y - y.mean() - slope * centred
    return float(slope), float(2 * np.sqrt((rest @ rest) / (len(y) - 2) / (centred @ centred)))
