"""The derived channel of softmax at L = 2: elimination of the values, the stationary points, what `derive` prints."""

import math

import numpy as np
import pytest
import sympy
from scipy import optimize, special, stats

from replica.equations import erm, pair
from replica.equations.describe import describe, to_latex, to_text
from replica.equations.functions import sigmoid
from replica.equations.nodes import GaussianAverage, Moreau
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem

pytestmark = pytest.mark.nojit

DATA = [SpikedSLR(2.0), SpikedSLR(0.0), MaxSLR(math.inf), MaxSLR(3.0), MaxSLR(0.0)]
OVERLAPS = dict(zip(erm.OVERLAPS, (0.4, 0.5, 1.7, 0.6, 0.7, 0.8), strict=True))


@pytest.fixture(scope="module")
def channels():
    return {data: pair.build(Problem(data=data)) for data in DATA}


def numbers(data, rng):
    """A random point: overlaps, integration variables, and a proximal point that need not be one."""
    parameters = {erm.NOISE: 0.3, erm.ALPHA: 2.0, erm.NU: data.nu, erm.REG_K: 0.7, erm.REG_V: 0.9}
    variables = dict(zip((pair.x_A, pair.x_R, pair.x_delta, pair.delta), rng.normal(size=4), strict=True))
    return {**OVERLAPS, **parameters, **variables}


def value(expression, point):
    modules = [{"sigmoid": special.expit, "normal_cdf": special.ndtr, "normal_pdf": stats.norm.pdf}, "numpy"]
    symbols = list(point)
    return float(sympy.lambdify(symbols, expression, modules=modules)(*(float(point[s]) for s in symbols)))


def test_elimination_of_the_values_is_the_minimum(channels):
    """F(delta) against direct minimisation over z of the loss plus |z - omega_v|^2/(2 V_v)."""
    channel = channels[DATA[0]]
    fields = {pair.y: 0.8, pair.w_1: -0.6, pair.w_2: 1.1, erm.V_v: 1.3, pair.delta: 0.7}
    s = 1 / (1 + math.exp(-0.7))
    sigma, omega = np.array([s, 1 - s]), np.array([-0.6, 1.1])

    def loss(z):
        return 0.5 * (0.8 - sigma @ z) ** 2 + np.sum((z - omega) ** 2) / (2 * 1.3)

    best = optimize.minimize(loss, omega, tol=1e-12)
    assert value(channel.potential, fields) == pytest.approx(best.fun, abs=1e-9)
    assert value(channel.residual, fields) == pytest.approx(0.8 - sigma @ best.x, abs=1e-6)


def test_preimage_is_where_the_objective_is_stationary(channels):
    channel, rng = channels[DATA[0]], np.random.default_rng(0)
    delta_0 = sympy.Symbol("delta_0", real=True)
    slope = channel.objective.diff(pair.delta)
    for _ in range(3):
        fields = dict(zip((pair.y, pair.w_1, pair.w_2, pair.delta), rng.normal(size=4), strict=True))
        fields = {**fields, erm.V_v: 0.9, erm.V_k: 2.2, pair.k_2: 0.3}
        at = value(channel.preimage, fields)
        assert value(slope, {**fields, pair.k_1: at + 0.3}) == pytest.approx(0, abs=1e-14)
        assert delta_0 not in channel.preimage.free_symbols


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_fields_have_the_joint_law(channels, noise):
    """Covariances of (y - omega_2, A) from theory.md section 4: omega_v ~ N(0, q), y | omega = c omega_1 + tau u."""
    fields = channels[DATA[0]].fields
    q, m = OVERLAPS[erm.q_v], OVERLAPS[erm.m_v]
    c, tau_squared = m / q, 1 - m * m / q + noise**2
    point = {**OVERLAPS, erm.NOISE: noise, erm.NU: 2.0}
    row = {
        name: [float(expression.coeff(x).subs(point)) for x in (pair.x_A, pair.x_R)]
        for name, expression in (("y", sympy.expand(fields[pair.y])), ("A", sympy.expand(fields[pair.w_1])))
    }
    # y - omega_2 = c omega_1 - omega_2 + tau u, A = omega_1 - omega_2
    assert np.dot(row["A"], row["A"]) == pytest.approx(2 * q)
    assert np.dot(row["y"], row["A"]) == pytest.approx((c + 1) * q)
    assert np.dot(row["y"], row["y"]) == pytest.approx((c * c + 1) * q + tau_squared)


def test_prior_side_makes_the_energy_stationary():
    """Put the solved overlaps into d e/d conjugate, and the solved conjugates into d e/d overlap."""
    prior, solved = erm.prior_energy(), erm.prior_equations()
    for hat in erm.CONJUGATES:
        assert sympy.simplify(prior.diff(hat).subs(solved.overlaps)) == 0
    for overlap, slope in zip(erm.OVERLAPS, erm.SLOPES, strict=True):
        assert sympy.simplify(prior.diff(overlap).subs(solved.conjugates) + erm.ALPHA * slope) == 0


@pytest.mark.parametrize("data", DATA, ids=str)
def test_printed_equations_are_the_solved_ones(channels, data):
    """Write the names that `derive` introduces out again: the integrands are those of the lowered system."""
    description, system, rng = describe(Problem(data=data)), channels[data].system, np.random.default_rng(1)
    definitions = {name: written for name, written in description.definitions.items() if not written.has(Moreau)}
    definitions.pop(next(name for name in definitions if str(name) == "E_M"))

    def written_out(expression):
        for _ in range(4):
            expression = expression.xreplace(definitions)
        return expression

    moreau = next(written for name, written in description.definitions.items() if str(name) == "M")

    def integrand(expression):
        inside = expression.replace(lambda node: isinstance(node, GaussianAverage), lambda node: node.integrand)
        symbol = next((s for s in inside.free_symbols if str(s) == "M"), None)
        inside = inside.subs(symbol, moreau.objective) if symbol is not None else inside
        at_prox = inside.replace(lambda node: isinstance(node, Moreau), lambda node: node.objective)
        return written_out(at_prox)

    for hat in erm.CONJUGATES:
        printed, solved = integrand(description.equations[hat]), integrand(system.conjugates[hat])
        for _ in range(2):
            point = numbers(data, rng)
            assert value(printed, point) == pytest.approx(value(solved, point), rel=1e-9, abs=1e-12), hat
    for overlap in erm.OVERLAPS:
        assert description.equations[overlap] == system.overlaps[overlap]


def test_text_and_latex_name_everything(channels):
    description = describe(Problem(data=SpikedSLR(2.0)))
    text, latex = to_text(description), to_latex(description)
    for name in (*erm.OVERLAPS, *erm.CONJUGATES):
        assert f"\n  {name} = " in text
    for name in description.definitions:
        assert f"\n  {name} = " in text
    assert latex.startswith(r"\begin{align*}")
    assert latex.count(r"\\") == 1 + 12 + len(description.definitions)
    assert latex.count("{") == latex.count("}")
    assert r"\hat{m}_k" in latex
    assert not sigmoid(pair.delta).has(sympy.I)
