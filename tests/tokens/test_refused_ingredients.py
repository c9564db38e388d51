"""Ingredients that make no sense: one line that says what, why and what is allowed, before any work is announced."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import sympy

from replica import Activation, Problem, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.equations.describe import describe
from replica.errors import InvalidProblem, ReplicaError
from replica.lowering.tokens import shifted

pytestmark = pytest.mark.nojit


def activation(phi, combination="elementwise"):
    """An activation of a user; what it consists of is no field, so that each is another class."""

    @dataclass(frozen=True)
    class Own(Activation):
        name = "mine"

        def phi(self, chi):
            return phi(chi)

    Own.combination = combination
    return Own()


PHIS = {
    "pole": (lambda chi: 1 / chi, "phi of mine is not finite at 0"),
    "tan": (sympy.tan, "phi of mine is not finite at"),
    "log": (sympy.log, "phi of mine is not real at"),
    "sqrt": (sympy.sqrt, "phi of mine is not real at"),
    "root of |chi|": (lambda chi: sympy.sqrt(abs(chi)), "the derivative of phi of mine is not finite at 0"),
    "nan": (lambda chi: sympy.nan, "phi of mine is nan"),
    "infinity": (lambda chi: math.inf, "phi of mine is not finite"),
    "imaginary": (lambda chi: sympy.I * chi, "ImaginaryUnit"),
    "step": (sympy.Heaviside, "jumps at 0"),
    "symbol": (lambda chi: sympy.Symbol("a") * chi, "phi of mine contains a, which has no value"),
    "function": (lambda chi: sympy.Function("g")(chi), r"phi of mine contains g\(x\), which has no value"),
    "text": (lambda chi: "tanh(chi)", r"phi of mine returns 'tanh\(chi\)'.*allowed: a sympy expression"),
    "None": (lambda chi: None, "phi of mine returns None"),
    "comparison": (lambda chi: chi > 0, "phi of mine returns x > 0"),
    "numpy": (np.tanh, "phi of mine fails with TypeError: .*allowed: functions of sympy"),
    "math": (math.tanh, "phi of mine fails with TypeError"),
    "bug": (lambda chi: 1 / 0, "phi of mine fails with ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize("case", PHIS)
def test_a_function_that_cannot_be_used_is_refused_before_any_work(case, capsys):
    phi, reason = PHIS[case]
    with pytest.raises(ReplicaError, match=reason) as caught:
        fixed_points(Problem(SpikedSLR(2.0), activation(phi), alpha=4.0))
    assert "\n" not in str(caught.value)
    assert "allowed: " in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_a_normalised_logarithm_is_refused_as_such():
    with pytest.raises(ReplicaError, match="phi of mine is not real at"):
        fixed_points(Problem(SpikedSLR(2.0), activation(sympy.log, "normalised"), alpha=4.0))


@pytest.mark.parametrize("value", [1, 1.5, np.float64(1.5), sympy.Rational(3, 2)])
def test_a_number_is_a_constant(value):
    found = shifted(activation(lambda chi: value), sympy.Symbol("x", real=True))
    assert isinstance(found, sympy.Expr)
    assert found == value


def test_the_equations_of_an_unusable_function_are_not_printed():
    with pytest.raises(InvalidProblem, match="phi of mine returns None"):
        describe(Problem(SpikedSLR(2.0), activation(lambda chi: None), length=3))


@pytest.mark.parametrize("combination", ["softmaxed", None, 1, ["centred"]])
def test_an_unknown_combination_is_refused_with_the_problem(combination):
    with pytest.raises(InvalidProblem, match="of mine is unknown; known: elementwise, normalised, centred"):
        Problem(SpikedSLR(2.0), activation(sympy.exp, combination))


def test_an_ingredient_without_a_name_is_refused_with_the_problem():
    class Nameless(Activation):
        combination = "elementwise"

        def phi(self, chi):
            return chi

    with pytest.raises(InvalidProblem, match="has no name"):
        Problem(SpikedSLR(2.0), Nameless())
