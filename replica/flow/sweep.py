"""Final polarisation over loss x map x conditioning x dimension x seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from multiprocessing import get_context
from typing import Any

from ..errors import InvalidProblem
from .plan import Plan
from .problem import FlowProblem, whole
from .train import train

MOST_RUNS = 100_000


def problems(
    losses: Sequence[str],
    maps: Sequence[str],
    conditions: Sequence[float | None],
    dims: Sequence[int],
    seeds: int,
    **common: Any,
) -> list[FlowProblem]:
    """The grid, in the order of the arguments, tokens = dim; only square has a design, so other losses appear once.

    None among `conditions` stands for no design.

    Raises
    ------
    InvalidProblem
        For an empty or repeated axis, an unknown name, a number out of range, or too many runs.
    """
    axes = {"loss": losses, "map": maps, "condition": conditions, "dim": dims}
    for name, values in axes.items():
        if not values or len(set(values)) < len(values):
            raise InvalidProblem(f"{name} = {list(values)} is empty or repeats a value; allowed: distinct values")
    seeds = whole("seeds", seeds, 1, MOST_RUNS)
    many = len(losses) * len(maps) * len(conditions) * len(dims) * seeds
    if many > MOST_RUNS:
        raise InvalidProblem(f"the grid has {many} runs; allowed: at most {MOST_RUNS}")
    made = []
    for loss, name, dim in product(losses, maps, dims):
        for condition in conditions if loss == "square" else [None]:
            made += [
                FlowProblem(loss=loss, map=name, dim=dim, condition=condition, seed=seed, **common)
                for seed in range(seeds)
            ]
    return made


def sweep(
    grid: Sequence[FlowProblem], plan: Plan, jobs: int = 1, progress: Callable[[float], None] | None = None
) -> list[dict[str, Any]]:
    """Train every problem of `grid`; one row of schema FINAL each, in order, failures included.

    The rows do not depend on `jobs`, the number of worker processes.

    Raises
    ------
    InvalidProblem
        If one of the problems does not fit the plan; nothing has run by then.
    """
    jobs = whole("jobs", jobs, 1, 1024)
    for problem in grid:
        plan.check(problem)
    report = progress or (lambda _: None)
    rows = []
    if jobs == 1:
        for problem in grid:
            rows.append(_final_row(problem, plan))
            report(len(rows) / len(grid))
        return rows
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            for row in pool.map(_final_row, grid, repeat(plan), chunksize=max(1, len(grid) // (8 * jobs))):
                rows.append(row)
                report(len(rows) / len(grid))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return rows


def _final_row(problem: FlowProblem, plan: Plan) -> dict[str, Any]:
    return train(problem, plan).row()
