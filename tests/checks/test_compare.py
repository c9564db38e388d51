"""Verdicts of `replica.checks.compare`: right on right theories, right on wrong ones, honest where there is none."""

import dataclasses
import math

import numpy as np
import pytest

from replica.checks.compare import LARGEST_Z, Plan, Verdict, check, deviate, distinct_minima, judge
from replica.checks.table import NAMES
from replica.errors import InvalidProblem
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.simulation.erm import Fit, experiments
from replica.types import Solution, Status

QUICK = Plan(sizes=(100, 200, 400), seeds=6, starts=("informed",))
SPIKED = Problem(data=SpikedSLR(2.0), alpha=2.0, noise=0.3)


@pytest.fixture(scope="module")
def fits() -> dict[int, list[list[Fit]]]:
    """Experiments on SPIKED, by size and data set."""
    return {
        size: [[fit] for fit in experiments(SPIKED, size, range(QUICK.seeds), ["informed"])] for size in QUICK.sizes
    }


@pytest.mark.parametrize("estimator", ["erm", "bayes"])
def test_a_right_theory_agrees(estimator):
    found = check(SPIKED, estimator, QUICK)
    assert found.verdict is Verdict.AGREES
    assert {"m_k", "q_k", "m_v", "q_v", "test_risk"} <= set(found.limits)
    assert abs(found.worst.z) < LARGEST_Z
    # the agreement means something: the risk is known to a few per cent
    risk = found.limits["test_risk"]
    assert 0 < risk.experiment_err < 0.05 * risk.theory
    assert [line.d for line in found.lines[:4]] == [100, 200, 400, None]


def test_the_theory_of_another_problem_disagrees(solved, fits):
    right, wrong = (solved(dataclasses.replace(SPIKED, reg_v=reg_v))[0] for reg_v in (1.0, 0.7))
    assert judge(right, QUICK, fits).verdict is Verdict.AGREES
    found = judge(wrong, QUICK, fits)
    assert found.verdict is Verdict.DISAGREES
    assert found.worst.number in found.message


def test_one_wrong_number_is_enough(solved, fits):
    right = solved(SPIKED)[0]
    error = judge(right, QUICK, fits).limits["train_loss"].experiment_err
    wrong = dataclasses.replace(right, train_loss=right.train_loss + 8 * error)
    found = judge(wrong, QUICK, fits)
    assert (found.verdict, found.worst.number) == (Verdict.DISAGREES, "train_loss")


def test_a_large_z_at_one_size_alone_is_not_judged(solved, fits):
    """A bias in 1/d, which a theory of infinite d does not have."""
    bias = 20.0

    def biased(fit: Fit) -> Fit:
        return dataclasses.replace(fit, q_v=fit.q_v + bias / fit.dimension)

    groups = {size: [[biased(runs[0])] for runs in sets] for size, sets in fits.items()}
    found = judge(solved(SPIKED)[0], QUICK, groups)
    assert next(line.z for line in found.lines if line.number == "q_v") > LARGEST_Z
    assert found.verdict is Verdict.AGREES
    plain = judge(solved(SPIKED)[0], QUICK, fits)
    assert found.limits["q_v"].z == pytest.approx(plain.limits["q_v"].z, abs=1e-6)


def test_broken_replica_symmetry_is_said_with_the_minima():
    problem = Problem(data=SpikedSLR(2.0), alpha=2.0, reg_k=0.01, reg_v=0.01)
    found = check(problem, "erm", Plan(sizes=(40, 60, 80), seeds=3))
    assert found.verdict is Verdict.BROKEN
    risk = found.limits["test_risk"]
    assert risk.minima > 1.5
    assert risk.spread > 0.01
    assert f"{risk.minima:.1f} distinct minima" in found.message


def test_the_lowest_minimum_of_each_data_set_is_compared(solved, fits):
    """A worse and a better copy of each fit: only the better counts, wherever it stands."""

    def copies(fit: Fit, index: int) -> list[Fit]:
        worse = dataclasses.replace(fit, objective=fit.objective + 0.01, m_k=fit.m_k - 3.0)
        return [fit, worse] if index % 2 else [worse, fit]

    groups = {size: [copies(runs[0], index) for index, runs in enumerate(sets)] for size, sets in fits.items()}
    theory = solved(SPIKED)[0]
    mixed, plain = judge(theory, QUICK, groups), judge(theory, QUICK, fits)
    assert {name: line.z for name, line in mixed.limits.items()} == {n: line.z for n, line in plain.limits.items()}
    assert mixed.limits["m_k"].spread == pytest.approx(3.0)
    assert mixed.limits["m_k"].minima == 2
    assert math.isnan(plain.limits["m_k"].minima)


def test_objectives_within_the_tolerance_are_one_minimum(fits):
    fit = fits[100][0][0]

    def at(*factors: float) -> list[Fit]:
        return [dataclasses.replace(fit, objective=factor * fit.objective) for factor in factors]

    assert distinct_minima(at(1.0, 1 + 1e-8, 1 - 1e-8)) == 1
    assert distinct_minima(at(1.02, 1.0, 1 + 1e-8, 1.01)) == 3


@pytest.mark.parametrize("side", ["theory", "experiment"])
def test_what_did_not_converge_is_undecided(solved, fits, side):
    theory: Solution = solved(SPIKED)[0]
    groups = fits
    if side == "theory":
        theory = dataclasses.replace(theory, status=Status.MAX_ITER, message="cut short")
    else:
        cut = dataclasses.replace(fits[200][1][0], status=Status.MAX_ITER, message="cut short")
        groups = {**fits, 200: [fits[200][0], [cut], *fits[200][2:]]}
    found = judge(theory, QUICK, groups)
    assert found.verdict is Verdict.UNDECIDED
    assert "cut short" in found.message


def test_rows_have_the_columns_and_judge_the_limit_only(solved, fits):
    rows = judge(solved(SPIKED)[0], QUICK, fits).to_rows()
    assert {tuple(row) for row in rows} == {NAMES}
    assert {row["d"] for row in rows} == {100, 200, 400, None}
    assert all(row["judged"] == (row["d"] is None) == (row["misfit"] is not None) for row in rows)
    assert {row["verdict"] for row in rows} == {"agrees"}
    infinite = dataclasses.replace(solved(SPIKED)[0], problem=dataclasses.replace(SPIKED, data=MaxSLR(math.inf)))
    assert {row["nu"] for row in judge(infinite, QUICK, fits).to_rows()} == {math.inf}


@pytest.mark.parametrize("seeds", [2, 6])
def test_z_is_standard_normal_for_few_data_sets_too(seeds):
    rng = np.random.default_rng(3)
    values = rng.standard_normal((4000, seeds))
    errors = values.std(axis=1, ddof=1) / math.sqrt(seeds)
    z = np.array([deviate(m, e, seeds - 1) for m, e in zip(values.mean(axis=1), errors, strict=True)])
    assert np.mean(z) == pytest.approx(0.0, abs=0.06)
    assert np.std(z) == pytest.approx(1.0, abs=0.04)
    assert np.mean(np.abs(z) > 2) == pytest.approx(0.0455, abs=0.012)


def test_z_far_out_and_without_spread():
    assert deviate(-1e3, 1.0, 2000) < -20
    assert deviate(0.0, 0.0, 5) == 0.0
    assert deviate(1.0, 0.0, 5) > LARGEST_Z
    assert math.isnan(deviate(1.0, math.nan, 5))


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        ({"sizes": (100, 200)}, "d = 100,200"),
        ({"sizes": (100, 100, 200)}, "d = 100,200"),
        ({"seeds": 1}, "seeds = 1"),
        ({"starts": ("warm",)}, "start = 'warm'"),
    ],
)
def test_plans_that_cannot_be_judged_are_refused(options, needle):
    with pytest.raises(InvalidProblem, match=needle):
        Plan(**options)


def test_problems_without_an_experiment_are_refused():
    with pytest.raises(InvalidProblem, match="alpha = inf"):
        check(dataclasses.replace(SPIKED, alpha=math.inf), "erm", QUICK)
    with pytest.raises(InvalidProblem, match="estimator = 'map'"):
        check(SPIKED, "map", QUICK)
