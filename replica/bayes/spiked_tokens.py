"""Spiked channel with any number of tokens, or a law of it, at the cost of two."""

from __future__ import annotations

import math

import numpy as np

from ..models.length import LengthLaw
from ..quadrature.trapezoid import normal_rule, window_rule
from .channel import ChannelAverages
from .laplace import LOG_ROUND_OFF, LogNormalTransform, misplaced_spiked, missing_share, uniform_grid

REACH = 9.0
CERTAIN = 3000.0  # of nu q_k: the chance of a wrong position is below the smallest number


class SpikedTokens:
    """Spiked-SLR, any L or law of L, by the Laplace transform (theory.md section 6).

    Given y, the scores of the wrong tokens are i.i.d., and with B = e^score, A that of the right one,

        E[h(u)(1 - p_1) | y] = int ds E[h(u) x A e^{-xA} | y] (1 - Psi(y, x)^{L-1}),   x = e^s,  Psi = E[e^{-xB} | y]
        E[-log p_1 | y]      = int ds E[e^{-xA} | y] (1 - Psi(y, x)^{L-1})
        log A = nu q_k + sqrt(nu q_k) xi - u^2/2,   u | y ~ N(tau y/(1 + Delta^2), q_v/(1 + Delta^2))
        log B = sqrt(nu q_k) xi - w^2/2,            w | y ~ N(y/tau, q_v/tau^2),   y ~ N(0, 1 + Delta^2)

    xi is averaged once, on a table in log x; u and w only shift its argument.
    """

    method = "laplace"
    levels = 5
    default_rtol = 1e-6

    def __init__(self, nu: float, law: LengthLaw) -> None:
        self.nu, self.law = nu, law
        self._log_length = sum(p * math.log(length) for length, p in law)

    @staticmethod
    def _refine(level: int) -> float:
        return 1.3**level

    def nodes(self, level: int) -> int:
        return math.ceil(25 * self._refine(level)) * 2 * self._inner(level)

    def _inner(self, level: int) -> int:
        return math.ceil(2 * REACH / 0.26 * self._refine(level)) + 1

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        refine = self._refine(level)
        signal, q_v = self.nu * (1.0 - miss_k), 1.0 - miss_v
        if signal > CERTAIN:
            return self.known_position(miss_k, level)
        total, tau = 1.0 + noise * noise, math.sqrt(miss_v + noise * noise)
        deviation, spread = math.sqrt(signal), REACH * math.sqrt(signal)
        longest = math.log(self.law.support[-1])
        s = uniform_grid(-signal - spread - LOG_ROUND_OFF - longest, spread + 0.5 * REACH**2 + 4.0, 0.48 / refine)
        table = LogNormalTransform(deviation, s, -0.5 * REACH**2, signal, refine)

        half, y_weight = normal_rule(0.42 / refine)
        keep = half >= 0.0  # everything is even in y
        y, y_weight = math.sqrt(total) * half[keep], 2.0 * y_weight[keep]
        y_weight[0] *= 0.5

        u, u_weight = window_rule(tau * y / total, math.sqrt(q_v / total), REACH, self._inner(level))
        w, w_weight = window_rule(y / tau, math.sqrt(q_v) / tau, REACH, self._inner(level))

        missing = missing_share(table.absorbed(0.5 * w * w, w_weight), self.law)
        right = 0.5 * u * u - signal
        integrate = y_weight * (s[1] - s[0])
        lost = integrate @ (table.peaked(right, u_weight) * missing).sum(axis=1)
        lost_u = integrate @ (table.peaked(right, u_weight * u * u) * missing).sum(axis=1)
        alive = 1.0 - table.absorbed(right, u_weight)
        return ChannelAverages(
            info_k=self.nu * (1.0 - float(lost)),
            fit=1.0 - float(lost_u),
            surprise=float(integrate @ (alive * missing).sum(axis=1)),
            log_prior=0.5 * signal - self._log_length,
            misplaced=misplaced_spiked(signal, self.law, refine),
        )

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        signal = self.nu * (1.0 - miss_k)
        misplaced = 0.0 if signal > CERTAIN else misplaced_spiked(signal, self.law, self._refine(level))
        return ChannelAverages(self.nu, 1.0, 0.0, 0.5 * signal - self._log_length, misplaced)

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self.averages(miss_k, miss_v, noise, level + 1).as_array()[None]
