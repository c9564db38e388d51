"""The interface of an activation: phi(chi), how tokens combine, and the hand-written numpy face."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    import numpy as np
    import sympy

Combination = Literal["elementwise", "normalised", "centred"]


class Activation(ABC):
    """sigma(chi) from one scalar function phi.

    - elementwise: sigma_l = phi(chi_l)
    - normalised:  sigma_l = phi(chi_l) / sum_l' phi(chi_l')        (phi > 0)
    - centred:     sigma_l = 1 + phi(chi_l) - mean_l' phi(chi_l')

    The symbolic face `phi` feeds the equations. The numpy face, `sigma` and `vjp`, is written by hand on purpose:
    simulations use it, so that a wrong expression fails against experiment instead of agreeing with itself.
    """

    name: ClassVar[str]
    combination: ClassVar[Combination]
    # bounds on |phi|, |phi'|, |phi''| (normalised: of log phi), which help to prove proximal points global; a subclass
    # with another phi needs its own
    suprema: ClassVar[tuple[float, float, float]] = (math.inf, math.inf, math.inf)

    @property
    def location(self) -> float:
        """c if phi depends on chi + c alone: the compiled kernels take chi + c, so that changing c compiles nothing."""
        return 0.0

    @abstractmethod
    def phi(self, chi: sympy.Expr) -> sympy.Expr:
        """The scalar function as a sympy expression."""

    def sigma(self, chi: np.ndarray) -> np.ndarray:
        """sigma(chi) along the last axis; shape (..., L) to (..., L)."""
        raise NotImplementedError(f"{self.name} has no numpy face: it cannot be simulated")

    def vjp(self, chi: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
        """J^T c with J = d sigma/d chi; shapes (..., L), (..., L) to (..., L)."""
        raise NotImplementedError(f"{self.name} has no numpy face: it cannot be simulated")
