"""One alpha line solved up and down with warm starts, so that hysteresis shows (theory.md sections 5 and 10)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import LoweringError, OutputError, WorkerError
from ..io.rows import json_value
from ..registry import ESTIMATORS, load
from ..schema import COLUMNS, Column
from ..types import Solution, Status
from .plan import Line

DIRECTION = Column("sweep", "text", "direction of the warm starts along alpha that reached this row: up or down")
SWEEP_COLUMNS = (*COLUMNS, DIRECTION)
NAMES = tuple(column.name for column in SWEEP_COLUMNS)
UP, DOWN = "up", "down"
# two solutions closer than this in every overlap, on top of their errors, are one fixed point; relative to |x| for the
# responses, which tell overlaps near 1 apart, and to 1 + |x| for the rest
_SAME = 1e-4


def solve_line(line: Line, threads: int | None = None, tick: Callable[[], None] | None = None) -> list[list[Any]]:
    """Rows of a line as plain JSON values in the order of `NAMES`: by alpha in grid order, then up before down.

    Upwards every point starts from the solution at the next smaller alpha, downwards from that at the next larger one.
    The first point of either walk, and any whose predecessor has none to offer or leads nowhere, starts cold: from the
    uninformed start upwards and the informed one downwards, unless `line.init` names one for both. So both branches of
    a coexistence region are followed. At each alpha, distinct fixed points are ranked by objective (free entropy for
    bayes), and one row of the best is `selected`.

    Parameters
    ----------
    line : Line
    threads : int, optional
        Threads for the averages; results do not depend on it.
    tick : callable, optional
        Called after every solve, two for each alpha.

    Raises
    ------
    WorkerError, LoweringError, OutputError
        If the machine fails: a full disk, no memory. Errors of the solver become rows.
    """
    from threadpoolctl import threadpool_limits

    # linear algebra must not depend on how many threads its library would take
    with threadpool_limits(1):
        ordered = sorted(line.alphas)
        found: dict[float, list[tuple[str, Solution]]] = {alpha: [] for alpha in ordered}
        for direction, walk in ((UP, ordered), (DOWN, ordered[::-1])):
            previous = None
            for alpha in walk:
                solutions = _solve(line, alpha, direction, previous, threads)
                previous = solutions[0]
                found[alpha] += [(direction, solution) for solution in solutions]
                if tick is not None:
                    tick()
    return [row for alpha in line.alphas for row in _rows(found[alpha])]


def _solve(line: Line, alpha: float, direction: str, previous: Solution | None, threads: int | None) -> list[Solution]:
    """Solutions at one alpha, best first: warm if that converges, else cold."""
    cold = line.init if line.init != "both" else {UP: "uninformed", DOWN: "informed"}[direction]
    if previous is None or not _can_start(previous, alpha):
        return _attempt(line, alpha, threads, init=cold)
    warm = _attempt(line, alpha, threads, start=previous)
    if warm[0].converged:
        return [replace(solution, init=("warm",)) for solution in warm]
    retry = _attempt(line, alpha, threads, init=cold)
    return retry if retry[0].converged else warm


def _can_start(previous: Solution, alpha: float) -> bool:
    # the population limit has other scalings: no start for a finite alpha, nor the other way
    return previous.converged and math.isinf(previous.problem.alpha) == math.isinf(alpha)


def _attempt(line: Line, alpha: float, threads: int | None, **start: Any) -> list[Solution]:
    """Solutions of one call; a failure of any kind is a row that says so, never a gap in the table."""
    problem, solver = line.at(alpha), load(ESTIMATORS, "estimator", line.estimator)
    # not every estimator has averages worth threads
    parallel = {"threads": threads} if "threads" in inspect.signature(solver).parameters else {}
    try:
        return solver(
            problem,
            rtol=line.rtol,
            seed=line.seed,
            damping=line.damping,
            accelerate=line.accelerate,
            **start,
            **parallel,
        )
    # trouble of the machine, not of the point, ends the sweep instead of becoming a row
    except (LoweringError, OutputError):
        raise
    except (OSError, MemoryError) as error:
        raise WorkerError(f"a worker failed: {type(error).__name__}: {error}; finished lines are kept") from error
    except Exception as error:
        return [
            Solution(
                problem=problem,
                estimator=line.estimator,
                status=Status.FAILED,
                message=f"{type(error).__name__}: {' '.join(str(error).split())}",
                init=(start.get("init", "warm"),),
                seed=line.seed,
                rtol=math.nan if line.rtol is None else line.rtol,
            )
        ]


def _rows(found: Sequence[tuple[str, Solution]]) -> list[list[Any]]:
    """Rows of one alpha with their rank and the selected one."""
    ranked = _ranks([solution for _, solution in found])
    chosen = ranked.index(0)
    rows = []
    for index, ((direction, solution), rank) in enumerate(zip(found, ranked, strict=True)):
        row = replace(solution, branch=rank, selected=index == chosen).to_row() | {DIRECTION.name: direction}
        rows.append([json_value(row[name]) for name in NAMES])
    return rows


def _ranks(solutions: Sequence[Solution]) -> list[int]:
    """Rank of each solution among the distinct fixed points, 0 the best; unconverged ones come last."""
    order = sorted(range(len(solutions)), key=lambda index: (not solutions[index].converged, _cost(solutions[index])))
    ranks = [0] * len(solutions)
    best: list[Solution] = []
    for index in order:
        one = solutions[index]
        same = [rank for rank, other in enumerate(best) if _same_point(one, other)]
        ranks[index] = same[0] if same else len(best)
        if not same:
            best.append(one)
    return ranks


def _cost(solution: Solution) -> float:
    cost = -solution.free_entropy if math.isnan(solution.objective) else solution.objective
    return math.inf if math.isnan(cost) else cost


def _same_point(one: Solution, other: Solution) -> bool:
    if not (one.converged and other.converged):
        return False
    for name, x, y in zip(one.overlaps._fields, one.overlaps, other.overlaps, strict=True):
        errors = [solution.errors.get(name, 0.0) for solution in (one, other)]
        scale = abs(y) if name.startswith("V") else 1.0 + abs(y)
        allowed = _SAME * scale + sum(error for error in errors if math.isfinite(error))
        if x != y and abs(x - y) > allowed:
            return False
    return True
