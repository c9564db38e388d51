"""Bayes fixed points of the spiked model: values, branches, limits, honesty, stationarity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replica.analysis.bayes import fixed_points, observables
from replica.bayes.channels import channel_for
from replica.bayes.state_evolution import StateEvolution, informed_start, solve, uninformed_start
from replica.errors import InvalidProblem
from replica.types import Overlaps, Solution, Status
from tests.bayes.problems import SPIKED, spiked


@pytest.mark.parametrize(("nu", "length", "alpha", "noise", "key", "value", "risk", "rel"), SPIKED)
def test_reference_values(nu, length, alpha, noise, key, value, risk, rel):
    [solution] = fixed_points(spiked(alpha, length, nu, noise))
    assert solution.init == ("uninformed", "informed")
    assert solution.overlaps.q_k == pytest.approx(key, rel=rel)
    assert solution.overlaps.q_v == pytest.approx(value, rel=rel)
    assert solution.test_risk == pytest.approx(risk, rel=rel)
    assert solution.accuracy_met


@pytest.mark.parametrize("problem", [spiked(2.0), spiked(1.05, noise=0.0), spiked(2.0, 5), spiked(1.5, "2:1,9:1", 3.0)])
def test_the_free_entropy_is_stationary_at_fixed_points(problem):
    for name in (uninformed_start, informed_start):
        evolution = StateEvolution(channel_for(problem, 0), problem.alpha, problem.noise)
        start = name() if name is uninformed_start else name(evolution)
        point = solve(evolution, start)
        if point.recovered:
            continue

        def phi(x, e=evolution):
            return observables(e.averages(x), x, problem.alpha, problem.noise)[1]

        for direction in np.eye(2):
            slope, width = [], 1e-3
            for step in (width, 2 * width):
                slope.append((phi(point.x + step * direction) - phi(point.x - step * direction)) / (2 * step))
            assert abs((4 * slope[0] - slope[1]) / 3) < 1e-7
        off = point.x + np.array([0.1, 0.1])
        assert abs(phi(off + 1e-3) - phi(off - 1e-3)) / 2e-3 > 1e-4  # the test can fail


@pytest.mark.parametrize("problem", [spiked(2.0), spiked(1.05, noise=0.0), spiked(2.0, 5), spiked(3.0, 200, 9.0)])
def test_error_bars_cover_the_truth(problem):
    for solution in fixed_points(problem):
        best = fixed_points(problem, rtol=1e-11, init=solution.init[0])[0]
        for name in ("q_k", "q_v", "V_k", "V_v"):
            difference = abs(getattr(solution.overlaps, name) - getattr(best.overlaps, name))
            assert difference <= 3 * solution.errors[name] + 1e-12
        assert abs(solution.test_risk - best.test_risk) <= 3 * solution.errors["test_risk"] + 1e-12


def test_hard_phase_without_noise():
    recovered, algorithmic = fixed_points(spiked(1.05, noise=0.0))
    assert recovered.init == ("informed",)
    assert recovered.overlaps.q_v == 1.0
    assert recovered.overlaps.V_v == 0.0
    assert recovered.free_entropy == math.inf
    assert recovered.overlaps.q_k == pytest.approx(1.05 * 2 / (1 + 1.05 * 2), rel=1e-12)
    assert algorithmic.init == ("uninformed",)
    assert (recovered.branch, algorithmic.branch) == (0, 1)
    assert recovered.selected
    assert not algorithmic.selected
    assert algorithmic.test_risk > recovered.test_risk


def test_the_uninformed_spinodal_of_two_tokens_lies_in_its_known_interval():
    assert len(fixed_points(spiked(1.08, noise=0.0))) == 2
    assert len(fixed_points(spiked(1.10, noise=0.0))) == 1


@pytest.mark.parametrize("alpha", [0.5, 0.999, 1.0])
def test_below_one_sample_per_dimension_nothing_is_recovered(alpha):
    [solution] = fixed_points(spiked(alpha, noise=0.0))
    assert solution.overlaps.q_v < 0.9
    assert solution.converged


@pytest.mark.parametrize("length", [2, 3])
def test_tiny_noise_reaches_one_part_in_a_million_million(length):
    [solution] = fixed_points(spiked(2.0, length, noise=1e-6))
    # linear regression with the position known: 1 - q_v -> Delta^2/(alpha - 1)
    assert solution.overlaps.V_v == pytest.approx(1e-12, rel=1e-5)
    assert solution.errors["V_v"] < 1e-16
    assert math.isfinite(solution.free_entropy)


@pytest.mark.parametrize(
    "problem",
    [
        spiked(2.0, noise=1e-30),
        spiked(2.0, 3, noise=1e-20),
        spiked(2.0, 3, noise=1e6),
        spiked(2.0, 3, nu=1e6),
        spiked(1e-8, 9),
    ],
)
def test_extreme_values_stay_finite(problem):
    for solution in fixed_points(problem):
        assert solution.converged
        assert math.isfinite(solution.test_risk)
        assert all(math.isfinite(error) for error in solution.errors.values())
        assert solution.errors["test_risk"] <= 1e-6 * solution.test_risk


def test_one_token_is_bayesian_linear_regression():
    [solution] = fixed_points(spiked(0.8, 1))
    half = 0.5 * (0.09 + 0.8 - 1)
    miss = -half + math.sqrt(half**2 + 0.09)
    assert solution.overlaps.V_v == pytest.approx(miss, rel=1e-10)
    assert solution.test_risk == pytest.approx(0.09 + miss, rel=1e-10)


def test_without_signal_nothing_is_learnt_about_the_keys():
    [solution] = fixed_points(spiked(3.0, nu=0.0))
    assert solution.overlaps.q_k == 0.0
    assert solution.overlaps.q_v > 0.5
    assert solution.test_risk == pytest.approx(1.09 - 0.5 * solution.overlaps.q_v, rel=1e-9)


def test_the_oracle_bounds_both_branches():
    problem = spiked(3.0, 10_000, 12.0)
    evolution = StateEvolution(channel_for(problem, 0), problem.alpha, problem.noise)
    bound = informed_start(evolution)
    both = fixed_points(problem)
    assert len(both) == 2
    for solution in both:
        assert np.all(np.log([solution.overlaps.V_k, solution.overlaps.V_v]) >= bound - 1e-12)
    # at this alpha the uninformative branch still wins
    assert both[0].init == ("uninformed",)


def test_plain_damped_iteration_ends_at_the_same_point():
    fast = fixed_points(spiked(2.0))[0]
    slow = fixed_points(spiked(2.0), init="uninformed", accelerate=False, damping=0.4)[0]
    assert slow.overlaps.q_v == pytest.approx(fast.overlaps.q_v, rel=1e-9)
    assert slow.iterations > fast.iterations


def test_a_solution_can_be_a_start():
    first = fixed_points(spiked(2.0))[0]
    [again] = fixed_points(spiked(2.1), start=first)
    assert again.init == ("given",)
    assert again.overlaps.q_v == pytest.approx(fixed_points(spiked(2.1))[0].overlaps.q_v, rel=1e-9)


def test_giving_up_is_a_status():
    problem = spiked(2.0)
    evolution = StateEvolution(channel_for(problem, 0), problem.alpha, problem.noise)
    point = solve(evolution, uninformed_start(), accelerate=False, max_calls=5)
    assert point.status is Status.MAX_ITER
    assert "5 evaluations" in point.message


def test_an_unknown_start_is_refused():
    with pytest.raises(InvalidProblem, match="init = 'warm' is unknown"):
        fixed_points(spiked(2.0), init="warm")


def test_a_start_of_another_estimator_is_refused():
    erm = Solution(problem=spiked(2.0), estimator="erm", status=Status.CONVERGED, overlaps=Overlaps(1, 2, 50, 1, 2, 1))
    with pytest.raises(InvalidProblem, match="start = erm with V_k = 50"):
        fixed_points(spiked(2.0), start=erm)


def test_the_row_has_no_activation_and_equal_overlaps():
    row = fixed_points(spiked(2.0))[0].to_row()
    assert row["activation"] is None
    assert row["reg_k"] is None
    assert row["m_k"] == row["q_k"]
    assert row["V_v"] == pytest.approx(1 - row["q_v"], rel=1e-12)
    assert row["q_hat_v"] == pytest.approx(row["q_v"] / row["V_v"], rel=1e-9)
    assert row["attention_relevant"] > 0.5
