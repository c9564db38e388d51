"""Solvers on maps with exact answers: they converge, say so truthfully, and fail by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.solvers.fixed_point import IDENTITY, Chart, iterate, jacobian, newton, residual_of
from replica.types import Status
from tests.solvers.problems import PROBLEMS

pytestmark = pytest.mark.nojit

POSITIVE = Chart(lambda x: np.log(np.maximum(x, 0.0)), np.exp, lambda x: 1.0 + np.abs(x))


@pytest.fixture(autouse=True)
def _quiet_logs():
    with np.errstate(divide="ignore", invalid="ignore"):
        yield


class Counted:
    """A map that remembers where it was called."""

    def __init__(self, function):
        self.function, self.points = function, []

    def __call__(self, x):
        self.points.append(np.array(x))
        return self.function(x)


@pytest.mark.parametrize("name", PROBLEMS)
def test_catalogue_is_right(name):
    problem = PROBLEMS[name]
    np.testing.assert_allclose(problem.function(problem.answer), problem.answer, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "accelerate"),
    [(name, accelerate) for name, it in PROBLEMS.items() for accelerate in (True, False) if accelerate or it.contracts],
)
def test_converges_to_the_answer(name, accelerate):
    problem = PROBLEMS[name]
    function = Counted(problem.function)
    result = iterate(function, problem.start, tolerance=1e-12, max_evaluations=2000, accelerate=accelerate)
    assert result.status is Status.CONVERGED
    assert result.residual <= 1e-12
    assert result.evaluations == len(function.points)
    # the slowest mode, .97, turns a residual into an error thirty times as large
    np.testing.assert_allclose(result.x, problem.answer, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(result.value, problem.function(result.x))
    assert result.residual == residual_of(result.x, result.value, IDENTITY)


def test_acceleration_pays():
    problem = PROBLEMS["slow"]
    plain, fast = (
        iterate(
            problem.function, problem.start, tolerance=1e-10, max_evaluations=2000, accelerate=accelerate
        ).evaluations
        for accelerate in (False, True)
    )
    assert plain > 500
    assert fast < 40


@pytest.mark.parametrize("name", PROBLEMS)
def test_newton(name):
    problem = PROBLEMS[name]
    slope = jacobian(problem.function, problem.start, problem.function(problem.start), IDENTITY)
    result, updated = newton(problem.function, problem.start, slope, tolerance=1e-11)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, problem.answer, rtol=0, atol=1e-9)
    assert result.residual == residual_of(result.x, result.value, IDENTITY)
    assert updated.shape == slope.shape


def test_jacobian_of_a_linear_map_in_a_chart():
    """In logarithms the power law x -> (x_1^a x_2^b, ...) is linear with matrix of exponents."""
    exponents = np.array([[0.3, -0.2], [0.5, 0.1]])
    x = np.array([2.0, 0.7])

    def power_law(x):
        return np.exp(exponents @ np.log(x))

    np.testing.assert_allclose(jacobian(power_law, x, power_law(x), POSITIVE), exponents, rtol=1e-9, atol=1e-9)


def test_broyden_updates_repair_a_wrong_jacobian():
    problem = PROBLEMS["contraction"]
    result, _ = newton(problem.function, problem.start, 0.2 * np.eye(6), tolerance=1e-11)
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, problem.answer, rtol=0, atol=1e-9)


def test_damping_weights_the_old_iterate():
    """One step of x <- d x + (1 - d) F(x), plainly and in a chart."""
    function = Counted(lambda x: np.array([4.0]))
    iterate(function, np.array([1.0]), tolerance=1e-12, damping=0.75, accelerate=False, max_evaluations=3)
    np.testing.assert_allclose(np.ravel(function.points), [1.0, 1.75, 2.3125])
    function = Counted(lambda x: np.array([4.0]))
    iterate(function, np.array([1.0]), tolerance=1e-12, damping=0.5, chart=POSITIVE, max_evaluations=2)
    np.testing.assert_allclose(np.ravel(function.points), [1.0, 2.0])


def test_damping_stops_an_oscillation():
    problem = PROBLEMS["expanding"]
    plain = iterate(problem.function, problem.start, tolerance=1e-10, accelerate=False)
    assert plain.status is not Status.CONVERGED
    damped = iterate(problem.function, problem.start, tolerance=1e-10, accelerate=False, damping=0.5)
    assert damped.status is Status.CONVERGED
    np.testing.assert_allclose(damped.x, problem.answer, atol=1e-8)


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.999])
def test_residual_is_undamped(damping):
    """Heavy damping makes steps small; the residual does not call that convergence."""
    result = iterate(
        lambda x: x + 1.0, np.array([0.0]), tolerance=1e-2, damping=damping, accelerate=False, max_evaluations=5
    )
    assert result.status is Status.MAX_ITER
    assert result.evaluations == 5
    assert result.residual == pytest.approx(1 / (1 + abs(result.x[0])))


def test_no_fixed_point_stalls():
    result = iterate(lambda x: x + 1.0 + 0 * x, np.array([-1e9]), tolerance=1e-12, accelerate=False)
    assert result.status is Status.STALLED
    assert result.evaluations < 100
    assert result.residual == pytest.approx(1e-9, rel=1e-3)


def test_cycle_stalls_without_acceleration():
    result = iterate(lambda x: -x, np.array([1.0]), tolerance=1e-12, accelerate=False)
    assert result.status is Status.STALLED
    assert result.residual == 1.0


def test_noise_floor_stalls():
    """A map known to 1e-3 cannot be solved to 1e-9; the status says so instead of looping to the end."""
    rng = np.random.default_rng(0)
    result = iterate(lambda x: 0.5 * x + 1e-3 * rng.normal(size=2), np.ones(2), tolerance=1e-9, max_evaluations=10_000)
    assert result.status is Status.STALLED
    assert result.evaluations < 500
    assert result.residual > 1e-9


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nonfinite(bad):
    result = iterate(lambda x: x / 2 if x[0] > 0.1 else np.array([bad]), np.array([1.0]), tolerance=1e-12)
    assert result.status is Status.NONFINITE
    assert np.isnan(result.residual)
    result, _ = newton(lambda x: np.array([bad]), np.array([1.0]), np.zeros((1, 1)), tolerance=1e-12)
    assert result.status is Status.NONFINITE


def test_out_of_domain():
    """F leaves the domain of the chart: x -> x - 1 on positive x."""
    result = iterate(lambda x: x - 1.0, np.array([2.5]), tolerance=1e-12, chart=POSITIVE, plain_steps=99)
    assert result.status is Status.OUT_OF_DOMAIN
    assert np.isfinite(result.residual)
    result, _ = newton(lambda x: x - 1.0, np.array([0.5]), np.zeros((1, 1)), tolerance=1e-12, chart=POSITIVE)
    assert result.status is Status.OUT_OF_DOMAIN


def test_newton_gives_up_early():
    """No fixed point: a few steps, the best point seen, and `stalled`."""
    function = Counted(lambda x: x + 1.0)
    result, _ = newton(function, np.array([0.0]), np.array([[0.0]]), tolerance=1e-12)
    assert result.status is Status.STALLED
    assert len(function.points) < 15
    singular, _ = newton(lambda x: x + 1.0, np.array([0.0]), np.array([[1.0]]), tolerance=1e-12)
    assert singular.status is Status.STALLED


def test_chart_keeps_iterates_in_the_domain():
    """x -> c/x^p on positive x: far steps stay positive and the answer c^(1/(1+p)) is found."""
    function = Counted(lambda x: 1e4 / x**0.9)
    result = iterate(function, np.array([1e-3]), tolerance=1e-12, chart=POSITIVE)
    assert result.status is Status.CONVERGED
    assert all((point > 0).all() for point in function.points)
    np.testing.assert_allclose(result.x, 1e4 ** (1 / 1.9), rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-0.9, 0.9), min_size=1, max_size=6), st.integers(0, 10_000), st.floats(0, 0.6))
def test_contractions_converge_whatever_the_damping(eigenvalues, seed, damping):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(len(eigenvalues),) * 2))[0]
    matrix, answer = basis @ np.diag(eigenvalues) @ basis.T, rng.normal(size=len(eigenvalues))
    for accelerate in (True, False):
        result = iterate(
            lambda x: answer + matrix @ (x - answer),
            np.zeros(len(answer)),
            tolerance=1e-9,
            damping=damping,
            accelerate=accelerate,
            max_evaluations=2000,
        )
        assert result.status is Status.CONVERGED
        np.testing.assert_allclose(result.x, answer, atol=1e-6)


def test_calls_do_not_change_the_start():
    start = np.array([1.0])
    iterate(np.cos, start, tolerance=1e-10)
    newton(np.cos, start, np.zeros((1, 1)), tolerance=1e-10)
    assert start[0] == 1.0
