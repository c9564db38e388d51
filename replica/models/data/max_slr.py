"""Max single-location regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..checks import number
from .base import DataModel

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
        object.__setattr__(self, "nu", number("nu", self.nu, minimum=0.0, strict=False, infinite=True))

    def log_weight(self, chi: Sequence[sympy.Expr], eps: int) -> sympy.Expr:
        import sympy

        if math.isinf(self.nu):
            gaps = [chi[eps] - other for position, other in enumerate(chi) if position != eps]
            return sympy.log(len(chi)) + sum(sympy.log(sympy.Heaviside(gap)) for gap in gaps)
        nu = sympy.Float(self.nu)
        return sympy.log(len(chi)) - sympy.log(sum(sympy.exp(nu * (other - chi[eps])) for other in chi))

    def sample_position(self, rng: np.random.Generator, noise_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        scores = noise_scores
        if not math.isinf(self.nu):
            scores = self.nu * noise_scores + rng.gumbel(size=noise_scores.shape)
        return np.argmax(scores, axis=1), np.zeros(len(scores))
