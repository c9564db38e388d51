"""Experiment `experiment-erm`: L-BFGS minimisers over seeds and starts (theory.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..types import NAN, Overlaps, Solution, Status
from .data import Dataset, draw, generator, sample_count
from .extrapolate import MIN_SIZES, extrapolated
from .objective import Objective
from .risk import fresh_risk

STARTS = ("informed", "random", "small")
_SMALL = 1e-2  # entries of the small random start, against 1 for k* and v*
_MEMORY = 20  # correction pairs of L-BFGS
_SAME = 1e-6  # relative difference of objectives below which two starts reached the same minimum
MEASURED = ("m_k", "q_k", "m_v", "q_v", "objective", "train_loss", "test_risk", "attention_relevant")


@dataclass(frozen=True)
class Fit:
    """One minimiser on one data set, from one start.

    Attributes
    ----------
    seed, dimension, start
        Which data set and which start.
    status, message
        How L-BFGS ended; CONVERGED if and only if the gradient is below its tolerance.
    residual : float
        max |grad J| / min(1, reg_k, reg_v): about the largest error of an entry of (k, v), whose scale is 1.
    iterations : int
        Evaluations of J and its gradient.
    m_k, q_k, m_v, q_v : float
        Overlaps with k* and v* and squared norms, per D.
    off_manifold : tuple of float
        (k.v*, v.k*, k.v)/D: zero on the manifold M up to O(1/sqrt(D)).
    objective, train_loss : float
        J/N and the mean of (y - f)^2/2.
    test_risk, test_risk_err, attention_relevant
        See `fresh_risk`; the error is that of the sampling of fresh data alone.
    """

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
    off_manifold: tuple[float, float, float]
    objective: float
    train_loss: float
    test_risk: float
    test_risk_err: float
    attention_relevant: float


def check_starts(starts: Iterable[str]) -> tuple[str, ...]:
    """The starts as a tuple without repetition.

    Raises
    ------
    InvalidProblem
        If one is unknown, or there is none.
    """
    names = tuple(dict.fromkeys(starts))
    for name in names or ("",):
        if name not in STARTS:
            raise InvalidProblem(f"start = {name!r} is unknown; known: {', '.join(STARTS)}")
    return names


def fit(
    dataset: Dataset, start: str = "informed", *, gtol: float = 1e-5, max_iter: int = 10_000, threads: int | None = None
) -> Fit:
    """Minimise J of `Objective` over (k, v) by L-BFGS from one start and measure the minimiser.

    Parameters
    ----------
    dataset : Dataset
    start : {"informed", "random", "small"}
        (k*, v*); standard normal entries; a hundredth of these.
    gtol : float
        Tolerance on `Fit.residual`, > 0.
    max_iter : int
        Bound on iterations; twice as many evaluations are allowed.
    threads : int, optional
        Threads for the tokens; all cores by default. Results do not depend on it.

    Raises
    ------
    InvalidProblem
        If the start is unknown.
    """
    problem, dimension = dataset.problem, dataset.dimension
    check_starts([start])
    scale = min(1.0, problem.reg_k, problem.reg_v)
    objective = Objective(dataset, threads)
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": _MEMORY, "gtol": gtol * scale, "ftol": 0.0}
    with objective.running():
        end = minimize(objective, _start(dataset, start), jac=True, method="L-BFGS-B", options=options)
        loss, gradient = objective.loss(end.x.reshape(2, dimension))
    weights = end.x.reshape(2, dimension)
    residual = float(np.max(np.abs(gradient + objective.penalties * weights))) / scale
    status, message = _verdict(residual, gtol, end)
    key, value = weights
    frame = np.stack([dataset.key, key, dataset.value, value])
    gram = frame @ frame.T / dimension
    risk = fresh_risk(problem, gram, generator(dataset.seed, dimension, "test"))
    return Fit(
        seed=dataset.seed,
        dimension=dimension,
        start=start,
        status=status,
        message=message,
        residual=residual,
        iterations=int(end.nfev),
        m_k=float(gram[0, 1]),
        q_k=float(gram[1, 1]),
        m_v=float(gram[2, 3]),
        q_v=float(gram[3, 3]),
        off_manifold=(float(gram[1, 2]), float(gram[0, 3]), float(gram[1, 3])),
        objective=float(end.fun) / dataset.samples,
        train_loss=loss / dataset.samples,
        test_risk=risk.test_risk,
        test_risk_err=risk.test_risk_err,
        attention_relevant=risk.attention,
    )


def experiments(
    problem: Problem,
    dimension: int,
    seeds: Sequence[int],
    starts: Iterable[str] = STARTS,
    *,
    gtol: float = 1e-5,
    max_iter: int = 10_000,
    threads: int | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> list[Fit]:
    """Fits over seeds and starts, seed by seed: one data set is in memory at a time.

    Parameters
    ----------
    progress : callable, optional
        Called with (seed, start) before each fit.

    Raises
    ------
    InvalidProblem
        See `sample_count`, `check_starts`; also if there is no seed.
    """
    names = check_starts(starts)
    sample_count(problem, dimension)
    if not len(seeds):
        raise InvalidProblem("seeds = 0 leaves nothing to do; allowed: an integer >= 1")
    fits = []
    for seed in seeds:
        dataset = draw(problem, dimension, seed)
        for name in names:
            if progress is not None:
                progress(seed, name)
            fits.append(fit(dataset, name, gtol=gtol, max_iter=max_iter, threads=threads))
        del dataset  # before the next one is drawn
    return fits


def summarise(problem: Problem, fits: Sequence[Fit], *, gtol: float = 1e-5) -> list[Solution]:
    """Rows of the fits: for each start one `Solution` per size, and the limit in 1/D from three sizes on.

    Values are means over seeds, errors standard errors (nan for a single seed). `branch` ranks the starts by mean
    objective at the largest size; starts whose objectives agree there on every seed share a rank, and the first of
    the lowest is `selected`, at the limit if there is one, else at the largest size.
    """
    table: dict[str, dict[int, list[Fit]]] = {}
    for one in fits:
        table.setdefault(one.start, {}).setdefault(one.dimension, []).append(one)
    branches = _ranks({start: sizes[max(sizes)] for start, sizes in table.items()})
    best = next(start for start in table if branches[start] == 0)
    solutions = []
    for start, sizes in table.items():
        rows = [_row(problem, sizes[d], branch=branches[start], gtol=gtol) for d in sorted(sizes)]
        if len(rows) >= MIN_SIZES and min(map(len, sizes.values())) > 1:
            rows.append(extrapolated(rows, [_measured(sizes[d]) for d in sorted(sizes)]))
        if start == best:
            rows[-1] = replace(rows[-1], selected=True)
        solutions += rows
    return solutions


def _ranks(by_start: dict[str, list[Fit]]) -> dict[str, int]:
    objectives = {start: np.array([one.objective for one in group]) for start, group in by_start.items()}
    ranks: dict[str, int] = {}
    previous = None
    for start in sorted(by_start, key=lambda start: objectives[start].mean()):
        same = previous is not None and np.allclose(objectives[start], objectives[previous], rtol=_SAME, atol=0.0)
        ranks[start] = ranks[previous] if same else len(set(ranks.values()))
        previous = start
    return ranks


def _measured(group: Sequence[Fit]) -> dict[str, np.ndarray]:
    return {name: np.array([getattr(one, name) for one in group]) for name in MEASURED}


def _row(problem: Problem, group: Sequence[Fit], *, branch: int, gtol: float) -> Solution:
    table = _measured(group)
    mean = {name: float(values.mean()) for name, values in table.items()}
    failed = [one for one in group if one.status is not Status.CONVERGED]
    message = f"{len(failed)} of {len(group)} fits did not converge: {failed[0].message}" if failed else ""
    return Solution(
        problem=problem,
        estimator="experiment-erm",
        status=failed[0].status if failed else Status.CONVERGED,
        message=message,
        overlaps=Overlaps(mean["m_k"], mean["q_k"], NAN, mean["m_v"], mean["q_v"], NAN),
        test_risk=mean["test_risk"],
        train_loss=mean["train_loss"],
        objective=mean["objective"],
        attention_relevant=mean["attention_relevant"],
        errors={name: standard_error(values) for name, values in table.items()},
        init=(group[0].start,),
        branch=branch,
        selected=False,
        residual=max(one.residual for one in group),
        iterations=sum(one.iterations for one in group),
        method="l-bfgs",
        seed=group[0].seed,
        rtol=gtol,
        d=group[0].dimension,
        seeds=len(group),
    )


def standard_error(values: np.ndarray) -> float:
    """Sample standard deviation over sqrt(n); nan for a single value."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else NAN


def _start(dataset: Dataset, start: str) -> np.ndarray:
    if start == "informed":
        return np.concatenate([dataset.key, dataset.value])
    noise = generator(dataset.seed, dataset.dimension, "start").standard_normal(2 * dataset.dimension)
    return _SMALL * noise if start == "small" else noise


def _verdict(residual: float, gtol: float, end: object) -> tuple[Status, str]:
    if residual <= gtol:
        return Status.CONVERGED, ""
    if not math.isfinite(residual):
        return Status.NONFINITE, "the gradient is not finite"
    status = Status.MAX_ITER if end.status == 1 else Status.STALLED
    return status, f"gradient residual {residual:.1e} > {gtol:g}: {end.message.lower()}"
