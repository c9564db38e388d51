"""Thresholds: known values, certificates re-solved, and the plain word when there is none."""

from __future__ import annotations

import math

import pytest

from replica import MaxSLR, Problem, SpikedSLR
from replica.analysis.bayes import fixed_points
from replica.analysis.thresholds import KINDS, thresholds
from replica.errors import InvalidProblem


def problem(data=None, length: object = 2, noise: float = 0.0, alpha: float = 1.0) -> Problem:
    return Problem(data=data or SpikedSLR(2.0), length=length, noise=noise, alpha=alpha)


@pytest.mark.parametrize(
    ("data", "low", "high"), [(SpikedSLR(2.0), 1.05, 1.1), (SpikedSLR(0.0), 1.1, 1.3), (MaxSLR(), 1.1, 1.15)]
)
def test_without_noise_the_threshold_is_one(data, low, high):
    rows = thresholds(problem(data))
    assert [row.kind for row in rows] == list(KINDS)
    assert all(row.status == "certified" for row in rows)
    assert all(row.lo < row.value < row.hi for row in rows)
    assert all(row.hi - row.lo <= 1.0001e-3 * row.value for row in rows)
    assert low < rows[0].value < high
    assert rows[1].value == rows[2].value == 1.0


def test_the_brackets_contain_the_changes():
    uninformed, informed, crossing = thresholds(problem(noise=0.01))
    assert 1.0 < informed.value < crossing.value < uninformed.value < 1.1

    def solve(alpha):
        return fixed_points(problem(noise=0.01, alpha=alpha))

    for inside, outside in ((informed.hi, informed.lo), (uninformed.lo, uninformed.hi)):
        assert len(solve(inside)) == 2
        assert len(solve(outside)) == 1
    assert solve(crossing.lo - 1e-4)[0].init == ("uninformed",)
    assert solve(crossing.hi + 1e-4)[0].init == ("informed",)


@pytest.mark.parametrize("case", [problem(noise=0.3), problem(length=1), problem(SpikedSLR(0.0), noise=1.0)])
def test_no_transition_is_said_plainly(case):
    rows = thresholds(case)
    assert [row.status for row in rows] == ["none"] * 3
    assert all(math.isnan(row.value) for row in rows)
    assert "no first-order transition" in rows[0].message
    assert rows[0].to_row()["value"] is None


def test_a_hard_phase_too_narrow_to_see_still_has_its_threshold():
    rows = thresholds(problem(SpikedSLR(60.0)))
    assert all(row.value == 1.0 and row.status == "certified" for row in rows)


@pytest.mark.slow
def test_more_tokens_are_harder():
    # L = 5, nu = 2 without noise: the uninformed branch ends between 1.5 and 1.7
    rows = thresholds(problem(length=5))
    assert 1.5 < rows[0].value < 1.7
    assert rows[2].value == 1.0
    assert all(row.status == "certified" for row in rows)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tol": 0.0}, "tol = 0 is zero"),
        ({"tol": 3.0}, "too large"),
        ({"alpha_min": 2.0, "alpha_max": 1.0}, "not above"),
        ({"alpha_max": math.inf}, "not finite"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(InvalidProblem, match=text) as caught:
        thresholds(problem(), **options)
    assert "\n" not in str(caught.value)
