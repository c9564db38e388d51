"""L-BFGS experiments: ridge regression exactly, fixed-point values within errors, honest statuses and errors."""

import math

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.simulation.data import Dataset, Group, draw
from replica.simulation.erm import STARTS, check_starts, experiments, fit
from replica.simulation.summary import standard_error, summarise
from replica.types import Status
from tests.simulation.cases import activation

EASY = Problem(SpikedSLR(2.0), activation("softmax"), 2.0, 2)


@pytest.mark.parametrize("name", ["softmax", "softplus", "linear-centred"])
def test_one_token_is_ridge_regression(name):
    problem = Problem(SpikedSLR(1.0), activation(name), 3.0, 1, noise=0.5, reg_k=0.3, reg_v=0.4)
    data = draw(problem, 80, 2)
    group = data.groups[0]
    design = group.tokens[:, 0].astype(float) / math.sqrt(80)
    value = np.linalg.solve(design.T @ design + 0.4 * np.eye(80), design.T @ group.label)
    excess = group.label - design @ value
    found = fit(data, "random", gtol=1e-6)
    assert found.status is Status.CONVERGED
    assert found.q_k < 1e-10
    assert found.q_v == pytest.approx(value @ value / 80, rel=1e-5)
    assert found.m_v == pytest.approx(value @ data.value / 80, rel=1e-5)
    assert found.train_loss == pytest.approx(0.5 * np.mean(excess**2), rel=1e-5)
    assert found.objective == pytest.approx(found.train_loss + 0.2 * value @ value / data.samples, rel=1e-5)


# D, number of data sets (the bias of order 1/D stays below the standard error), relative error of the asymptotic
# values, and these, from dense quadrature: m_k, q_k, m_v, q_v, train_loss, test_risk.
FIXED_POINTS = {
    "spiked softmax L=2": (
        EASY, 400, 8, 1e-6, (0.189644, 0.098688, 0.523195, 0.386036, 0.146355, 0.614744)
    ),
    "max softmax L=2": (
        Problem(MaxSLR(math.inf), activation("softmax"), 2.0, 2),
        400, 8, 1e-6, (0.166904, 0.094408, 0.515924, 0.383540, 0.151337, 0.637469),
    ),
    "max softmax L=3": (
        Problem(MaxSLR(math.inf), activation("softmax"), 4.0, 3, 0.3, 0.3, 0.3),
        400, 6, 0.02, (0.8801, 1.1098, 1.0534, 1.2694, 0.09613, 0.55395),
    ),
    "max linear L=3": (
        Problem(MaxSLR(math.inf), activation("linear"), 4.0, 3, 0.3, 0.3, 0.3),
        600, 4, 0.02, (0.4654, 0.8012, 0.3906, 0.2618, 0.10058, 1.4159),
    ),
}  # fmt: skip
NUMBERS = ("m_k", "q_k", "m_v", "q_v", "train_loss", "test_risk")


@pytest.mark.parametrize("case", FIXED_POINTS)
def test_experiments_scatter_around_the_asymptotic_values(case):
    problem, dimension, seeds, accuracy, expected = FIXED_POINTS[case]
    fits = experiments(problem, dimension, range(seeds), ["informed"])
    (solution,) = summarise(problem, fits, tolerance=1e-5)
    assert solution.status is Status.CONVERGED
    row = solution.to_row()
    z = {
        name: (row[name] - value) / math.hypot(row[f"{name}_err"], accuracy * value)
        for name, value in zip(NUMBERS, expected, strict=True)
    }
    # Student t with few degrees of freedom: 5 is about three standard deviations
    assert max(map(abs, z.values())) < 5, z
    assert all(0 < row[f"{name}_err"] < 0.2 for name in NUMBERS)


def test_storage_in_float32_moves_overlaps_far_less_than_their_fluctuations():
    problem = Problem(MaxSLR(3.0), activation("softmax"), 2.0, "2:1,3:1", noise=0.2, reg_k=0.3, reg_v=0.3)
    full = draw(problem, 150, 0, np.float64)
    groups = tuple(Group(group.tokens.astype(np.float32), group.position, group.label) for group in full.groups)
    short = Dataset(problem, full.seed, full.key, full.value, groups)
    one, two = (fit(data, "informed", gtol=1e-8) for data in (full, short))
    other = fit(draw(problem, 150, 1, np.float64), "informed")
    assert full.groups[0].tokens.dtype == np.float64
    for name in ("m_k", "q_k", "m_v", "q_v", "objective", "train_loss", "test_risk"):
        moved = abs(getattr(one, name) - getattr(two, name))
        assert moved < 1e-4 * abs(getattr(one, name) - getattr(other, name)), name


def test_starts_reach_one_minimum_where_replica_symmetry_is_stable():
    solutions = summarise(EASY, experiments(EASY, 120, [0, 1], STARTS), tolerance=1e-5)
    assert [solution.init for solution in solutions] == [(start,) for start in STARTS]
    assert {solution.branch for solution in solutions} == {0}
    assert [solution.selected for solution in solutions] == [True, False, False]
    for solution in solutions[1:]:
        assert solution.overlaps.q_k == pytest.approx(solutions[0].overlaps.q_k, abs=1e-4)

    assert [solution.minima for solution in solutions] == [1.0] * 3
    assert max(solution.distance_k for solution in solutions) < 1e-8


WEAK = Problem(SpikedSLR(2.0), activation("softmax"), 2.0, 2, reg_k=0.003, reg_v=0.003)


def test_a_number_of_starts_of_one_kind_are_independent():
    assert check_starts(["random:2", "small"]) == ("random-1", "random-2", "small")
    data = draw(WEAK, 40, 0)
    first = fit(data, "random-1", max_iter=1).weights
    assert (first == fit(data, "random-1", max_iter=1).weights).all()
    assert not np.isclose(first, fit(data, "random-2", max_iter=1).weights).any()
    assert not np.isclose(first, fit(data, "random", max_iter=1).weights).any()


def test_the_distance_between_minima_is_that_of_their_keys():
    fits = experiments(WEAK, 60, [0, 1], ["random:3"])
    for group in (fits[:3], fits[3:]):
        keys = [one.weights[0] for one in group]
        squares = [[np.mean((one - other) ** 2) for other in keys] for one in keys]
        assert [one.distance_k for one in group] == pytest.approx(np.sum(squares, axis=1) / 2)
        assert {one.minima for one in group} == {len({round(one.objective, 9) for one in group})}
    solutions = summarise(WEAK, fits, tolerance=1e-5)
    assert solutions[0].distance_k == pytest.approx((fits[0].distance_k + fits[3].distance_k) / 2)
    assert solutions[0].to_row()["minima"] > 1
    (alone,) = experiments(WEAK, 60, [0], ["informed"])
    assert math.isnan(alone.distance_k)


def test_starts_with_different_minima_are_ranked_by_objective():
    solutions = summarise(WEAK, experiments(WEAK, 60, [0, 1, 2], STARTS), tolerance=1e-5)
    ranked = sorted(solutions, key=lambda solution: solution.objective)
    assert [solution.branch for solution in ranked] == [0, 1, 2]
    assert [solution.selected for solution in ranked] == [True, False, False]


def test_a_fit_that_is_cut_short_says_so():
    fits = experiments(EASY, 60, [0, 1], ["random"], max_iter=3)
    assert {one.status for one in fits} == {Status.MAX_ITER}
    (solution,) = summarise(EASY, fits, tolerance=1e-5)
    assert solution.status is Status.MAX_ITER
    assert "2 of 2 runs did not converge" in solution.message
    assert solution.residual > 1e-5


def test_an_unreachable_tolerance_is_not_called_converged():
    found = fit(draw(EASY, 60, 0), "informed", gtol=1e-17)
    assert found.status in (Status.STALLED, Status.MAX_ITER)
    assert 0 < found.residual < 1e-5


def test_rows_follow_the_schema():
    (solution,) = summarise(EASY, experiments(EASY, 60, range(3, 6), ["informed"]), tolerance=1e-5)
    row = solution.to_row()
    expected = {"estimator": "experiment-erm", "d": 60, "seeds": 3, "seed": 3, "init": "informed"}
    assert {name: row[name] for name in expected} == expected
    assert [row[name] for name in ("V_k", "q_hat_v", "free_entropy", "replicon")] == [None] * 4
    single = summarise(EASY, experiments(EASY, 60, [3], ["informed"]), tolerance=1e-5)[0].to_row()
    assert [single[name] for name in ("m_k_err", "test_risk_err")] == [None] * 2


def test_standard_error():
    values = np.random.default_rng(0).standard_normal((2000, 5))
    errors = np.array([standard_error(row) for row in values])
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(1 / math.sqrt(5), rel=0.03)


def test_off_manifold_overlaps_shrink_like_one_over_sqrt_d():
    spread = []
    for dimension in (50, 450):
        fits = experiments(EASY, dimension, range(8), ["random"])
        spread.append(np.sqrt(np.mean([np.square(one.off_manifold) for one in fits])))
    assert 1.8 < spread[0] / spread[1] < 5


@pytest.mark.parametrize(
    ("call", "needle"),
    [
        (lambda: check_starts(["informed", "warm"]), "start = 'warm'"),
        (lambda: check_starts([]), "start = ''"),
        (lambda: check_starts(["random:0"]), "start = 'random:0'"),
        (lambda: check_starts(["informed:2"]), "start = 'informed:2'"),
        (lambda: check_starts(["random-x"]), "start = 'random-x'"),
        (lambda: experiments(EASY, 60, [], ["random"]), "seeds = 0"),
        (lambda: experiments(EASY, 5, [0], ["random"]), "d = 5"),
    ],
)
def test_bad_input_is_refused(call, needle):
    with pytest.raises(InvalidProblem, match=needle):
        call()
