"""Penalties and offset of least test risk."""

from __future__ import annotations

import pytest

from replica import Erf, Problem, Softmax, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.errors import InvalidProblem

OPTIMAL = "optimal"


def risk(problem):
    return fixed_points(problem, rtol=1e-4)[0].test_risk


def test_one_token_is_ridge_regression_with_the_bayes_penalty():
    # y = z* + noise xi with z* of a standard normal prior: the best penalty on |v|^2 is noise^2
    (solution,) = fixed_points(Problem(SpikedSLR(2.0), Softmax(), alpha=2.0, length=1, noise=0.5, reg_v=OPTIMAL))
    assert solution.problem.reg_v == pytest.approx(0.25, rel=0.02)
    assert solution.problem.reg_k == 1.0
    assert f"optimal reg_v = {solution.problem.reg_v:.4g}" in solution.message
    assert "; 1 value optimised over " in solution.method


def test_an_optimum_at_the_end_of_the_search_is_said_to_be():
    (solution,) = fixed_points(Problem(SpikedSLR(2.0), Softmax(), alpha=2.0, length=1, noise=0.0, reg_v=OPTIMAL))
    assert solution.problem.reg_v < 1.1e-3
    assert "reg_v is at a bound of the search, 0.001 to 1000" in solution.message


def test_both_penalties_at_two_tokens():
    problem = Problem(SpikedSLR(2.0), Softmax(), alpha=4.0, noise=0.3, reg_k=OPTIMAL, reg_v=OPTIMAL)
    best = fixed_points(problem)[0]
    assert best.converged
    assert best.accuracy_met
    assert "bound" not in best.message
    values = {"reg_k": best.problem.reg_k, "reg_v": best.problem.reg_v}
    for name in values:
        for factor in (0.7, 1.4):
            assert risk(problem.with_values({**values, name: factor * values[name]})) > best.test_risk
    # a few per cent away the risk is flat: the optimum is well placed
    near = risk(problem.with_values({name: 1.03 * value for name, value in values.items()}))
    assert near == pytest.approx(best.test_risk, rel=1e-4)


@pytest.mark.slow
def test_offset_and_penalties_of_erf_attention():
    problem = Problem(SpikedSLR(2.0), Erf(OPTIMAL), alpha=2.0, length=3, noise=0.5, reg_k=OPTIMAL, reg_v=OPTIMAL)
    best = fixed_points(problem, rtol=5e-3)[0]
    assert best.converged
    values = {
        "reg_k": best.problem.reg_k,
        "reg_v": best.problem.reg_v,
        "erf_offset": best.problem.activation.offset,
    }
    for shift in (-0.6, 0.6):
        moved = problem.with_values({**values, "erf_offset": values["erf_offset"] + shift})
        other = fixed_points(moved, rtol=5e-3)[0]
        assert other.test_risk > best.test_risk - 2 * (other.errors["test_risk"] + best.errors["test_risk"])


def test_what_is_optimal_is_refused_where_it_has_no_meaning():
    from replica.simulation.data import sample_count

    with pytest.raises(InvalidProblem, match="reg_k = optimal has no meaning at alpha = inf"):
        Problem(SpikedSLR(2.0), alpha=float("inf"), reg_k=OPTIMAL)
    with pytest.raises(InvalidProblem, match="reg_v = optimal has no value in an experiment"):
        sample_count(Problem(SpikedSLR(2.0), alpha=2.0, reg_v=OPTIMAL), 100)
    with pytest.raises(InvalidProblem, match="reg_k"):
        Problem(SpikedSLR(2.0), reg_k="best")
