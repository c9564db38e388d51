"""Speed of the L = 2 softmax solver. Run: python -m pytest tests/benchmarks/bench_erm.py

Figures are ratios on one machine: a warm solve() against the usual hand-written loop in scipy.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, roots_hermitenorm

from replica import Problem, SpikedSLR, solve

EASY = Problem(data=SpikedSLR(nu=2.0), alpha=2.0)
JUMPING = Problem(data=SpikedSLR(nu=2.0), alpha=2.0, reg_k=0.1, reg_v=0.1)


def proximal_point(d0: float, A: float, b: float, V_k: float, V_v: float) -> tuple[float, float, float]:
    """sigma_1, the residual and g_k1 at the proximal point, by a scalar minimiser."""

    def energy(d: float) -> float:
        s = expit(d)
        return 0.5 * (b - s * A) ** 2 / (1 + V_v * (s * s + (1 - s) ** 2)) + (d - d0) ** 2 / (4 * V_k)

    d = minimize_scalar(energy, bracket=(d0 - 0.5, d0 + 0.5), tol=1e-9).x
    s = expit(d)
    return s, (b - s * A) / (1 + V_v * (s * s + (1 - s) ** 2)), (d - d0) / (2 * V_k)


def scipy_baseline(nodes: int, sweeps: int) -> float:
    """Test risk of EASY by the usual loop: a tensor grid, one scalar minimisation a node, damped iteration."""
    alpha, root_nu = EASY.alpha, np.sqrt(2.0)
    x, w = roots_hermitenorm(nodes)
    w = w / w.sum()
    overlaps = np.array([0.5, 0.5, 0.7, 0.5, 0.5, 0.5])
    for _ in range(sweeps):
        m_k, q_k, V_k, m_v, q_v, V_v = overlaps
        c = m_v / q_v
        variance = (1 - c) ** 2 * q_v / 2 + 1 - m_v**2 / q_v
        g1 = gx = gg = rsR = rR = rA = rr = 0.0
        for i, j, k in np.ndindex(nodes, nodes, nodes):
            weight = w[i] * w[j] * w[k]
            A, R = np.sqrt(2 * q_v) * x[j], np.sqrt(variance) * x[k]
            s, r, g = proximal_point(m_k * root_nu + np.sqrt(2 * q_k) * x[i], A, (c + 1) * A / 2 + R, V_k, V_v)
            g1, gx, gg = g1 + weight * g, gx + weight * g * x[i], gg + weight * 2 * g * g
            rsR, rR, rA = rsR + weight * r * s * R, rR + weight * r * R, rA + weight * r * (s - 0.5) * A
            rr += weight * r * r * (s * s + (1 - s) ** 2)
        m_hat_k, q_hat_k, V_hat_k = alpha * root_nu * g1, alpha * gg, -2 * alpha * gx / np.sqrt(2 * q_k)
        m_hat_v, q_hat_v = alpha * rsR / variance, alpha * rr
        V_hat_v = (m_v * m_hat_v - alpha * (rA + (c - 1) * q_v / (2 * variance) * rR)) / q_v
        V_k, V_v = 1 / (1 + V_hat_k), 1 / (1 + V_hat_v)
        m_k, m_v = m_hat_k * V_k, m_hat_v * V_v
        new = np.array([m_k, m_k**2 + q_hat_k * V_k**2, V_k, m_v, m_v**2 + q_hat_v * V_v**2, V_v])
        overlaps = 0.5 * overlaps + 0.5 * new
    m_k, q_k, _, m_v, q_v, _ = overlaps
    s = expit(m_k * root_nu + np.sqrt(2 * q_k) * x)
    return float(1 - 2 * m_v * (w @ s) + q_v * (w @ (s * s + (1 - s) ** 2)))


@pytest.fixture(autouse=True)
def _warm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solve(EASY)
        yield


def test_scipy_baseline_to_1e_4(benchmark):
    risk = benchmark.pedantic(scipy_baseline, args=(10, 25), rounds=1)
    assert risk == pytest.approx(0.614744344, rel=1e-4)


def test_reg_1_to_1e_4(benchmark):
    assert benchmark(solve, EASY, rtol=1e-4).test_risk == pytest.approx(0.614744344, rel=1e-4)


def test_reg_1_to_1e_6(benchmark):
    assert benchmark(solve, EASY, rtol=1e-6).test_risk == pytest.approx(0.614744344, rel=1e-6)


def test_jumping_to_1e_4(benchmark):
    assert benchmark(solve, JUMPING, rtol=1e-4).accuracy_met


def test_alpha_curve_of_50_points(benchmark):
    def curve():
        return [solve(Problem(data=SpikedSLR(nu=2.0), alpha=float(alpha))) for alpha in np.linspace(0.5, 8.0, 50)]

    assert all(point.converged for point in benchmark.pedantic(curve, rounds=1))


SOLVE = ["solve", "--model", "spiked-slr", "--alpha", "2", "--estimator", "erm"]


@pytest.mark.parametrize("arguments", [["--help"], SOLVE])
def test_command(benchmark, arguments):
    command = [sys.executable, "-m", "replica_cli.main", *arguments]
    benchmark(subprocess.run, command, check=True, capture_output=True)
