"""Piecewise expressions cut into smooth pieces."""

from __future__ import annotations

import pytest
import sympy

from replica.errors import UnsupportedExpression
from replica.lowering.pieces import split

x = sympy.Symbol("x", real=True)
CASES = {
    sympy.Max(x, 0): (0.0,),
    sympy.Max(x, 0.1 * x) + 1: (0.0,),
    sympy.Max(-1, sympy.Min(1, x)): (-1.0, 1.0),
    abs(abs(x) - 1): (-1.0, 0.0, 1.0),
    sympy.Piecewise((sympy.exp(x), x < 0), (1 + x, x < 2), (3, True)): (0.0, 2.0),
    sympy.Piecewise((0, abs(x) > 1), (1 - x**2, True)): (-1.0, 1.0),
    x * sympy.Heaviside(x - 0.5) - 0.5 * sympy.Heaviside(x - 0.5): (0.5,),
    x * sympy.sign(x): (0.0,),
    sympy.Max(x**2, 2): (-(2**0.5), 2**0.5),
    sympy.Abs(x**2 + 1): (),
    sympy.tanh(x): (),
}


@pytest.mark.parametrize("expression", CASES, ids=str)
def test_the_pieces_are_the_function(expression):
    pieces = split(expression, x)
    assert pieces.breaks == pytest.approx(CASES[expression])
    assert len(pieces.parts) == len(pieces.breaks) + 1
    for point in (-3.1, -1.3, -0.7, -0.2, 0.1, 0.4, 0.9, 1.2, 1.7, 4.2):
        part = pieces.at(point)
        assert float(part.subs(x, point)) == pytest.approx(float(expression.subs(x, point)))
        assert not part.has(sympy.Max, sympy.Min, sympy.Abs, sympy.Piecewise, sympy.Heaviside, sympy.sign)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (sympy.Heaviside(x), "jumps at 0, from 0 to 1"),
        (sympy.floor(x), "jumps"),
        (sympy.Piecewise((x, x < 1), (x + 1, True)), "jumps at 1, from 1 to 2"),
        (sympy.Max(sympy.exp(x), 2), "allowed: kinks at the roots of polynomials"),
        (sympy.Piecewise((x, x < 1)), "has no value at 2"),
    ],
    ids=str,
)
def test_what_is_not_continuous_or_not_found_is_refused(expression, reason):
    with pytest.raises(UnsupportedExpression, match=reason):
        split(expression, x)
