"""Growth off the manifold M: the Hessian and the weight side against finite differences of the extended equations with
full 2x2 order parameters and a brute-force Moreau envelope; and data sets on which L-BFGS returns to M."""

import math

import numpy as np
import pytest

from replica.analysis import manifold, manifold_nodes
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.simulation.data import draw
from replica.simulation.erm import fit
from replica.types import Conjugates, Overlaps, Status
from tests.erm.problems import LOW

CASES = {
    "spiked": Problem(data=SpikedSLR(2.0), alpha=4.0, noise=0.3),
    "max": Problem(data=MaxSLR(), alpha=2.0),
    "max, nu = 3": Problem(data=MaxSLR(3.0), alpha=2.0, reg_k=0.5, noise=0.2),
}
OVERLAPS = Overlaps(0.5, 0.6, 0.8, 0.7, 0.9, 0.4)
COUNT = 8192


def moreau(omega, label, V):
    """min over u of (y - softmax(chi).z)^2/2 + sum_l (u_l - omega_l)^T V^{-1} (u_l - omega_l)/2 for omega (n, 2, 2).

    With z eliminated and chi = omega_k + (t + e/2, t - e/2), the minimum over t is closed; e is scanned and refined.
    """
    key, value = omega
    tilt, S = V[0, 1] / V[0, 0], V[1, 1] - V[0, 1] ** 2 / V[0, 0]
    start = key[:, 0] - key[:, 1]

    def height(delta):
        p, e = 1 / (1 + np.exp(-delta)), delta - start
        misfit = label - p * value[:, 0] - (1 - p) * value[:, 1] - tilt * e / 2 * (2 * p - 1)
        width = 1 + S * (p**2 + (1 - p) ** 2) + tilt**2 * V[0, 0] / 2
        return misfit**2 / (2 * width) + e**2 / (4 * V[0, 0])

    reach = np.sqrt(4 * V[0, 0] * height(start)) + 1e-9
    marks = np.linspace(-1, 1, 61)
    heights = np.array([height(start + mark * reach) for mark in marks])
    place = start + marks[heights.argmin(axis=0)] * reach
    low, high = place - reach / 30, place + reach / 30
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(34):
        inner, outer = high - ratio * (high - low), low + ratio * (high - low)
        left = height(inner) < height(outer)
        low, high = np.where(left, low, inner), np.where(left, outer, high)
    return height((low + high) / 2)


def envelope(theta, problem, rng_seed=0, overlaps=OVERLAPS):
    """E M at off-diagonal order parameters theta, on random nodes of its own."""
    m_k, q_k, V_k, m_v, q_v, V_v = overlaps
    rng = np.random.default_rng(rng_seed)
    M, Q = np.array([[m_k, theta[0]], [theta[1], m_v]]), np.array([[q_k, theta[2]], [theta[2], q_v]])
    V = np.array([[V_k, theta[3]], [theta[3], V_v]])
    chi, weight = rng.standard_normal((COUNT, 2)), np.ones(COUNT)
    if isinstance(problem.data, SpikedSLR):
        chi[:, 0] += math.sqrt(problem.data.nu)
    elif math.isinf(problem.data.nu):
        chi = np.sort(chi, axis=1)[:, ::-1]
    else:
        weight = 2 / (1 + np.exp(problem.data.nu * (chi[:, 1] - chi[:, 0])))
    z, x = rng.standard_normal((COUNT, 2)), rng.standard_normal((2, COUNT, 2))
    root = np.linalg.cholesky(Q - M @ M.T)
    omega = np.einsum("ab,bnl->anl", M, np.stack([chi, z])) + np.einsum("ab,bnl->anl", root, x)
    label = z[:, 0] + problem.noise * rng.standard_normal(COUNT)
    return np.mean(weight * moreau(omega, label, V))


@pytest.mark.parametrize("name", CASES)
def test_channel_hessian(name):
    """Against second differences of the brute-force energy over several node sets; odd terms vanish by symmetry."""
    problem, step = CASES[name], 0.02
    unit = np.eye(4) * step
    sets = []
    for seed in range(16):
        middle = envelope(np.zeros(4), problem, seed)
        corner = np.zeros((4, 4))
        for i in range(4):
            for j in range(i + 1):
                ends = [envelope(s * unit[i] + s * (i != j) * unit[j], problem, seed) for s in (1, -1)]
                corner[i, j] = corner[j, i] = (sum(ends) - 2 * middle) / step**2
        diagonal = np.diag(corner)
        mixed = (corner - diagonal[:, None] - diagonal) / 2
        np.fill_diagonal(mixed, diagonal)
        sets.append(mixed)
    expected, spread = np.mean(sets, axis=0), np.std(sets, axis=0, ddof=1) / math.sqrt(len(sets))
    found = manifold.channel_hessians(manifold.nodes(problem, 16_384, 8, 0), OVERLAPS, problem.noise)
    errors = np.hypot(spread, found.std(axis=0, ddof=1) / math.sqrt(8))
    difference = found.mean(axis=0) - expected
    assert np.max(np.abs(difference) / (errors + 2e-3)) < 4
    assert np.linalg.norm(errors) < 0.25 * np.linalg.norm(expected)


def test_weight_side():
    """theta from the off-diagonal conjugates, against differences of V = (Lambda + V^)^{-1}, M = V m^, ..."""
    hats = Conjugates(0.7, 0.3, 0.9, 1.1, 0.5, 1.6)
    penalties = np.diag([1 / OVERLAPS.V_k - hats.V_hat_k, 1 / OVERLAPS.V_v - hats.V_hat_v])

    def theta(off):
        m_hat = np.array([[hats.m_hat_k, off[0]], [off[1], hats.m_hat_v]])
        V = np.linalg.inv(penalties + np.array([[hats.V_hat_k, off[2]], [off[2], hats.V_hat_v]]))
        q_hat = np.array([[hats.q_hat_k, off[3]], [off[3], hats.q_hat_v]])
        M, Q = V @ m_hat, V @ (m_hat @ m_hat.T + q_hat) @ V
        return np.array([M[0, 1], M[1, 0], Q[0, 1], V[0, 1]])

    step = 1e-5
    expected = np.array([(theta(step * unit) - theta(-step * unit)) / (2 * step) for unit in np.eye(4)]).T
    np.testing.assert_allclose(manifold.weight_side(OVERLAPS, hats), expected, atol=1e-9)


def test_error_is_honest(solved, monkeypatch):
    """Against many more nodes, for several seeds."""
    (solution,) = solved(CASES["spiked"])
    arguments = (solution.problem, solution.overlaps, solution.conjugates)
    found = [manifold.off_manifold(*arguments, seed=seed) for seed in range(20)]
    monkeypatch.setattr(manifold, "NODES", 16_384)
    truth = manifold.off_manifold(*arguments, seed=99)
    assert truth.error < 0.5 * np.median([one.error for one in found])
    covered = [abs(one.value - truth.value) <= 2 * (one.error + truth.error) for one in found]
    assert np.mean(covered) >= 0.85


def test_column(solved):
    """The manifold is stable at ordinary penalties."""
    for problem in (*CASES.values(), LOW[4.0, 0.1]):
        row = solved(problem)[0].to_row()
        assert row["off_m"] + 2 * row["off_m_err"] < 1


@pytest.mark.parametrize("name", CASES)
def test_sampled_hessian_at_two_tokens(name):
    problem = CASES[name]
    known = manifold.channel_hessians(manifold.nodes(problem, 4096, 8, 0), OVERLAPS, problem.noise)
    found = np.array([manifold_nodes.sampled_hessian(problem, 2, OVERLAPS, (seed,)) for seed in range(32)])
    error = np.hypot(found.std(axis=0, ddof=1) / math.sqrt(32), known.std(axis=0, ddof=1) / math.sqrt(8))
    assert np.max(np.abs(found.mean(axis=0) - known.mean(axis=0)) / (error + 1e-12)) < 4.5
    assert np.linalg.norm(error) < 0.35 * np.linalg.norm(known.mean(axis=0))


@pytest.mark.parametrize("name", ["spiked", "max"])
def test_minimisers_return_to_the_manifold(name):
    """From (k, v) = (k* + v*, k* + v*) and the exchanged (v*, k*), far off M, to the minimum of the informed start."""
    dimension = 400
    dataset = draw(CASES[name], dimension, 3)
    informed = fit(dataset, "informed")
    both = dataset.key + dataset.value
    for start in (np.stack([both, both]), np.stack([dataset.value, dataset.key])):
        end = fit(dataset, start)
        assert end.status is Status.CONVERGED
        assert end.start == "given"
        np.testing.assert_allclose(end.off_manifold, informed.off_manifold, atol=1e-3)
        assert np.max(np.abs(end.off_manifold)) < 4 / math.sqrt(dimension)


def test_starts_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        fit(draw(CASES["spiked"], 40, 0), np.zeros(80))
