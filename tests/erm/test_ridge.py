"""One token: ridge regression, against the Marchenko-Pastur law by quadrature."""

import math

import pytest
from scipy import integrate

from replica.analysis.erm import fixed_points
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.registry import ACTIVATIONS, load
from replica.types import Status
from tests.erm.problems import numbers_of


def spectrum_average(alpha, function):
    """Average of function over the continuous part of the spectrum of X^T X/D, N = alpha D rows; its mass is
    min(1, alpha), the rest sits at zero."""
    centre, half = 1 + alpha, 2 * math.sqrt(alpha)
    # s = centre - half cos t: the square-root edges become smooth
    density = lambda t: (half * math.sin(t)) ** 2 / (2 * math.pi * (centre - half * math.cos(t)))  # noqa: E731
    return integrate.quad(lambda t: density(t) * function(centre - half * math.cos(t)), 0, math.pi, epsabs=1e-13)[0]


def closed_form(alpha, reg, noise):
    """Eigenvalue s of X^T X/D keeps s/(s + reg) of the signal and gains noise of variance s/(s + reg)^2."""
    at_zero = max(1 - alpha, 0.0)
    shrunk = {power: spectrum_average(alpha, lambda s, p=power: s**p / (s + reg) ** 2) for power in (0, 1, 2)}
    m = spectrum_average(alpha, lambda s: s / (s + reg))
    q = shrunk[2] + noise**2 * shrunk[1]
    unexplained = max(alpha - 1, 0.0) + reg**2 * shrunk[0]
    train = (reg**2 * shrunk[1] + noise**2 * unexplained) / (2 * alpha)
    return {
        "m_v": m,
        "q_v": q,
        "V_v": spectrum_average(alpha, lambda s: 1 / (s + reg)) + at_zero / reg,
        "test_risk": 1 + noise**2 - 2 * m + q,
        "train_loss": train,
        "objective": train + reg * q / (2 * alpha),
    }


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.7, 20.0])
@pytest.mark.parametrize("reg", [0.01, 0.4, 30.0])
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_closed_form(alpha, reg, noise):
    problem = Problem(data=SpikedSLR(2.0), alpha=alpha, length=1, noise=noise, reg_k=3.0, reg_v=reg)
    (solution,) = fixed_points(problem)
    found = numbers_of(solution)
    for name, value in closed_form(alpha, reg, noise).items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    assert (found["m_k"], found["q_k"], found["V_k"]) == (0.0, 0.0, pytest.approx(1 / 3))
    assert solution.status is Status.CONVERGED
    assert solution.rs_stable
    assert solution.accuracy_met
    assert 0 < solution.replicon < 1
    assert solution.cos_k == 0.0
    assert solution.attention_relevant == 1.0


def test_conjugates_belong_to_the_overlaps():
    (solution,) = fixed_points(Problem(data=MaxSLR(), alpha=1.3, length=1, noise=0.2, reg_v=0.6))
    o, hat = solution.overlaps, solution.conjugates
    scale = 1 / (0.6 + hat.V_hat_v)
    assert o.V_v == pytest.approx(scale)
    assert o.m_v == pytest.approx(hat.m_hat_v * scale)
    assert o.q_v == pytest.approx((hat.m_hat_v**2 + hat.q_hat_v) * scale**2)


@pytest.mark.parametrize("reg", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("alpha", [1e-6, 0.999999, 1.0, 1e6])
def test_error_bars_at_the_edges(alpha, reg):
    """Cancellation is counted: against 50 digits."""
    import mpmath

    (solution,) = fixed_points(Problem(data=SpikedSLR(), alpha=alpha, length=1, noise=0.1, reg_v=reg))
    with mpmath.workdps(50):
        a, lam, noise = mpmath.mpf(alpha), mpmath.mpf(reg), mpmath.mpf(0.1)
        slope = lam + a - 1
        V = (-slope + mpmath.sqrt(slope**2 + 4 * lam)) / (2 * lam)
        m = a * V / (1 + V)
        kappa = a * V**2 / (1 + V) ** 2
        q = (m**2 + kappa * (1 + noise**2 - 2 * m)) / (1 - kappa)
        exact = {"m_v": m, "q_v": q, "V_v": V, "test_risk": 1 + noise**2 - 2 * m + q}
        found = numbers_of(solution)
        for name, value in exact.items():
            assert abs(found[name] - value) <= solution.errors[name], name


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_which_activations_ignore_the_key(name):
    """At one token softmax, softplus and linear-centred are identically one, and nothing else enters."""
    from replica.analysis import ridge

    activation = load(ACTIVATIONS, "activation", name)()
    decouples = name in ("softmax", "softplus", "linear-centred")
    assert ridge.applies(Problem(data=MaxSLR(), activation=activation, length=1)) is decouples
    assert not ridge.applies(Problem(data=MaxSLR(), activation=activation, length=2))
    assert not ridge.applies(Problem(data=MaxSLR(), activation=activation, length="1:1,2:1"))
    if decouples:
        risks = {
            fixed_points(Problem(data=data, activation=activation, alpha=2.0, length=1))[0].test_risk
            for data in (MaxSLR(), SpikedSLR(5.0))
        }
        assert len(risks) == 1
