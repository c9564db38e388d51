"""Numbers from a symbolic log g(eps, chi): tilted samples for models without a law of their own, and its checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InvalidProblem
from ..expression import expression

if TYPE_CHECKING:
    from .base import DataModel

# points of the check of E g = 1, and the standard errors allowed
_CHECKED, _SIGMAS = 4096, 6.0
# cells of the law of a hidden score, and numbers to spend on it
_EDGES, _NUMBERS = np.linspace(-36.0, 36.0, 1441), 2**21
# most of the law that may lie in an outermost cell
_OUTSIDE = 1e-5
# share of the normal law in it, for scores that few samples miss
_DEFENSIVE = 0.1


def tilted_scores(data: DataModel, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Default of `DataModel.teacher_scores`."""
    check(data, length)
    scores, density, weights = _tilted(data, points, length)
    safe = np.where(weights[:, None] > 0.0, density, 1.0)
    return to_front(scores, choose(safe / safe.sum(axis=1, keepdims=True), points[:, length])), weights


def _tilted(data: DataModel, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of which the first is drawn as a hidden one, g(l, chi) for every token l, and weights."""
    from scipy.special import ndtri

    law = _hidden_score(data, length)
    scores = ndtri(points[:, :length])
    scores[:, 0] = law.quantile(points[:, 0])
    density = ratios(data, scores)
    # any token could have been the first: with all of them in the denominator a single one far out weighs little
    return scores, density, density.mean(axis=1) / law.ratio(scores).mean(axis=1)


@dataclass(frozen=True)
class _Score:
    """A law of one score that is, in each cell between _EDGES, a multiple of the normal law.

    Attributes
    ----------
    below, shares : ndarray
        Normal probability below the cell, mirrored where it is above zero, and of the cell.
    probabilities : ndarray
        Of the cells under this law.
    """

    below: np.ndarray
    shares: np.ndarray
    probabilities: np.ndarray

    def quantile(self, uniform: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        ends = np.cumsum(self.probabilities)
        cell = np.minimum(np.searchsorted(ends, uniform * ends[-1]), len(ends) - 1)
        inside = 1.0 - (ends[cell] - uniform * ends[-1]) / self.probabilities[cell]
        upper = _EDGES[cell] >= 0.0
        inside = np.clip(np.where(upper, 1.0 - inside, inside), 1e-16, 1.0)
        return np.where(upper, -1.0, 1.0) * ndtri(self.below[cell] + inside * self.shares[cell])

    def ratio(self, scores: np.ndarray) -> np.ndarray:
        """Density over that of the normal law."""
        cell = np.clip(np.searchsorted(_EDGES, scores) - 1, 0, len(self.shares) - 1)
        return self.probabilities[cell] / self.shares[cell]


@functools.lru_cache(maxsize=64)
def _hidden_score(data: DataModel, length: int) -> _Score:
    """The law of chi_eps, density E[g(eps, chi) | chi_eps] times the normal one, from samples of the other scores.

    Its errors do no harm: what is drawn from it is weighted by its density as it is.
    """
    from scipy.special import logsumexp, ndtr

    edges = np.concatenate([[-np.inf], _EDGES[1:-1], [np.inf]])
    mirrored = -np.abs(edges)
    below = ndtr(np.where(_EDGES[:-1] >= 0.0, mirrored[1:], mirrored[:-1]))
    shares = np.abs(np.diff(ndtr(mirrored)))
    centres = 0.5 * (_EDGES[1:] + _EDGES[:-1])
    samples = max(8, _NUMBERS // (len(centres) * length))
    others = np.random.default_rng(length).standard_normal((samples, length))
    log_weight, total = _compiled(data, length), np.full(len(centres), -np.inf)
    for sample in others:
        scores = [centres, *(np.full(len(centres), score) for score in sample[1:])]
        with np.errstate(all="ignore"):
            total = np.logaddexp(total, np.nan_to_num(log_weight(scores), nan=-np.inf, posinf=-np.inf, neginf=-np.inf))
    with np.errstate(divide="ignore"):
        mass = total + np.log(shares)
    tilted = np.exp(mass - logsumexp(mass)) if np.max(mass) > -np.inf else shares
    return _Score(below, shares, (1.0 - _DEFENSIVE) * tilted + _DEFENSIVE * shares)


def ratios(data: DataModel, scores: np.ndarray) -> np.ndarray:
    """g(l, chi) for every token l; shape (n, L) to (n, L)."""
    log_weight, columns = _compiled(data, scores.shape[1]), _columns(scores)
    found = np.empty(scores.shape)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for l, own in enumerate(columns):
            # by exchange of names: copies of the scores would cost n L for each token
            found[:, l] = log_weight([own, *columns[1:l], columns[0], *columns[l + 1 :]] if l else columns)
        return np.exp(found, out=found)


def _columns(scores: np.ndarray) -> list[np.ndarray]:
    """Scores by token."""
    return list(np.ascontiguousarray(scores.T))


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
    if max(_hidden_score(data, length).probabilities[[0, -1]]) > _OUTSIDE:
        raise InvalidProblem(
            f"log_weight of {data.name} puts the hidden score beyond {_EDGES[-1]:g}, where it cannot be sampled; "
            "allowed: weaker signals, or a model with `teacher_scores` of its own"
        )
    scores, density, weights = _tilted(data, np.random.default_rng(0).random((_CHECKED, length)), length)
    if not np.all(np.isfinite(density)):
        raise InvalidProblem(f"log_weight of {data.name} is not finite or -inf everywhere; allowed: log g with E g = 1")
    if length > 1:
        direct = _compiled(data, length, eps=1)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            other = np.exp(direct(_columns(scores)))
        if not np.allclose(other, density[:, 1], rtol=1e-8, atol=1e-12):
            raise InvalidProblem(f"log_weight of {data.name} is not exchangeable; allowed: no token is special but eps")
    mean, spread = weights.mean(), weights.std() / np.sqrt(_CHECKED)
    if abs(mean - 1.0) > _SIGMAS * spread + 1e-9:
        raise InvalidProblem(f"log_weight of {data.name} has E g = {mean:.4g} +- {spread:.1g}; allowed: E g = 1")


@functools.lru_cache(maxsize=64)
def _compiled(data: DataModel, length: int, eps: int = 0) -> Callable[[Sequence[np.ndarray]], np.ndarray]:
    """log g(eps, .) of the scores by token."""
    import sympy

    what = f"log_weight of {data.name}"
    chi = sympy.symbols(f"chi:{length}", real=True)
    log_g = expression(what, lambda: data.log_weight(chi, eps), chi, "sympy.sqrt(nu)*chi[eps] - nu/2")
    function = sympy.lambdify([chi], log_g, modules=["scipy", "numpy"])
    try:
        with np.errstate(all="ignore"):
            function([np.zeros(2)] * length)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidProblem(
            f"{what} has no values in numpy: {type(error).__name__}: {reason}; allowed: functions such as exp and log"
        ) from error
    return lambda columns: np.broadcast_to(function(columns), len(columns[0]))
