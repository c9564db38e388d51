"""The Bayes risk against sampled posteriors and recorded figures."""

import numpy as np
import pytest

from replica.heads.bayes import bayes_risk
from replica.heads.problem import HeadsProblem
from replica.heads.signals import Gaussian, flipped, onehot


@pytest.mark.parametrize("signal", [flipped(4.0), flipped(6.0, 3), onehot(5.0, 2), Gaussian((8.0, 3.0), (1.0, 0.0))])
@pytest.mark.parametrize("length", [2, 5])
def test_against_sampled_posteriors(signal, length):
    rng = np.random.default_rng(0)
    fields = rng.normal(size=(50000, length, signal.features))
    fields[:, 0] += signal.sample(rng, len(fields))
    log_ratio = signal.log_ratio(fields)
    weights = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True))
    posterior = weights[:, 0] / weights.sum(axis=1)
    risk, error = bayes_risk(HeadsProblem(signal, length=length), samples=512)
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


def test_a_tiny_risk_keeps_its_digits_and_a_strong_gaussian_signal_ends():
    risk, error = bayes_risk(HeadsProblem(flipped(64.0), length=4), samples=8192)
    assert 0 < risk < 1e-6
    assert error < risk
    assert 0 < bayes_risk(HeadsProblem(Gaussian((1e3,)), length=4), samples=512)[0] < 0.05
