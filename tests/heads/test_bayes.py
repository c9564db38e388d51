"""The Bayes risk against sampled posteriors and recorded figures."""

import numpy as np
import pytest

from replica.heads.bayes import bayes_risk
from replica.heads.problem import HeadsProblem
from replica.heads.signals import Discrete, Gaussian, flipped, onehot


@pytest.mark.parametrize("signal", [flipped(4.0), flipped(6.0, 3), onehot(5.0, 2), Gaussian((8.0, 3.0), (1.0, 0.0))])
@pytest.mark.parametrize("length", [2, 5])
def test_against_sampled_posteriors(signal, length):
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(50000, length, signal.features))
    fields[:, 0] += signal.sample(rng, len(fields))
    log_ratio = signal.log_ratio(fields)
    weights = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True))
    posterior = weights[:, 0] / weights.sum(axis=1)
    risk, error = bayes_risk(HeadsProblem(signal, length=length), samples=4096)
    sampled = 1 - posterior.mean()
    assert abs(risk - sampled) < 4 * posterior.std() / np.sqrt(len(fields)) + 2 * error
    assert error < 0.02 * sampled


@pytest.mark.parametrize(("nu", "figure"), [(4.0, 0.380), (16.0, 0.0186), (36.0, 0.00012)])
def test_recorded_figures(nu, figure):
    risk, _ = bayes_risk(HeadsProblem(flipped(nu), length=4))
    # the figures were sampled: 20 per cent is the noise of the smallest
    assert risk == pytest.approx(figure, rel=0.2 if nu == 36.0 else 0.01)


def test_no_signal_leaves_a_uniform_guess():
    risk, _ = bayes_risk(HeadsProblem(Gaussian((0.0,)), length=5))
    assert risk == pytest.approx(0.8, abs=1e-6)


def test_error_is_honest():
    problem = HeadsProblem(flipped(6.0), length=4)
    best, _ = bayes_risk(problem, samples=16384, seed=99)
    hits = [abs(risk - best) <= error for risk, error in (bayes_risk(problem, 64, seed) for seed in range(20))]
    assert sum(hits) >= 16


def _two_tokens(nu):
    """R = E Lambda_2/(Lambda_1 + Lambda_2) for L = 2 and one flipped spike, on a grid over both tokens."""
    size, step = np.sqrt(nu), 0.05
    token, noise = np.arange(-9, size + 9, step)[:, None], np.arange(-size - 9, size + 9, step)
    ratios = np.logaddexp(size * token, -size * token) - np.logaddexp(size * noise, -size * noise)
    logs = -((token - size) ** 2) / 2 - noise**2 / 2 - np.logaddexp(0.0, ratios)
    return np.exp(logs).sum() * step**2 / (2 * np.pi)


@pytest.mark.parametrize("nu", [49.0, 64.0, 100.0, 400.0])
def test_rare_confusions_are_counted_and_the_error_says_how_well(nu):
    exact = _two_tokens(nu)
    found = [bayes_risk(HeadsProblem(flipped(nu), length=2), 4096, seed) for seed in range(6)]
    assert all(abs(risk - exact) < 3 * error < 0.05 * exact for risk, error in found)
    assert sum(abs(risk - exact) < error for risk, error in found) >= 4


def test_three_features_are_sharp():
    # on a grid over the three overlaps
    risk, error = bayes_risk(HeadsProblem(flipped(6.0, 3), length=4))
    assert abs(risk - 0.3545696) < 2 * error < 2e-4


def test_strong_signals_end_and_no_error_is_zero():
    risk, error = bayes_risk(HeadsProblem(flipped(1e3, 6), length=4), samples=512)
    assert 0 < risk < 1e-100
    assert error > 0
    points = tuple(tuple(31.0 * sign for _ in range(8)) for sign in (1.0, -1.0))
    assert bayes_risk(HeadsProblem(Discrete((0.5, 0.5), points)), samples=512)[1] > 0
    assert 0 < bayes_risk(HeadsProblem(Gaussian((1e3,)), length=4), samples=512)[0] < 0.05
