"""The replicon against what it means: one step of the equations on perturbed sampled fields, V frozen, with a proximal
point by brute force that shares no code with the package; and against the minima that L-BFGS finds."""

import math

import numpy as np
import pytest

from replica.checks.compare import distinct_minima
from replica.models.data.max_slr import MaxSLR
from replica.simulation.data import draw
from replica.simulation.erm import fit
from replica.types import Status
from tests.erm.problems import LOW, MAX

COUNT, STEP, JUMP = 24_000, 1e-4, 0.3


def brute_force(key, values, label, V_k, V_v):
    """(g, delta) at the global minimum in delta: a scan, then bisection of the complex-step derivative."""

    def height(delta):
        p = 1 / (1 + np.exp(-delta))
        misfit = label - p * values[:, 0] - (1 - p) * values[:, 1]
        return misfit**2 / 2 / (1 + V_v * (p**2 + (1 - p) ** 2)) + (delta - key) ** 2 / (4 * V_k)

    reach = np.sqrt(4 * V_k * height(key)) + 1e-9
    count = int(reach.max() / 0.1) + 2
    marks = np.linspace(-1, 1, 2 * count + 1)
    heights = np.array([height(key + mark * reach) for mark in marks])
    place = key + marks[heights.argmin(axis=0)] * reach
    low, high = place - reach / count, place + reach / count
    for _ in range(48):
        middle = (low + high) / 2
        falls = height(middle + 1e-30j).imag < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    p = 1 / (1 + np.exp(-low))
    sigma = np.stack([p, 1 - p], axis=1)
    r = (label - np.sum(sigma * values, axis=1)) / (1 + V_v * np.sum(sigma**2, axis=1))
    pull = (low - key) / (2 * V_k)
    return np.stack([np.stack([pull, -pull], axis=1), r[:, None] * sigma]), low


def sample(problem, overlaps, rng):
    """omega (2, n, 2), labels and weights of the joint law, tokens relabelled so that the first is relevant."""
    m_k, q_k, _, m_v, q_v, _ = overlaps
    if isinstance(problem.data, MaxSLR):  # nu = inf: the first teacher score is the larger
        star = np.sort(rng.standard_normal((COUNT, 2)), axis=1)[:, ::-1]
        keys = m_k * star + math.sqrt(q_k - m_k**2) * rng.standard_normal((COUNT, 2))
    else:
        keys = math.sqrt(q_k) * rng.standard_normal((COUNT, 2)) + [m_k * math.sqrt(problem.data.nu), 0]
    z = rng.standard_normal((COUNT, 2))
    values = m_v * z + math.sqrt(q_v - m_v**2) * rng.standard_normal((COUNT, 2))
    return np.stack([keys, values]), z[:, 0] + problem.noise * rng.standard_normal(COUNT)


def amplification(problem, overlaps, seed=0, steps=6):
    """Growth of C = (C_kk, C_vv) by power iteration; every step draws new fields and new perturbations ~ N(0, C)."""
    rng = np.random.default_rng(seed)
    V = np.array([overlaps.V_k, overlaps.V_v])
    C, logs = np.ones(2) / 2, []
    for _ in range(steps):
        omega, label = sample(problem, overlaps, rng)
        moved = STEP * np.sqrt(C)[:, None, None] * rng.standard_normal(omega.shape)
        ends = [brute_force(w[0, :, 0] - w[0, :, 1], w[1], label, *V) for w in (omega + moved, omega - moved)]
        (up, delta_up), (down, delta_down) = ends
        regular = np.abs(delta_up - delta_down) < JUMP
        change = np.where(regular[:, None], up - down, 0.0) / (2 * STEP)
        C = problem.alpha * V**2 * np.sum(change**2, axis=(1, 2)) / COUNT
        logs.append(math.log(C.sum()))
        C = C / C.sum()
    return np.exp(np.mean(logs[2:]))


@pytest.mark.parametrize(
    ("problem", "accuracy"),
    [(LOW[4.0, 1.0], 0.02), (MAX, 0.02), (LOW[4.0, 0.1], 0.1)],
    ids=["spiked", "max", "close to cusps"],
)
def test_perturbations_grow_by_the_replicon(solved, problem, accuracy):
    (solution,) = solved(problem)
    found = amplification(problem, solution.overlaps)
    assert found == pytest.approx(solution.replicon, abs=accuracy * solution.replicon + 2 * solution.errors["replicon"])


def test_both_sides_of_the_line(solved):
    """Growth above one at reg = .01, alpha = 2, and below at reg = .1: the verdicts' ground."""
    growth = {reg: amplification(LOW[2.0, reg], solved(LOW[2.0, reg])[0].overlaps, steps=4) for reg in (0.1, 0.01)}
    assert growth[0.1] < 0.75
    assert growth[0.01] > 1.2


@pytest.mark.parametrize(("alpha", "reg", "several"), [(4.0, 1.0, False), (4.0, 0.1, False), (2.0, 0.01, True)])
def test_minima_of_the_risk_on_both_sides(solved, alpha, reg, several):
    """Eight random starts on one data set reach one minimum where replica symmetry holds, many where it is broken."""
    problem = LOW[alpha, reg]
    dataset, rng = draw(problem, 100, 0), np.random.default_rng(1)
    runs = [fit(dataset, rng.standard_normal((2, 100))) for _ in range(8)]
    assert {run.status for run in runs} == {Status.CONVERGED}
    minima = distinct_minima(runs)
    assert (minima >= 4) if several else (minima == 1)
    assert solved(problem)[0].rs_stable is not several
