"""Scrambled Sobol points for averages in many dimensions."""

from __future__ import annotations

import numpy as np

from ..errors import InvalidProblem


def scrambled_sobol(dimension: int, log2_count: int, seed: tuple[int, ...]) -> np.ndarray:
    """2^log2_count points in the open unit cube, each uniform on it, the same for the same seed (Owen, scipy).

    Returns
    -------
    ndarray, shape (2^log2_count, dimension)
        Fewer points are the first of more points.

    Raises
    ------
    InvalidProblem
        If there is no Sobol sequence in so many dimensions.
    """
    # scipy.stats takes most of a second to import
    from scipy.stats.qmc import Sobol

    if dimension > Sobol.MAXDIM:
        raise InvalidProblem(
            f"length: so many tokens take {dimension} random numbers a sample; allowed: at most {Sobol.MAXDIM}"
        )
    points = Sobol(dimension, seed=np.random.default_rng(seed)).random_base2(log2_count)
    # the scrambled digits can round to 0, where the normal quantile is infinite
    return np.clip(points, 2.0**-54, 1.0 - 2.0**-53)
