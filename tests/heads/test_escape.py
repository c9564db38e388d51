"""Escape rates against closed forms (theory-dynamics.md A)."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.escape import escape, unspecialised
from replica.heads.flow import State
from replica.heads.problem import HeadsProblem
from replica.heads.signals import Gaussian, flipped, onehot


@pytest.mark.parametrize(("nu", "length", "heads"), [(4.0, 4, 2), (6.0, 5, 3), (9.0, 3, 2)])
def test_softmax_rates_at_the_origin(nu, length, heads):
    problem = HeadsProblem(flipped(nu), "softmax", heads, length)
    found = escape(problem, unspecialised(problem, 256), samples=256)
    unit = (1 - 1 / length) / (length * heads)
    antisymmetric, symmetric = nu * (1 - 2 / length) * unit, (nu * (1 - 3 / length) - 1) * unit
    expected = [antisymmetric] * (heads - 1) + [symmetric] + [0.0] * ((heads - 1) * heads) + [-unit] * heads
    assert found.residual < 1e-15
    assert np.allclose(found.spectrum, sorted(expected, reverse=True), atol=found.spectrum_err)
    assert found.spectrum_err < 0.1 * antisymmetric
    assert found.feature_rates[0] == pytest.approx(antisymmetric, abs=found.feature_rates_err[0])
    assert found.times[0] == pytest.approx(np.log(100.0) / antisymmetric, rel=0.02)


def test_error_bound_is_honest():
    problem = HeadsProblem(flipped(4.0), "softmax", 2, 4)
    state = State(np.zeros((2, 1)), np.zeros((2, 2)), np.zeros(2))
    hits = []
    for seed in range(20):
        found = escape(problem, state, samples=64, count=8, seed=seed)
        hits.append(abs(found.feature_rates[0] - 0.1875) <= found.feature_rates_err[0])
    assert sum(hits) >= 17


def test_two_tokens_never_escape_linearly():
    problem = HeadsProblem(flipped(8.0), "softmax", 2, 2)
    found = escape(problem, unspecialised(problem, 256), samples=256)
    assert found.times[0] == np.inf
    assert abs(found.feature_rates[0]) <= found.feature_rates_err[0]


@pytest.mark.parametrize("activation", ["softmax", "softmax-1", "bayes-softmax"])
def test_features_escape_in_the_order_of_their_variance(activation):
    problem = HeadsProblem(Gaussian((3.0, 8.0)), activation, 3, 4)
    found = escape(problem, unspecialised(problem, 256), samples=256)
    assert found.variances.tolist() == [3.0, 8.0]
    assert found.times[1] < found.times[0] < np.inf


def test_noise_in_the_keys_slows_the_escape():
    problem = HeadsProblem(flipped(6.0), "softmax", 2, 4)
    at = [State(np.zeros((2, 1)), r * np.eye(2), np.zeros(2)) for r in (0.0, 1.0)]
    rates = [escape(problem, state, samples=256).feature_rates[0] for state in at]
    assert rates[1] < 0.8 * rates[0]


def test_heads_align_with_a_mean_before_they_specialise():
    problem = HeadsProblem(onehot(6.0), "softmax", 2, 4)
    state = unspecialised(problem, 1024)
    assert state.m[0, 0] == state.m[1, 0] > 1.0
    assert escape(problem, state, samples=1024, count=4).residual < 5e-3


def test_wrong_shapes_and_dimension_are_refused():
    problem = HeadsProblem(flipped(6.0), "softmax", 2, 4)
    with pytest.raises(InvalidProblem, match="shape"):
        escape(problem, State(np.zeros((3, 1)), np.eye(3), np.zeros(3)))
    with pytest.raises(InvalidProblem, match="dimension"):
        escape(problem, State(np.zeros((2, 1)), np.eye(2), np.zeros(2)), dimension=1.0)
