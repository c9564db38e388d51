"""Options of the solver: they change the road, not the destination."""

import math
from dataclasses import replace

import pytest

import replica
from replica.analysis.erm import fixed_points
from replica.errors import (
    ConvergenceWarning,
    InvalidProblem,
    MultipleFixedPointsWarning,
    QuadratureWarning,
    StabilityWarning,
)
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.types import Status
from tests.erm.problems import LOW, MAX, SPIKED, numbers_of


def agree(one, other):
    for name, value in numbers_of(one).items():
        assert abs(value - numbers_of(other)[name]) <= one.errors[name] + other.errors[name], name


@pytest.mark.parametrize("problem", [SPIKED, MAX, LOW[4.0, 0.1]], ids=["spiked", "max", "low penalty"])
@pytest.mark.parametrize("options", [{"accelerate": False}, {"damping": 0.4}, {"accelerate": False, "damping": 0.5}])
def test_roads_to_one_fixed_point(solved, problem, options):
    (usual,), (other,) = solved(problem), solved(problem, **options)
    assert other.status is Status.CONVERGED
    assert other.residual <= 1e-9
    agree(usual, other)
    assert ("damped" in other.method) is ("accelerate" in options)


def test_acceleration_needs_fewer_evaluations(solved):
    problem = LOW[4.0, 0.1]
    assert 3 * solved(problem)[0].iterations < solved(problem, accelerate=False)[0].iterations


def test_start_from_an_earlier_solution(solved):
    nearby = solved(Problem(data=SpikedSLR(2.0), alpha=2.1))[0]
    (usual,), (warm,) = solved(SPIKED), fixed_points(SPIKED, start=nearby)
    agree(usual, warm)
    assert warm.init == ("given",)
    assert warm.iterations < usual.iterations
    again = replica.solve(SPIKED, start=usual)
    agree(usual, again)


def test_start_without_overlaps_is_no_start():
    """A row of the Bayes solver, say, or one that failed."""
    nowhere = replica.Solution(problem=SPIKED, estimator="erm", status=Status.FAILED)
    with pytest.raises(InvalidProblem, match="start"):
        fixed_points(SPIKED, start=nowhere)


def test_rtol_is_met_by_more_nodes(solved):
    coarse, usual, fine = (solved(SPIKED, rtol=rtol)[0] for rtol in (1e-2, 1e-4, 1e-7))
    assert coarse.nodes <= usual.nodes < fine.nodes
    for solution in (coarse, usual, fine):
        assert solution.accuracy_met
        assert solution.errors["test_risk"] <= solution.rtol * solution.test_risk
    assert fine.errors["test_risk"] < usual.errors["test_risk"]


def test_accuracy_that_cannot_be_met_is_reported(solved):
    problem = LOW[2.0, 0.1]
    (solution,) = solved(problem, rtol=1e-12)
    assert solution.status is Status.CONVERGED
    assert solution.accuracy_met is False
    assert "nodes are at their cap" in solution.message
    with pytest.warns(QuadratureWarning, match="cap"):
        replica.solve(SPIKED, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"init": "warm"}, "init = 'warm' is unknown; known: informed, uninformed, both"),
        ({"rtol": 0.0}, "rtol = 0 .*0 < rtol < 1"),
        ({"rtol": 1.5}, "rtol = 1.5 .*0 < rtol < 1"),
        ({"rtol": math.nan}, "rtol = nan .*0 < rtol < 1"),
        ({"damping": 1.0}, "damping = 1 .*0 <= damping < 1"),
        ({"damping": -0.5}, "damping = -0.5 .*0 <= damping < 1"),
        ({"damping": math.nan}, "damping = nan .*0 <= damping < 1"),
        ({"seed": -1}, "seed = -1 .*"),
    ],
)
def test_options_that_make_no_sense(options, match):
    """From Python as from the command line, whatever the problem and the estimator."""
    for problem in (SPIKED, Problem(data=SpikedSLR(2.0), length=1)):
        for estimator in ("erm", "bayes"):
            with pytest.raises(InvalidProblem, match=match):
                replica.solve(problem, estimator=estimator, **options)


def test_evaluations_run_out():
    (solution,) = fixed_points(LOW[4.0, 0.1], max_evaluations=3, init="informed")
    assert solution.status is Status.MAX_ITER
    assert not solution.converged
    assert solution.residual > 1e-3
    assert "not converged" in solution.message
    assert solution.rs_stable is None
    assert math.isfinite(solution.test_risk)
    assert not solution.accuracy_met


def test_python_warns(recwarn):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        replica.solve(SPIKED, damping=0.9999, accelerate=False, init="informed")
    with pytest.warns(StabilityWarning, match="broken"):
        replica.solve(LOW[2.0, 0.01], rtol=0.01)
    recwarn.clear()
    replica.solve(SPIKED)
    assert not recwarn.list


def test_branches_are_ranked(solved):
    """Whatever is found is sorted by objective, and one row is the prediction."""
    found = solved(LOW[2.0, 0.01], rtol=0.01)
    assert [solution.branch for solution in found] == list(range(len(found)))
    assert [solution.selected for solution in found] == [True] + [False] * (len(found) - 1)
    objectives = [solution.objective for solution in found]
    assert objectives == sorted(objectives)


def test_several_fixed_points_are_announced():
    """Without noise, just above one sample per dimension: exact recovery beside what message passing reaches."""
    with pytest.warns(MultipleFixedPointsWarning, match="2 fixed points found; largest free entropy"):
        best = replica.solve(Problem(data=SpikedSLR(2.0), alpha=1.05), estimator="bayes")
    assert best.overlaps.q_v == 1.0


def test_bayes_from_python():
    """The same entry point gives the Bayes-optimal risk, which no ERM beats."""
    problem = Problem(data=SpikedSLR(2.0), alpha=2.0, noise=0.3)
    bayes = replica.solve(problem, estimator="bayes")
    assert bayes.test_risk == pytest.approx(0.43450794, rel=1e-6)
    assert bayes.test_risk < replica.solve(problem).test_risk
    with pytest.raises(InvalidProblem, match="estimator = 'gibbs' is unknown"):
        replica.solve(problem, estimator="gibbs")


def test_a_start_on_the_edge_of_the_domain_is_refused():
    found = fixed_points(Problem(data=SpikedSLR(2.0), alpha=2.0), rtol=1e-2)[0]
    edge = replace(found, overlaps=found.overlaps._replace(m_v=0.0, q_v=0.0))
    with pytest.raises(InvalidProblem, match="impossible overlaps"):
        fixed_points(found.problem, start=edge)
