"""Problem: everything that defines one point of the theory (theory.md, sections 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Literal, get_args

from ..errors import InvalidProblem
from .activations.base import Activation, Combination
from .activations.softmax import Softmax
from .checks import LARGEST, OPTIMAL, number
from .data.base import DataModel
from .length import LengthLaw
from .losses.square import Square

_EXTRAPOLATE = "; for the unregularised limit solve at a few small values, 0.1, 0.03, 0.01, and extrapolate"


@dataclass(frozen=True)
class Problem:
    """Regularised empirical risk minimisation on single-location regression.

    min over (k, v) of  sum_n loss(y_n, f(X_n)) + (reg_k/2)|k|^2 + (reg_v/2)|v|^2,   f(X) = sigma(chi)^T z,
    chi_l = X_l.k/sqrt(D), z_l = X_l.v/sqrt(D), in the limit D -> inf at fixed alpha = N/D (arXiv 2509.21936;
    theory.md sections 1 and 2).

    Parameters
    ----------
    data : DataModel
        Law of the tokens and of the hidden position, `SpikedSLR(nu)` or `MaxSLR(nu)`.
    activation : Activation
        Attention function sigma.
    alpha : float
        Samples (not tokens) per dimension, > 0; inf is the population limit.
    length : int, str, mapping or LengthLaw
        Number of tokens L, or its law.
    noise : float
        Standard deviation Delta >= 0 of the label noise.
    reg_k, reg_v : float or "optimal"
        Ridge penalties lambda_k, lambda_v > 0, per unit |k|^2 (not per sample). "optimal" stands for the value of
        least test risk.
    loss : Square
        Loss in (y, f).

    Raises
    ------
    InvalidProblem
        One line: which value, why, and what is allowed.
    """

    data: DataModel
    activation: Activation = field(default_factory=Softmax)
    alpha: float = 1.0
    length: LengthLaw = field(default_factory=lambda: LengthLaw.of(2))
    noise: float = 0.0
    reg_k: float | Literal["optimal"] = 1.0
    reg_v: float | Literal["optimal"] = 1.0
    loss: Square = field(default_factory=Square)

    def __post_init__(self) -> None:
        if not isinstance(self.data, DataModel):
            raise InvalidProblem(f"data = {self.data!r} is not a data model; allowed: SpikedSLR(nu), MaxSLR(nu)")
        if not isinstance(self.activation, Activation):
            raise InvalidProblem(f"activation = {self.activation!r} is not an activation; allowed: Softmax(), ...")
        for kind, ingredient in (("data", self.data), ("activation", self.activation)):
            if not isinstance(getattr(ingredient, "name", None), str):
                raise InvalidProblem(f"{kind} = {ingredient!r} has no name; allowed: a text `name` in its class")
        try:
            hash(self.data)
        except TypeError:
            raise InvalidProblem(
                f"data = {self.data!r} can change; allowed: a class with @dataclass(frozen=True) and fields that do not"
            ) from None
        combination = getattr(self.activation, "combination", None)
        if combination not in get_args(Combination):
            raise InvalidProblem(
                f"combination = {combination!r} of {self.activation.name} is unknown; known: "
                + ", ".join(get_args(Combination))
            )
        suprema = self.activation.suprema
        if not (
            isinstance(suprema, tuple | list)
            and len(suprema) == 3
            and all(isinstance(s, Real) and s >= 0 for s in suprema)
        ):
            raise InvalidProblem(
                f"suprema = {suprema!r} of {self.activation.name} are not three bounds; allowed: numbers >= 0 or inf, "
                "as in (math.inf, 1.0, 0.25)"
            )
        if type(self.loss) is not Square:  # proximal points and experiments are written for it
            raise InvalidProblem(f"loss = {self.loss!r} is not implemented; allowed: Square()")
        set_ = object.__setattr__
        set_(self, "alpha", number("alpha", self.alpha, minimum=0.0, strict=True, maximum=LARGEST, infinite=True))
        set_(self, "length", LengthLaw.of(self.length))
        set_(self, "noise", number("noise", self.noise, minimum=0.0, strict=False, maximum=LARGEST))
        for name in ("reg_k", "reg_v"):
            value = getattr(self, name)
            if value != OPTIMAL:
                set_(self, name, number(name, value, minimum=0.0, strict=True, maximum=LARGEST, hint=_EXTRAPOLATE))
            elif self.is_population:
                raise InvalidProblem(f"{name} = optimal has no meaning at alpha = inf, where penalties do not matter")

    @property
    def is_population(self) -> bool:
        """Whether alpha = inf."""
        return math.isinf(self.alpha)

    @property
    def unknowns(self) -> tuple[str, ...]:
        """What is "optimal", among reg_k, reg_v and erf_offset: to be set to the value of least test risk."""
        given = {"reg_k": self.reg_k, "reg_v": self.reg_v, "erf_offset": getattr(self.activation, "offset", None)}
        return tuple(name for name, value in given.items() if value == OPTIMAL)

    def with_values(self, values: Mapping[str, float]) -> Problem:
        """The same problem with some of reg_k, reg_v and erf_offset replaced."""
        regs = {name: value for name, value in values.items() if name != "erf_offset"}
        activation = self.activation
        if "erf_offset" in values:
            activation = replace(activation, offset=values["erf_offset"])
        return replace(self, activation=activation, **regs)
