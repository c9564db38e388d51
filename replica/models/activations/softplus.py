"""Softplus attention, normalised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .base import Activation

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class Softplus(Activation):
    """sigma_l = softplus(chi_l) / sum_l' softplus(chi_l'), softplus(x) = log(1 + e^x)  (theory.md section 2).

    Not invariant under a common shift of chi: its averages are 2L-dimensional.
    """

    name = "softplus"
    combination = "normalised"
    # log softplus is increasing and concave, with slope from 1 to 0
    suprema = (math.inf, 1.0, 0.25)

    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        from ...equations.functions import softplus

        return softplus(chi)

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        import numpy as np

        # the ratio is formed in logs so that tokens with chi -> -inf, softplus ~ e^chi, keep relative precision
        log_phi = np.where(chi < -30.0, chi, np.log(np.logaddexp(0.0, np.maximum(chi, -30.0))))
        weights = np.exp(log_phi - log_phi.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        import numpy as np
        from scipy.special import expit

        sigma = self.sigma(chi)
        # phi'/phi -> 1 as chi -> -inf
        log_slope = np.where(chi < -30.0, 1.0, expit(chi) / np.logaddexp(0.0, np.maximum(chi, -30.0)))
        return sigma * log_slope * (cotangent - (sigma * cotangent).sum(axis=-1, keepdims=True))
