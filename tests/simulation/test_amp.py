"""Message passing: its channel against direct integration, exact cases, fixed points, honest statuses."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, softmax

from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.simulation.amp import experiments, message_passing
from replica.simulation.data import draw
from replica.simulation.summary import summarise
from replica.types import Status


def hermite_average(nu, omega, variance):
    """E softmax(nu chi), chi ~ N(omega, variance I), on a dense product grid (L = 3)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(nodes, nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    mass = np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
    return mass @ softmax(nu * (omega + math.sqrt(variance) * grid), axis=1)


@pytest.mark.parametrize("nu", [0.1, 0.8, 2.5])
def test_the_race_is_the_average_of_softmax(nu):
    rng = np.random.default_rng(0)
    omega, likelihood = rng.standard_normal((2, 6, 3))
    posterior = MaxSLR(nu).position_evidence(omega, 0.6, likelihood)[0]
    for row, log_likelihood, found in zip(omega, likelihood, posterior, strict=True):
        weights = hermite_average(nu, row, 0.6) * np.exp(log_likelihood)
        np.testing.assert_allclose(found, weights / weights.sum(), rtol=2e-5)


def test_the_race_of_two_at_infinite_nu_is_a_normal_distribution():
    omega = np.random.default_rng(1).standard_normal((50, 2))
    posterior = MaxSLR(math.inf).position_evidence(omega, 0.3, np.zeros((50, 2)))[0]
    np.testing.assert_allclose(
        posterior[:, 0], ndtr((omega[:, 0] - omega[:, 1]) / math.sqrt(0.6)), rtol=2e-5, atol=1e-9
    )


@pytest.mark.parametrize("data", [MaxSLR(math.inf), MaxSLR(3.0), MaxSLR(0.5), MaxSLR(0.0), SpikedSLR(2.0)], ids=str)
def test_score_and_curvature_are_derivatives_of_the_evidence(data):
    rng = np.random.default_rng(2)
    omega, likelihood = rng.standard_normal((2, 40, 4))
    none = np.zeros_like(omega)

    def log_evidence(moved):
        if isinstance(data, SpikedSLR):
            return np.log(np.sum(np.exp(math.sqrt(2.0) * moved + likelihood), axis=1))
        return np.log(np.sum(data.position_evidence(moved, 0.5, none)[0] * np.exp(likelihood), axis=1))

    _, score, curvature = data.position_evidence(omega, 0.5, likelihood)
    step, centre = 0.03, log_evidence(omega)
    for token in range(4):
        shift = step * np.eye(4)[token]
        up, down = log_evidence(omega + shift), log_evidence(omega - shift)
        np.testing.assert_allclose(score[:, token], (up - down) / (2 * step), atol=2e-3)
        np.testing.assert_allclose(curvature[:, token], -(up + down - 2 * centre) / step**2, atol=2e-2)


def test_far_scores_give_finite_messages():
    omega = np.array([[50.0, -50.0, 0.0], [-30.0, 1.0, 1.0]])
    likelihood = np.array([[-900.0, 0.0, -5.0], [0.0, -800.0, -1.0]])
    for data in (MaxSLR(math.inf), MaxSLR(2.0), MaxSLR(0.01), SpikedSLR(9.0)):
        posterior, score, curvature = data.position_evidence(omega, 0.01, likelihood)
        assert np.all(np.isfinite([posterior, score, curvature]))
        np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_one_token_is_bayesian_linear_regression():
    """One token: the key is the mean of the tokens, exactly; the value is ridge regression, up to O(1/sqrt(D))."""
    problem = Problem(SpikedSLR(2.0), alpha=3.0, length=1, noise=0.5)
    data = draw(problem, 600, 3)
    tokens, label = data.groups[0].tokens[:, 0].astype(float), data.groups[0].label
    found = message_passing(data, tolerance=1e-8)
    key = math.sqrt(2.0 / 600) * tokens.sum(axis=0) / (1 + 2.0 * 3.0)
    assert found.status is Status.CONVERGED
    assert found.V_k == pytest.approx(1 / 7, rel=1e-9)
    assert found.m_k == pytest.approx(key @ data.key / 600, rel=1e-5)
    assert found.q_k == pytest.approx(key @ key / 600, rel=1e-5)
    design = tokens / math.sqrt(600)
    value = np.linalg.solve(design.T @ design + 0.25 * np.eye(600), design.T @ label)
    assert found.m_v == pytest.approx(value @ data.value / 600, abs=0.01)
    assert found.q_v == pytest.approx(value @ value / 600, abs=0.01)


# Uninformed fixed points q_k, q_v, Bayes risk from dense quadrature; in the hard phase q_v = 1 dominates.
FIXED_POINTS = {
    "spiked": (Problem(SpikedSLR(2.0), alpha=2.0, length=2, noise=0.3), (0.776360, 0.890482, 0.434508)),
    "max": (Problem(MaxSLR(math.inf), alpha=2.0, length=2, noise=0.3), (0.480156, 0.877842, 0.511105)),
    "hard": (Problem(SpikedSLR(2.0), alpha=1.03, length=2, noise=0.0), (0.637818, 0.817945, 0.421247)),
}


@pytest.mark.parametrize("case", FIXED_POINTS)
def test_the_limit_in_dimension_is_the_uninformed_fixed_point(case):
    problem, (q_k, q_v, risk) = FIXED_POINTS[case]
    runs = [one for d in (150, 250, 500) for one in experiments(problem, d, range(6))]
    limit = summarise(problem, runs, tolerance=1e-4)[-1]
    expected = {"m_k": q_k, "q_k": q_k, "V_k": 1 - q_k, "m_v": q_v, "q_v": q_v, "V_v": 1 - q_v, "test_risk": risk}
    row = limit.to_row()
    assert (row["d"], row["seeds"], row["estimator"]) == (None, 18, "experiment-amp")
    assert row["activation"] is None
    z = {name: (row[name] - value) / row[f"{name}_err"] for name, value in expected.items()}
    assert max(map(abs, z.values())) < 4, z
    assert row["q_v_err"] < 0.12


def test_estimates_are_on_the_nishimori_line_for_any_law():
    """m = q = 1 - V without knowing their value: random length, finite nu, in both models."""
    for data in (MaxSLR(3.0), SpikedSLR(3.0)):
        problem = Problem(data, alpha=3.0, length="1:1,2:2,4:1", noise=0.3)
        runs = experiments(problem, 250, range(3))
        assert all(one.status is Status.CONVERGED for one in runs)
        for m, q, variance in (("m_k", "q_k", "V_k"), ("m_v", "q_v", "V_v")):
            gap = [getattr(one, m) - getattr(one, q) for one in runs]
            miss = [1 - getattr(one, variance) - getattr(one, m) for one in runs]
            assert max(abs(np.mean(gap)), abs(np.mean(miss))) < 0.07


def test_noiseless_recovery_is_exact():
    problem = Problem(SpikedSLR(4.0), alpha=3.0, length=2, noise=0.0)
    found = message_passing(draw(problem, 500, 1))
    assert found.status is Status.CONVERGED
    assert found.m_v == pytest.approx(1.0, abs=2e-3)
    assert found.V_v < 1e-4


def test_strong_signals_do_not_make_it_diverge():
    """Without the projection of v off k this runs away within ten steps."""
    problem = Problem(SpikedSLR(20.0), alpha=1.5, length=5, noise=0.1)
    found = message_passing(draw(problem, 500, 0))
    assert found.status is Status.CONVERGED
    assert found.m_v > 0.95


def test_too_few_steps_are_reported():
    problem, _ = FIXED_POINTS["spiked"]
    found = message_passing(draw(problem, 100, 0), max_iter=3)
    assert found.status is Status.MAX_ITER
    assert "after 3 steps" in found.message
