"""The number of tokens L: a fixed integer, or a random variable of finite support (theory.md, section 1)."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InvalidProblem

LONGEST = 10**9
_FORMAT = "an integer L >= 1, or a law such as 1:1,2:1,3:2 (lengths with positive weights)"


@dataclass(frozen=True)
class LengthLaw:
    """A probability law P(L) of finite support, independent of the rest of the sample.

    Attributes
    ----------
    support : tuple of int
        Lengths, increasing.
    weights : tuple of float
        Their probabilities, positive, summing to one.
    """

    support: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.support or len(self.support) != len(self.weights):
            raise InvalidProblem(f"length: an empty or ragged law; expected {_FORMAT}")
        for length, weight in zip(self.support, self.weights, strict=True):
            if not isinstance(length, int) or isinstance(length, bool) or length < 1:
                raise InvalidProblem(f"length: {length!r} is not a number of tokens; expected {_FORMAT}")
            if not (isinstance(weight, float | int) and 0 < weight <= sys.float_info.max):
                raise InvalidProblem(
                    f"length: weight {weight!r} of L={length} is not positive and finite; expected {_FORMAT}"
                )
        if max(self.support) > LONGEST:
            raise InvalidProblem(f"length: {max(self.support)} tokens are too many; allowed: L <= {LONGEST}")
        if len(set(self.support)) != len(self.support):
            raise InvalidProblem(f"length: a length appears twice in {self.support}; expected {_FORMAT}")
        total = sum(map(float, self.weights))  # a plain sum overflows to inf, where fsum raises
        if not total < math.inf:
            raise InvalidProblem("length: the sum of the weights overflows; expected finite weights")
        total = math.fsum(self.weights)
        order = sorted(range(len(self.support)), key=self.support.__getitem__)
        object.__setattr__(self, "support", tuple(self.support[i] for i in order))
        object.__setattr__(self, "weights", tuple(float(self.weights[i]) / total for i in order))

    @classmethod
    def of(cls, value: LengthLaw | int | str | Mapping[int, float]) -> LengthLaw:
        """Build a law from an integer, a mapping {L: weight}, or text such as ``"1:1,2:1,3:2"``.

        Raises
        ------
        InvalidProblem
            If the value is none of these, or a length or weight is not positive.
        """
        if isinstance(value, LengthLaw):
            return value
        if isinstance(value, Mapping):
            return cls(tuple(map(_plain, value.keys())), tuple(map(_plain, value.values())))
        if isinstance(value, str):
            return cls._parse(value)
        if hasattr(value, "__index__") and not isinstance(value, bool):
            return cls((value.__index__(),), (1.0,))
        raise InvalidProblem(f"length: {value!r} is not understood; expected {_FORMAT}")

    @classmethod
    def _parse(cls, text: str) -> LengthLaw:
        lengths, weights = [], []
        try:
            if ":" not in text:
                return cls((int(text),), (1.0,))
            for term in text.split(","):
                length, weight = term.split(":")
                lengths.append(int(length))
                weights.append(float(weight))
        except InvalidProblem:
            raise
        except ValueError:
            raise InvalidProblem(f"length: {text!r} is not understood; expected {_FORMAT}") from None
        return cls(tuple(lengths), tuple(weights))

    @property
    def fixed(self) -> int | None:
        """The length if it is not random, else None."""
        return self.support[0] if len(self.support) == 1 else None

    def __iter__(self):
        return iter(zip(self.support, self.weights, strict=True))

    def __str__(self) -> str:
        if self.fixed is not None:
            return str(self.fixed)
        return ",".join(f"{length}:{weight!r}" for length, weight in self)


def _plain(value: object) -> object:
    """A number of Python for a scalar of numpy; everything else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
