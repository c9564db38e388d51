"""The max channel: two and three tokens by deterministic rules, more by quasi-random points, against sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, ndtr

from replica.analysis.bayes import fixed_points, observables
from replica.bayes.channels import channel_for
from replica.bayes.max_pair import MaxPair, race_of_two
from replica.bayes.max_tokens import MaxTokens, relevant_first
from replica.bayes.max_triple import MaxTriple
from replica.bayes.race import race_table
from replica.bayes.state_evolution import StateEvolution, solve, uninformed_start
from replica.kernels.race import race_prior
from tests.bayes.problems import MAXIMUM, maximum

INF = math.inf
POINTS = [(INF, (0.5, 0.12, 0.3)), (2.0, (0.5, 0.12, 0.3)), (30.0, (0.3, 0.2, 0.0)), (INF, (0.9999, 0.9, 0.0))]


def sampled(nu: float, length: int, miss_k: float, miss_v: float, noise: float, count: int) -> np.ndarray:
    """Rows (p_1 u^2, -log p_1, 1 - pi_1): data from the model, pi by brute-force averages over chi."""
    rng = np.random.default_rng(8)
    q_k, q_v, tau = 1.0 - miss_k, 1.0 - miss_v, math.sqrt(miss_v + noise**2)
    chi = relevant_first(rng.standard_normal((count, length)), rng.random(count), nu)
    omega_k = q_k * chi + math.sqrt(q_k * miss_k) * rng.standard_normal(chi.shape)
    hidden = math.sqrt(miss_k) * rng.standard_normal((2000, 1, length))
    if math.isinf(nu):
        wins = (omega_k[None] + hidden).argmax(axis=2)
        pi = np.stack([(wins == l).mean(axis=0) for l in range(length)], axis=1) + 1e-12
    else:
        pi = np.exp(log_softmax(nu * (omega_k[None] + hidden), axis=2)).mean(axis=0)
    omega_v = math.sqrt(q_v) * rng.standard_normal(chi.shape)
    u = (omega_v[:, :1] + tau * rng.standard_normal((count, 1)) - omega_v) / tau
    score = np.log(pi) - 0.5 * u**2
    p = np.exp(score[:, 0] - logsumexp(score, axis=1))
    return np.array([p * u[:, 0] ** 2, -np.log(p), 1.0 - pi[:, 0]])


@pytest.mark.parametrize(("length", "nu"), [(2, INF), (3, 2.0), (5, INF)])
def test_averages_agree_with_the_law_of_the_data(length, nu):
    point = (0.4, 0.15, 0.3)
    found = channel_for(maximum(1.0, length, nu), 0).averages(*point, level=0)
    rows = sampled(nu, length, *point, count=1500)
    mean, error = rows.mean(axis=1), rows.std(axis=1) / math.sqrt(rows.shape[1])
    assert abs(mean[0] - found.fit) < 4.5 * error[0]
    assert abs(mean[1] - found.surprise) < 4.5 * error[1] + 2e-3
    assert abs(mean[2] - found.misplaced) < 4.5 * error[2] + 2e-3


@pytest.mark.parametrize("problem", [maximum(2.0), maximum(3.0, nu=2.0), maximum(4.0, 3), maximum(4.0, 3, 5.0)])
def test_the_free_entropy_is_stationary_at_fixed_points(problem):
    # the free entropy shares neither the slopes of pi nor u^2 with the map
    evolution = StateEvolution(channel_for(problem, 0), problem.alpha, problem.noise, level=1)
    point = solve(evolution, uninformed_start())

    def phi(x):
        return observables(evolution.averages(x), x, problem.alpha, problem.noise)[1]

    for direction in np.eye(2):
        slope = [(phi(point.x + h * direction) - phi(point.x - h * direction)) / (2 * h) for h in (0.02, 0.04)]
        assert abs((4 * slope[0] - slope[1]) / 3) < 3e-6
    off = point.x + 0.1
    assert abs(phi(off + 1e-2) - phi(off - 1e-2)) / 2e-2 > 1e-3  # the test can fail


@pytest.mark.parametrize(("nu", "point"), POINTS)
def test_quasi_random_points_agree_with_the_deterministic_rules(nu, point):
    for length, channel in ((2, MaxPair(nu)), (3, MaxTriple(nu))):
        exact = channel.averages(*point, 1).as_array()
        for every in (True, False):
            tokens = MaxTokens(nu, length, seed=1)
            tokens._every = every
            rows = tokens.samples(*point, 0)
            error = rows.std(axis=0, ddof=1) / math.sqrt(len(rows)) + 1e-6
            assert np.all(np.abs(rows.mean(axis=0) - exact) < 5.5 * error)  # Student, 7 degrees of freedom
            assert np.all(error < (0.02, 0.01, 0.01, 0.01, 0.01))


@pytest.mark.parametrize(("nu", "point"), POINTS)
@pytest.mark.parametrize("kind", [MaxPair, MaxTriple])
def test_the_difference_of_levels_covers_the_error(kind, nu, point):
    channel = kind(nu)
    coarse = channel.averages(*point, 0).as_array()
    estimate = np.abs(channel.samples(*point, 0)[0] - coarse)
    best = channel.averages(*point, 2).as_array()
    assert np.all(np.abs(coarse - best) <= 1.5 * estimate + 1e-9)
    assert np.all(estimate < 1e-5)


@pytest.mark.parametrize("nu", [INF, 0.7, 9.0, 40.0])
def test_race_agrees_with_its_closed_or_sampled_form(nu):
    spread = 0.6
    scores = np.array([[0.3, -0.2], [1.5, -1.5], [0.0, 0.0]])
    pi, pair = race_prior(scores, *race_table(spread, nu, 2))
    log_pi, log_slope = race_of_two(scores[:, 0] - scores[:, 1], math.sqrt(2) * spread, nu, 0.3)
    assert pi == pytest.approx(np.exp(log_pi).T, abs=2e-7)
    assert pair[:, 0, 1] == pytest.approx(np.exp(log_slope), abs=2e-6)
    assert pi.sum(axis=1) == pytest.approx(1.0, abs=1e-7)
    if math.isinf(nu):
        assert pi[:, 0] == pytest.approx(ndtr((scores[:, 0] - scores[:, 1]) / (math.sqrt(2) * spread)), abs=2e-7)


def test_race_without_blur_is_softmax():
    scores = np.array([[0.3, -0.2, 1.0, -3.0]])
    pi, _ = race_prior(scores, *race_table(0.0, 1.7, 4))
    assert pi == pytest.approx(np.exp(log_softmax(1.7 * scores, axis=1)), abs=1e-6)


@pytest.mark.parametrize(("length", "alpha", "noise", "key", "value", "risk", "rel"), MAXIMUM)
def test_reference_values(length, alpha, noise, key, value, risk, rel):
    [solution] = fixed_points(maximum(alpha, length, noise=noise))
    assert solution.overlaps.q_k == pytest.approx(key, rel=rel)
    assert solution.overlaps.q_v == pytest.approx(value, rel=rel)
    assert solution.test_risk == pytest.approx(risk, rel=rel)
    assert solution.accuracy_met


def test_many_tokens_have_error_bars_that_shrink_and_cover():
    # L = 4 at two sizes: the coarse answer lies within its error of the fine one
    coarse = fixed_points(maximum(6.0, 4), rtol=0.05, init="uninformed")[0]
    fine = fixed_points(maximum(6.0, 4), rtol=6e-3, init="uninformed", seed=5)[0]
    assert fine.nodes > coarse.nodes
    assert fine.errors["test_risk"] < 0.5 * coarse.errors["test_risk"]
    for name in ("q_k", "q_v"):
        gap = abs(getattr(coarse.overlaps, name) - getattr(fine.overlaps, name))
        assert gap < 2.5 * (coarse.errors[name] + fine.errors[name])


def test_a_law_of_lengths_averages_the_channels():
    point = (0.4, 0.2, 0.3)
    mixed = channel_for(maximum(1.0, "1:1,2:1,3:2"), 0)
    parts = [channel_for(maximum(1.0, length), 0) for length in (1, 2, 3)]
    expected = np.dot([0.25, 0.25, 0.5], [part.averages(*point, 0).as_array() for part in parts])
    assert mixed.averages(*point, 0).as_array() == pytest.approx(expected, rel=1e-12)
    assert mixed.samples(*point, 0).shape == (1, 5)
    assert channel_for(maximum(1.0, "2:1,4:1"), 0).samples(*point, 0).shape == (8, 5)


def test_known_limits():
    [one] = fixed_points(maximum(2.0, 1))
    assert one.overlaps.q_k == 0.0
    [flat] = fixed_points(maximum(2.0, 2, nu=0.0))
    assert flat.overlaps.q_k == 0.0
    recovered = fixed_points(maximum(1.05, noise=0.0))[0]
    assert recovered.free_entropy == INF
    assert recovered.overlaps.V_v == 0.0
    assert 0.0 < recovered.overlaps.V_k < 1.0
    tiny = fixed_points(maximum(2.0, noise=1e-6))[0]
    assert tiny.overlaps.V_v == pytest.approx(1e-12, rel=1e-4)
