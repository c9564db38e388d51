"""The square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Square:
    """loss(y, f) = (y - f)^2 / 2."""

    name = "square"

    def expression(self, y: sympy.Expr, f: sympy.Expr) -> sympy.Expr:
        """The loss as a sympy expression of the label and the prediction."""
        return (y - f) ** 2 / 2
