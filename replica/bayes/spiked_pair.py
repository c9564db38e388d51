"""Spiked channel with two tokens: a two-dimensional integral with closed Gaussian laws."""

from __future__ import annotations

import math

import numpy as np

from ..quadrature.trapezoid import half_normal_sinh_rule
from .channel import ChannelAverages

TAIL = 75.0  # e^{-75/2} is below round-off
REACH = 9.5


def tilted_rule(variance: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes S and weights w with E f(S) = sum w f(S) e^{S/2}, S ~ N(v/2, v), for f = O(e^{-S}) at +inf, O(S) at -inf.

    The log-odds of two hypotheses, each Gaussian, has mean v/2 and variance v. Writing its density as
    N(S; 0, v) e^{S/2 - v/8} centres the integrand at 0 for every v and keeps the relative precision of
    probabilities as small as e^{-v/8}.

    Parameters
    ----------
    variance : ndarray, shape (n,)
        v > 0.
    count : int
        Nodes per v; the step is 2 min(75, 9.5 sqrt(v))/(count - 1).

    Returns
    -------
    nodes, weights : ndarray, shape (n, count)
    """
    deviation = np.sqrt(variance)[:, None]
    nodes = np.minimum(TAIL, REACH * deviation) * np.linspace(-1.0, 1.0, count)
    step = nodes[:, 1:2] - nodes[:, :1]
    density = np.exp(-0.5 * (nodes / deviation) ** 2 - deviation**2 / 8) / (math.sqrt(2 * math.pi) * deviation)
    return nodes, step * density


class SpikedPair:
    """Spiked-SLR, L = 2: p_1 = sigmoid(S), S | A ~ N(v/2, v), v = 2 nu q_k + A^2/tau^2, A ~ N(0, 2 q_v).

    E[u^2|S, A] = (A/tau)^2 (S - v/2)^2/v^2 + 1 - (A/tau)^2/v  (theory.md section 6). The averages of 1 - p_1 are
    computed, not those of p_1, so that nothing cancels.
    """

    method = "tensor"
    levels = 5
    default_rtol = 1e-6

    def __init__(self, nu: float) -> None:
        self.nu = nu

    def nodes(self, level: int) -> int:
        return self._count(level) * math.ceil(3.5 / self._step(level))

    @staticmethod
    def _count(level: int) -> int:
        return round(200 * 1.35**level) | 1

    @staticmethod
    def _step(level: int) -> float:
        return 0.22 / 1.35**level

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        signal, tau = self.nu * (1.0 - miss_k), math.sqrt(miss_v + noise * noise)
        a, weight = half_normal_sinh_rule(math.sqrt(2.0 * (1.0 - miss_v)) / tau, self._step(level))
        # the last entry, without y, is the posterior that predicts
        a2, weight = np.append(a * a, 0.0), np.append(weight, 0.0)
        v = np.maximum(2.0 * signal + a2, 1e-24)
        s, density = tilted_rule(v, self._count(level))
        miss = 0.5 / np.cosh(0.5 * s) * density
        share, v = (a2 / v)[:, None], v[:, None]
        u2 = share * (s * s / v - s + 0.25 * v - 1.0) + 1.0  # (s - v/2)^2/v, which would overflow
        lost = miss.sum(axis=1)
        softplus = np.maximum(-s, 0.0) + np.log1p(np.exp(-np.abs(s)))
        surprise = (np.exp(0.5 * s) * softplus * density).sum(axis=1)
        return ChannelAverages(
            info_k=self.nu * (1.0 - float(weight @ lost)),
            fit=1.0 - float(weight @ (miss * u2).sum(axis=1)),
            surprise=float(weight @ surprise),
            log_prior=0.5 * signal - math.log(2.0),
            misplaced=float(lost[-1]),
        )

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        signal = self.nu * (1.0 - miss_k)
        s, density = tilted_rule(np.array([max(2.0 * signal, 1e-24)]), self._count(level))
        misplaced = float((0.5 / np.cosh(0.5 * s) * density).sum())
        return ChannelAverages(self.nu, 1.0, 0.0, 0.5 * signal - math.log(2.0), misplaced)

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self.averages(miss_k, miss_v, noise, level + 1).as_array()[None]
