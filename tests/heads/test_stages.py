"""Emergence and stages on made-up curves with known answers, then on a trajectory, then against SGD."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.emergence import emergence
from replica.heads.flow import State, integrate, random_start
from replica.heads.problem import HeadsProblem
from replica.heads.saddles import Stage, predicted_times, stages_visited
from replica.heads.signals import Discrete, Gaussian, flipped, onehot
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
    rows = emergence(problem, (50, 200), 0.5, np.linspace(0, 20, 81), seeds=3, far=(10**4, 10**6))
    assert [row["dimension"] for row in rows] == [50, 200, 10**4, 10**6]
    # one feature alone starts from the unspecialised point: its rate is all
    assert rows[3]["predicted"] - rows[2]["predicted"] == pytest.approx(np.log(10) / rows[0]["rate"], rel=0.02)
    for row in rows:
        assert row["seen"] == 3
        assert 0 < row["equations"] - row["predicted"] < 0.1 * row["equations"]
        assert row["slope_predicted"] == pytest.approx(row["slope_equations"], rel=0.01)
    for row in rows[:2]:
        assert abs(row["difference"]) < row["difference_err"] + 2.0
        assert abs(row["slope_z"]) < 4
    assert "simulated" not in rows[3]


def test_linear_growth_predicts_when_a_second_feature_is_learned():
    """Far from the limit where its rate at the saddle alone would do."""
    problem = HeadsProblem(Gaussian((24.0, 12.0)), "softmax-1", 4, 4)
    tau = np.linspace(0.0, 40.0, 161)
    for dimension in (1e3, 1e8):
        start = random_start(problem, dimension, 0.1, seed=0)
        found = stages_visited(problem, start, tau, 0.5, samples=256)
        assert [stage.learned for stage in found[:3]] == [(), (0,), (0, 1)]
        targets = 0.1 * found[-1].sizes[-1]
        times = predicted_times(found, targets)
        assert emergence_times(tau, found[-1].sizes[:, None], targets) == pytest.approx(times, rel=0.05, abs=0.3)
        assert times[1] > 2 * times[0]


def _made_up(learned, sizes, rates, errors=0.01):
    rates = np.array(rates)
    return Stage(learned, np.arange(4.0), np.array(sizes), rates, np.full(len(rates), errors), 0.0)


def test_predicted_times_are_those_of_the_last_stage_without_the_feature():
    tau = np.arange(4.0)[:, None]
    first = np.exp(tau * [1.0, 0.1, -1.0]) * 0.01
    second = np.exp(tau * [1.0, 0.5, 0.0]) * 0.01
    third = np.exp(tau * [1.0, 0.5, 0.0]) * 0.01
    nan = np.nan
    stages = [
        _made_up((), first, [1.0, 0.1, -1.0]),
        _made_up((0,), second, [nan, 0.5, 0.0]),
        _made_up((0, 1), third, [nan, nan, 0.005]),
    ]
    targets = np.array([0.1, 0.1, 0.1])
    # within tau, beyond its end by the rate there, and never: the last rate is within its error of zero
    assert predicted_times(stages, targets) == pytest.approx([np.log(10), np.log(10) / 0.5, np.inf])
    assert np.isnan(predicted_times(stages, np.array([1e-3, 0.1, 0.1]))[0])  # starts beyond
    stages[2] = _made_up((0, 1), third, [nan, nan, 0.02])
    assert predicted_times(stages, targets)[2] == pytest.approx(3 + np.log(10) / 0.02)


def test_a_feature_that_is_never_learned_is_not_seen_to_emerge():
    problem = HeadsProblem(Gaussian((0.0,)), "softmax", 2, 3)
    for row in emergence(problem, (400, 800), 0.5, np.linspace(0, 1, 5), seeds=2):
        assert row["predicted"] == np.inf
        assert row["equations"] is row["simulated"] is row["slope_z"] is None
        assert row["seen"] == 0


@pytest.mark.parametrize(
    "signal", [onehot(6.0), Gaussian((6.0,), (1.0,)), Discrete((0.5, 0.5), ((2.0, 1.0), (-2.0, -1.0)))]
)
def test_laws_whose_features_cannot_be_told_apart_are_refused(signal):
    problem = HeadsProblem(signal, "softmax", 2, 3)
    with pytest.raises(InvalidProblem, match="sign of each theta_f"):
        emergence(problem, (50, 100), 0.5, np.linspace(0, 1, 3), seeds=2)


def test_trends_need_two_dimensions():
    problem = HeadsProblem(flipped(20.0), "softmax", 2, 3)
    for dimensions, seeds, more in (
        ((100,), 4, {}),
        ((100, 200), 1, {}),
        ((100, 200), 2, {"level": 1.0}),
        ((100, 200), 2, {"norm": 0.0}),
    ):
        with pytest.raises(InvalidProblem):
            emergence(problem, dimensions, 0.5, np.linspace(0, 1, 3), seeds, **more)
