"""The hand-written numpy faces against the symbolic ones and against finite differences, for every registered name."""

import math

import numpy as np
import pytest
import sympy

from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.registry import ACTIVATIONS
from tests.simulation.cases import activation

NAMES = sorted(ACTIVATIONS)


def by_definition(made, chi):
    """sigma from phi alone, in many digits, as the base class defines the three combinations."""
    symbol = sympy.Symbol("x", real=True)
    phi = made.phi(symbol)
    values = [phi.subs(symbol, sympy.Float(float(x), 120)).evalf(100) for x in chi]
    total = sum(values)
    return {
        "elementwise": lambda: values,
        "normalised": lambda: [value / total for value in values],
        "centred": lambda: [1 + value - total / len(values) for value in values],
    }[made.combination]()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_sigma_is_what_phi_says(name, scale):
    made = activation(name)
    for chi in scale * np.random.default_rng(1).standard_normal((5, 4)):
        expected = np.array([float(value) for value in by_definition(made, chi)])
        np.testing.assert_allclose(made.sigma(chi), expected, rtol=2e-13, atol=1e-300)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_vjp_is_the_transposed_derivative_of_sigma(name, length):
    made, rng = activation(name), np.random.default_rng(2)
    chi, cotangent, direction = rng.standard_normal((3, 50, length))
    step = 1e-5
    change = (made.sigma(chi + step * direction) - made.sigma(chi - step * direction)) / (2 * step)
    np.testing.assert_allclose(
        np.sum(made.vjp(chi, cotangent) * direction, axis=1), np.sum(cotangent * change, axis=1), rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("name", NAMES)
def test_far_scores_stay_finite(name):
    made = activation(name)
    chi = np.array([[-800.0, -790.0, 0.0], [800.0, -800.0, 1.0], [-900.0, -901.0, -902.0]])
    assert np.all(np.isfinite(made.sigma(chi)))
    assert np.all(np.isfinite(made.vjp(chi, np.ones_like(chi))))


@pytest.mark.parametrize("data", [SpikedSLR(1.7), MaxSLR(2.5), MaxSLR(math.inf)], ids=str)
def test_positions_follow_the_density_of_the_model(data):
    """The sampler against g: E h(eps, chi) = E_uniform,noise g h for test functions h (chi along k* only)."""
    rng, length, count = np.random.default_rng(3), 3, 200_000
    chi = rng.standard_normal((count, length))
    eps, shift = data.sample_position(rng, chi)
    rows = np.arange(count)
    chi[rows, eps] += shift
    sampled = np.stack([chi[rows, eps], chi[rows, eps] ** 2, chi[rows, (eps + 1) % length], chi.max(axis=1)])
    noise, symbols = rng.standard_normal((count, length)), sympy.symbols("a:3", real=True)
    log_weight = sympy.lambdify(symbols, data.log_weight(symbols, 0), modules=["numpy", {"Heaviside": np.heaviside}])
    with np.errstate(divide="ignore"):
        weight = np.exp(log_weight(*noise.T))
    weighted = weight * np.stack([noise[:, 0], noise[:, 0] ** 2, noise[:, 1], noise.max(axis=1)])
    error = np.sqrt((sampled.var(axis=1) + weighted.var(axis=1)) / count)
    assert abs(weight.mean() - 1) < 4.5 * weight.std() / math.sqrt(count)
    assert np.all(np.abs(sampled.mean(axis=1) - weighted.mean(axis=1)) < 4.5 * error)
    assert np.all(np.abs(np.bincount(eps, minlength=length) / count - 1 / length) < 4.5 * math.sqrt(0.25 / count))
