"""Limits with known values, and pairs of problems that must agree."""

import math

import pytest

from replica.analysis import erm
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from tests.erm.problems import MAX, NOISY_SPIKED, numbers_of


def best(solved, **options):
    return solved(Problem(**{"data": SpikedSLR(2.0), **options}))[0]


def agree(one, other, **tolerance):
    first, second = numbers_of(one), numbers_of(other)
    for name, value in first.items():
        allowed = 2 * (one.errors[name] + other.errors[name]) + tolerance.get("abs", 0.0)
        assert abs(value - second[name]) <= allowed, name


def test_no_signal_is_the_same_in_both_models(solved):
    """At nu = 0 the position is independent of the keys: one problem, two derivations."""
    one, other = (best(solved, data=kind(0.0), alpha=2.0) for kind in (SpikedSLR, MaxSLR))
    agree(one, other)
    assert one.overlaps.m_k == pytest.approx(0, abs=1e-7)
    # attention cannot find the token: half of the weight goes to each
    assert one.attention_relevant == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize("strength", [1e-4, 1e5])
def test_finite_nu_reaches_its_ends(solved, strength):
    end = math.inf if strength > 1 else 0.0
    one, other = (best(solved, data=MaxSLR(nu), alpha=2.0, reg_k=0.5) for nu in (strength, end))
    agree(one, other, abs=3e-5)


def test_more_signal_helps(solved):
    risks = [best(solved, data=MaxSLR(nu), alpha=2.0, reg_k=0.5).test_risk for nu in (0.0, 1.0, 3.0, 10.0, math.inf)]
    assert risks == sorted(risks, reverse=True)
    assert risks[0] - risks[-1] > 0.02


def test_large_penalty(solved):
    """v is then sum_n y_n X_n-bar/(sqrt(D) lambda), attention being flat: m_v = alpha/(2 lambda), f = 0."""
    solution = best(solved, alpha=3.0, noise=0.5, reg_k=1e4, reg_v=1e4)
    o = solution.overlaps
    assert o.m_v * 1e4 == pytest.approx(1.5, rel=2e-3)
    # |v|^2/D = m^2 + alpha E y^2 E|sigma|^2/lambda^2
    assert o.q_v * 1e8 == pytest.approx(1.5**2 + 3.0 * 1.25 / 2, rel=2e-3)
    assert o.V_k * 1e4 == pytest.approx(1.0, rel=1e-3)
    assert o.V_v * 1e4 == pytest.approx(1.0, rel=1e-3)
    assert solution.test_risk == pytest.approx(1.25, rel=1e-3)
    assert solution.train_loss == pytest.approx(1.25 / 2, rel=1e-3)
    assert solution.objective == pytest.approx(1.25 / 2, rel=1e-3)


def test_few_samples(solved):
    """alpha -> 0: each sample is fitted alone, v = y X-bar/(sqrt(D)(lambda + 1/2)) per sample, linear in alpha."""
    solution = best(solved, alpha=1e-4, reg_k=5.0, reg_v=5.0)
    assert solution.test_risk == pytest.approx(1.0, abs=1e-3)
    assert solution.overlaps.V_k == pytest.approx(0.2, rel=1e-3)
    assert solution.overlaps.V_v == pytest.approx(0.2, rel=1e-3)
    twice = best(solved, alpha=2e-4, reg_k=5.0, reg_v=5.0)
    for name in ("m_v", "q_v"):
        assert getattr(twice.overlaps, name) / getattr(solution.overlaps, name) == pytest.approx(2, rel=1e-3)


def test_many_samples_reach_the_bayes_risk_of_the_population(solved):
    """Softmax at k = sqrt(nu) k*, v = v* is optimal: for L = 2, nu = 2 the risk is .22480 exactly, plus O(1/alpha)."""
    excess = {alpha: best(solved, alpha=alpha).test_risk - 0.22480 for alpha in (250.0, 500.0, 1000.0)}
    assert 0 < excess[1000.0] < 0.01
    assert excess[250.0] / excess[500.0] == pytest.approx(2, rel=0.1)
    extrapolated = 2 * excess[1000.0] - excess[500.0]
    assert extrapolated == pytest.approx(0, abs=1e-4)
    o = best(solved, alpha=1000.0).overlaps
    assert o.m_k == pytest.approx(math.sqrt(2), rel=0.05)
    assert o.m_v == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("strength", [2.0, 6.0])
def test_scores_of_max_slr_are_learnt_at_their_temperature(solved, strength):
    """max-SLR: the optimal key is nu k*."""
    o = best(solved, data=MaxSLR(strength), alpha=3000.0, reg_k=0.1).overlaps
    assert o.m_k == pytest.approx(strength, rel=0.05)
    assert o.m_k / math.sqrt(o.q_k) > 0.99


def test_noise_adds_to_the_risk_of_a_fixed_predictor(solved):
    """Where the penalty dominates, the predictor hardly depends on the noise."""
    clean, noisy = (best(solved, alpha=1.0, noise=noise, reg_k=100.0, reg_v=100.0) for noise in (0.0, 1.0))
    assert noisy.test_risk - clean.test_risk == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("problem", [MAX, NOISY_SPIKED], ids=["max", "noisy spiked"])
def test_optimism(solved, problem):
    """Twice the train loss is below the noise-free optimum of the test risk, and the objective below f = 0."""
    (solution,) = solved(problem)
    assert 2 * solution.train_loss < solution.test_risk
    assert solution.objective < (1 + problem.noise**2) / 2


@pytest.mark.parametrize("nu", [1e2, 1e4, 1e5])
def test_a_strong_spike_is_found(nu):
    """Once the position is certain, ERM is ridge regression on the hidden token, V as in `replica.analysis.ridge`."""
    alpha, reg = 2.0, 1.0
    V = (-(reg + alpha - 1) + math.sqrt((reg + alpha - 1) ** 2 + 4 * reg)) / (2 * reg)
    kappa, m = alpha * V**2 / (1 + V) ** 2, alpha * V / (1 + V)
    ridge = 1 - 2 * m + (m**2 + kappa * (1 - 2 * m)) / (1 - kappa)
    best = erm.fixed_points(Problem(data=SpikedSLR(nu), alpha=alpha))[0]
    assert best.converged
    # the key still pays for its norm, less and less as nu grows
    assert ridge < best.test_risk < ridge + 4.0 / math.sqrt(nu)
