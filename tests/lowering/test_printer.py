"""Common subexpressions and hoisting change the text, never the value."""

import math

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.equations.functions import normal_cdf, normal_pdf, sigmoid, softplus
from replica.equations.nodes import GaussianAverage, Moreau
from replica.errors import UnsupportedExpression
from replica.kernels import leaves
from replica.lowering.printer import assignments, function, hoist

pytestmark = pytest.mark.nojit

OUTER = a, b = sympy.symbols("a b", real=True)
INNER = u, v = sympy.symbols("u v", real=True)
SYMBOLS = (*OUTER, *INNER)
LEAVES = {name: getattr(leaves, name) for name in ("sigmoid", "softplus", "normal_pdf", "normal_cdf")}
LEAVES = {name: getattr(leaf, "py_func", leaf) for name, leaf in LEAVES.items()}


def interpreted(lines, names):
    """The function of the given body in plain Python, jit left out."""
    space = {"math": math, "njit": lambda **_: lambda f: f, **LEAVES}
    exec(function("f", [str(s) for s in SYMBOLS], lines, names), space)
    return space["f"]


def combined(children):
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1] / 3),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: p[0] / (1 + p[1] ** 2)),
        pairs.map(lambda p: sympy.Max(p[0], p[1])),
        st.tuples(children, st.integers(2, 6)).map(lambda p: p[0] ** p[1]),
        st.tuples(children, st.integers(1, 6)).map(lambda p: (2 + p[0] ** 2) ** -p[1]),
        children.map(lambda e: sympy.sqrt(1 + e**2)),
        children.map(lambda e: 1 / sympy.sqrt(1 + e**2)),
        children.map(lambda e: (1 + e**2) ** sympy.Rational(3, 2)),
        children.map(lambda e: sympy.exp(-(e**2))),
        children.map(sympy.Abs),
        *(children.map(kind) for kind in (sigmoid, softplus, normal_pdf, normal_cdf)),
    )


ATOMS = st.sampled_from([*SYMBOLS, sympy.Integer(-2), sympy.Rational(1, 3), sympy.Float(-0.7), sympy.pi])
EXPRESSIONS = st.lists(st.recursive(ATOMS, combined, max_leaves=9), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, st.tuples(*[st.floats(-2, 2)] * 4))
def test_hoisting_and_sharing_keep_the_value(expressions, point):
    outputs = {f"out{index}": expression for index, expression in enumerate(expressions)}
    names, numbers = list(outputs), dict(zip(SYMBOLS, map(sympy.Float, point), strict=True))
    exact = [complex(sympy.N(e.subs(numbers), 30)).real for e in expressions]
    direct = interpreted(assignments(outputs, "t"), names)(*point)

    invariant, rest = hoist(outputs, INNER, "c_")
    for expression in invariant.values():
        assert not expression.free_symbols & set(INNER)
    lines = [*assignments(invariant, "s"), *assignments(rest, "t")]
    hoisted = interpreted(lines, names)(*point)
    for value, split, expected in zip(_tuple(direct), _tuple(hoisted), exact, strict=True):
        if abs(expected) < 1e200:
            assert value == pytest.approx(expected, rel=1e-7, abs=1e-9)
            assert split == pytest.approx(expected, rel=1e-7, abs=1e-9)


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def test_nothing_invariant_stays_inside():
    """An inner loop must not pay for what does not change in it."""
    expression = sympy.exp(-(a**2)) * u + sympy.sqrt(a + b) * u * v + a * b + normal_cdf(a * u + a)
    invariant, rest = hoist({"f": expression}, INNER, "c_")
    inner_names = {str(symbol) for symbol in rest["f"].free_symbols}
    assert inner_names == {"u", "v", *invariant}
    assert a * b in invariant.values()
    assert sympy.exp(-(a**2)) in invariant.values()


@pytest.mark.parametrize(
    "expression",
    [
        sympy.Integral(sympy.exp(-(u**2)), (u, 0, a)),
        sympy.Derivative(sympy.Function("g")(a), a),
        GaussianAverage(u * a, u),
        Moreau((u - a) ** 2, u),
        sympy.Piecewise((a, a > 0), (b, True)) * sympy.I,
        sympy.Matrix([[a, b]]),
    ],
    ids=lambda expression: type(expression).__name__,
)
def test_what_has_no_scalar_counterpart_is_refused(expression):
    with pytest.raises(UnsupportedExpression, match="cannot be lowered"):
        assignments({"f": expression}, "t")


def test_integers_do_not_become_integers_of_fixed_width():
    (line,) = assignments({"f": sympy.Integer(10) ** 30 * a}, "t")
    assert "1e+30" in line
    (line,) = assignments({"f": a / 7}, "t")
    assert float(sympy.Rational(1, 7)) == pytest.approx(1 / 7, abs=0)
    assert "0.14285714285714285" in line
