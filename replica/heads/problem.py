"""What is trained on what: activation, heads, tokens, signal law."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidProblem
from .signals import Signal

# name: (per-head weight if none is asked for, thresholds if nothing is asked for)
ACTIVATIONS = {"softmax": ("mean", "none"), "softmax-1": ("sum", "train"), "bayes-softmax": ("sum", "train")}

LARGEST_NORM = 1e3  # of keys at the start: heads look at one token each, whatever it is, long before
LARGEST_RATE = 1e6  # learning rate: one step forgets the start long before


@dataclass(frozen=True)
class HeadsProblem:
    """A multi-head estimator s_l = w sum_h sigma_h(chi)_l and its data (theory-dynamics.md A).

    Parameters
    ----------
    signal : Signal
        Law of theta.
    activation : {"softmax", "softmax-1", "bayes-softmax"}
        bayes-softmax has one normalisation over heads and tokens.
    heads, length : int
        H >= 1 and L >= 2.
    weight : {"mean", "sum"}, optional
        w = 1/H or w = 1. Softmax takes the mean, bayes-softmax the sum; softmax-1 takes either, the sum by default.
    thresholds : {"train", "fixed", "none"}, optional
        Whether b_h moves, or stays where it starts; softmax has none.
    """

    signal: Signal
    activation: str = "softmax"
    heads: int = 4
    length: int = 4
    weight: str = ""
    thresholds: str = ""

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise InvalidProblem(f"activation = {self.activation!r} is unknown; allowed: {', '.join(ACTIVATIONS)}")
        for name, value, least in (("heads", self.heads, 1), ("length", self.length, 2)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidProblem(f"{name} = {value!r} is not possible; allowed: whole {name} >= {least}")
        weight, thresholds = ACTIVATIONS[self.activation]
        object.__setattr__(self, "weight", self.weight or weight)
        object.__setattr__(self, "thresholds", self.thresholds or thresholds)
        weights = ("mean", "sum") if self.activation == "softmax-1" else (weight,)
        if self.weight not in weights:
            raise InvalidProblem(
                f"weight = {self.weight!r} does not fit {self.activation}; allowed: {', '.join(weights)}"
            )
        allowed = ("none",) if thresholds == "none" else ("train", "fixed")
        if self.thresholds not in allowed:
            raise InvalidProblem(
                f"thresholds = {self.thresholds!r} do not fit {self.activation}; allowed: {', '.join(allowed)}"
            )

    @property
    def head_weight(self) -> float:
        """The w of s_l = w sum_h sigma_h(chi)_l."""
        return 1.0 / self.heads if self.weight == "mean" else 1.0
