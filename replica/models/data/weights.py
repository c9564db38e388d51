"""Numbers from a symbolic log g(eps, chi): tilted samples for models without a law of their own, and its checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidProblem

if TYPE_CHECKING:
    from .base import DataModel

# points of the check of E g = 1, and the standard errors allowed
_CHECKED, _SIGMAS = 4096, 6.0


def tilted_scores(data: DataModel, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Default of `DataModel.teacher_scores`."""
    from scipy.special import ndtri

    check(data, length)
    scores = ndtri(points[:, :length])
    density = ratios(data, scores)
    weights = density.mean(axis=1)
    safe = np.where(weights[:, None] > 0.0, density, 1.0)
    return to_front(scores, choose(safe / safe.sum(axis=1, keepdims=True), points[:, length])), weights


def ratios(data: DataModel, scores: np.ndarray) -> np.ndarray:
    """g(l, chi) for every token l; shape (n, L) to (n, L)."""
    log_weight = _compiled(data, scores.shape[1])
    with np.errstate(divide="ignore", over="ignore"):
        columns = [log_weight(to_front(scores, np.full(len(scores), l))) for l in range(scores.shape[1])]
        return np.exp(np.stack(columns, axis=1))


def choose(probabilities: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Index drawn from each row of probabilities by inversion of its distribution function."""
    below = np.cumsum(probabilities, axis=1) < uniform[:, None]
    return np.minimum(below.sum(axis=1), probabilities.shape[1] - 1)


def to_front(scores: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Copy of the scores with the given token of each row swapped to the front."""
    swapped, rows = scores.copy(), np.arange(len(scores))
    swapped[rows, position] = scores[:, 0]
    swapped[:, 0] = scores[rows, position]
    return swapped


@functools.lru_cache(maxsize=64)
def check(data: DataModel, length: int) -> None:
    """Refuse a `log_weight` that is not exchangeable or whose E g differs from one by more than sampling allows."""
    scores = np.random.default_rng(0).standard_normal((_CHECKED, length))
    density = ratios(data, scores)
    if not np.all(np.isfinite(density)):
        raise InvalidProblem(f"log_weight of {data.name} is not finite or -inf everywhere; allowed: log g with E g = 1")
    if length > 1:
        direct = _compiled(data, length, eps=1)
        with np.errstate(divide="ignore", over="ignore"):
            other = np.exp(direct(scores))
        if not np.allclose(other, density[:, 1], rtol=1e-8, atol=1e-12):
            raise InvalidProblem(f"log_weight of {data.name} is not exchangeable; allowed: no token is special but eps")
    mean, spread = density.mean(), density.mean(axis=1).std() / np.sqrt(_CHECKED)
    if abs(mean - 1.0) > _SIGMAS * spread + 1e-9:
        raise InvalidProblem(f"log_weight of {data.name} has E g = {mean:.4g} +- {spread:.1g}; allowed: E g = 1")


@functools.lru_cache(maxsize=64)
def _compiled(data: DataModel, length: int, eps: int = 0) -> Callable[[np.ndarray], np.ndarray]:
    """log g(eps, .) on rows of scores."""
    import sympy

    chi = sympy.symbols(f"chi:{length}", real=True)
    function = sympy.lambdify([chi], data.log_weight(chi, eps), modules=["scipy", "numpy"])
    return lambda scores: np.broadcast_to(function(scores.T), len(scores))
