"""Does a solution stay on the manifold M: growth of k.v*, v.k*, k.v and their conjugates (theory.md sections 3, 4).

With weights W = (k, v) and teachers W* = (k*, v*) the order parameters are 2x2 matrices: M = W W*^T/D, Q = W W^T/D, the
response V, and their conjugates. The energy of theory.md section 4 becomes

    e = tr(m^^T M) - tr(V^ Q)/2 + tr(q^ V)/2 - tr[(m^ m^^T + q^)(Lambda + V^)^{-1}]/2 + alpha E M(y, omega; V),

with the Moreau metric sum_l (u_l - omega_l)^T V^{-1} (u_l - omega_l)/2. On the manifold all matrices are diagonal. The
off-diagonal theta = (M_kv*, M_vk*, Q_kv, V_kv) is odd under (v, v*, y) -> -(v, v*, y), an exact symmetry, so at first
order it moves alone:

    channel   (m^_kv*, m^_vk*, V^_kv, q^_kv) = alpha S H theta,  H = Hessian of E M in theta,  S = diag(-1, -1, 1, -1)
    weights   V = (Lambda + V^)^{-1}, M = V m^, Q = V (m^ m^^T + q^) V, linearised (`weight_side`).

H needs second derivatives of M at the proximal point: with g = (u - omega)/V, K = dg/domega = -h (I + V h)^{-1}, h the
Hessian of the loss at u, the envelope theorem gives dM/domega = -g, dM/dV_kv = -sum_l g_k,l g_v,l and
dg = K (domega + dV g), hence for the fields omega(theta; nodes) of the law and (swap g) = (g_v, g_k)

    H_ij = -E[ w_i^T K w_j + g . d^2 omega/dtheta_i dtheta_j ],   w_i = domega/dtheta_i,   w_V = swap g.

The fields are linear in independent standard normals G = (z*, x_k, x_v, xi) through the Cholesky root of Q - M M^T:

    omega_k = M_kk* chi* + M_kv* z* + C_11 x_k,    omega_v = M_vk* chi* + M_vv* z* + C_21 x_k + C_22 x_v.

With softmax at L = 2 the proximal point sees G in three directions only, omega_k,1 - omega_k,2, omega_v,1 - omega_v,2
and y - omega_v,2; the average over the other four is exact, E[w_i^T K w_j] being quadratic in them. Elsewhere all of G
is sampled (`replica.analysis.manifold_nodes`). As for the replicon, jumps of the proximal point are left out of K.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..models.activations.softmax import Softmax
from ..models.problem import Problem
from ..types import NAN, Conjugates, Overlaps
from .channels import VANISHED
from .error_bars import STUDENT
from .manifold_nodes import sampled_hessian

SHIFTS = 8
NODES = 256  # of each shift: the error stays small beside the distance to one
_STEP, _MOST, _NEWTON = 0.25, 512, 40  # the scan for the proximal point, and its refinement


class Growth(NamedTuple):
    """Largest real part of the eigenvalues of one step of the equations off M, and its error."""

    value: float
    error: float


UNKNOWN = Growth(NAN, NAN)


class Nodes(NamedTuple):
    """Teacher scores chi*, standard normals by direction, and weights; (shifts, n) rows of 2, of 3, and of one."""

    chi: np.ndarray
    normals: np.ndarray
    weight: np.ndarray


def off_manifold(problem: Problem, overlaps: Overlaps, conjugates: Conjugates, *, seed: int = 0) -> Growth:
    """The growth of perturbations off M in one step of the equations.

    It is the largest real part of the eigenvalues of d theta'/d theta. Below 1 they decay under damped steps,
    theta <- d theta + (1 - d) theta', and M is a minimum across itself; at 1 solutions off M branch off. The undamped
    step overshoots, with eigenvalues below -1, as it does along M: that is no instability.

    Parameters
    ----------
    problem : Problem
    overlaps, conjugates
        A fixed point on M.
    seed : int
        Of the nodes.

    Returns
    -------
    Growth
        Unknown where k or v vanishes: the fields then have no law in its direction.
    """
    m_k, q_k, _, m_v, q_v, _ = overlaps
    if min(q_k - m_k**2, q_v - m_v**2) <= 2.0 * VANISHED:
        return UNKNOWN
    if problem.length.fixed == 2 and isinstance(problem.activation, Softmax):
        hessians = channel_hessians(nodes(problem, NODES, SHIFTS, seed), overlaps, problem.noise)
    else:
        fixed = problem.length.fixed
        law = problem.length if fixed is None else ((fixed, 1.0),)
        hessians = np.array(
            [
                sum(
                    weight * sampled_hessian(problem, length, overlaps, (seed, length, shift, 3))
                    for length, weight in law
                )
                for shift in range(SHIFTS)
            ]
        )
    outer = weight_side(overlaps, conjugates) @ np.diag([-1.0, -1.0, 1.0, -1.0]) * problem.alpha
    best = _growth(outer @ np.mean(hessians, axis=0))
    # leave one out: the eigenvalue is not linear in H
    left = [_growth(outer @ np.mean(np.delete(hessians, i, axis=0), axis=0)) for i in range(SHIFTS)]
    error = STUDENT * math.sqrt((SHIFTS - 1) * float(np.var(left)))
    return Growth(best, error)


def nodes(problem: Problem, count: int, shifts: int, seed: int) -> Nodes:
    """Random shifts of one Kronecker sequence (generators by powers of the generalised golden ratio)."""
    from scipy.special import ndtri

    drawn = problem.data.score_points(2)
    mixed = 2 if problem.data.explained == 0.0 else 0
    dimension = drawn + mixed + 3
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    moved = np.random.default_rng(seed).random((shifts, 1, dimension))
    points = (np.arange(count)[:, None] * steps + moved).reshape(-1, dimension) % 1.0
    points = np.clip(points, 2.0**-54, 1.0 - 2.0**-53)
    chi, weight = problem.data.teacher_scores(points[:, :drawn], 2)
    normals = ndtri(points[:, drawn:])
    if mixed:  # `teacher_scores` gave the mean of chi*
        chi = chi + normals[:, 3:]
    shape = (shifts, count)
    return Nodes(chi.reshape(*shape, 2), normals[:, :3].reshape(*shape, 3), weight.reshape(shape))


def channel_hessians(at: Nodes, overlaps: Overlaps, noise: float) -> np.ndarray:
    """H of the module's text for each shift, shape (shifts, 4, 4), in the order M_kv*, M_vk*, Q_kv, V_kv."""
    m_k, q_k, V_k, m_v, q_v, V_v = overlaps
    a, b = q_k - m_k**2, q_v - m_v**2
    root_a, root_b = math.sqrt(a), math.sqrt(b)
    # the three directions that the proximal point sees, in terms of G = (z*, x_k, x_v, xi), and the other four
    seen = np.array(
        [
            [0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0],
            [m_v, -m_v, 0.0, 0.0, root_b, -root_b, 0.0],
            [1.0, -m_v, 0.0, 0.0, 0.0, -root_b, noise],
        ]
    )
    basis = np.linalg.svd(seen)[2]
    shifts, count = at.weight.shape
    chi, weight = at.chi.reshape(-1, 2), at.weight.ravel()
    G = at.normals.reshape(-1, 3) @ basis[:3]
    z, x_k, x_v = G[:, 0:2], G[:, 2:4], G[:, 4:6]
    omega_k, omega_v = m_k * chi + root_a * x_k, m_v * z + root_b * x_v
    sigma, g_k, g_v, r = proximal(omega_k, omega_v, z[:, 0] + noise * G[:, 6], V_k, V_v)
    response = weight[:, None, None] * _responses(sigma, omega_v + V_v * g_v, r, V_k, V_v)

    def slopes(z: np.ndarray, x_k: np.ndarray, chi: np.ndarray | float) -> list[np.ndarray]:
        """d omega/dtheta_i for M_kv*, M_vk*, Q_kv: linear in G and chi*."""
        none = np.zeros_like(x_k)
        return [
            np.concatenate([z, -(m_v / root_a) * x_k], axis=1),
            np.concatenate([none, chi - (m_k / root_a) * x_k], axis=1),
            np.concatenate([none, x_k / root_a], axis=1),
        ]

    def mean(values: np.ndarray) -> np.ndarray:
        return values.reshape(shifts, count, *values.shape[1:]).mean(axis=1)

    w = np.stack([*slopes(z, x_k, chi), np.concatenate([g_v, g_k], axis=1)], axis=1)
    hessians = mean(w @ response @ w.transpose(0, 2, 1))
    others = np.stack(slopes(basis[3:, 0:2], basis[3:, 2:4], 0.0), axis=1)
    hessians[:, :3, :3] += (others @ mean(response)[:, None] @ others.transpose(0, 2, 1)).sum(axis=1)
    # second derivatives of omega:
    # C_11 = sqrt(a - M_kv*^2), C_21 = s/sqrt(a), C_22 = sqrt(b - M_vk*^2 - s^2/a), s = Q_kv - m_k M_vk* - m_v M_kv*
    g_x = mean(weight * np.sum(g_k * x_k, axis=1))
    g_w = mean(weight * np.sum(g_v * x_v, axis=1))
    towards = np.array([-m_v, -m_k, 1.0, 0.0])
    hessians -= (g_w / (a * root_b))[:, None, None] * np.outer(towards, towards)
    hessians[:, 0, 0] -= g_x / root_a
    hessians[:, 1, 1] -= g_w / root_b
    return -hessians


def proximal(
    omega_k: np.ndarray, omega_v: np.ndarray, y: np.ndarray, V_k: float, V_v: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """sigma, g_k, g_v (each (n, 2)) and the residual r = y - f at the proximal point of softmax at L = 2.

    Scan of Phi (theory.md section 4) in delta = chi_1 - chi_2 over the interval that holds its minimum, then Newton.
    """
    start = omega_k[:, 0] - omega_k[:, 1]
    change, base = omega_v[:, 0] - omega_v[:, 1], y - omega_v[:, 1]

    def loss(delta: np.ndarray) -> np.ndarray:
        p = _sigmoid(delta)
        shape = (-1, *[1] * (delta.ndim - 1))
        misfit = base.reshape(shape) - p * change.reshape(shape)
        return 0.5 * misfit**2 / (1.0 + V_v * (1.0 - 2.0 * p * (1.0 - p)))

    reach = np.sqrt(4.0 * V_k * loss(start))
    count = min(_MOST, 3 + 2 * math.ceil(float(reach.max()) / _STEP))
    grid = start[:, None] + reach[:, None] * np.linspace(-1.0, 1.0, count)
    best = np.argmin(loss(grid) + (grid - start[:, None]) ** 2 / (4.0 * V_k), axis=1)
    delta = grid[np.arange(len(y)), best]
    width = 2.0 * reach / (count - 1)
    low, high = delta - width, delta + width
    for _ in range(_NEWTON):
        p = _sigmoid(delta)
        d1 = p * (1.0 - p)
        d2 = d1 * (1.0 - 2.0 * p)
        scale, misfit = 1.0 + V_v * (1.0 - 2.0 * d1), base - p * change
        r = misfit / scale
        # Phi' = -r z' with z the values at the proximal point
        contrast = change + V_v * r * (2.0 * p - 1.0)
        slope = -r * d1 * contrast + (delta - start) / (2.0 * V_k)
        r1 = -(d1 * change - 2.0 * V_v * r * d2) / scale
        bend = -(r1 * d1 + r * d2) * contrast - r * d1 * V_v * (r1 * (2.0 * p - 1.0) + 2.0 * r * d1) + 1.0 / (2.0 * V_k)
        low, high = np.where(slope < 0, delta, low), np.where(slope < 0, high, delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            trial = delta - slope / bend
        moved = np.where((bend > 0) & (trial > low) & (trial < high), trial, 0.5 * (low + high)) - delta
        delta = delta + moved
        if np.max(np.abs(moved)) < 1e-12:
            break
    p = _sigmoid(delta)
    sigma = np.stack([p, 1.0 - p], axis=1)
    r = (base - p * change) / (1.0 + V_v * np.sum(sigma**2, axis=1))
    pull = (delta - start) / (2.0 * V_k)
    return sigma, np.stack([pull, -pull], axis=1), r[:, None] * sigma, r


def _responses(sigma: np.ndarray, z: np.ndarray, r: np.ndarray, V_k: float, V_v: float) -> np.ndarray:
    """K = dg/domega, shape (n, 4, 4), fields in the order k_1, k_2, v_1, v_2."""
    p, q = sigma.T
    d1, gap = p * q, z[:, 0] - z[:, 1]
    contrast = np.array([[1.0, -1.0], [-1.0, 1.0]])
    hessian = np.zeros((len(r), 4, 4))
    hessian[:, :2, :2] = -(r * d1 * (q - p) * gap)[:, None, None] * contrast
    hessian[:, :2, 2:] = -(r * d1)[:, None, None] * contrast
    hessian[:, 2:, :2] = hessian[:, :2, 2:]
    slope = np.concatenate([(d1 * gap)[:, None] * np.array([1.0, -1.0]), sigma], axis=1)
    hessian += slope[:, :, None] * slope[:, None, :]
    V = np.array([V_k, V_k, V_v, V_v])
    # h (I + V h)^{-1} = (I + h V)^{-1} h
    return -np.linalg.solve(np.eye(4) + hessian * V, hessian)


def weight_side(overlaps: Overlaps, conjugates: Conjugates) -> np.ndarray:
    """theta from (m^_kv*, m^_vk*, V^_kv, q^_kv) at first order, shape (4, 4)."""
    _, _, V_k, _, _, V_v = overlaps
    m_k, q_k, _, m_v, q_v, _ = conjugates
    spread_k, spread_v = m_k**2 + q_k, m_v**2 + q_v
    d_V = -V_k * V_v  # of V_kv by V^_kv
    return np.array(
        [
            [V_k, 0.0, d_V * m_v, 0.0],
            [0.0, V_v, d_V * m_k, 0.0],
            [V_k * V_v * m_v, V_k * V_v * m_k, d_V * (V_v * spread_v + V_k * spread_k), V_k * V_v],
            [0.0, 0.0, d_V, 0.0],
        ]
    )


def _growth(matrix: np.ndarray) -> float:
    return float(np.max(np.linalg.eigvals(matrix).real))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
