"""`derive` token by token: what is printed is what is lowered."""

import math

import pytest
import sympy

from replica import Erf, Linear, MaxSLR, Problem, Softmax, Softplus, SpikedSLR
from replica.equations import erm, tokens
from replica.equations.describe import describe, to_latex, to_text
from replica.equations.nodes import GaussianAverage


@pytest.mark.parametrize("activation", [Softmax(), Linear(), Erf(-0.5), Softplus()], ids=lambda a: a.name)
@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR(math.inf)], ids=lambda d: d.name)
def test_printed_conjugates_are_the_lowered_terms(data, activation):
    problem = Problem(data=data, activation=activation, length=3)
    shown, channel = describe(problem), tokens.build(problem)
    slopes = {slope: channel.terms[str(slope)] for slope in erm.SLOPES}
    for hat, value in erm.prior_equations().conjugates.items():
        inside = shown.equations[hat].replace(lambda n: isinstance(n, GaussianAverage), lambda n: n.integrand)
        assert sympy.simplify(inside - value.subs(slopes)) == 0


def test_printing():
    shown = describe(Problem(data=SpikedSLR(2.0), activation=Erf(-0.5), length=3))
    text = to_text(shown)
    assert "sigma[l] = 1 - erf(0.5 - chi[l])" in text or "erf(chi[l] - 0.5)" in text
    assert to_latex(shown).count(r"\\") > 15
