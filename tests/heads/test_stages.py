"""Emergence and stages on made-up curves with known answers, then on a trajectory, then against SGD."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.emergence import emergence
from replica.heads.flow import State, integrate
from replica.heads.problem import HeadsProblem
from replica.heads.saddles import Stage, predicted_times, stages_visited
from replica.heads.signals import Gaussian, flipped, onehot
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
    rows = emergence(problem, (50, 100), 0.5, np.linspace(0, 20, 81), seeds=3, far=(10**4, 10**6))
    assert [row["dimension"] for row in rows] == [50, 100, 10**4, 10**6]
    assert rows[3]["predicted"] - rows[2]["predicted"] == pytest.approx(np.log(10) / rows[0]["rate"], rel=0.02)
    for row in rows:
        assert row["seen"] == 3
        assert abs(row["predicted"] - row["equations"]) < 2 + row["equations_err"]
        assert row["slope"] == pytest.approx(1 / row["rate"], rel=0.02)
        assert abs(row["slope_equations"] - row["slope"]) < 0.05 * row["slope"] + row["slope_equations_err"]
    for row in rows[:2]:
        assert abs(row["difference"]) < row["difference_err"] + 2.0
    assert "simulated" not in rows[3]


def _made_up(learned, since, *rates):
    rates = np.transpose(rates)
    return Stage(learned, np.array(since), rates, np.full(rates.shape, 1e-3), None, 0.0)


def test_predicted_times_integrate_the_rates_over_the_stages():
    """Rates 1 and 1/2, then 1/4 for the second feature, which has half of its growth behind it; the last never goes."""
    nan = [np.nan, np.nan]
    stages = [
        _made_up((), [0.0, 1.0], [1.0, 1.0], [0.5, 0.5], [-0.1, -0.1]),
        _made_up((0,), [0.0, 4.0], nan, [0.25, 0.25], [0.0, 0.0]),
        _made_up((0, 1), [0.0, 4.0], nan, nan, [0.0, 0.0]),
    ]
    for dimension in (1e2, 1e6):
        goal = np.log(np.sqrt(dimension) / 0.1)
        times = predicted_times(stages, 3, 0.1, dimension)
        assert times == pytest.approx([goal, goal + 0.5 * goal / 0.25, np.inf])
    # a rate that falls from 2 to 0: int = 2 t - t^2/4 over the stage
    falling = [_made_up((), [0.0, 4.0], [2.0, 0.0]), _made_up((0,), [0.0], [np.nan])]
    goal = np.log(np.sqrt(100.0) / 0.5)
    assert predicted_times(falling, 1, 0.5, 100.0) == pytest.approx([4 - np.sqrt(16 - 4 * goal)])


def test_the_second_feature_leaves_another_saddle():
    problem = HeadsProblem(Gaussian((24.0, 12.0)), "softmax", 4, 4)
    direction = np.random.default_rng(0).standard_normal((4, 2))
    first, second, *_ = stages_visited(problem, 0.5, 0.1, 40.0, 1e6, direction, samples=128)
    assert first.learned == ()
    assert second.learned == (0,)
    assert first.rates[-1, 0] > first.rates[-1, 1] > second.rates[-1, 1]
    assert np.isnan(second.rates[:, 0]).all()
    assert np.abs(second.state.m[:, 0]).max() > 0.5
    assert not second.state.m[:, 1].any()
    with pytest.raises(InvalidProblem, match="symmetric"):
        stages_visited(HeadsProblem(onehot(6.0)), 0.5, 0.1, 1.0, 1e6, direction[:, :1], samples=128)


def test_trends_need_two_dimensions():
    problem = HeadsProblem(flipped(20.0), "softmax", 2, 3)
    for dimensions, seeds in (((100,), 4), ((100, 200), 1)):
        with pytest.raises(InvalidProblem):
            emergence(problem, dimensions, 0.5, np.linspace(0, 1, 3), seeds)
