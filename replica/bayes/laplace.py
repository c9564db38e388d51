"""Ratios of sums of independent positive variables by Laplace transforms, at a cost that does not grow with L.

For A > 0 and i.i.d. B_l > 0, E[A/(A + sum_l B_l)] = int_0^inf e^{-t} E[(E e^{-tB/A})^{L-1}] dt (theory.md section 6).
With t/A = e^s the integrand is analytic in the strip |Im s| < pi/2: the trapezoidal rule in s converges like
exp(-pi^2/step).
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.tables import shifted_average
from ..models.length import LengthLaw
from ..quadrature.trapezoid import normal_rule

LOG_ROUND_OFF = 38.0
WIDE = 4.0  # beyond this width of log B its Gaussian is the smooth factor
REACH_OF_SCORES = 9.0


def log_survival(one_minus_psi: np.ndarray) -> np.ndarray:
    """log psi, at least -700, from 1 - psi, which round-off can push above one."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log1p(-np.minimum(one_minus_psi, 1.0)), -700.0)


def missing_share(one_minus_psi: np.ndarray, law: LengthLaw) -> np.ndarray:
    """E_L[1 - psi^{L-1}] from 1 - psi, without cancellation."""
    log_psi = log_survival(one_minus_psi)
    total = np.zeros_like(one_minus_psi)
    for length, probability in law:
        if length > 1:
            total -= probability * np.expm1((length - 1) * log_psi)
    return total


class LogNormalTransform:
    """Laplace transform of B = e^{sigma xi}, xi ~ N(0, 1), averaged over shifts of log B.

    Parameters
    ----------
    sigma : float
        Standard deviation of log B, >= 0.
    at : ndarray, shape (n,)
        Equally spaced values of s = log x.
    low, high : float
        The table covers at[0] + low to at[-1] + high.
    refine : float
        Factor by which the steps shrink, 1 for about ten digits.
    """

    def __init__(self, sigma: float, at: np.ndarray, low: float, high: float, refine: float = 1.0) -> None:
        spacing = at[1] - at[0]
        # smoothing by xi makes the transform as smooth as sigma
        self._stride = max(1, math.ceil(spacing / (0.06 * max(1.0, 0.5 * sigma) / refine)))
        self._count, step = at.size, spacing / self._stride
        self._origin = math.ceil(-low / step) + 4
        grid = at[0] + step * np.arange(-self._origin, self._stride * at.size + math.ceil(high / step) + 4)
        self._step = step
        self._absorbed, self._peaked = normal_laplace(grid, sigma, refine)

    def absorbed(self, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """sum_j weight[i, j] (1 - E e^{-xB}) at log x = at - shift[i, j], shape (i, n)."""
        return self._average(self._absorbed, shift, weight)

    def peaked(self, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """sum_j weight[i, j] E[x B e^{-xB}] at log x = at - shift[i, j], shape (i, n)."""
        return self._average(self._peaked, shift, weight)

    def _average(self, table: np.ndarray, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return shifted_average(table, float(self._origin), self._stride, self._count, shift / self._step, weight)


def score_step(sigma: float) -> float:
    """Step in xi that resolves both its Gaussian and exp(-e^{sigma xi})."""
    return min(0.5, 0.4 / max(sigma, 1e-9))


def log_laplace(at: np.ndarray, score: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - E e^{-xB} and E[x B e^{-xB}] at log x = `at`, for log B = `score` with probabilities `weight`."""
    absorbed, peaked = np.empty_like(at), np.empty_like(at)
    block = max(1, 1_000_000 // score.size)
    for start in range(0, at.size, block):
        part = slice(start, start + block)
        x = np.exp(np.minimum(at[part, None] + score, 50.0))
        lost = -np.expm1(-x)
        absorbed[part] = lost @ weight
        peaked[part] = (x * (1.0 - lost)) @ weight
    return absorbed, peaked


def normal_laplace(at: np.ndarray, sigma: float, refine: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """1 - E e^{-xB} and E[x B e^{-xB}] at log x = `at`, for log B ~ N(0, sigma^2).

    With k(g) = e^{g - e^g}, of unit width, they are
    int dg k(g) Phi((s - g)/sigma) and int dg k(g) N(s - g; 0, sigma^2);
    a wide Gaussian needs no more nodes than a narrow one, and both keep their relative precision in the tails.
    """
    from scipy.special import ndtr

    if sigma < WIDE:
        xi, weight = normal_rule(score_step(sigma) / refine, REACH_OF_SCORES + 0.5 * sigma)
        return log_laplace(at, sigma * xi, weight)
    step = 0.33 / refine
    # in the tail of the Gaussian the integrand tilts by up to e^{-g/2}
    g = np.arange(-2.0 * LOG_ROUND_OFF, 4.0, step)
    kernel = step * np.exp(g - np.exp(g))
    absorbed, peaked = np.empty_like(at), np.empty_like(at)
    for start in range(0, at.size, 4096):
        part = slice(start, start + 4096)
        x = (at[part, None] - g) / sigma
        absorbed[part] = ndtr(x) @ kernel
        peaked[part] = np.exp(-0.5 * x * x) @ kernel / (math.sqrt(2.0 * math.pi) * sigma)
    return absorbed, peaked


def score_grid(low: float, high: float, sigma: float, refine: float = 1.0) -> np.ndarray:
    """Values of s that resolve the transforms of a log-normal of width sigma between low and high."""
    return uniform_grid(low, high, max(0.45, 0.1 * sigma) / refine)


def misplaced_spiked(signal: float, law: LengthLaw, refine: float = 1.0) -> float:
    """E(1 - w_1) for w = softmax of scores N(signal e_1, signal I): the posterior of the spiked position.

    signal = nu q_k, or nu in the population limit. Relative precision is kept however small the result.

    Parameters
    ----------
    signal : float
        Squared signal-to-noise ratio, >= 0.
    law : LengthLaw
    refine : float
        Factor by which the steps shrink.
    """
    longest = math.log(law.support[-1])
    # 1 - w_1 <= sum_l exp((s_l - s_1)/2), of mean (L - 1) exp(-signal/4): below the smallest float there is no grid
    if longest - signal / 4.0 < math.log(math.ulp(0.0)):
        return 0.0
    sigma = math.sqrt(signal)
    spread = 9.0 * sigma
    s = score_grid(-signal - spread - LOG_ROUND_OFF - longest, spread + LOG_ROUND_OFF, sigma, refine)
    absorbed, _ = normal_laplace(s, sigma, refine)
    _, peaked = normal_laplace(s + signal, sigma, refine)
    return float((s[1] - s[0]) * (peaked @ missing_share(absorbed, law)))


def uniform_grid(low: float, high: float, step: float) -> np.ndarray:
    """low, low + step, ... up to high or just beyond."""
    return low + step * np.arange(int(np.ceil((high - low) / step)) + 1)
