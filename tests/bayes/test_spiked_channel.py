"""The spiked channel: tensor rule, Laplace rule, and what both must obey."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from replica.bayes.laplace import misplaced_spiked
from replica.bayes.spiked_pair import SpikedPair
from replica.bayes.spiked_tokens import SpikedTokens
from replica.models.length import LengthLaw

POINTS = [(0.23, 0.11, 0.3), (0.9, 0.95, 0.0), (1.0, 1.0, 0.5), (0.3, 1e-12, 0.0), (0.05, 1e-4, 0.02), (0.5, 0.2, 3.0)]


def sampled(nu: float, length: int, miss_k: float, miss_v: float, noise: float, count: int) -> np.ndarray:
    """Rows (|grad_k log Z|^2, p_1 u^2, -log p_1, 1 - w_1, sum p^2 - p_1, sum_l p_l^2 u_l^2 - p_1 u^2) from the law of
    theory.md section 6, with none of its reductions."""
    rng = np.random.default_rng(5)
    q_k, q_v, tau = 1.0 - miss_k, 1.0 - miss_v, math.sqrt(miss_v + noise**2)
    omega_k = math.sqrt(q_k) * rng.standard_normal((count, length))
    omega_k[:, 0] += q_k * math.sqrt(nu)
    omega_v = math.sqrt(q_v) * rng.standard_normal((count, length))
    y = omega_v[:, 0] + tau * rng.standard_normal(count)
    prior = math.sqrt(nu) * omega_k
    u = (y[:, None] - omega_v) / tau
    score = prior - 0.5 * u**2
    p = np.exp(score - logsumexp(score, axis=1, keepdims=True))
    w = np.exp(prior - logsumexp(prior, axis=1, keepdims=True))
    fit = p[:, 0] * u[:, 0] ** 2
    nishimori = np.sum(p**2, axis=1) - p[:, 0], np.sum((p * u) ** 2, axis=1) - fit
    return np.array([nu * np.sum(p**2, axis=1), fit, -np.log(p[:, 0]), 1.0 - w[:, 0], *nishimori])


@pytest.mark.parametrize(("length", "nu"), [(2, 2.0), (3, 1.0), (20, 6.0)])
def test_averages_agree_with_the_law_of_the_data(length, nu):
    point = (0.25, 0.12, 0.3)
    channel = SpikedTokens(nu, LengthLaw.of(length))
    found = channel.averages(*point, level=0)
    rows = sampled(nu, length, *point, count=200_000)
    mean, error = rows.mean(axis=1), rows.std(axis=1) / math.sqrt(rows.shape[1])
    expected = [found.info_k, found.fit, found.surprise, found.misplaced, 0.0, 0.0]
    # the last two are the Nishimori identities E sum p^2 = E p_1, E sum p^2 u^2 = E p_1 u^2
    assert np.all(np.abs(mean - expected) < 4.5 * error)
    assert np.all(error < 0.01 * max(1.0, nu))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nu", [0.0, 2.0, 30.0])
def test_two_rules_agree_for_two_tokens(nu, point):
    pair = SpikedPair(nu).averages(*point, level=2).as_array()
    tokens = SpikedTokens(nu, LengthLaw.of(2)).averages(*point, level=1).as_array()
    assert tokens == pytest.approx(pair, rel=2e-8, abs=2e-8)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("make", [lambda: SpikedPair(4.0), lambda: SpikedTokens(4.0, LengthLaw.of("2:1,50:3"))])
def test_the_difference_of_levels_covers_the_error(make, point):
    channel = make()
    best = channel.averages(*point, level=3).as_array()
    coarse = channel.averages(*point, level=0).as_array()
    estimate = np.abs(channel.samples(*point, 0)[0] - coarse)
    assert np.all(np.abs(coarse - best) <= 1.5 * estimate + 1e-12 * (1.0 + np.abs(best)))
    assert np.all(estimate < 1e-6)


def test_a_law_of_lengths_averages_the_channels():
    point = (0.3, 0.2, 0.1)
    mixed = SpikedTokens(2.0, LengthLaw.of("1:1,4:3")).averages(*point, level=0).as_array()
    parts = [SpikedTokens(2.0, LengthLaw.of(length)).averages(*point, level=0).as_array() for length in (1, 4)]
    assert mixed == pytest.approx(0.25 * parts[0] + 0.75 * parts[1], rel=1e-9)


def test_one_token_is_always_found():
    found = SpikedTokens(2.0, LengthLaw.of(1)).averages(0.3, 0.2, 0.1, level=0)
    assert found.as_array() == pytest.approx([2.0, 1.0, 0.0, 0.7, 0.0], abs=1e-12)


@pytest.mark.parametrize("length", [2, 10_000])
def test_near_recovery_the_loss_is_proportional_to_tau(length):
    channel = SpikedTokens(2.0, LengthLaw.of(length))
    loss = [1.0 - channel.averages(0.3, miss, 0.0, level=0).fit for miss in (1e-16, 1e-14)]
    assert loss[1] / loss[0] == pytest.approx(10.0, rel=0.05 if length == 2 else 0.2)


def test_misplaced_keeps_relative_precision_when_it_is_tiny():
    import mpmath

    with mpmath.workdps(30):
        for nu in (2.0, 40.0, 400.0):
            exact = mpmath.exp(-nu / 4) * mpmath.quad(
                lambda d, nu=nu: mpmath.npdf(d, 0, mpmath.sqrt(2 * nu)) * mpmath.sech(d / 2) / 2,
                [-200, -50, -10, 0, 10, 50, 200],
            )
            assert misplaced_spiked(nu, LengthLaw.of(2)) == pytest.approx(float(exact), rel=1e-9)
            assert SpikedPair(nu).known_position(0.0, 0).misplaced == pytest.approx(float(exact), rel=1e-9)
