"""Max channel with two tokens: a three-dimensional integral, factorised over the prior log-odds."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.binary import binary_channel
from ..quadrature.trapezoid import half_normal_sinh_rule, normal_rule
from .channel import ChannelAverages

LOG_SQRT_2PI = 0.9189385332046727
LOGISTIC_REACH = 45.0


class MaxPair:
    """Max-SLR, L = 2, any nu (theory.md section 6).

    With delta = omega_{k,1} - omega_{k,2} ~ N(0, 2 q_k), pi = pi_1(delta), W = dpi/d delta and a = A/tau,
    A ~ N(0, 2 q_v), T the log-likelihood ratio of y, S = log(pi_1/pi_2) + T, summed over both positions:

        E(1 - p_1)         = E sqrt(pi_1 pi_2) sech(S/2)
        E|grad_k log Z|^2  = E 2 W^2/(pi_1 pi_2) - E W^2 (pi_1 pi_2)^{-3/2} sech(S/2)
        E(1 - p_1) u^2     = E sqrt(pi_1 pi_2) sech(S/2) (T^2/a^2 + a^2/4)

    over T ~ N(0, a^2) e^{-a^2/8}: what is lost by not knowing eps is integrated, and nothing cancels.

    Parameters
    ----------
    nu : float
        Inverse temperature > 0, or inf.
    """

    method = "tensor"
    levels = 5
    default_rtol = 1e-6

    def __init__(self, nu: float) -> None:
        self.nu = nu

    @staticmethod
    def _step(level: int) -> float:
        return 0.24 / 1.35**level

    def nodes(self, level: int) -> int:
        return math.ceil(2.0 / self._step(level)) * math.ceil(3.5 / self._step(level)) * 100

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        tau = math.sqrt(miss_v + noise * noise)
        a, a_weight = half_normal_sinh_rule(math.sqrt(2.0 * (1.0 - miss_v)) / tau, self._step(level))
        weight, log_pi, log_slope = self._prior(miss_k, level)
        sums = binary_channel(log_pi[0] - log_pi[1], a, a_weight, 2.2 * self._step(level))
        root = np.exp(0.5 * (log_pi[0] + log_pi[1]))
        lost_info = np.exp(2.0 * log_slope - 1.5 * (log_pi[0] + log_pi[1])) * sums[:, 0]
        known = self._known(weight, log_pi, log_slope)
        return ChannelAverages(
            info_k=known.info_k - float(weight @ lost_info),
            fit=1.0 - float(weight @ (root * sums[:, 1])),
            surprise=float(weight @ (root * sums[:, 2])),
            log_prior=known.log_prior,
            misplaced=known.misplaced,
        )

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        return self._known(*self._prior(miss_k, level))

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self.averages(miss_k, miss_v, noise, level + 1).as_array()[None]

    @staticmethod
    def _known(weight: np.ndarray, log_pi: np.ndarray, log_slope: np.ndarray) -> ChannelAverages:
        info = 2.0 * np.exp(2.0 * log_slope - log_pi[0] - log_pi[1])
        log_prior = (np.exp(log_pi) * log_pi).sum(axis=0)
        misplaced = 2.0 * np.exp(log_pi[0] + log_pi[1])
        return ChannelAverages(float(weight @ info), 1.0, 0.0, float(weight @ log_prior), float(weight @ misplaced))

    def _prior(self, miss_k: float, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights of delta >= 0, log(pi_1, pi_2) and log dpi/d delta there; even in delta up to the exchange."""
        spread = math.sqrt(2.0 * miss_k)
        width = math.hypot(spread, math.pi / (math.sqrt(3.0) * self.nu))
        delta, weight = half_normal_sinh_rule(math.sqrt(2.0 * (1.0 - miss_k)) / width, self._step(level))
        log_pi, log_slope = race_of_two(delta * width, spread, self.nu, 2.5 * self._step(level))
        return weight, log_pi, log_slope


def race_of_two(delta: np.ndarray, spread: float, nu: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """pi_1 = P(delta + spread xi + logistic/nu > 0), its complement, and its slope in delta, in logs.

    pi_1 = E softmax(nu chi)_1 over chi ~ N(omega, spread^2/2), delta = omega_1 - omega_2; nu = inf: Phi(delta/spread).

    Parameters
    ----------
    delta : ndarray, shape (n,)
    spread : float
        >= 0; > 0 if nu is inf.
    nu : float
        > 0 or inf.
    step : float
        Spacing, in units of the narrower scale, of the inner average.

    Returns
    -------
    log_pi : ndarray, shape (2, n)
    log_slope : ndarray, shape (n,)
    """
    from scipy.special import log_expit, log_ndtr, logsumexp

    if math.isinf(nu):
        x = delta / spread
        return np.array([log_ndtr(x), log_ndtr(-x)]), -0.5 * x * x - LOG_SQRT_2PI - math.log(spread)
    if nu * spread < 8.0:
        # far in the tail of pi_2 the average tilts by nu spread standard deviations
        xi, weight = normal_rule(min(1.0, 1.0 / max(nu * spread, 1e-9)) * step, 9.0 + nu * spread)
        score = nu * (delta[:, None] + spread * xi)
        log_weight = np.log(weight)
        log_pi = [logsumexp(log_expit(sign * score) + log_weight, axis=1) for sign in (1.0, -1.0)]
        log_slope = logsumexp(log_expit(score) + log_expit(-score) + log_weight, axis=1) + math.log(nu)
        return np.array(log_pi), log_slope
    half = math.ceil(LOGISTIC_REACH / step)
    logistic = np.arange(-half, half + 1) * (LOGISTIC_REACH / half)
    log_weight = log_expit(logistic) + log_expit(-logistic) + math.log(LOGISTIC_REACH / half)
    x = (delta[:, None] + logistic / nu) / spread
    log_pi = [logsumexp(log_ndtr(sign * x) + log_weight, axis=1) for sign in (1.0, -1.0)]
    return np.array(log_pi), logsumexp(-0.5 * x * x + log_weight, axis=1) - LOG_SQRT_2PI - math.log(spread)
