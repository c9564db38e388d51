"""The energy is stationary, and the map is its gradient on the very nodes that are used."""

import math

import numpy as np
import pytest

from replica.analysis.discretise import ladder
from replica.analysis.erm_map import Equations, overlap_chart
from replica.analysis.path import starting_point
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.solvers.fixed_point import iterate
from replica.types import Status
from tests.erm.problems import LOW, MAX, NOISY_SPIKED, SOFT_MAX, SPIKED

CASES = {
    "spiked": SPIKED,
    "noisy spiked": NOISY_SPIKED,
    "max": MAX,
    "soft max": SOFT_MAX,
    "jumps": LOW[4.0, 0.1],
    "unequal": Problem(data=SpikedSLR(1.0), alpha=3.0, noise=0.5, reg_k=0.3, reg_v=0.9),
}
LEVEL = 2


def equations_of(problem, level=LEVEL):
    return Equations(problem, ladder(problem, seed=0, threads=None).channel(level))


def central(function, x, index, step):
    up, down = x.copy(), x.copy()
    up[index] += step
    down[index] -= step
    return (function(up) - function(down)) / (2 * step)


@pytest.mark.parametrize("name", CASES)
def test_stationary_in_all_twelve(name):
    problem = CASES[name]
    equations = equations_of(problem)
    result = iterate(equations, starting_point(problem, "informed"), tolerance=1e-11, chart=overlap_chart())
    assert result.status is Status.CONVERGED
    x, (_, hat, sums) = result.x, equations.step(result.x)
    for index in range(6):
        slope = central(lambda x: equations.energy(x, hat), x, index, 2e-4 * (1 + abs(x[index])))
        # each conjugate pair contributes terms of this size, which cancel
        assert abs(slope) < 2e-6 * (1 + np.abs(hat).max()), index
        slope = central(lambda hat: equations.energy(x, hat), hat, index, 2e-4 * (1 + abs(hat[index])))
        assert abs(slope) < 2e-6 * (1 + np.abs(x).max()), index
    assert equations.energy(x, hat) == pytest.approx(
        problem.alpha * sums.train_loss + (problem.reg_k * x[1] + problem.reg_v * x[4]) / 2, abs=1e-8
    )


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_the_gradient_of_the_average(name):
    """At overlaps that are no fixed point, on coarse nodes: consistency does not need accuracy."""
    problem = CASES[name]
    equations = equations_of(problem, level=0)
    x = np.array([0.5, 0.8, 1.1, 0.6, 0.7, 0.5])
    slopes = equations.channel.sums(equations.parameters(x)).slopes
    for index in range(6):
        found = central(lambda x: equations.channel.sums(equations.parameters(x)).envelope, x, index, 1e-4)
        assert slopes[index] == pytest.approx(found, rel=1e-5, abs=2e-7), index


@pytest.mark.parametrize("name", ["max", "jumps"])
def test_map_is_a_pure_function(name):
    equations, elsewhere = equations_of(CASES[name]), np.array([0.1, 2.0, 5.0, 0.3, 0.4, 3.0])
    x = np.array([0.5, 0.8, 1.1, 0.6, 0.7, 0.5])
    first = equations(x)
    equations(elsewhere)
    np.testing.assert_array_equal(equations(x), first)
    np.testing.assert_array_equal(equations_of(CASES[name])(x), first)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bits_do_not_depend_on_threads(threads):
    problem, x = LOW[4.0, 0.1], np.array([0.8, 1.4, 3.4, 1.06, 1.2, 0.55])
    values = [
        Equations(problem, ladder(problem, seed=0, threads=count).channel(6))(x).tobytes() for count in (threads, 4)
    ]
    assert values[0] == values[1]


def test_map_holds_a_response_that_would_turn_negative():
    """V_hat below -reg has no overlaps: V grows by a bounded factor instead, and the conjugate is left as it is."""
    equations = equations_of(SPIKED)
    x = np.array([0.1, 1.0, 0.3, 0.1, 1.0, 0.2])
    assert equations.step(x)[1][2] > 0
    equations.channel = type("Negative", (), {"sums": lambda self, par: Sums()})()
    value, hat, _ = equations.step(x)
    assert hat[2] == -4.0
    assert 0.3 < value[2] < 30
    assert np.isfinite(overlap_chart().to_free(value)).all()


class Sums:
    """Slopes that ask for V_hat_k = -4."""

    slopes = np.array([0.1, -1.0, -0.3, 0.1, 0.1, -0.2])


def test_chart_covers_the_domain():
    chart, rng = overlap_chart(), np.random.default_rng(0)
    for z in 3 * rng.normal(size=(20, 6)):
        x = chart.to_domain(z)
        assert x[1] > x[0] ** 2
        assert x[4] > x[3] ** 2
        assert min(x[2], x[5]) > 0
    for x in ([0.5, 0.3, 2.0, -0.4, 0.9, 1e-6], [0.0, 1e-3, 1e3, 0.0, 2.0, 0.1]):
        np.testing.assert_allclose(chart.to_domain(chart.to_free(np.array(x))), x, rtol=1e-12)
    assert not np.isfinite(chart.to_free(np.array([1.0, 0.5, 1.0, 0.0, 1.0, 1.0]))).all()


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR(math.inf)], ids=str)
@pytest.mark.parametrize("init", ["informed", "uninformed"])
def test_starts_are_inside_the_domain(data, init):
    for alpha in (1e-3, 1.0, 1e3):
        x = starting_point(Problem(data=data, alpha=alpha, reg_k=0.01, reg_v=10.0), init)
        assert np.isfinite(overlap_chart().to_free(x)).all()
