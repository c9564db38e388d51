"""From several sizes to infinite dimension: weighted regression in 1/D (theory.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import InvalidProblem
from ..types import NAN, Overlaps, Solution, Status

MIN_SIZES = 3


class Limit(NamedTuple):
    """Intercept of a regression in 1/D, its standard error, and chi^2 per degree of freedom of the sizes' means."""

    value: float
    error: float
    misfit: float


def limit(sizes: Sequence[int], samples: Sequence[np.ndarray]) -> Limit:
    """Fit  mean(D) = a + b/D  to independent samples at each size D and return a.

    The variance of one sample is taken as s^2/D, with s^2 pooled over the sizes: fluctuations fall like 1/sqrt(D),
    and few seeds at one size say little about their own spread.

    Parameters
    ----------
    sizes : sequence of int
        At least three distinct D.
    samples : sequence of ndarray
        The measurements at each size, at least two.

    Raises
    ------
    InvalidProblem
        If there are too few sizes or samples.
    """
    if len(set(sizes)) < MIN_SIZES or len(set(sizes)) != len(sizes):
        raise InvalidProblem(f"sizes d = {list(sizes)}: a limit needs at least {MIN_SIZES} distinct sizes")
    counts = np.array([len(one) for one in samples])
    if counts.min() < 2:
        raise InvalidProblem("seeds = 1 leaves the spread unknown; a limit needs at least 2 data sets at each size")
    dimension = np.asarray(sizes, float)
    means = np.array([np.mean(one) for one in samples])
    variances = np.array([np.var(one, ddof=1) for one in samples])
    pooled = float(np.sum((counts - 1) * dimension * variances) / np.sum(counts - 1))
    weights = np.sqrt(counts * dimension)
    design = np.stack([np.ones_like(dimension), 1.0 / dimension], axis=1) * weights[:, None]
    inverse = np.linalg.inv(design.T @ design)
    fitted = inverse @ design.T @ (weights * means)
    left = float(np.sum((weights * means - design @ fitted) ** 2)) / (len(dimension) - 2)
    misfit = left / pooled if pooled > 0 else NAN
    return Limit(float(fitted[0]), math.sqrt(pooled * inverse[0, 0]), misfit)


def extrapolated(by_size: Sequence[Solution], samples: Sequence[dict[str, np.ndarray]]) -> Solution:
    """The row of infinite dimension (`d` is None) from the rows of the sizes and the measurements behind them.

    Parameters
    ----------
    by_size : sequence of Solution
        One for each size, same problem, same start.
    samples : sequence of mapping
        For each size, the measurements over seeds by name of number.

    Raises
    ------
    InvalidProblem
        See `limit`.
    """
    sizes = [solution.d for solution in by_size]
    limits = {name: limit(sizes, [one[name] for one in samples]) for name in samples[0]}
    value = {name: found.value for name, found in limits.items()}
    worst = next((one for one in by_size if one.status is not Status.CONVERGED), None)
    message = f"extrapolated in 1/d from d = {', '.join(map(str, sizes))}"
    if worst is not None:
        message += f"; d = {worst.d}: {worst.message}"
    last = by_size[-1]
    return replace(
        last,
        status=last.status if worst is None else worst.status,
        message=message,
        overlaps=Overlaps(*(value.get(name, NAN) for name in Overlaps._fields)),
        **{name: value[name] for name in value if name not in Overlaps._fields},
        errors={name: found.error for name, found in limits.items()},
        residual=max(one.residual for one in by_size),
        iterations=sum(one.iterations for one in by_size),
        d=None,
        seeds=sum(one.seeds for one in by_size),
    )
