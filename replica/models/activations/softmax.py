"""Softmax attention."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Activation

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class Softmax(Activation):
    """sigma_l = exp(chi_l) / sum_l' exp(chi_l')  (theory.md section 2)."""

    name = "softmax"
    combination = "normalised"
    suprema = (math.inf, 1.0, 0.0)

    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        import sympy

        return sympy.exp(chi)

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        import numpy as np

        weights = np.exp(chi - chi.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        sigma = self.sigma(chi)
        return sigma * (cotangent - (sigma * cotangent).sum(axis=-1, keepdims=True))
