"""The limit in 1/D: exact without noise, unbiased, and honest about its error."""

import math

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.simulation.extrapolate import limit

SIZES = (100, 200, 500)


def measurements(rng, seeds, curvature=0.0):
    return [2.0 - 30.0 / d + curvature / d**2 + 3.0 / math.sqrt(d) * rng.standard_normal(seeds) for d in SIZES]


def test_exact_when_the_bias_is_one_over_d():
    found = limit(SIZES, [np.full(2, 2.0 - 30.0 / d) for d in SIZES])
    assert found.value == pytest.approx(2.0, abs=1e-12)
    curved = limit(SIZES, [np.full(2, 2.0 - 30.0 / d + 4e4 / d**2) for d in SIZES])
    assert abs(curved.value - 2.0) > 0.1


@pytest.mark.parametrize("seeds", [2, 5])
def test_the_error_covers_the_truth_as_often_as_it_says(seeds):
    rng = np.random.default_rng(0)
    found = [limit(SIZES, measurements(rng, seeds)) for _ in range(3000)]
    z = np.array([(one.value - 2.0) / one.error for one in found])
    inside, freedom = np.mean(np.abs(z) < 1), len(SIZES) * (seeds - 1)
    from scipy.stats import t

    assert inside == pytest.approx(t.cdf(1, freedom) - t.cdf(-1, freedom), abs=0.03)
    assert abs(np.mean(z)) < 0.1


def test_the_misfit_is_one_for_the_right_law_and_large_for_a_wrong_one():
    rng = np.random.default_rng(1)
    right = np.mean([limit(SIZES, measurements(rng, 40)).misfit for _ in range(800)])
    wrong = np.mean([limit(SIZES, measurements(rng, 40, curvature=1e5)).misfit for _ in range(50)])
    assert right == pytest.approx(1.0, abs=0.2)
    assert wrong > 20


@pytest.mark.parametrize(
    ("sizes", "seeds", "needle"),
    [((100, 200), 3, "at least 3"), ((100, 100, 200), 3, "distinct"), (SIZES, 1, "seeds = 1")],
)
def test_too_little_data_is_refused(sizes, seeds, needle):
    with pytest.raises(InvalidProblem, match=needle):
        limit(sizes, [np.ones(seeds)] * len(sizes))
