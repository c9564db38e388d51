"""Linear attention, as in the paper and centred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Activation

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class Linear(Activation):
    """sigma_l = 1 + chi_l, not normalised (theory.md section 2)."""

    name = "linear"
    combination = "elementwise"

    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        return 1 + chi

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        return 1.0 + chi

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        return cotangent


@dataclass(frozen=True)
class LinearCentred(Activation):
    """sigma_l = 1 + chi_l - mean(chi), the linearisation of L softmax at chi = 0 (theory.md section 2)."""

    name = "linear-centred"
    combination = "centred"

    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        return chi

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        return 1.0 + chi - chi.mean(axis=-1, keepdims=True)

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        return cotangent - cotangent.mean(axis=-1, keepdims=True)
