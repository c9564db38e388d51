"""Max single-location regression."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..checks import LARGEST, number
from .base import DataModel, PairLaw

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class MaxSLR(DataModel):
    """Pure-noise tokens, eps ~ softmax(nu chi*):  g = L exp(nu chi_eps) / sum_l exp(nu chi_l)  (theory.md section 1).

    Parameters
    ----------
    nu : float
        Inverse temperature >= 0; inf: eps is the argmax of chi*.
    """

    nu: float = math.inf
    name = "max-slr"

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", number("nu", self.nu, minimum=0.0, maximum=LARGEST, strict=False, infinite=True))

    def log_weight(self, chi: Sequence[sympy.Expr], eps: int) -> sympy.Expr:
        import sympy

        from ...equations.functions import log_sum_exp

        if math.isinf(self.nu):
            gaps = [chi[eps] - other for position, other in enumerate(chi) if position != eps]
            return sympy.log(len(chi)) + sum(sympy.log(sympy.Heaviside(gap)) for gap in gaps)
        nu = sympy.Float(self.nu)
        return sympy.log(len(chi)) - log_sum_exp(*(nu * (other - chi[eps]) for other in chi))

    def pair_law(self, m_k: sympy.Expr, q_k: sympy.Expr, nu: sympy.Expr, x: sympy.Expr) -> PairLaw:
        """delta_0 ~ N(0, 2 q_k) weighted by 2 pi(delta_0), pi the probability of token 1 given delta_0.

        nu = inf: pi = Phi(m_k delta_0/(q_k sqrt(2 s^2))), s^2 = 1 - m_k^2/q_k. Finite nu: the logistic function is
        an average of Phi(t/(2K)) over the Kolmogorov law of K, so pi is a finite sum of such terms.
        """
        import sympy

        from ...equations.functions import normal_cdf

        if self.nu == 0.0:
            return PairLaw(mean=sympy.S.Zero, weight=sympy.S.One, width=sympy.oo)

        def slope(spread: sympy.Expr) -> sympy.Expr:
            return m_k / sympy.sqrt(q_k - m_k**2 + q_k * spread)

        if math.isinf(self.nu):
            return PairLaw(sympy.S.Zero, 2 * normal_cdf(slope(0) * x), 1 / sympy.Abs(slope(0)))
        total = sum(
            sympy.Float(weight) * normal_cdf(slope(2 * sympy.Float(scale) ** 2 / nu**2) * x)
            for scale, weight in logistic_mixture()
        )
        return PairLaw(sympy.S.Zero, 2 * total, 1 / sympy.Abs(slope(2 / nu**2)))

    def score_points(self, length: int) -> int:
        return length if math.isinf(self.nu) else length + 1

    def teacher_scores(self, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """chi* ~ N(0, I), the winner first. nu = inf: the maximum M has distribution Phi^L and the others are normal
        below M, all by inversion; finite nu: eps ~ softmax(nu chi*) by inversion, swapped to the front."""
        import numpy as np
        from scipy.special import ndtr, ndtri, softmax

        from .weights import choose, to_front

        weights = np.ones(len(points))
        if not math.isinf(self.nu):
            scores = ndtri(points[:, :length])
            return to_front(scores, choose(softmax(self.nu * scores, axis=1), points[:, length])), weights
        scores = np.empty_like(points)
        # in the upper tail: 1 - Phi(M) = 1 - u^(1/L)
        scores[:, 0] = -ndtri(-np.expm1(np.log(points[:, 0]) / length))
        scores[:, 1:] = ndtri(points[:, 1:] * ndtr(scores[:, :1]))
        return scores, weights

    def sample_position(self, rng: np.random.Generator, noise_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        scores = noise_scores
        if not math.isinf(self.nu):
            scores = self.nu * noise_scores + rng.gumbel(size=noise_scores.shape)
        return np.argmax(scores, axis=1), np.zeros(len(scores))

    def position_evidence(self, omega: np.ndarray, variance: float, log_likelihood: np.ndarray) -> np.ndarray:
        import numpy as np

        from .race import race_evidence

        if self.nu == 0.0:
            weights = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
            none = np.zeros_like(omega)
            return np.stack([weights / weights.sum(axis=1, keepdims=True), none, none])
        return race_evidence(omega, math.sqrt(variance), self.nu, log_likelihood)


@functools.cache
def logistic_mixture() -> tuple[tuple[float, float], ...]:
    """Pairs (K, weight) with  1/(1 + e^{-t}) = sum weight Phi(t/(2 K))  to 1e-10: the logistic law is normal with
    standard deviation 2K, K of Kolmogorov's law (Andrews and Mallows 1974).

    Trapezoidal rule in log K of the density 8 K sum_n (-1)^{n+1} n^2 e^{-2 n^2 K^2}, which decays doubly
    exponentially on both sides.
    """
    step, nodes = 0.17, []
    for index in range(-9, 10):
        scale = math.exp(index * step - 0.2)
        terms = ((-1) ** (n + 1) * n * n * math.exp(-2 * n * n * scale * scale) for n in range(1, 60))
        weight = step * 8 * scale * scale * math.fsum(terms)
        if weight > 1e-9:
            nodes.append((scale, weight))
    total = math.fsum(weight for _, weight in nodes)
    return tuple((scale, weight / total) for scale, weight in nodes)
