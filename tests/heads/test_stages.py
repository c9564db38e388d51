"""Emergence and stages on made-up curves with known answers, then on a trajectory, then against SGD."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.emergence import emergence
from replica.heads.flow import State, integrate
from replica.heads.problem import HeadsProblem
from replica.heads.signals import Gaussian, flipped
from replica.heads.stages import emergence_times, stages


def _step(tau, at, width=1.0):
    return 1 / (1 + np.exp(-(tau - at) / width))


def test_emergence_is_where_the_overlap_reaches_half():
    tau = np.linspace(0, 60, 601)
    m = np.zeros((601, 2, 3))
    m[:, 0, 0], m[:, 1, 1] = 2 * _step(tau, 10.03), -1.5 * _step(tau, 30.0)
    m[:, 0, 2] = 0.01
    times = emergence_times(tau, m)
    assert times[:2] == pytest.approx([10.03, 30.0], abs=0.02)
    assert np.isnan(times[2])


def test_two_descents_are_two_stages():
    tau = np.linspace(0, 60, 601)
    m = np.stack([_step(tau, 12), _step(tau, 40)], axis=-1)[:, None, :]
    risk = 0.8 - 0.3 * m[:, 0, 0] - 0.2 * m[:, 0, 1]
    found = stages(tau, risk, m)
    assert [stage.feature for stage in found] == [1, 2]
    assert [stage.tau for stage in found] == pytest.approx([12, 40], abs=0.2)
    assert found[0].risk_after == found[1].risk_before == pytest.approx(0.5, abs=1e-3)
    assert not stages(tau, np.full(601, 0.8), np.zeros((601, 1, 1)))


def test_features_of_different_variance_are_learned_in_stages():
    problem = HeadsProblem(Gaussian((16.0, 5.0)), "bayes-softmax", 2, 3)
    start = State(np.array([[1e-2, 2e-3], [-9e-3, -4e-3]]), 1e-4 * np.eye(2), np.zeros(2))
    found = integrate(problem, start, np.linspace(0, 80, 300), samples=256, max_samples=256, count=2)
    first = stages(found.tau, found.risk, found.m)[0]
    assert first.feature == 1
    assert first.risk_before - first.risk_after > 0.2


def test_emergence_grows_with_dimension_and_agrees_with_sgd():
    problem = HeadsProblem(flipped(20.0), "softmax", 2, 3)
    rows = emergence(problem, (100, 400), 0.5, np.linspace(0, 16, 81), seeds=4)
    assert [row["dimension"] for row in rows] == [100, 400]
    assert rows[1]["predicted"] - rows[0]["predicted"] == pytest.approx(np.log(2) / rows[0]["rate"], rel=0.02)
    for row in rows:
        assert row["seen"] == 4
        assert row["predicted"] < row["simulated"] < 16
        assert abs(row["difference"]) < row["difference_err"] + 2.0


def test_trends_need_two_dimensions():
    problem = HeadsProblem(flipped(20.0), "softmax", 2, 3)
    for dimensions, seeds in (((100,), 4), ((100, 200), 1)):
        with pytest.raises(InvalidProblem):
            emergence(problem, dimensions, 0.5, np.linspace(0, 1, 3), seeds)
