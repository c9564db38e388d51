"""Functions made of smooth pieces: where these meet, and each as an expression without Max, Abs and such."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from ..errors import UnsupportedExpression

_SWITCHED = (sympy.Max, sympy.Min, sympy.Abs, sympy.sign, sympy.Heaviside, sympy.Piecewise)
_STEPS = (sympy.floor, sympy.ceiling, sympy.frac, sympy.Mod)
# breaks closer than this, relative to their size, are one
_SAME = 1e-12


@dataclass(frozen=True)
class Pieces:
    """A continuous function of one variable: `parts[i]` between `breaks[i - 1]` and `breaks[i]`, increasing."""

    breaks: tuple[float, ...]
    parts: tuple[sympy.Expr, ...]

    def at(self, point: float) -> sympy.Expr:
        """The part at a point."""
        return self.parts[sum(point > end for end in self.breaks)]


def split(expression: sympy.Expr, x: sympy.Symbol) -> Pieces:
    """The pieces of a function of x written with Max, Min, Abs, sign, Heaviside and Piecewise.

    Raises
    ------
    UnsupportedExpression
        If the function jumps, or the places where it switches are not roots of polynomials.
    """
    if expression.has(*_STEPS):
        raise UnsupportedExpression(f"{expression} jumps; allowed: continuous functions")
    found = _split(expression, x)
    for end, left, right in zip(found.breaks, found.parts, found.parts[1:], strict=False):
        before, after = (_value(part, x, end) for part in (left, right))
        if not math.isfinite(before - after):
            raise UnsupportedExpression(f"{expression} is not finite at {end:g}; allowed: finite values at kinks")
        if not abs(after - before) <= 1e-9 * (1.0 + abs(before)):
            raise UnsupportedExpression(
                f"{expression} jumps at {end:g}, from {before:g} to {after:g}; allowed: continuous functions"
            )
    return found


def _split(expression: sympy.Expr, x: sympy.Symbol) -> Pieces:
    if not expression.has(*_SWITCHED) or x not in expression.free_symbols:
        return Pieces((), (expression,))
    if isinstance(expression, sympy.Piecewise):
        values = [value for value, _ in expression.args]
        children = [_split(value, x) for value in values]
        switches = [
            _split(side.lhs - side.rhs, x)
            for _, condition in expression.args
            for side in condition.atoms(sympy.core.relational.Relational)
        ]
    else:
        children = [_split(argument, x) for argument in expression.args]
        switches = []
    ends = _merged([end for child in (*children, *switches) for end in child.breaks])
    breaks: list[float] = []
    parts: list[sympy.Expr] = []
    for low, high in zip((-math.inf, *ends), (*ends, math.inf), strict=True):
        inside = _between(low, high)
        arguments = [child.at(inside) for child in children]
        zeros = [switch.at(inside) for switch in switches] or _switches(expression, arguments)
        own = _merged([root for zero in zeros for root in _roots(zero, x) if low < root < high])
        for start, end in zip((low, *own), (*own, high), strict=True):
            part = _chosen(expression, arguments, x, _between(start, end))
            if parts and parts[-1] == part:
                breaks[-1] = end
            else:
                parts.append(part)
                breaks.append(end)
    return Pieces(tuple(breaks[:-1]), tuple(parts))


def _switches(expression: sympy.Expr, arguments: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """Functions whose zeros are where `expression` of smooth arguments may switch."""
    if isinstance(expression, sympy.Max | sympy.Min):
        return [one - other for i, one in enumerate(arguments) for other in arguments[:i]]
    return [arguments[0]] if isinstance(expression, _SWITCHED) else []


def _chosen(expression: sympy.Expr, arguments: Sequence[sympy.Expr], x: sympy.Symbol, point: float) -> sympy.Expr:
    """What `expression` is around a point at which nothing switches."""
    if isinstance(expression, sympy.Max | sympy.Min):
        best = max if isinstance(expression, sympy.Max) else min
        return best(arguments, key=lambda argument: _value(argument, x, point))
    if isinstance(expression, sympy.Piecewise):
        for value, (_, condition) in zip(arguments, expression.args, strict=True):
            if condition == sympy.true or condition.subs(x, sympy.Float(point)) == sympy.true:
                return value
        raise UnsupportedExpression(f"{expression} has no value at {point:g}; allowed: functions defined everywhere")
    if isinstance(expression, sympy.Abs | sympy.sign | sympy.Heaviside):
        positive = _value(arguments[0], x, point) > 0
        if isinstance(expression, sympy.Abs):
            return arguments[0] if positive else -arguments[0]
        low = -1 if isinstance(expression, sympy.sign) else 0
        return sympy.Integer(1 if positive else low)
    return expression.func(*arguments)


def _roots(zero: sympy.Expr, x: sympy.Symbol) -> list[float]:
    if x not in zero.free_symbols:
        return []
    polynomial = sympy.Poly(zero, x) if zero.is_polynomial(x) else None
    if polynomial is None or polynomial.free_symbols_in_domain:
        raise UnsupportedExpression(f"where {zero} = 0 is not found; allowed: kinks at the roots of polynomials")
    if polynomial.degree() == 1:
        slope, offset = polynomial.all_coeffs()
        return [float(-offset / slope)]
    return [float(sympy.re(root)) for root in polynomial.nroots() if abs(sympy.im(root)) < _SAME]


def _merged(ends: Sequence[float]) -> list[float]:
    found: list[float] = []
    for end in sorted(ends):
        if not found or end - found[-1] > _SAME * (1.0 + abs(end)):
            found.append(end)
    return found


def _between(low: float, high: float) -> float:
    if math.isinf(low):
        return 0.0 if math.isinf(high) else high - 1.0
    return low + 1.0 if math.isinf(high) else 0.5 * (low + high)


def _value(expression: sympy.Expr, x: sympy.Symbol, point: float) -> float:
    found = expression.subs(x, sympy.Float(point))
    return float(found) if found.is_comparable else math.nan
