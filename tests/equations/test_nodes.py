"""The rules of differentiation of Gaussian averages and Moreau envelopes, on cases with closed forms."""

import pytest
import sympy

from replica.equations.nodes import GaussianAverage, Moreau, at_prox

pytestmark = pytest.mark.nojit

a, c, u, x = sympy.symbols("a c u x", real=True)


def averaged(node):
    """The closed form of a polynomial Gaussian average."""
    terms = sympy.Poly(node.integrand, x).terms()
    return sum(coefficient * sympy.factorial2(power - 1) for (power,), coefficient in terms if power % 2 == 0)


def test_derivatives_go_inside_the_average():
    average = GaussianAverage((a + c * x) ** 4, x)
    # E (a + c x)^4 = a^4 + 6 a^2 c^2 + 3 c^4
    closed = a**4 + 6 * a**2 * c**2 + 3 * c**4
    assert sympy.expand(averaged(average) - closed) == 0
    for parameter in (a, c):
        assert sympy.expand(averaged(average.diff(parameter)) - closed.diff(parameter)) == 0
    assert sympy.expand(averaged(average.diff(a, c)) - closed.diff(a, c)) == 0


def test_average_of_what_does_not_depend_on_the_parameter():
    assert GaussianAverage(x**2, x).diff(a) == 0


def test_envelope_theorem():
    """min_u (u - a)^2/2 + c u^2/2 = c a^2/(2 (1 + c)), at u = a/(1 + c)."""
    envelope = Moreau((u - a) ** 2 / 2 + c * u**2 / 2, u)
    prox, closed = a / (1 + c), c * a**2 / (2 * (1 + c))
    assert sympy.simplify(at_prox(envelope).subs(u, prox) - closed) == 0
    for parameter in (a, c):
        derivative = envelope.diff(parameter)
        assert not derivative.has(Moreau)
        assert sympy.simplify(derivative.subs(u, prox) - closed.diff(parameter)) == 0


def test_average_of_an_envelope():
    """E min_u [(u - a x)^2/2 + u^2/2] = a^2/4, differentiated through both nodes."""
    average = GaussianAverage(Moreau((u - a * x) ** 2 / 2 + u**2 / 2, u), x)
    derivative = average.diff(a)
    inside = GaussianAverage(derivative.integrand.subs(u, a * x / 2), x)
    assert sympy.simplify(averaged(inside) - a / 2) == 0
    assert str(average) == "E[min_{u} [u**2/2 + (-a*x + u)**2/2]]"


def test_product_rule_with_a_weight():
    average = GaussianAverage(a**2 * Moreau((u - c) ** 2 / 2 + u**2 / 2, u), x)
    at = average.diff(a).integrand
    assert at_prox(at).subs(u, c / 2).equals(2 * a * c**2 / 4)
