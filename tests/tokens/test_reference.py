"""Three tokens against numbers from independent brute force (Sobol points with a multi-start proximal point)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replica import Erf, Linear, MaxSLR, Problem, Softmax, Softplus, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.types import Status
from tests.erm.test_ridge import closed_form

# the linear rows: bisection of the scalar equation of theory.md section 4, conjugates by its formulas without the
# envelope theorem, 2^15 points, four scrambles
_TABLE = """
#        m_k    q_k    V_k    m_v    q_v    V_v    test_risk train_loss err
softmax  0.6636 0.9418 1.4767 1.0094 1.2330 0.6921 0.6906 0.1121 0.02
softmax* 0.8801 1.1098 1.2848 1.0534 1.2694 0.6518 0.5540 0.0961 0.02
linear   0.3043 0.8648 1.1807 0.3394 0.2296 0.1507 1.6450 0.1077 0.01
linear*  0.4525 0.8111 1.0069 0.3866 0.2662 0.1754 1.4671 0.0996 0.01
erf      0.3694 0.6364 0.9421 0.5188 0.4224 0.2766 1.2454 0.1019 0.02
erf*     0.4713 0.6646 0.8442 0.6010 0.5285 0.3524 1.1563 0.0943 0.02
softplus 0.6399 0.9147 1.8158 1.0175 1.3164 0.7552 0.7220 0.1462 0.02
softplus* 0.8288 1.1056 1.6356 1.0507 1.3381 0.7257 0.6422 0.1302 0.02
"""
_ACTIVATIONS = {"softmax": Softmax(), "linear": Linear(), "erf": Erf(-0.5), "softplus": Softplus()}
_HEADER, *_ROWS = _TABLE.strip().splitlines()


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.split()[0])
def test_numbers_at_three_tokens(solved, row):
    name, *values = row.split()
    *expected, relative = map(float, values)
    data = MaxSLR(math.inf) if name.endswith("*") else SpikedSLR(2.0)
    problem = Problem(data, _ACTIVATIONS[name.rstrip("*")], alpha=4.0, length=3, noise=0.3, reg_k=0.3, reg_v=0.3)
    (solution,) = solved(problem, rtol=5e-3)
    assert solution.status is Status.CONVERGED
    assert solution.accuracy_met
    assert {type(cell) for cell in solution.to_row().values()} <= {str, int, float, bool, type(None)}
    assert solution.init == ("informed", "uninformed")
    found = {**solution.overlaps._asdict(), "test_risk": solution.test_risk, "train_loss": solution.train_loss}
    for (key, value), reference in zip(found.items(), expected, strict=True):
        assert value == pytest.approx(reference, abs=relative * reference + 2 * solution.errors[key]), key
    # at a fixed point of the discretised energy the objective is the loss and the penalty
    penalty = 0.3 * (solution.overlaps.q_k + solution.overlaps.q_v) / (2 * problem.alpha)
    assert solution.objective == pytest.approx(solution.train_loss + penalty, abs=1e-7)


@pytest.mark.parametrize("offset", [8.0, 30.0])
def test_saturated_erf_attention_sums_the_tokens(solved, offset):
    """sigma_l = 2: ridge regression with 4 v on the mean token of variance 1/2, and noise of variance 1/2 from it."""
    (found,) = solved(Problem(MaxSLR(), Erf(offset), alpha=4.0))
    exact = closed_form(4.0, 2 / 16, 1.0)
    assert found.converged
    assert found.rs_stable
    assert abs(found.test_risk - exact["test_risk"] / 2) < 3.0 * found.errors["test_risk"]


def test_attention_on_no_token_explains_nothing():
    """sigma = 0: the label stays as it is, without the scatter of samples, and neither k nor v is learned."""
    for found in fixed_points(Problem(MaxSLR(), Erf(-30.0), alpha=4.0, noise=0.5)):
        assert found.converged
        assert found.test_risk == pytest.approx(1.25, abs=1e-12)
        assert found.objective == pytest.approx(0.625, abs=1e-12)
        assert found.overlaps == pytest.approx((0.0, 0.0, 1.0, 0.0, 0.0, 1.0), abs=1e-8)


def test_a_start_that_finds_no_solution_does_not_speak_against_another(solved):
    """Linear attention on one token, from where a few nodes lead astray: one solution, and its verdict."""
    one = Problem(SpikedSLR(2.0), Linear(), 4.0, 1, 0.3, 0.5, 0.5)
    for seed in range(3):
        (found,) = solved(one, seed=seed)
        assert found.converged
        assert found.rs_stable
        assert found.init == ("informed", "uninformed")


def test_what_did_not_converge_has_no_error_bars():
    for found in fixed_points(Problem(SpikedSLR(2.0), Softmax(), 4.0, 3), accelerate=False, max_evaluations=2):
        assert not found.converged
        assert all(np.isnan(error) for error in found.errors.values())
        assert np.isnan(found.objective)
        assert not found.accuracy_met
