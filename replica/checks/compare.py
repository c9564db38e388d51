"""Does the theory describe the experiment: one problem, several sizes, a verdict (theory.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidProblem
from ..io.rows import json_value
from ..models.problem import Problem
from ..registry import ESTIMATORS, load
from ..simulation.data import sample_count
from ..simulation.extrapolate import MIN_SIZES, limit
from ..simulation.summary import Run, distinct_minima, measurements, standard_error
from ..types import NAN, Overlaps, Solution, Status
from .table import NAMES, PROBLEM

LARGEST_Z = 4.0  # ten numbers of a right theory exceed it once in 1600 checks
BAD_FIT = 16.0  # chi^2 per degree of freedom from which the law in 1/D itself is in doubt
_NEGLIGIBLE = 1e-8  # below the tolerances of both sides, where a number is the same on every data set

Progress = Callable[[int, int, str], None]  # size, seed, start


class Verdict(StrEnum):
    """What the comparison says."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    BROKEN = "replica symmetry broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Plan:
    """The experiment of a check.

    Attributes
    ----------
    sizes : tuple of int
        At least three distinct D.
    seeds : int
        Data sets for each D, at least 2.
    seed : int
        Seed of the first.
    starts : tuple of str
        Of L-BFGS; the lowest minimum of each data set is compared.
    """

    sizes: tuple[int, ...] = (500, 1000, 2000)
    seeds: int = 10
    seed: int = 0
    starts: tuple[str, ...] = ("informed", "random", "small")

    def __post_init__(self) -> None:
        from ..simulation.erm import check_starts

        object.__setattr__(self, "sizes", tuple(sorted(set(self.sizes))))
        object.__setattr__(self, "starts", check_starts(self.starts))
        if len(self.sizes) < MIN_SIZES:
            raise InvalidProblem(
                f"d = {','.join(map(str, self.sizes))}: a limit in 1/d needs {MIN_SIZES} sizes or more"
            )
        if self.seeds < 2:
            raise InvalidProblem(f"seeds = {self.seeds} leaves the spread unknown; allowed: an integer >= 2")

    def refuse(self, problem: Problem) -> None:
        """Refuse a problem that has no experiment at one of the sizes.

        Raises
        ------
        InvalidProblem
        """
        for size in self.sizes:
            sample_count(problem, size)


class Line(NamedTuple):
    """One number at one size, or at the limit (d is None)."""

    number: str
    d: int | None
    theory: float
    theory_err: float
    experiment: float
    experiment_err: float
    z: float
    misfit: float = NAN
    spread: float = NAN
    minima: float = NAN


@dataclass(frozen=True)
class Check:
    """The comparison of one problem: the prediction, the lines number by number, and the verdict."""

    theory: Solution
    plan: Plan
    lines: tuple[Line, ...]
    verdict: Verdict
    message: str

    @property
    def limits(self) -> dict[str, Line]:
        """The judged lines by number."""
        return {line.number: line for line in self.lines if line.d is None}

    @property
    def worst(self) -> Line:
        """The judged line of largest |z|."""
        return max(self.limits.values(), key=lambda line: abs(line.z))

    def to_rows(self) -> list[dict[str, Any]]:
        """Rows of the columns `replica.checks.table.CHECK_COLUMNS`."""
        row = self.theory.to_row()
        common = {name: row[name] for name in (*PROBLEM, "replicon", "rs_stable", "version")}
        common |= {"verdict": str(self.verdict), "message": self.message}
        common |= {"seeds": self.plan.seeds, "seed": self.plan.seed}
        made = []
        for line in self.lines:
            values = common | line._asdict() | {"judged": line.d is None}
            # nan has no place in a row, infinity has: alpha, nu, or a z beyond any error
            made.append({name: None if _is_nan(values[name]) else values[name] for name in NAMES})
        return made


def check(
    problem: Problem,
    estimator: str = "erm",
    plan: Plan | None = None,
    *,
    rtol: float | None = None,
    progress: Progress | None = None,
) -> Check:
    """Predict, draw data at several sizes, measure, extrapolate, and judge.

    Numbers are compared at D = inf: experiment by the regression  mean(D) = a + b/D, with the error of a. The verdict
    is `disagrees` if some |z| > 4 there. z is the difference over the joint error, mapped through Student's law (the
    error comes from few data sets) to the normal deviate of equal probability. z at single sizes holds the bias in 1/D
    and is not judged. Where the theory finds replica symmetry broken there is nothing to agree with, and the verdict
    says so.

    Parameters
    ----------
    problem : Problem
        With finite alpha.
    estimator : {"erm", "bayes"}
        Against L-BFGS, the lowest minimum over `plan.starts`; against message passing, which reaches the fixed point of
        the uninformed start.
    plan : Plan, optional
    rtol : float, optional
        Relative error asked of the theory's test risk; its error estimates enter z.
    progress : callable, optional
        Called with (size, seed, start) before each run.

    Raises
    ------
    InvalidProblem
        If the problem has no experiment, or the estimator is unknown.
    """
    plan = Plan() if plan is None else plan
    plan.refuse(problem)
    solve = load(ESTIMATORS, "estimator", estimator)
    if estimator == "bayes":
        (theory,) = solve(problem, init="uninformed", rtol=rtol)
        groups = _message_passing(problem, plan, progress)
    else:
        theory = solve(problem, rtol=rtol)[0]
        groups = _minimisers(problem, plan, progress)
    return judge(theory, plan, groups)


def judge(theory: Solution, plan: Plan, groups: dict[int, list[list[Run]]]) -> Check:
    """The comparison from finished runs: for each size, for each data set, the runs from its starts."""
    best = {size: [min(runs, key=_rank) for runs in sets] for size, sets in groups.items()}
    lines: list[Line] = []
    for name in next(iter(best.values()))[0].measured:
        value = getattr(theory.overlaps if name in Overlaps._fields else theory, name)
        if math.isfinite(value):
            lines += _lines(name, value, theory.errors.get(name, 0.0), best, groups)
    verdict, message = _verdict(theory, lines, [run for runs in best.values() for run in runs])
    return Check(theory, plan, tuple(lines), verdict, message)


def deviate(difference: float, error: float, freedom: int) -> float:
    """The normal deviate as improbable as `difference`/`error` under Student's law."""
    from scipy.special import ndtri, stdtr

    if math.isnan(error):
        return NAN
    t = abs(difference) / math.hypot(error, _NEGLIGIBLE)
    tail = max(float(stdtr(freedom, -t)), 1e-300)
    return math.copysign(min(t, -float(ndtri(tail))), difference)


def _lines(
    name: str, theory: float, error: float, best: dict[int, list[Run]], groups: dict[int, list[list[Run]]]
) -> list[Line]:
    sizes = sorted(best)
    samples = [measurements(best[size])[name] for size in sizes]
    made = []
    for size, values in zip(sizes, samples, strict=True):
        mean, mean_error = float(values.mean()), standard_error(values)
        z = deviate(mean - theory, math.hypot(mean_error, error), len(values) - 1)
        spread, minima = _spread(name, groups[size])
        made.append(Line(name, size, theory, error, mean, mean_error, z, NAN, spread, minima))
    found = limit(sizes, samples)
    freedom = sum(len(values) - 1 for values in samples)
    z = deviate(found.value - theory, math.hypot(found.error, error), freedom)
    last = made[-1]
    made.append(Line(name, None, theory, error, found.value, found.error, z, found.misfit, last.spread, last.minima))
    return made


def _spread(name: str, sets: Sequence[Sequence[Run]]) -> tuple[float, float]:
    """Mean range of the number over the starts of a data set, and mean number of distinct minima."""
    if len(sets[0]) == 1:
        return NAN, NAN
    ranges = [np.ptp([getattr(run, name) for run in runs]) for runs in sets]
    return float(np.mean(ranges)), float(np.mean([distinct_minima(runs) for runs in sets]))


def _rank(run: Run) -> tuple[bool, float]:
    return run.status is not Status.CONVERGED, getattr(run, "objective", 0.0)


def _verdict(theory: Solution, lines: Sequence[Line], runs: Sequence[Run]) -> tuple[Verdict, str]:
    judged = [line for line in lines if line.d is None]
    if not theory.converged:
        return Verdict.UNDECIDED, f"the theory did not converge: {theory.message}"
    failed = [run for run in runs if run.status is not Status.CONVERGED]
    if failed:
        return Verdict.UNDECIDED, f"{len(failed)} of {len(runs)} data sets did not converge: {failed[0].message}"
    worst = max(judged, key=lambda line: abs(line.z))
    notes = [f"largest |z| {abs(worst.z):.1f} ({worst.number})"]
    doubtful = [line.number for line in judged if line.misfit > BAD_FIT]
    if doubtful:
        notes.append(f"not linear in 1/d: {', '.join(doubtful)}; use larger d")
    if theory.rs_stable is False:
        minima = f"{judged[0].minima:.1f} distinct minima a data set" if judged[0].minima > 0 else "one start only"
        return Verdict.BROKEN, "; ".join([theory.message, minima, *notes])
    if theory.estimator == "erm" and theory.rs_stable is None:
        notes.append("replica-symmetric stability is unresolved")
    return (Verdict.DISAGREES if abs(worst.z) > LARGEST_Z else Verdict.AGREES), "; ".join(notes)


def _minimisers(problem: Problem, plan: Plan, progress: Progress | None) -> dict[int, list[list[Run]]]:
    from ..simulation.erm import experiments

    def run(size: int, seeds: range, tick: Any) -> list[Run]:
        return experiments(problem, size, seeds, plan.starts, progress=tick)

    return _grouped(plan, run, len(plan.starts), progress)


def _message_passing(problem: Problem, plan: Plan, progress: Progress | None) -> dict[int, list[list[Run]]]:
    from ..simulation.amp import experiments

    def run(size: int, seeds: range, tick: Any) -> list[Run]:
        return experiments(problem, size, seeds, progress=tick)

    return _grouped(plan, run, 1, progress)


def _grouped(
    plan: Plan, run: Callable[[int, range, Any], list[Run]], starts: int, progress: Progress | None
) -> dict[int, list[list[Run]]]:
    """The runs by size and data set."""
    groups = {}
    for size in plan.sizes:
        tick = None if progress is None else lambda seed, start, size=size: progress(size, seed, start)
        runs = run(size, range(plan.seed, plan.seed + plan.seeds), tick)
        groups[size] = [runs[i : i + starts] for i in range(0, len(runs), starts)]
    return groups


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and json_value(value) is None
