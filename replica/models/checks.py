"""Validation of the numbers that enter a problem: one wording for every refusal."""

from __future__ import annotations

import math
from typing import Literal, SupportsFloat, SupportsIndex

from ..errors import InvalidProblem


def parse_number(name: str, text: str) -> float:
    """The number that a text from the command line or a file stands for; inf where written so, not by overflow.

    Raises
    ------
    InvalidProblem
        Naming the text and the reason.
    """
    try:
        result = float(text)
    except ValueError:
        raise InvalidProblem(f"{name} = {text!r} is not a number; allowed: a number such as 0.5 or 1e-3") from None
    if math.isinf(result) and "inf" not in text.lower():
        raise InvalidProblem(f"{name} = {text!r} overflows; write inf if infinity is meant")
    return result


# in place of a number: the value of least test risk
OPTIMAL: Literal["optimal"] = "optimal"
# the parameters of a problem end here: products of a few of them are still finite
LARGEST = 1e50


def number(
    name: str,
    value: object,
    *,
    minimum: float,
    strict: bool,
    maximum: float = math.inf,
    infinite: bool = False,
    hint: str = "",
) -> float:
    """Return `value` as a float in [minimum, maximum], or (minimum, maximum] if `strict`; inf itself if `infinite`.

    Raises
    ------
    InvalidProblem
        Naming the value, the reason, and what is allowed.
    """
    allowed = f"{name} {'>' if strict else '>='} {minimum:g}" + (" or inf" if infinite else "") + hint
    try:
        if isinstance(value, bool | str):
            raise TypeError
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidProblem(f"{name} = {value!r} is not a number; allowed: {allowed}") from None
    if math.isnan(result):
        raise InvalidProblem(f"{name} = nan is not a number; allowed: {allowed}")
    if result == math.inf and not infinite:
        raise InvalidProblem(f"{name} = inf is not finite; allowed: {allowed}")
    if result < minimum or (strict and result == minimum):
        reason = "is negative" if result < 0 <= minimum else "is too small"
        reason = "is zero" if result == 0 and strict else reason
        raise InvalidProblem(f"{name} = {result:g} {reason}; allowed: {allowed}")
    if maximum < result < math.inf:
        raise InvalidProblem(f"{name} = {result:g} is too large; allowed: {allowed}, and at most {maximum:g}")
    return result


def check_solver(rtol: float | None = None, damping: float = 0.0, seed: int = 0) -> None:
    """Refuse solver options out of range.

    Raises
    ------
    InvalidProblem
        Naming the value and its range.
    """
    for name, value in (("rtol", rtol), ("damping", damping)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, SupportsFloat)):
            raise InvalidProblem(f"{name} = {value!r} is not a number; allowed: a number such as 0.5")
    if rtol is not None and not 0.0 < rtol < 1.0:
        raise InvalidProblem(f"rtol = {rtol:g} is out of range; allowed: 0 < rtol < 1")
    if not 0.0 <= damping < 1.0:
        raise InvalidProblem(f"damping = {damping:g} is out of range; allowed: 0 <= damping < 1")
    if isinstance(seed, bool) or not isinstance(seed, SupportsIndex):
        raise InvalidProblem(f"seed = {seed!r} is not an integer; allowed: seed >= 0")
    if seed < 0:
        raise InvalidProblem(f"seed = {seed} is negative; allowed: seed >= 0")
