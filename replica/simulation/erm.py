"""Experiment `experiment-erm`: L-BFGS minimisers over seeds and starts (theory.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..types import Status
from .data import Dataset, generator
from .objective import Objective
from .risk import fresh_risk, gram_matrix
from .summary import Run, over_seeds

STARTS = ("informed", "random", "small")
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
    """

    estimator = "experiment-erm"
    method = "l-bfgs"
    measured = ("m_k", "q_k", "m_v", "q_v", "objective", "train_loss", "test_risk", "attention_relevant")

    off_manifold: tuple[float, float, float]
    objective: float
    train_loss: float


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
        (k*, v*); standard normal entries; a hundredth of these; or (k, v) itself, which is named "given".
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
        See `check_starts`, `over_seeds`.
    """
    names = check_starts(starts)

    def run(dataset: Dataset) -> list[Fit]:
        fits = []
        for name in names:
            if progress is not None:
                progress(dataset.seed, name)
            fits.append(fit(dataset, name, gtol=gtol, max_iter=max_iter, threads=threads))
        return fits

    return over_seeds(problem, dimension, seeds, run)


def _begin(dataset: Dataset, start: str | np.ndarray) -> np.ndarray:
    if not isinstance(start, str):
        if np.shape(start) != (2, dataset.dimension):
            raise InvalidProblem(f"start has shape {np.shape(start)}; allowed: a name, or (2, {dataset.dimension})")
        return np.array(start, float).ravel()
    check_starts([start])
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
