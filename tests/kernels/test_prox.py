"""Proximal points: optimal, stationary, symmetric, and their response against differences of the point itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from replica.kernels.prox import prox_work
from tests.kernels.dense_response import dense_response, response_from_dense
from tests.kernels.prox_module import Prox, prox_module, reduced_energy, sigma

NAMES = ("linear", "linear-centred", "softmax", "softplus", "erf", "tanh-centred")
ALWAYS_GLOBAL = ("linear", "linear-centred")
CONSTANT_AT_ONE = ("linear-centred", "softmax", "softplus", "tanh-centred")

lengths = st.sampled_from([1, 2, 3, 5])
seeds = st.integers(0, 2**32 - 1)
log_v = st.floats(-4.0, 3.0)
log_size = st.floats(-1.0, 1.2)


def draw(seed, length, log_k=0.0, log_v=0.0):
    rng = np.random.default_rng(seed)
    omega_k = rng.normal(size=length) * 10**log_k
    omega_v = rng.normal(size=length) * 10**log_v
    return omega_k, omega_v, rng.normal() * np.sqrt(1.0 + 10 ** (2 * log_v))


def jacobian(name, chi):
    """d sigma/d chi by differences of fourth order."""
    h = 1e-4
    rows = [
        (8 * (sigma(name, chi + u) - sigma(name, chi - u)) - sigma(name, chi + 2 * u) + sigma(name, chi - 2 * u))
        / (12 * h)
        for u in np.eye(len(chi)) * h
    ]
    return np.array(rows).T


def assert_stationary(p):
    """The value is Phi(chi), r and g_k are what they say, and chi = omega_k + V_k g_k to round-off."""
    energy = reduced_energy(p.name, p.chi, p.omega_k, p.omega_v, p.y, p.V_k, p.V_v)
    assert p.converged
    assert p.moreau == pytest.approx(energy, rel=1e-9, abs=1e-13)
    assert p.sigma == pytest.approx(sigma(p.name, p.chi), rel=1e-9, abs=1e-12)
    n = 1.0 + p.V_v * (p.sigma @ p.sigma)
    size_r = (abs(p.y) + np.abs(p.sigma) @ np.abs(p.omega_v)) / n
    assert abs(p.r - (p.y - p.sigma @ p.omega_v) / n) <= 1e-12 * size_r
    z = p.omega_v + p.V_v * p.r * p.sigma
    J = jacobian(p.name, p.chi)
    size_g = size_r * (np.abs(J).T @ np.abs(z)).max()
    noise = 1e-11 * size_r * np.abs(z).sum()  # of the differences in J
    assert p.g_k == pytest.approx(p.r * J.T @ z, abs=1e-8 * size_g + noise)
    size = np.abs(p.chi).max() + np.abs(p.omega_k).max() + p.V_k * size_g
    assert np.abs(p.chi - p.omega_k - p.V_k * p.g_k).max() <= 1e-12 * size


def best_of_scipy(p, seed, starts=12):
    """The lowest Phi of L-BFGS from omega_k, from each single token, and from random points of the search ball."""
    rng = np.random.default_rng(seed)
    length = len(p.chi)
    radius = np.sqrt(2.0 * p.V_k * p.moreau)
    first = [p.omega_k] + [p.omega_k + t * u for u in np.eye(length) for t in (-radius / 2, 2.0, radius / 2)]
    directions = rng.normal(size=(starts, length))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    first += list(p.omega_k + directions * radius * rng.uniform(size=(starts, 1)))
    values = []
    for start in first:
        found = minimize(
            lambda chi: reduced_energy(p.name, chi, p.omega_k, p.omega_v, p.y, p.V_k, p.V_v), start, method="L-BFGS-B"
        )
        values.append(found.fun)
    return min(values)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=seeds, length=lengths, log_vk=log_v, log_vv=log_v, log_k=log_size, log_w=log_size)
def test_point_is_stationary_and_not_beaten(name, seed, length, log_vk, log_vv, log_k, log_w):
    p = Prox(name, *draw(seed, length, log_k, log_w), 10**log_vk, 10**log_vv)
    assert_stationary(p)
    assert p.moreau <= best_of_scipy(p, seed, starts=2) * (1.0 + 1e-7) + 1e-12
    if name in ALWAYS_GLOBAL:
        assert p.is_global


def survey(name, count, seed):
    """(proved, wrongly proved, beaten) over random problems, against points drawn in the search ball."""
    rng = np.random.default_rng(seed)
    proved = wrong = beaten = 0
    for i in range(count):
        length = (2, 3, 5)[i % 3]
        V_k, V_v = 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(-1.5, 1)
        p = Prox(name, *draw(rng.integers(2**32), length, rng.uniform(-0.5, 0.7), rng.uniform(-0.5, 0.4)), V_k, V_v)
        cloud = rng.normal(size=(4000, length))
        cloud /= np.linalg.norm(cloud, axis=1)[:, None]
        cloud = p.omega_k + cloud * np.sqrt(2.0 * V_k * p.moreau) * rng.uniform(size=(4000, 1))
        values = reduced_energy(name, cloud, p.omega_k, p.omega_v, p.y, V_k, V_v)
        lower = values.min() < p.moreau * (1.0 - 1e-9)
        proved += p.is_global
        beaten += lower
        wrong += lower and p.is_global
    return proved, wrong, beaten


@pytest.mark.parametrize("name", NAMES)
def test_random_search_beats_fewer_than_one_in_a_thousand(name):
    proved, wrong, beaten = survey(name, 1000, seed=5)
    assert wrong == 0
    assert beaten <= 1
    assert proved > 300


@pytest.mark.parametrize("name", ["softmax", "softplus"])
def test_weak_attention_on_many_tokens_is_proved_global(name):
    """Where attention stays spread out over the search ball, what one token could do at most says little."""
    proved = 0
    for seed in range(200):
        omega_k, omega_v, y = draw(seed, 64, log_k=-1.0, log_v=-0.5)
        p = Prox(name, omega_k, omega_v, y, 1.2, 1.0)
        proved += p.is_global
        one_token = 1.2 * prox_module(name).normalised_bend(1.0, abs(p.r) * np.ptp(omega_v), p.r**2)
        if p.is_global and one_token > 1.0:
            assert p.moreau <= best_of_scipy(p, seed, starts=2) * (1.0 + 1e-7)
    assert proved > 180


@pytest.mark.parametrize("seed", range(30))
def test_bounds_of_the_certificate(seed):
    """The largest weight in a ball, and the curvatures of D at weights up to it, against searches and eigenvalues."""
    rng = np.random.default_rng(seed)
    length, radius, module = rng.integers(2, 12), rng.uniform(0.1, 4.0), prox_module("softmax")
    u = rng.normal(size=length) * rng.choice([0.3, 1.0, 3.0])
    bound = module.normalised_largest(u, radius)
    reached = 0.0
    for token in range(length):
        # towards more of the token: a fixed point of the direction of steepest ascent
        move = np.eye(length)[token]
        for _ in range(50):
            weights = sigma("softmax", u + radius * move)
            slope = np.eye(length)[token] - weights
            move = slope / np.linalg.norm(slope)
        reached = max(reached, sigma("softmax", u + radius * move)[token])
    assert reached <= bound
    assert bound < 1.0 - 0.3 * (1.0 - reached)
    weights, b = sigma("softmax", u), rng.normal(size=length)
    A = np.diag(weights) - np.outer(weights, weights)

    def hessian(values):
        pull = weights * (values - weights @ values)
        return np.diag(pull) - np.outer(pull, weights) - np.outer(weights, pull)

    # V_v r^2 small and large beside |r| (max b - min b)
    for spring in (0.01, 1.0, 30.0):
        curvature = np.linalg.eigvalsh(-hessian(b) - spring * (hessian(weights) + A @ A))[0]
        assert -curvature <= module.normalised_bend(weights.max(), np.ptp(b), spring)


@pytest.mark.parametrize("name", NAMES)
def test_permuting_the_tokens_permutes_the_point(name):
    omega_k, omega_v, y = draw(3, 7)
    order = np.random.default_rng(4).permutation(7)
    p = Prox(name, omega_k, omega_v, y, 4.0, 0.7)
    q = Prox(name, omega_k[order], omega_v[order], y, 4.0, 0.7)
    assert q.chi == pytest.approx(p.chi[order], abs=1e-11)
    assert q.moreau == pytest.approx(p.moreau, rel=1e-13)
    flipped = Prox(name, omega_k, -omega_v, -y, 4.0, 0.7)
    assert flipped.r == pytest.approx(-p.r, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_pure_function_of_its_inputs(name):
    omega_k, omega_v, y = draw(8, 6)
    points = []
    for garbage in (np.nan, 1e300, 0.0):
        work = prox_work(6)
        for array in work:
            array[:] = garbage
        chi, sigma_out, g_k = (np.full(6, garbage) for _ in range(3))
        prox_module(name).prox_point(omega_k, omega_v, y, 20.0, 1.3, chi, sigma_out, g_k, *work)
        points.append(chi.tobytes() + g_k.tobytes())
    assert len(set(points)) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [2, 3, 11, 64])
@pytest.mark.parametrize("scales", [(1e-4, 1e-4), (1e-4, 1e3), (1e3, 1e-4), (1e3, 1e3)])
def test_extreme_inputs_stay_stationary(name, length, scales):
    rng = np.random.default_rng(length)
    for _ in range(5):
        p = Prox(name, rng.uniform(-50, 50, length), rng.uniform(-50, 50, length), rng.uniform(-50, 50), *scales)
        assert_stationary(p)


@pytest.mark.parametrize("name", CONSTANT_AT_ONE)
def test_one_token_is_ridge_regression_on_the_value(name):
    p = Prox(name, [0.7], [-0.4], 1.1, 5.0, 3.0)
    assert p.r == pytest.approx((1.1 + 0.4) / 4.0, rel=1e-15)
    assert (p.chi[0], p.g_k[0], p.sigma[0], p.is_global) == (0.7, 0.0, 1.0, True)
    assert p.moreau == pytest.approx(0.5 * 1.5**2 / 4.0, rel=1e-15)
    assert p.response() == pytest.approx((0.0, -0.25, 0.0, 0.0, 0.0625, 0.0))


@pytest.mark.parametrize("name", ALWAYS_GLOBAL)
def test_linear_on_the_sphere_of_degenerate_minima(name):
    """omega with no component along the unstable direction: the minimisers form a sphere and one is returned."""
    length, V_k, V_v = 3, 2.0, 0.5
    b = np.array([0.3, -0.2, -0.1])
    a = -np.sqrt(V_k / V_v) * b
    p = Prox(name, a - (0.0 if name == "linear-centred" else 1.0), b, 9.0, V_k, V_v)
    assert p.r == pytest.approx(1.0 / np.sqrt(V_k * V_v), rel=1e-6)
    assert p.moreau <= best_of_scipy(p, 0) * (1.0 + 1e-7)
    assert length * p.moreau > 0.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_response_against_differences_of_the_point(name, length):
    rng = np.random.default_rng(length)
    for seed in range(12):
        problem = (*draw(seed, length), 10 ** rng.uniform(-2, 0.3), 10 ** rng.uniform(-2, 0.3))
        p = Prox(name, *problem)
        expected = response_from_dense(dense_response(name, *problem))
        assert p.response() == pytest.approx(expected, rel=2e-6, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_response_trace_against_stein(name):
    """At L = 40: E tr dg/domega = E g . x / s for omega ~ s x."""
    rng = np.random.default_rng(0)
    length, count, V_k, V_v = 40, 4000, 0.3, 0.5
    gap = []
    for _ in range(count):
        x_k, x_v = rng.normal(size=(2, length))
        p = Prox(name, x_k, x_v, rng.normal(), V_k, V_v)
        trace_k, trace_v, *_ = p.response()
        gap.append((trace_k - p.g_k @ x_k, trace_v - p.r * p.sigma @ x_v))
    gap = np.array(gap)
    assert np.all(np.abs(gap.mean(axis=0)) < 4.0 * gap.std(axis=0) / np.sqrt(count))
