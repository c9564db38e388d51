"""From runs on single data sets to rows: means, standard errors, ranks of starts, limits in 1/D."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..types import NAN, Overlaps, Solution, Status
from .data import Dataset, draw, sample_count
from .extrapolate import MIN_SIZES, extrapolated

SAME_OBJECTIVE = 1e-6  # relative difference of objectives below which two starts reached the same minimum


Kind = TypeVar("Kind", bound="Run")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What every kind of experiment on one data set, from one start, reports.

    Attributes
    ----------
    seed, dimension, start
        Which data set and which start.
    status, message, residual, iterations
        How the algorithm ended; CONVERGED if and only if the residual is within its tolerance.
    m_k, q_k, m_v, q_v : float
        Overlaps of the estimate with k* and v* and its squared norms, per D.
    test_risk, test_risk_err, attention_relevant
        See `fresh_risk`; the error is that of the sampling of fresh data alone.
    """

    estimator: ClassVar[str]
    method: ClassVar[str]
    measured: ClassVar[tuple[str, ...]]

    seed: int
    dimension: int
    start: str
    status: Status
    message: str
    residual: float
    iterations: int
    m_k: float
    q_k: float
    m_v: float
    q_v: float
    test_risk: float
    test_risk_err: float
    attention_relevant: float


def over_seeds(
    problem: Problem, dimension: int, seeds: Sequence[int], run: Callable[[Dataset], list[Kind]]
) -> list[Kind]:
    """The runs on every data set; one is in memory at a time.

    Raises
    ------
    InvalidProblem
        See `sample_count`; also if there is no seed.
    """
    sample_count(problem, dimension)
    if not len(seeds):
        raise InvalidProblem("seeds = 0 leaves nothing to do; allowed: an integer >= 1")
    runs: list[Kind] = []
    for seed in seeds:
        runs += run(draw(problem, dimension, seed))
    return runs


def summarise(problem: Problem, runs: Sequence[Run], *, tolerance: float) -> list[Solution]:
    """Rows of the runs: for each start one `Solution` per size, and the limit in 1/D from three sizes on.

    Values are means over seeds, errors standard errors (nan for a single seed). `branch` ranks the starts by mean
    objective at the largest size; starts whose objectives agree there on every seed share a rank, and the first of
    the lowest is `selected`, at the limit if there is one, else at the largest size.

    Parameters
    ----------
    runs : sequence of Run
        Of one kind; with several starts they must have an `objective`.
    tolerance : float
        On the residual; recorded as rtol.
    """
    table: dict[str, dict[int, list[Run]]] = {}
    for one in runs:
        table.setdefault(one.start, {}).setdefault(one.dimension, []).append(one)
    branches = _ranks({start: sizes[max(sizes)] for start, sizes in table.items()})
    best = next(start for start in table if branches[start] == 0)
    solutions = []
    for start, sizes in table.items():
        rows = [_row(problem, sizes[d], branches[start], tolerance) for d in sorted(sizes)]
        if len(rows) >= MIN_SIZES and min(map(len, sizes.values())) > 1:
            rows.append(extrapolated(rows, [measurements(sizes[d]) for d in sorted(sizes)]))
        if start == best:
            rows[-1] = replace(rows[-1], selected=True)
        solutions += rows
    return solutions


def distinct_minima(runs: Sequence[Run]) -> int:
    """Number of different objectives among the runs on one data set, to the accuracy of L-BFGS."""
    values = sorted(run.objective for run in runs)
    return 1 + sum(high - low > SAME_OBJECTIVE * abs(high) for low, high in pairwise(values))


def standard_error(values: np.ndarray) -> float:
    """Sample standard deviation over sqrt(n); nan for a single value."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else NAN


def _ranks(by_start: dict[str, list[Run]]) -> dict[str, int]:
    if len(by_start) == 1:
        return dict.fromkeys(by_start, 0)
    objectives = {start: np.array([one.objective for one in group]) for start, group in by_start.items()}
    ranks: dict[str, int] = {}
    previous = None
    for start in sorted(by_start, key=lambda start: objectives[start].mean()):
        same = previous is not None and np.allclose(
            objectives[start], objectives[previous], rtol=SAME_OBJECTIVE, atol=0.0
        )
        ranks[start] = ranks[previous] if same else len(set(ranks.values()))
        previous = start
    return ranks


def measurements(group: Sequence[Run]) -> dict[str, np.ndarray]:
    """The measured numbers of the runs, by name."""
    return {name: np.array([getattr(one, name) for one in group]) for name in group[0].measured}


def _row(problem: Problem, group: Sequence[Run], branch: int, tolerance: float) -> Solution:
    first, table = group[0], measurements(group)
    mean = {name: float(values.mean()) for name, values in table.items()}
    failed = [one for one in group if one.status is not Status.CONVERGED]
    return Solution(
        problem=problem,
        estimator=first.estimator,
        status=failed[0].status if failed else Status.CONVERGED,
        message=f"{len(failed)} of {len(group)} runs did not converge: {failed[0].message}" if failed else "",
        overlaps=Overlaps(*(mean.get(name, NAN) for name in Overlaps._fields)),
        **{name: value for name, value in mean.items() if name not in Overlaps._fields},
        errors={name: standard_error(values) for name, values in table.items()},
        init=(first.start,),
        branch=branch,
        selected=False,
        residual=max(one.residual for one in group),
        iterations=sum(one.iterations for one in group),
        method=first.method,
        seed=first.seed,
        rtol=tolerance,
        d=first.dimension,
        seeds=len(group),
    )
