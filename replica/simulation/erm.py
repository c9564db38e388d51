"""Experiment `experiment-erm`: L-BFGS minimisers over seeds and starts (theory.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..types import NAN, Status
from .data import Dataset, generator
from .objective import Objective
from .risk import fresh_risk, gram_matrix
from .summary import Run, distinct_minima, over_seeds

STARTS = ("informed", "random", "small")
MAX_STARTS = 1000  # of one kind
_RANDOM = ("random", "small")
_SMALL = 1e-2  # entries of the small random start, against 1 for k* and v*
_MEMORY = 20  # correction pairs of L-BFGS


@dataclass(frozen=True, kw_only=True)
class Fit(Run):
    """One minimiser on one data set, from one start; see `Run` for the rest.

    Attributes
    ----------
    residual : float
        max |grad J| / min(1, reg_k, reg_v): about the largest error of an entry of (k, v), whose scale is 1.
    iterations : int
        Evaluations of J and its gradient.
    off_manifold : tuple of float
        (k.v*, v.k*, k.v)/D: zero on the manifold M up to O(1/sqrt(D)).
    objective, train_loss : float
        J/N and the mean of (y - f)^2/2.
    distance_k : float
        Mean of |k - k'|^2/D over the minimisers k' from the other starts on the same data set, of those that
        converged; nan without any.
    minima : float
        Number of distinct minima of the data set among them.
    weights : ndarray, shape (2, D)
        The minimiser (k, v).
    """

    estimator = "experiment-erm"
    method = "l-bfgs"
    measured = ("m_k", "q_k", "m_v", "q_v", "objective", "train_loss", "test_risk", "attention_relevant",
                "distance_k", "minima")  # fmt: skip

    off_manifold: tuple[float, float, float]
    objective: float
    train_loss: float
    distance_k: float = NAN
    minima: float = NAN
    weights: np.ndarray = field(repr=False, compare=False)


def check_starts(starts: Iterable[str]) -> tuple[str, ...]:
    """The starts as a tuple without repetition: `random:3` stands for random-1, random-2 and random-3.

    Raises
    ------
    InvalidProblem
        If one is unknown, or there is none.
    """
    names = list(dict.fromkeys(starts))
    found: list[str] = []
    for name in names or [""]:
        kind, colon, count = name.partition(":")
        if colon and kind in _RANDOM and count.isdecimal() and 0 < int(count) <= MAX_STARTS:
            found += [f"{kind}-{index}" for index in range(1, int(count) + 1)]
            continue
        _kind_of(name)
        found.append(name)
    return tuple(dict.fromkeys(found))


def _kind_of(name: str) -> tuple[str, int]:
    """Kind and number of a start; a kind alone is number 0."""
    kind, dash, number = name.partition("-")
    if name in STARTS:
        return name, 0
    if dash and kind in _RANDOM and number.isdecimal() and int(number) > 0:
        return kind, int(number)
    raise InvalidProblem(
        f"start = {name!r} is unknown; known: {', '.join(STARTS)}, and random:N or small:N for N of a kind, "
        f"N <= {MAX_STARTS}"
    )


def fit(
    dataset: Dataset,
    start: str | np.ndarray = "informed",
    *,
    gtol: float = 1e-5,
    max_iter: int = 10_000,
    threads: int | None = None,
) -> Fit:
    """Minimise J of `Objective` over (k, v) by L-BFGS from one start and measure the minimiser.

    Parameters
    ----------
    dataset : Dataset
    start : {"informed", "random", "small"} or ndarray, shape (2, D)
        (k*, v*); standard normal entries; a hundredth of these; or (k, v) itself, which is named "given". random-1,
        random-2, ... and small-1, ... are further independent ones.
    gtol : float
        Tolerance on `Fit.residual`, > 0.
    max_iter : int
        Bound on iterations; twice as many evaluations are allowed.
    threads : int, optional
        Threads for the tokens; all cores by default. Results do not depend on it.

    Raises
    ------
    InvalidProblem
        If the start is unknown, or has another shape.
    """
    problem, dimension = dataset.problem, dataset.dimension
    begin = _begin(dataset, start)
    scale = min(1.0, problem.reg_k, problem.reg_v)
    objective = Objective(dataset, threads)
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": _MEMORY, "gtol": gtol * scale, "ftol": 0.0}
    with objective.tokens.running():
        end = minimize(objective, begin, jac=True, method="L-BFGS-B", options=options)
        loss, gradient = objective.loss(end.x.reshape(2, dimension))
    weights = end.x.reshape(2, dimension)
    residual = float(np.max(np.abs(gradient + objective.penalties * weights))) / scale
    status, message = _verdict(residual, gtol, end)
    gram = gram_matrix(dataset, weights)
    risk = fresh_risk(problem, problem.activation.sigma, gram, generator(dataset.seed, dimension, "test"))
    return Fit(
        seed=dataset.seed,
        dimension=dimension,
        start=start if isinstance(start, str) else "given",
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
        weights=weights,
    )


def compared(fits: Sequence[Fit]) -> list[Fit]:
    """The fits from several starts on one data set; those that converged with mean distance and number of minima."""
    settled = [one for one in fits if one.status is Status.CONVERGED]
    if len(settled) < 2:
        return list(fits)
    keys, minima = np.array([one.weights[0] for one in settled]), float(distinct_minima(settled))

    def against_others(one: Fit) -> Fit:
        total = float(np.sum((keys - one.weights[0]) ** 2)) / one.dimension
        return replace(one, distance_k=total / (len(settled) - 1), minima=minima)

    return [against_others(one) if one.status is Status.CONVERGED else one for one in fits]


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
        See `check_starts`, `over_seeds`.
    """
    names = check_starts(starts)

    def run(dataset: Dataset) -> list[Fit]:
        fits = []
        for name in names:
            if progress is not None:
                progress(dataset.seed, name)
            fits.append(fit(dataset, name, gtol=gtol, max_iter=max_iter, threads=threads))
        return compared(fits)

    return over_seeds(problem, dimension, seeds, run)


def _begin(dataset: Dataset, start: str | np.ndarray) -> np.ndarray:
    if not isinstance(start, str):
        if np.shape(start) != (2, dataset.dimension):
            raise InvalidProblem(f"start has shape {np.shape(start)}; allowed: a name, or (2, {dataset.dimension})")
        return np.array(start, float).ravel()
    kind, number = _kind_of(start)
    if kind == "informed":
        return np.concatenate([dataset.key, dataset.value])
    noise = generator(dataset.seed, dataset.dimension, "start", number).standard_normal(2 * dataset.dimension)
    return _SMALL * noise if kind == "small" else noise


def _verdict(residual: float, gtol: float, end: object) -> tuple[Status, str]:
    if residual <= gtol:
        return Status.CONVERGED, ""
    if not math.isfinite(residual):
        return Status.NONFINITE, "the gradient is not finite"
    status = Status.MAX_ITER if end.status == 1 else Status.STALLED
    return status, f"gradient residual {residual:.1e} > {gtol:g}: {end.message.lower()}"
