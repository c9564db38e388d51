"""Weighted nodes for one token of either kind: the overlaps x = chi* with the features, and noise coordinates xi.

A noise token has x ~ N(0, I_F), the informative one x = zeta + theta, whose density is Lambda(x) times as large. So the
same nodes serve both, with two sets of weights.
"""

from __future__ import annotations

import numpy as np

from .signals import Discrete, Signal

_GRID = 2  # features up to which a grid is affordable; it converges geometrically
_LEAST = 1e-12  # density, relative to the largest, below which a node is left out
_COARSEST = 2.0  # step: beyond, a grid can miss the law of a noise token, wherever it is shifted to
_REACH = 7.5  # standard deviations; exp(-7.5^2/2) < 1e-12


def is_grid(signal: Signal) -> bool:
    """Whether the overlaps are on a grid, which no rare token escapes."""
    return signal.features <= _GRID


def token_nodes(signal: Signal, samples: int, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """About `samples` nodes x (N, F), xi (N, J), and weights (2, N): informative token, other token; each sums to 1.

    A law that is wide takes more nodes.

    Up to two features x is on a grid with a random shift, whose trapezoidal sums converge geometrically; with more it
    is a scrambled Sobol sequence, half of it drawn from each law. xi is a scrambled Sobol sequence.
    """
    rng = np.random.default_rng(seed)
    if is_grid(signal):
        x = _grid(signal, max(samples // 2, 2), rng)
        weights = _normalised(_log_densities(signal, x))
        # what the grid does for x, numbers must do for xi: nodes are repeated in proportion to their weight
        copies = np.ceil(weights.max(axis=0) * samples / 4).astype(int)
        x, weights = np.repeat(x, copies, axis=0), np.repeat(weights / copies, copies, axis=1)
        return x, _to_normal(_sobol(rank, len(x), rng)), weights
    features, uniforms = signal.features, signal.uniforms
    points = _sobol(features + rank + uniforms, samples // 2, rng)
    zeta, xi = _to_normal(points[:, :features]), _to_normal(points[:, features : features + rank])
    x = np.concatenate([zeta, zeta + signal.transform(points[:, features + rank :])])
    ratio = signal.log_ratio(x)
    both = np.logaddexp(0.0, ratio)
    return x, np.concatenate([xi, xi]), _normalised(np.stack([ratio - both, -both]))


def _log_densities(signal: Signal, x: np.ndarray) -> np.ndarray:
    """Of the informative and of another token, up to the same constant."""
    noise = -(x**2).sum(axis=1) / 2
    return np.stack([noise + signal.log_ratio(x), noise])


def _normalised(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _grid(signal: Signal, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Points of a square grid with a random shift wherever one of the two densities is not negligible."""
    mean, covariance = signal.moments()
    if isinstance(signal, Discrete):
        centres, spread = np.array(signal.points), np.ones(signal.features)
    else:
        centres, spread = mean[None], np.sqrt(1 + np.diag(covariance))
    low = np.minimum(-_REACH, (centres - _REACH * spread).min(axis=0))
    high = np.maximum(_REACH, (centres + _REACH * spread).max(axis=0))
    # the step that leaves about `samples` points, from the share of the box that a coarse grid keeps
    coarse = _lattice(low, high, (high - low).max() / 100, np.zeros(signal.features))
    area = np.prod(high - low) * _matters(signal, coarse).mean()
    step = min((area / samples) ** (1 / signal.features), _COARSEST)
    points = _lattice(low, high, step, rng.random(signal.features))
    return points[_matters(signal, points)]


def _lattice(low: np.ndarray, high: np.ndarray, step: float, shift: np.ndarray) -> np.ndarray:
    axes = [np.arange(a + step * s, b, step) for a, b, s in zip(low, high, shift, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))


def _matters(signal: Signal, x: np.ndarray) -> np.ndarray:
    logs = _log_densities(signal, x)
    return (logs - logs.max(axis=1, keepdims=True)).max(axis=0) > np.log(_LEAST)


def _sobol(dimensions: int, count: int, rng: np.random.Generator) -> np.ndarray:
    from scipy.stats import qmc

    if not dimensions:
        return np.empty((count, 0))
    # only powers of two are balanced, and scipy warns of others
    points = qmc.Sobol(dimensions, rng=rng).random_base2(max(count - 1, 1).bit_length())[:count]
    return np.clip(points, 2.0**-40, 1 - 2.0**-40)  # a scrambled coordinate may round to 0


def _to_normal(points: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(points)
