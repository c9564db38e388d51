"""Solutions against numbers from independent brute force, and the statements that every solution must satisfy."""

import dataclasses
import math

import numpy as np
import pytest

from replica.types import Status
from tests.erm.problems import REFERENCES, numbers_of


@pytest.fixture(params=sorted(REFERENCES))
def reference(request):
    return REFERENCES[request.param]


def test_numbers(solved, reference):
    (solution,) = solved(reference.problem, rtol=1e-6)
    assert solution.status is Status.CONVERGED
    assert solution.accuracy_met
    found = numbers_of(solution)
    for name, value in reference.numbers.items():
        allowed = reference.relative_error * abs(value) + 2 * solution.errors[name] + 1e-9
        assert abs(found[name] - value) <= allowed, name


def test_error_bars_cover_the_reference_at_ordinary_accuracy(solved, reference):
    (solution,) = solved(reference.problem)
    assert solution.accuracy_met
    assert solution.errors["test_risk"] <= 1e-4 * solution.test_risk
    found = numbers_of(solution)
    for name, value in reference.numbers.items():
        assert abs(found[name] - value) <= solution.errors[name] + reference.relative_error * abs(value), name


def test_objective_is_loss_plus_penalty(solved, reference):
    """objective = train_loss + sum_a lambda_a q_a/(2 alpha), exactly, on every node set."""
    problem = reference.problem
    (solution,) = solved(problem, rtol=1e-6)
    o = solution.overlaps
    penalty = (problem.reg_k * o.q_k + problem.reg_v * o.q_v) / (2 * problem.alpha)
    assert solution.objective == pytest.approx(solution.train_loss + penalty, abs=1e-8)


def test_solution_is_consistent(solved, reference):
    (solution,) = solved(reference.problem, rtol=1e-6)
    o, hat, problem = solution.overlaps, solution.conjugates, reference.problem
    # the prior side, theory.md section 4, from the conjugates reported
    for reg, m, q, V, m_hat, q_hat, V_hat in (
        (problem.reg_k, o.m_k, o.q_k, o.V_k, hat.m_hat_k, hat.q_hat_k, hat.V_hat_k),
        (problem.reg_v, o.m_v, o.q_v, o.V_v, hat.m_hat_v, hat.q_hat_v, hat.V_hat_v),
    ):
        scale = 1 / (reg + V_hat)
        np.testing.assert_allclose([m, q, V], [m_hat * scale, (m_hat**2 + q_hat) * scale**2, scale], rtol=0, atol=1e-8)
        assert 0 < m * m < q
    assert solution.cos_k == pytest.approx(o.m_k / math.sqrt(o.q_k))
    assert 0.5 < solution.attention_relevant < 1
    assert solution.test_risk > 2 * solution.train_loss
    assert solution.residual <= 1e-9
    assert solution.prox_global
    assert solution.rs_stable
    assert set(solution.errors) == {*numbers_of(solution), "replicon", "prox_jump", "off_m", "attention_relevant"}
    assert all(error > 0 for error in solution.errors.values())


def test_both_starts_reach_it_and_say_so(solved, reference):
    (solution,) = solved(reference.problem)
    assert solution.init == ("informed", "uninformed")
    for init in ("informed", "uninformed"):
        (one,) = solved(reference.problem, init=init)
        assert one.init == (init,)
        assert one.test_risk == pytest.approx(solution.test_risk, rel=2e-4)


def test_repeatable_to_the_last_bit(solved, reference):
    from replica.analysis.erm import fixed_points

    for threads in (1, 2, 3):
        again = fixed_points(reference.problem, threads=threads)
        assert dataclasses.asdict(again[0]) == dataclasses.asdict(solved(reference.problem)[0]), threads
