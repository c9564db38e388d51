"""The noise of a race: scores are won by the largest of omega_l + spread xi_l + G_l/nu."""

from __future__ import annotations

import math

import numpy as np

from ..quadrature.trapezoid import normal_rule

LOG_SQRT_2PI = 0.9189385332046727


def race_table(
    spread: float, nu: float, length: int, refine: float = 1.0
) -> tuple[np.ndarray, np.ndarray, float, float, np.ndarray]:
    """log F and f/F of the noise spread xi + G/nu, G standard Gumbel, and nodes for the winning score.

    Parameters
    ----------
    spread : float
        >= 0; > 0 if nu is inf.
    nu : float
        > 0 or inf.
    length : int
        Number of racers: the winner's score rises with its logarithm.
    refine : float
        Factor by which the steps shrink.

    Returns
    -------
    log_cdf, hazard : ndarray, shape (n,)
    low, step : float
        They are tabulated at low + step * i.
    grid : ndarray
        Nodes of the winning score relative to the largest mean; what they miss has probability 1e-12.
    """
    scale = math.hypot(spread, 1.28 / nu)
    low = -(7.5 * spread + 3.5 / nu)
    high = 7.5 * spread + (29.0 + math.log(length)) / nu
    step = scale / (40.0 * refine)
    at = low + step * np.arange(-2, math.ceil((high - low) / step) + 24)
    log_cdf, log_density = _noise(at, spread, nu)
    spacing = 0.4 * scale / refine
    grid = low + spacing * np.arange(math.ceil((high - low) / spacing) + 1)
    return log_cdf, np.exp(log_density - log_cdf), float(at[0]), step, grid


def _noise(at: np.ndarray, spread: float, nu: float) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import log_ndtr, logsumexp

    if math.isinf(nu):
        x = at / spread
        return log_ndtr(x), -0.5 * x * x - LOG_SQRT_2PI - math.log(spread)
    if nu * spread < 8.0:
        xi, weight = normal_rule(min(0.5, 0.45 / max(nu * spread, 1e-9)))
        score = -nu * (at[:, None] - spread * xi)
        gumbel, log_weight = -np.exp(np.minimum(score, 300.0)), np.log(weight)
        log_cdf = logsumexp(gumbel + log_weight, axis=1)
        return log_cdf, logsumexp(gumbel + score + log_weight, axis=1) + math.log(nu)
    gumbel = np.arange(-4.0, 42.0, 0.45)
    log_weight = -gumbel - np.exp(-gumbel) + math.log(0.45)
    x = (at[:, None] - gumbel / nu) / spread
    log_density = logsumexp(-0.5 * x * x + log_weight, axis=1) - LOG_SQRT_2PI - math.log(spread)
    return logsumexp(log_ndtr(x) + log_weight, axis=1), log_density
