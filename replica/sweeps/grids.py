"""Values of one axis of a grid, from text such as ``1,2,4``, ``0.5:8:30``, ``log:0.1:100:40``, or Python values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InvalidProblem
from ..models.checks import OPTIMAL, parse_number
from ..models.length import LengthLaw

FORMAT = "a list such as 1,2,4, a range START:STOP:COUNT or log:START:STOP:COUNT, or several of these joined by commas"
MAX_COUNT = 1_000_000


def numbers(name: str, value: Any, *, optimal: bool = False) -> tuple[float | str, ...]:
    """Values of a numeric axis in the order given, repeated values once.

    Parameters
    ----------
    name : str
        Name of the axis, for messages.
    value : str, number or iterable of these
        Text is a comma-separated list of numbers (inf where written so), of ranges ``START:STOP:COUNT`` (equidistant,
        both ends included) and of ranges ``log:START:STOP:COUNT`` (equal ratios). Inner values of a range are
        rounded to 15 significant digits, so that 0:1:11 contains 0.3 itself.
    optimal : bool
        Whether the text "optimal" is a value.

    Raises
    ------
    InvalidProblem
        If the text is not understood, a range makes no sense, or there is no value.
    """
    found: list[float | str] = []
    for item in _items(value):
        is_optimal = optimal and isinstance(item, str) and item.strip() == OPTIMAL
        found += [OPTIMAL] if is_optimal else _item_numbers(name, item)
    return _distinct(name, found)


def integers(name: str, value: Any) -> tuple[int, ...]:
    """Values of an integer axis; the format is that of `numbers`, values of ranges are rounded to integers."""
    found = []
    for item in _items(value):
        for number in _item_numbers(name, item):
            is_range = isinstance(item, str) and ":" in item
            if not math.isfinite(number) or (not is_range and number != round(number)):
                raise InvalidProblem(f"{name} = {number:g} is not an integer; allowed: {FORMAT}")
            found.append(round(number))
    return _distinct(name, found)


def lengths(value: Any) -> tuple[LengthLaw, ...]:
    """Values of the length axis: numbers of tokens, or laws.

    Text holds numbers and ranges as in `integers`, or one law such as ``1:1,2:1,3:2``; several laws are several items
    of a list (several --length on the command line).

    Raises
    ------
    InvalidProblem
        If the text is neither.
    """
    found: list[LengthLaw] = []
    items = [value] if isinstance(value, str | Mapping | LengthLaw) or not isinstance(value, Iterable) else list(value)
    for item in items:
        if isinstance(item, str) and not any(part.count(":") == 1 for part in item.split(",")):
            found += [LengthLaw.of(length) for length in integers("length", item)]
        else:
            found.append(LengthLaw.of(item))
    return _distinct("length", found)


def names(name: str, value: Any, known: Iterable[str]) -> tuple[str, ...]:
    """Values of an axis of registered names, comma-separated or an iterable of these.

    Raises
    ------
    InvalidProblem
        If a name is unknown; the message lists the known ones.
    """
    found = [item.strip() if isinstance(item, str) else item for item in _items(value)]
    known = tuple(known)
    for item in found:
        if item not in known:
            raise InvalidProblem(f"{name} = {item!r} is unknown; known: {', '.join(known)}")
    return _distinct(name, found)


def _items(value: Any) -> list[Any]:
    """The items of a list, the texts cut at commas."""
    if isinstance(value, str):
        return value.split(",")
    if isinstance(value, Iterable):
        return [part for item in value for part in (item.split(",") if isinstance(item, str) else [item])]
    return [value]


def _item_numbers(name: str, item: Any) -> list[float]:
    if not isinstance(item, str):
        try:
            if isinstance(item, bool):
                raise TypeError
            return [float(item)]
        except (TypeError, ValueError, OverflowError):
            raise InvalidProblem(f"{name} = {item!r} is not a number; allowed: {FORMAT}") from None
    if not item.strip():
        raise InvalidProblem(f"{name}: an item of the list is empty; allowed: {FORMAT}")
    parts = [part.strip() for part in item.split(":")]
    logarithmic = parts[0].lower() == "log"
    if len(parts) == 1 and not logarithmic:
        return [parse_number(name, item)]
    bounds = parts[1:] if logarithmic else parts
    if len(bounds) != 3:
        raise InvalidProblem(f"{name} = {item!r} is not understood; allowed: {FORMAT}")
    start, stop = (parse_number(name, part) for part in bounds[:2])
    return _range(name, item, start, stop, _count(name, item, bounds[2]), logarithmic)


def _count(name: str, item: str, text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise InvalidProblem(f"{name} = {item!r}: the count {text!r} is not an integer; allowed: {FORMAT}") from None
    if not 2 <= count <= MAX_COUNT:
        raise InvalidProblem(f"{name} = {item!r}: the count {count} is out of range; allowed: 2 to {MAX_COUNT}")
    return count


def _range(name: str, item: str, start: float, stop: float, count: int, logarithmic: bool) -> list[float]:
    import numpy as np

    if not (math.isfinite(start) and math.isfinite(stop)):
        raise InvalidProblem(
            f"{name} = {item!r}: an end of the range is not finite; list inf separately, as in 1:8:4,inf"
        )
    if start == stop:
        raise InvalidProblem(f"{name} = {item!r}: both ends are equal; give the value alone, or two different ends")
    if logarithmic and not (start > 0 and stop > 0):
        raise InvalidProblem(f"{name} = {item!r}: a log range needs positive ends; allowed: {FORMAT}")
    if not math.isfinite(stop - start):
        raise InvalidProblem(f"{name} = {item!r} overflows; allowed: {FORMAT}")
    values = (np.geomspace if logarithmic else np.linspace)(start, stop, count)
    return [start, *(float(f"{value:.15g}") for value in values[1:-1]), stop]


def _distinct(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    found = tuple(dict.fromkeys(values))
    if not found:
        raise InvalidProblem(f"{name}: no value given; allowed: {FORMAT}")
    return found
