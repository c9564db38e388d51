"""The other forms of the equations in theory.md section 4, on dense Gauss-Hermite grids with a brute-force prox."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from replica.models.data.spiked_slr import SpikedSLR
from tests.erm import brute
from tests.erm.problems import MAX, SOFT_MAX, SPIKED

CASES = {"spiked": SPIKED, "max": MAX, "soft max": SOFT_MAX}
ORDER = 36


def teacher_difference(data, m, q, delta_0):
    """pi = P(token 1 hidden | delta_0), its slope in the mean, and E[chi*_1 - chi*_2 | delta_0, token 1 hidden]."""
    spread = math.sqrt(2 * (1 - m * m / q))
    mean = m / q * delta_0
    if math.isinf(data.nu):
        probability, slope = special.ndtr(mean / spread), np.exp(-0.5 * (mean / spread) ** 2) / math.sqrt(2 * math.pi)
        return probability, slope / spread, mean + spread * slope / probability
    d = np.linspace(-9, 9, 4001) * spread
    p = np.exp(-0.5 * (d / spread) ** 2)
    p /= p.sum()
    here = mean[:, None] + d
    chosen = special.expit(data.nu * here)
    probability = chosen @ p
    # d/d mean of E chosen(mean + d), by Stein on the Gaussian d
    slope = chosen @ (p * d) / spread**2
    return probability, slope, mean + (chosen @ (p * d)) / probability


@pytest.fixture(scope="module", params=CASES)
def dense(request, solved):
    """Everything on the nodes, at the solution."""
    problem = CASES[request.param]
    (solution,) = solved(problem, rtol=1e-6)
    o = solution.overlaps
    x, w = special.roots_hermitenorm(ORDER)
    w = w / w.sum()
    x_A, x_R, x_d = (axis.ravel() for axis in np.meshgrid(x, x, x, indexing="ij"))
    weight = (w[:, None, None] * w[:, None] * w).ravel()
    A, b = brute.fields(o._asdict(), problem.noise, x_A, x_R)
    mean = o.m_k * math.sqrt(problem.data.nu) if isinstance(problem.data, SpikedSLR) else 0.0
    delta_0 = mean + math.sqrt(2 * o.q_k) * x_d
    base = weight
    if not isinstance(problem.data, SpikedSLR):
        probability, slope, difference = teacher_difference(problem.data, o.m_k, o.q_k, math.sqrt(2 * o.q_k) * x)
        row = np.tile(np.arange(ORDER), ORDER**2)
        weight = weight * 2 * probability[row]
        slope, difference = slope[row], difference[row]
    else:
        slope = difference = None
    potential = brute.Potential(A, b, o.V_k, o.V_v)

    def prox(A, b, delta_0):
        """At this regularisation the prox is continuous: delta_0 is increasing in delta, one root in the bound."""
        moved = brute.Potential(A, b, o.V_k, o.V_v)
        return moved.polished(delta_0, delta_0, np.sqrt(4 * o.V_k * moved.first(delta_0)) + 1e-9), moved

    delta, _ = prox(A, b, delta_0)
    s, t = brute.attention(delta)
    r = potential.residual(delta)
    v_R = (1 - o.m_v / o.q_v) ** 2 * o.q_v / 2 + 1 - o.m_v**2 / o.q_v + problem.noise**2
    return SimpleNamespace(
        **{"problem": problem, "solution": solution, "o": o, "hat": solution.conjugates, "prox": prox, "base": base},
        **{"A": A, "b": b, "delta_0": delta_0, "delta": delta, "s": s, "t": t, "r": r, "v_R": v_R},
        **{"R": math.sqrt(v_R) * x_R, "g_k": (delta - delta_0) / (2 * o.V_k), "slope": slope, "difference": difference},
        mean=lambda values: problem.alpha * float(weight @ values),
        potential=potential,
    )


def same(found, expected):
    assert found == pytest.approx(expected, rel=3e-5)


def test_q_hat(dense):
    same(dense.hat.q_hat_k, dense.mean(2 * dense.g_k**2))
    same(dense.hat.q_hat_v, dense.mean(dense.r**2 * (dense.s**2 + dense.t**2)))


def test_m_hat_k(dense):
    if isinstance(dense.problem.data, SpikedSLR):
        same(dense.hat.m_hat_k, math.sqrt(dense.problem.data.nu) * dense.mean(dense.g_k))
        return
    # chi* kept (Stein), and chi* integrated out
    same(dense.hat.m_hat_k, dense.mean(dense.difference * dense.g_k) + dense.o.m_k * dense.hat.V_hat_k)
    same(dense.hat.m_hat_k, 4 * dense.problem.alpha * float(dense.base @ (dense.slope * dense.g_k)))


def test_m_hat_v(dense):
    same(dense.hat.m_hat_v, dense.mean(dense.r * dense.s * dense.R) / dense.v_R)


def test_q_V_hat_identity(dense):
    """q_a V_hat_a = m_a m_hat_a - alpha E g_a . omega_a."""
    o, hat = dense.o, dense.hat
    same(o.q_k * hat.V_hat_k, o.m_k * hat.m_hat_k - dense.mean(dense.g_k * dense.delta_0))
    c = o.m_v / o.q_v
    along = dense.mean(dense.r * (dense.s - dense.t) * dense.A / 2)
    along += (c - 1) * o.q_v / (2 * dense.v_R) * dense.mean(dense.R * dense.r)
    same(o.q_v * hat.V_hat_v, o.m_v * hat.m_hat_v - along)


def test_V_hat_by_implicit_differentiation(dense):
    """-alpha E sum_l d g_l/d omega_l: the same as the Stein form where the prox does not jump."""
    h, o = 1e-4, dense.o

    def gradients(w_1=0.0, w_2=0.0, k=0.0):
        delta_0 = dense.delta_0 + k
        delta, moved = dense.prox(dense.A + w_1 - w_2, dense.b - w_2, delta_0)
        s, t = brute.attention(delta)
        r = moved.residual(delta)
        return (delta - delta_0) / (2 * o.V_k), r * s, r * t

    by_key = (gradients(k=h)[0] - gradients(k=-h)[0]) / (2 * h)
    same(dense.hat.V_hat_k, -dense.mean(2 * by_key))
    first = (gradients(w_1=h)[1] - gradients(w_1=-h)[1]) / (2 * h)
    second = (gradients(w_2=h)[2] - gradients(w_2=-h)[2]) / (2 * h)
    same(dense.hat.V_hat_v, -dense.mean(first + second))


def test_observables(dense):
    o, solution, alpha = dense.o, dense.solution, dense.problem.alpha
    same(solution.train_loss, dense.mean(dense.r**2 / 2) / alpha)
    s, t = brute.attention(dense.delta_0)
    same(solution.attention_relevant, dense.mean(s) / alpha)
    risk = 1 + dense.problem.noise**2 - 2 * o.m_v * dense.mean(s) / alpha + o.q_v * dense.mean(s * s + t * t) / alpha
    same(solution.test_risk, risk)
    envelope = dense.potential.first(dense.delta) + (dense.delta - dense.delta_0) ** 2 / (4 * o.V_k)
    # e = prior + alpha E M, with the conjugates of the solution
    prior = 0.0
    for reg, m, q, V, m_hat, q_hat, V_hat in (
        (dense.problem.reg_k, *o[:3], *dense.hat[:3]),
        (dense.problem.reg_v, *o[3:], *dense.hat[3:]),
    ):
        prior += m_hat * m - V_hat * q / 2 + q_hat * V / 2 - (m_hat**2 + q_hat) / (2 * (reg + V_hat))
    same(solution.objective, (prior + dense.mean(envelope)) / alpha)
