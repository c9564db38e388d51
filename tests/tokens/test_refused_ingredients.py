"""Ingredients that make no sense: one line that says what, why and what is allowed, before any work is announced."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass

import numpy as np
import pytest
import sympy

from replica import Activation, DataModel, Problem, Softmax, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.equations.describe import describe
from replica.errors import InvalidProblem, ReplicaError, UnsupportedExpression
from replica.io.rows import to_csv
from replica.lowering.tokens import shifted, source
from replica.schema import NAMES
from replica.sweeps.frame import read_csv
from replica.types import Solution, Status

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
    "imaginary": (lambda chi: sympy.I * chi, r"phi of mine is I\*x; allowed: real values"),
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


def test_a_normalised_function_that_underflows_is_positive():
    """exp(-chi^4) is zero in doubles far out, its logarithm is not."""
    assert "RISING = False" in source(
        Problem(SpikedSLR(2.0), activation(lambda chi: sympy.exp(-(chi**4)), "normalised"))
    )


class Sharp(Softmax):
    """A subclass that keeps bounds which do not hold for it."""

    name = "sharp"

    def phi(self, chi):
        return sympy.exp(2 * chi)


class Sharper(Sharp):
    suprema = (math.inf, 2.0, 0.0)


def test_bounds_that_do_not_hold_are_refused():
    with pytest.raises(UnsupportedExpression, match=r"suprema of sharp: \|\(log phi\)'\| is 2 at .*, above 1; allowed"):
        fixed_points(Problem(SpikedSLR(2.0), Sharp(), alpha=4.0))
    assert "D1_SUP, D2_SUP = 2.0, 0.0" in source(Problem(SpikedSLR(2.0), Sharper()))


@pytest.mark.parametrize("bounds", [None, (1.0, 1.0), (1.0, -1.0, 1.0), (1.0, math.nan, 1.0), (1.0, "1", 1.0)])
def test_bounds_that_are_none_are_refused_with_the_problem(bounds):
    class Bounded(Sharp):
        suprema = bounds

    with pytest.raises(InvalidProblem, match="of sharp are not three bounds; allowed: numbers >= 0 or inf"):
        Problem(SpikedSLR(2.0), Bounded())


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


def model(log_weight):
    """A data model of a user, without a signal strength."""

    @dataclass(frozen=True)
    class Own(DataModel):
        name = "mine"

        def log_weight(self, chi, eps):
            return log_weight(chi, eps)

    return Own()


def tilt(chi, eps):
    return chi[eps] - sympy.Rational(1, 2)


WEIGHTS = {
    "text": (
        lambda chi, eps: "chi",
        "log_weight of mine returns 'chi'.*allowed: a sympy expression, such as sympy.sqrt",
    ),
    "None": (lambda chi, eps: None, "log_weight of mine returns None"),
    "index": (lambda chi, eps: chi[eps + 5], "log_weight of mine fails with IndexError: tuple index out of range"),
    "symbol": (lambda chi, eps: sympy.Symbol("a") * chi[eps], "log_weight of mine contains a, which has no value"),
    "nan": (lambda chi, eps: sympy.nan, "log_weight of mine is nan"),
    "imaginary": (lambda chi, eps: sympy.I * chi[eps], "log_weight of mine is I.chi0; allowed: real values"),
    "integral": (
        lambda chi, eps: sympy.Integral(chi[eps], (chi[0], 0, 1)),
        "log_weight of mine has no values in numpy",
    ),
    "logarithm": (lambda chi, eps: sympy.log(chi[eps]), "is not finite or -inf everywhere"),
    "scale": (lambda chi, eps: chi[eps], "has E g = "),
}


@pytest.mark.parametrize("length", [2, 3])
@pytest.mark.parametrize("case", WEIGHTS)
def test_a_weight_that_cannot_be_used_is_refused_before_any_work(case, length, capsys):
    weight, reason = WEIGHTS[case]
    with pytest.raises(InvalidProblem, match=reason) as caught:
        fixed_points(Problem(model(weight), Softmax(), alpha=4.0, length=length))
    assert "\n" not in str(caught.value)
    assert "allowed: " in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_a_data_model_that_can_change_is_refused_with_the_problem():
    @dataclass
    class Mutable(DataModel):
        name = "mine"
        log_weight = staticmethod(tilt)

    with pytest.raises(InvalidProblem, match="can change; allowed: a class with @dataclass"):
        Problem(Mutable(), Softmax())


def test_a_model_without_a_signal_strength_has_an_empty_one_in_tables():
    assert math.isnan(model(tilt).nu)
    row = Solution(problem=Problem(model(tilt)), estimator="erm", status=Status.MAX_ITER).to_row()
    assert row["nu"] is None
    assert read_csv(io.StringIO(to_csv([row], NAMES)))["nu"].isna().all()
