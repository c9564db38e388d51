"""The law of delta_0 at L = 2 against its definition: direct integration over the teacher's scores."""

import math

import numpy as np
import pytest
import sympy
from scipy import integrate, special

from replica.models.data.max_slr import MaxSLR, logistic_mixture
from replica.models.data.spiked_slr import SpikedSLR

pytestmark = pytest.mark.nojit

SYMBOLS = m, q, nu, x = sympy.symbols("m q nu x", real=True)


def weight_at(data, overlap, norm, points):
    law = data.pair_law(*SYMBOLS)
    weight = sympy.lambdify(SYMBOLS, law.weight, modules=[{"normal_cdf": special.ndtr}, "numpy"])
    return np.array([weight(overlap, norm, data.nu, point) for point in points], dtype=float), law


def direct_weight(data, overlap, norm, point):
    """2 P(token 1 is the hidden one | delta_0), the teacher's score difference averaged given delta_0."""
    delta_0 = math.sqrt(2 * norm) * point
    mean, deviation = overlap / norm * delta_0, math.sqrt(2 * (1 - overlap**2 / norm))
    if math.isinf(data.nu):
        return 2 * special.ndtr(mean / deviation)

    def integrand(t):
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi) * special.expit(data.nu * (mean + deviation * t))

    edge = -mean / deviation  # the logistic function turns here
    points = [edge] if abs(edge) < 9 else None
    return 2 * integrate.quad(integrand, -10, 10, points=points, epsabs=1e-13, epsrel=1e-12, limit=400)[0]


POINTS = [-5.0, -1.3, -0.2, 0.0, 0.4, 2.0, 4.5]


@pytest.mark.parametrize("strength", [0.0, 0.1, 1.0, 3.0, 30.0, math.inf])
@pytest.mark.parametrize(("overlap", "norm"), [(0.17, 0.09), (0.9, 0.83), (-0.3, 1.4), (0.99, 0.9802)])
def test_weight_of_max_slr(strength, overlap, norm):
    data = MaxSLR(strength)
    found, law = weight_at(data, overlap, norm, POINTS)
    expected = [direct_weight(data, overlap, norm, point) for point in POINTS]
    assert law.mean == 0
    # the finite mixture is good to 1e-10 of the whole weight
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    # the two tokens exhaust the possibilities: the weights at x and -x add up to 2
    np.testing.assert_allclose(found + weight_at(data, overlap, norm, [-p for p in POINTS])[0], 2.0, rtol=1e-12)


def test_large_nu_tends_to_the_argmax():
    exact = weight_at(MaxSLR(math.inf), 0.3, 0.2, POINTS)[0]
    gaps = [np.abs(weight_at(MaxSLR(strength), 0.3, 0.2, POINTS)[0] - exact).max() for strength in (10.0, 100.0, 1e4)]
    assert gaps[0] > 1e-4
    # the smoothing 1/nu enters squared
    assert gaps[1] / gaps[0] == pytest.approx(1e-2, rel=0.2)
    assert gaps[2] < 1e-8


def test_width_is_the_scale_of_the_weight():
    for strength, overlap in ((2.0, 0.9), (math.inf, 0.9), (2.0, -0.9), (math.inf, -0.9)):
        found, law = weight_at(MaxSLR(strength), overlap, 0.82, [0.0])
        width = float(law.width.subs({m: overlap, q: 0.82, nu: strength}))
        # positive also where the learnt key points the wrong way
        assert 0 < width < 1
        beyond = weight_at(MaxSLR(strength), overlap, 0.82, [-8 * width, 8 * width])[0]
        assert sorted(beyond) == pytest.approx([0.0, 2.0], abs=0.02)
        near = weight_at(MaxSLR(strength), overlap, 0.82, [0.1 * width])[0]
        assert abs(near[0] - found[0]) < 0.1


@pytest.mark.parametrize("strength", [0.0, 2.0, 9.0])
def test_spiked_law_is_a_shifted_gaussian(strength):
    law = SpikedSLR(strength).pair_law(*SYMBOLS)
    assert law.weight == 1
    assert law.width is sympy.oo
    # E chi_1 under g = exp(sqrt(nu) chi - nu/2) is sqrt(nu), so omega_k has mean m sqrt(nu)
    assert float(law.mean.subs({m: 0.4, nu: strength})) == pytest.approx(0.4 * math.sqrt(strength))


def test_logistic_mixture():
    """Weights form a law, and the mixture is the logistic function, independently computed."""
    scales, weights = np.array(logistic_mixture()).T
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    assert (weights > 0).all()
    t = np.linspace(-30, 30, 241)
    mixture = special.ndtr(t[:, None] / (2 * scales)) @ weights
    np.testing.assert_allclose(mixture, special.expit(t), rtol=0, atol=2e-10)


@pytest.mark.parametrize("data", [SpikedSLR(1.5), MaxSLR(0.7), MaxSLR(3.0), MaxSLR(math.inf)], ids=str)
def test_density_ratio_averages_to_one(data):
    """E g = 1 over pure noise, for each position, and exchanging tokens exchanges positions."""
    chi = sympy.symbols("chi:2", real=True)
    logs = [
        sympy.lambdify(chi, data.log_weight(chi, eps), modules=["numpy", {"Heaviside": np.heaviside}]) for eps in (0, 1)
    ]
    t, w = special.roots_hermitenorm(120)
    a, b = np.meshgrid(t, t, indexing="ij")
    weight = np.outer(w, w) / (2 * math.pi)
    with np.errstate(divide="ignore"):
        first, second = np.exp(logs[0](a, b)), np.exp(logs[1](b, a))
    # the jump of the argmax lies on the diagonal, where heaviside counts one half
    assert (weight * first).sum() == pytest.approx(1, abs=1e-3 if data.name == "max-slr" else 1e-10)
    np.testing.assert_allclose(np.broadcast_to(first, a.shape), np.broadcast_to(second, a.shape), rtol=1e-13)
