"""Element-wise erf attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...errors import InvalidProblem
from ..checks import OPTIMAL, number
from .base import Activation

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class Erf(Activation):
    """sigma_l = 1 + erf(offset + chi_l); the offset c is tunable like a regularisation (theory.md section 2).

    Parameters
    ----------
    offset : float or "optimal"
        c. "optimal" stands for the offset of least test risk.
    """

    offset: float | Literal["optimal"] = 0.0
    name = "erf"
    combination = "elementwise"
    # 2, 2/sqrt(pi), 2 sqrt(2/(pi e))
    suprema = (2.0, 1.1283791670955126, 0.9678828980765735)

    @property
    def location(self) -> float:
        return self._value

    def __post_init__(self) -> None:
        if self.offset != OPTIMAL:
            object.__setattr__(self, "offset", number("erf offset", self.offset, minimum=-1e6, strict=False))

    @property
    def _value(self) -> float:
        if self.offset == OPTIMAL:
            raise InvalidProblem("erf offset = optimal has no value before it is optimised; allowed: a number")
        return self.offset

    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        import sympy

        return 1 + sympy.erf(self._value + chi)

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        from scipy.special import erfc

        return erfc(-(self._value + chi))

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        import numpy as np

        return cotangent * (2.0 / np.sqrt(np.pi)) * np.exp(-((self._value + chi) ** 2))
