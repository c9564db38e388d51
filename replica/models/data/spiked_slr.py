"""Spiked single-location regression."""

from __future__ import annotations

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
class SpikedSLR(DataModel):
    """Token eps is shifted by sqrt(nu) k*/sqrt(D):  g = exp(sqrt(nu) chi_eps - nu/2)  (theory.md section 1).

    Parameters
    ----------
    nu : float
        Signal strength, finite, >= 0 (0: the position cannot be found).
    """

    nu: float = 2.0
    name = "spiked-slr"
    explained = 0.0

    def __post_init__(self) -> None:
        hint = " and finite (nu = inf exists for max-slr only)"
        object.__setattr__(self, "nu", number("nu", self.nu, minimum=0.0, maximum=LARGEST, strict=False, hint=hint))

    @property
    def informed_norm(self) -> float:
        # the score of the hidden token leads by sqrt(nu) |k|: beyond a lead of ten no gradient is left to move k
        return min(1.0, 10.0 / math.sqrt(self.nu)) if self.nu > 0.0 else 1.0

    def log_weight(self, chi: Sequence[sympy.Expr], eps: int) -> sympy.Expr:
        import sympy

        nu = sympy.Float(self.nu)
        return sympy.sqrt(nu) * chi[eps] - nu / 2

    def pair_law(self, m_k: sympy.Expr, q_k: sympy.Expr, nu: sympy.Expr, x: sympy.Expr) -> PairLaw:
        """delta_0 ~ N(m_k sqrt(nu), 2 q_k)."""
        import sympy

        return PairLaw(mean=m_k * sympy.sqrt(nu), weight=sympy.S.One, width=sympy.oo)

    def score_points(self, length: int) -> int:
        return 0

    def teacher_scores(self, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Their mean sqrt(nu) e_1: omega_k ~ N(m_k sqrt(nu) e_1, q_k I)."""
        import numpy as np

        scores = np.zeros((len(points), length))
        scores[:, 0] = np.sqrt(self.nu)
        return scores, np.ones(len(points))

    def sample_position(self, rng: np.random.Generator, noise_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        n, length = noise_scores.shape
        return rng.integers(0, length, size=n), np.full(n, np.sqrt(self.nu))

    @property
    def norm_penalty(self) -> float:
        return self.nu

    def position_evidence(self, omega: np.ndarray, variance: float, log_likelihood: np.ndarray) -> np.ndarray:
        import numpy as np

        # E exp(sqrt(nu) chi_l) = exp(sqrt(nu) omega_l + nu variance/2): the last factor is common to all l
        logits = np.sqrt(self.nu) * omega + log_likelihood
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        posterior = weights / weights.sum(axis=1, keepdims=True)
        return np.stack([posterior, np.sqrt(self.nu) * posterior, -self.nu * posterior * (1.0 - posterior)])
