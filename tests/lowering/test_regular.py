"""Smooth functions, however steep, pass; poles, jumps and infinite slopes are found."""

from __future__ import annotations

import pytest
import sympy

from replica.equations.functions import sigmoid, softplus
from replica.errors import UnsupportedExpression
from replica.lowering.pieces import split
from replica.lowering.regular import check_regular

pytestmark = pytest.mark.nojit

x = sympy.Symbol("x", real=True)
exp, tanh = sympy.exp, sympy.tanh
SMOOTH = [
    x**2,
    sympy.Integer(1),
    exp(x),
    exp(-(x**2)),
    exp(exp(exp(x))),
    tanh(1000 * x),
    tanh(1e12 * (x - 0.3)),
    sympy.sin(1000 * x),
    sympy.cos(x**2),
    1 / (1e-8 + (x - 0.1) ** 2),
    (exp(x) - exp(-x)) / (exp(x) + exp(-x)),
    (exp(x) - 1 - x) / x**2,
    sympy.log(1 + exp(x)),
    softplus(2 * x) * sigmoid(x),
    sympy.Max(x, 0),
    sympy.Max(x, 0) ** 2.5,
    sympy.Abs(x) ** sympy.Rational(3, 2),
    sympy.Abs(x**2 - 2),
    x / (1 + sympy.Abs(x)),
    sympy.Piecewise((1 / x, x > 1), (x, True)),
    sympy.Piecewise((exp(x) - 1, x < 0), (x, True)),
]
FAULTS = {
    1 / x: "phi of f is not finite at 0",
    1 / (x - 1000): "phi of f is not finite at 1000",
    1 / x**4: "is not finite at 0",
    exp(x) + 1 / (x - 5): "phi of f is not finite at 5",
    exp(1 / (x - 3) ** 2): "phi of f is not finite near 3",
    sympy.log(x**2): "is not finite at 0",
    sympy.tan(x): "phi of f is not finite at -?1.571",
    sympy.atan(1 / x): "phi of f jumps at 0",
    sympy.log(x): "phi of f is not real at -0",
    sympy.sqrt(x): "phi of f is not real at -0",
    sympy.acos(x): "phi of f is not real at 1",
    sympy.I * x: "phi of f is not real",
    sympy.oo: "phi of f is not finite",
    sympy.sqrt(sympy.Abs(x)): "the derivative of phi of f is not finite at 0",
    sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3): "the derivative of phi of f is not finite at 0",
    ((x - 1) ** 2 * (x**2 + 1)) ** sympy.Rational(1, 4): "the derivative of phi of f is not finite at 1",
    x * tanh(1 / x): "the derivative of phi of f jumps at 0",
    1 / sympy.Abs(x): "is not finite at 0; allowed: finite values at kinks",
}


@pytest.mark.parametrize("function", SMOOTH, ids=str)
def test_no_false_alarm(function):
    check_regular("f", split(function, x), x)


@pytest.mark.parametrize("function", FAULTS, ids=str)
def test_faults_are_found_and_named(function):
    with pytest.raises(UnsupportedExpression, match=FAULTS[function]) as caught:
        check_regular("f", split(function, x), x)
    assert "\n" not in str(caught.value)
    assert "allowed: " in str(caught.value)
