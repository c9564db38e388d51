"""Whether a function of one variable is real, finite, continuous and of finite slope, as far as a grid shows.

Between neighbours on the grid the half that changes more is halved again and again: the change of a smooth function
falls, however steep it is, that across a jump or a pole does not. All in many digits, so that neither round-off nor
overflow decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import mpmath
import sympy

from ..equations.functions import explicit
from ..errors import UnsupportedExpression
from ..models.activations.base import Activation
from .pieces import Pieces

_DIGITS, _HALVINGS = 80, 200
# of an interval: close to a half, but no sequence of them meets a place that is written with few digits
_SHARE = 51 / 101
# a change has fallen when it is this share of the largest seen
_FALLEN = mpmath.mpf("0.05")
# next to a pole values are so many times those at its sides
_GROWN = 10
# of a value, and an imaginary part beside it: round-off
_ROUND_OFF = mpmath.mpf("1e-40")
# beyond it doubles overflow, which is no fault of a function that grows; it must not come back at the next points
_LARGEST, _NEXT = mpmath.mpf("1e300"), 3
# the grid: even steps from a place where no function is special, then steps in equal ratios
_ORIGIN, _STEP, _EVEN, _RATIO, _FAR = 0.0103926, 0.25, 50.0, 1.25, 1e4
# how close kinks are known, and bounds written as doubles
_KINK, _BOUND = 1e-12, 1e-9

_Value = Callable[[float], mpmath.mpf]


class _Fault(Exception):
    """What is wrong, and where."""


def check_regular(name: str, pieces: Pieces, x: sympy.Symbol) -> None:
    """Look at every piece, and at its slope.

    Raises
    ------
    UnsupportedExpression
        Naming what is wrong, and where.
    """
    ends = (-math.inf, *pieces.breaks, math.inf)
    with mpmath.workdps(_DIGITS):
        for (low, high), part in zip(pairwise(ends), pieces.parts, strict=True):
            if part.is_polynomial(x) and part.is_real:
                continue
            for what, function in (("phi", part), ("the derivative of phi", part.diff(x))):
                try:
                    _check(_evaluator(function, x), low, high)
                except _Fault as fault:
                    raise UnsupportedExpression(
                        f"{what} of {name} {fault}; allowed: phi real and continuous with finite slopes, kinks "
                        "written with Max, Min, Abs or Piecewise"
                    ) from None


def check_bounds(
    activation: Activation, parts: Sequence[tuple[sympy.Expr, ...]], breaks: Sequence[float], x: sympy.Symbol
) -> None:
    """Look whether the `suprema` of an activation hold on the even part of the grid: proofs rest on them.

    Parameters
    ----------
    activation : Activation
    parts : sequence of tuple of Expr
        Of each piece what the bounds are about: phi (normalised: log phi) and its two derivatives.
    breaks : sequence of float
    x : Symbol

    Raises
    ------
    UnsupportedExpression
        Naming the bound, and where it fails.
    """
    phi = "log phi" if activation.combination == "normalised" else "phi"
    ends = (-math.inf, *breaks, math.inf)
    with mpmath.workdps(_DIGITS):
        for (low, high), functions in zip(pairwise(ends), parts, strict=True):
            points = [point for point in _grid(low, high) if abs(point) <= _EVEN]
            for order, (function, bound) in enumerate(zip(functions, activation.suprema, strict=True)):
                if math.isinf(bound):
                    continue
                value = _evaluator(function, x)
                for point in points:
                    at = abs(value(point))
                    if at > bound * (1 + _BOUND) + _BOUND:
                        what = f"|({phi}){chr(39) * order}|"
                        raise UnsupportedExpression(
                            f"suprema of {activation.name}: {what} is {float(at):.4g} at {point:.4g}, above {bound:g}; "
                            "allowed: bounds that hold, or math.inf for none"
                        )


def _check(value: _Value, low: float, high: float) -> None:
    points = _grid(low, high)
    middle = min(range(len(points)), key=lambda index: abs(points[index]))
    right = _finite_part(value, points[middle:])
    left = _finite_part(value, points[middle::-1])
    known = [*left[:0:-1], *right]
    # of several faults the closest to zero is named
    for (a, at_a), (b, at_b) in sorted(pairwise(known), key=lambda pair: abs(pair[0][0])):
        _halve(value, a, at_a, b, at_b)
    for end, side in ((low, 1.0), (high, -1.0)):
        if math.isfinite(end):
            _approach(value, end, side * min(_STEP, 0.5 * (high - low)))


def _grid(low: float, high: float) -> list[float]:
    even = int(_EVEN / _STEP)
    far = [_EVEN * _RATIO**power for power in range(1, int(math.log(_FAR / _EVEN, _RATIO)) + 1)]
    everywhere = [*(-point for point in reversed(far)), *(_STEP * k for k in range(-even, even + 1)), *far]
    inner = [_ORIGIN + point for point in everywhere if low + _KINK < _ORIGIN + point < high - _KINK]
    edges = [low + _STEP, high - _STEP] if math.isinf(high - low) else [0.5 * (low + high)]
    return sorted({*inner, *(point for point in edges if low < point < high and math.isfinite(point))})


def _finite_part(value: _Value, points: Sequence[float]) -> list[tuple[float, mpmath.mpf]]:
    """Points and values outwards, as far as the values are not too large for doubles."""
    found: list[tuple[float, mpmath.mpf]] = []
    for index, point in enumerate(points):
        at = value(point)
        if abs(at) < _LARGEST:
            found.append((point, at))
            continue
        if not found or any(abs(value(beyond)) < _LARGEST for beyond in points[index + 1 : index + 1 + _NEXT]):
            raise _Fault(f"is not finite near {point:.4g}")
        break
    return found


def _halve(value: _Value, a: float, at_a: mpmath.mpf, b: float, at_b: mpmath.mpf) -> None:
    """Find a jump or a pole between two points, if there is one."""
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    largest, size = abs(at_b - at_a), max(abs(at_a), abs(at_b))
    for _ in range(_HALVINGS):
        middle = a + _SHARE * (b - a)
        at = value(middle)
        if mpmath.isinf(at):
            raise _Fault(f"is not finite at {_place(middle)}")
        before, after = abs(at - at_a), abs(at_b - at)
        if before >= after:
            b, at_b = middle, at
        else:
            a, at_a = middle, at
        change, largest = max(before, after), max(largest, before, after)
        if change <= max(_FALLEN * largest, _ROUND_OFF * (1 + abs(at))):
            return
    raise _Fault(f"{'is not finite' if abs(at) > _GROWN * size else 'jumps'} at {_place(a)}")


def _approach(value: _Value, end: float, width: float) -> None:
    """Whether the values settle towards an end of a piece."""
    last, change, largest = None, mpmath.mpf(0), mpmath.mpf(0)
    for power in range(int(math.log2(abs(width) / (_KINK * (1.0 + abs(end))))) + 1):
        at = value(mpmath.mpf(end) + mpmath.mpf(width) / 2**power)
        if last is not None:
            change = abs(at - last)
            largest = max(largest, change)
        last = at
    if change > max(_FALLEN * largest, _ROUND_OFF * (1 + abs(last))):
        raise _Fault(f"is not finite at {_place(end)}")


def _place(point: float) -> str:
    return f"{float(point) if abs(point) > _KINK else 0.0:.4g}"


def _evaluator(function: sympy.Expr, x: sympy.Symbol) -> _Value:
    compiled = sympy.lambdify(x, explicit(function), modules="mpmath")

    def value(point: float) -> mpmath.mpf:
        try:
            found = mpmath.mpmathify(compiled(mpmath.mpf(point)))
        except (ZeroDivisionError, ValueError, OverflowError):  # ValueError: poles of special functions
            found = mpmath.inf
        if mpmath.isnan(found) or (abs(found.imag) > _ROUND_OFF * abs(found.real) and not mpmath.isinf(found)):
            raise _Fault(f"is not real at {_place(point)}")
        return found.real

    return value
