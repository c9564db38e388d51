"""Growth off the manifold M for any activation and any number of tokens.

The Hessian of `replica.analysis.manifold` with all of the Gaussians sampled, by the compiled proximal point and its
response in O(L).
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.prox import prox_work
from ..lowering import tokens as tokens_lowering
from ..models.problem import Problem
from ..quadrature.sobol import scrambled_sobol
from ..types import Overlaps

LOG2_NODES = 8  # of each scramble
NUMBERS = 2**17  # in the largest array of one scramble
EVEN = 1000  # more dimensions: random points, Sobol points are no better and take long to make


def sampled_hessian(problem: Problem, length: int, overlaps: Overlaps, seed: tuple[int, ...]) -> np.ndarray:
    """H of `replica.analysis.manifold` from one scramble of nodes, shape (4, 4): M_kv*, M_vk*, Q_kv, V_kv."""
    m_k, q_k, V_k, m_v, q_v, V_v = overlaps
    root_a, root_b = math.sqrt(q_k - m_k**2), math.sqrt(q_v - m_v**2)
    chi, z, x_k, x_v, label, weight = _gaussians(problem, length, seed)
    omega_k, omega_v = m_k * chi + root_a * x_k, m_v * z + root_b * x_v
    none = np.zeros_like(x_k)
    slopes = [(z, -(m_v / root_a) * x_k), (none, chi - (m_k / root_a) * x_k), (none, x_k / root_a), (none, none)]
    w = np.stack([part for pair in slopes for part in pair], axis=1)
    g_k, g_v, forms = _forms(problem, length, omega_k, omega_v, label, V_k, V_v, w)
    hessian = np.mean(weight[:, None, None] * forms, axis=0)
    # second derivatives of omega, see `replica.analysis.manifold.channel_hessians`
    g_x = np.mean(weight * np.sum(g_k * x_k, axis=1))
    g_w = np.mean(weight * np.sum(g_v * x_v, axis=1))
    towards = np.array([-m_v, -m_k, 1.0, 0.0])
    hessian -= g_w / (root_a**2 * root_b) * np.outer(towards, towards)
    hessian[0, 0] -= g_x / root_a
    hessian[1, 1] -= g_w / root_b
    return -hessian


def _gaussians(problem: Problem, length: int, seed: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """chi*, z*, x_k, x_v of shape (n, L), y, and weights."""
    from scipy.special import ndtri

    log2_count = min(LOG2_NODES, max(3, int(math.log2(NUMBERS / (8 * length)))))
    drawn = problem.data.score_points(length)
    mixed = length if problem.data.explained == 0.0 else 0
    dimension = 1 + 3 * length + mixed + drawn
    if dimension <= EVEN:
        points = scrambled_sobol(dimension, log2_count, seed)
    else:
        points = np.clip(np.random.default_rng(seed).random((2**log2_count, dimension)), 2.0**-54, 1.0 - 2.0**-53)
    normals = ndtri(points[:, : 1 + 3 * length + mixed])
    chi, weight = problem.data.teacher_scores(points[:, 1 + 3 * length + mixed :], length)
    if mixed:  # `teacher_scores` gave the mean of chi*
        chi = chi + normals[:, 1 + 3 * length :]
    z, x_k, x_v = (normals[:, 1 + i * length : 1 + (i + 1) * length] for i in range(3))
    return chi, z, x_k, x_v, z[:, 0] + problem.noise * normals[:, 0], weight


def _forms(
    problem: Problem,
    length: int,
    omega_k: np.ndarray,
    omega_v: np.ndarray,
    label: np.ndarray,
    V_k: float,
    V_v: float,
    w: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g_k, g_v (n, L), and w_i^T K w_j (n, 4, 4) with w_3 = (g_v, g_k)."""
    combination = problem.activation.combination
    if length == 1 and combination != "elementwise":
        g_v = (label[:, None] - omega_v) / (1.0 + V_v)
        w[:, 6] = g_v
        values = w[:, 1::2, 0]
        return np.zeros_like(g_v), g_v, -values[:, :, None] * values[:, None, :] / (1.0 + V_v)
    module = tokens_lowering.load(problem)
    total = {"elementwise": 0.0, "normalised": 1.0, "centred": float(length)}[combination]
    if total:
        # only differences of the value fields enter, and the label measured from their mean
        mean = omega_v.mean(axis=1)
        omega_v, label = omega_v - mean[:, None], label - total * mean
    shift = np.full(length, 0.0 if module.AFFINE else problem.activation.location)
    mirror = np.zeros(length)
    if module.AFFINE and total:
        # directions with the vector of ones first (`tokens_affine.py`), by a reflection, its own inverse
        mirror, shift = np.full(length, length**-0.5), np.full(length, -1.0)
        mirror[0] -= 1.0
        mirror *= math.sqrt(2.0) / np.linalg.norm(mirror)

    def turned(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x - (x @ mirror)[..., None] * mirror)

    # the fields themselves: unit q, no overlap with the teacher, and the label as noise of its variance there
    values = {"q_k": 1.0, "V_k": V_k, "q_v": 1.0, "V_v": V_v, "length": float(length)}
    par = np.array([values.get(name, 0.0) for name in tokens_lowering.TOKEN_PARAMETERS])
    scalars = np.zeros((len(label), 3))
    scalars[:, 1], scalars[:, 2] = label / math.sqrt(1.0 + total**2 / length), 1.0
    rays, keys, fields = turned(w.reshape(-1, length)), turned(omega_k), turned(omega_v)
    found = np.empty((len(label), 2 * length + 16))
    line = (np.empty(0, np.int64), np.empty(0), rays)
    nodes = (shift, np.zeros_like(keys), keys, fields, scalars)
    module.token_block(par, *nodes, 0, len(label), module.FORMS, line, *prox_work(length), found)
    return turned(found[:, :length]), turned(found[:, length : 2 * length]), found[:, 2 * length :].reshape(-1, 4, 4)
