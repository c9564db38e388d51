"""Risk and gradients averaged over tokens and signals, on nodes that stay the same throughout a computation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..lowering import heads as lowering
from .problem import HeadsProblem

_BLOCKS = 16


@dataclass(frozen=True)
class Gradients:
    """R and the derivatives of R/2: by m (H, F), c (H, J), b (H,); `noise` = E sum_l rho_hl rho_h'l (H, H)."""

    risk: float
    m: np.ndarray
    c: np.ndarray
    b: np.ndarray
    noise: np.ndarray


class Averages:
    """E over Z, theta of the risk at overlaps m, noise directions c and thresholds b (theory-dynamics.md A).

    The fields are chi_hl = sum_f m_hf (zeta_fl + delta_l,1 theta_f) + sum_j c_hj xi_jl. Nodes are scrambled Sobol
    points in the L (F + J) + dim(theta) dimensions, each used in four mirror images; two seeds give independent,
    unbiased averages, so the spread over seeds measures the error. The gradients are those of the discretised risk
    itself: a gradient flow on one set of nodes can only lower it.

    Parameters
    ----------
    problem : HeadsProblem
    samples : int
        Number of nodes, a power of two.
    rank : int
        Number J of noise directions, the largest rank of r = c c^T.
    seed : int
        Seed of the scrambling.
    threads : int
        Threads over fixed blocks of nodes; the result does not depend on their number.
    """

    def __init__(self, problem: HeadsProblem, samples: int, rank: int, seed: int, threads: int = 1) -> None:
        from scipy.special import ndtri
        from scipy.stats import qmc

        self.problem, self.samples, self.rank, self.threads = problem, samples, rank, threads
        signal, length = problem.signal, problem.length
        gauss = length * (signal.features + rank)
        sobol = qmc.Sobol(signal.uniforms + gauss, rng=np.random.default_rng(seed))
        points = sobol.random(samples)
        np.clip(points, 2.0**-40, 1 - 2.0**-40, out=points)  # a scrambled coordinate may round to 0
        self.theta = signal.transform(points[:, : signal.uniforms])
        normal = ndtri(points[:, signal.uniforms :]).reshape(samples, length, -1)
        self.zeta = np.ascontiguousarray(normal[:, :, : signal.features])
        self.xi = np.ascontiguousarray(normal[:, :, signal.features :])
        self._module = lowering.load(problem.activation)
        self._edges = np.linspace(0, samples, min(_BLOCKS, samples) + 1).astype(int)

    def __call__(self, m: np.ndarray, c: np.ndarray, b: np.ndarray, *, noise: bool = False) -> Gradients:
        """Averages at m (H, F), c (H, J), b (H,); `noise` also fills the last field."""
        m, c, b = (np.ascontiguousarray(x, dtype=float) for x in (m, c, b))
        blocks = range(len(self._edges) - 1)

        def one(block: int) -> tuple[float, list[np.ndarray]]:
            sums = [np.zeros_like(m), np.zeros_like(c), np.zeros_like(b), np.zeros((len(b), len(b)))]
            first, last = self._edges[block], self._edges[block + 1]
            weight, symmetric = self.problem.head_weight, self.problem.signal.symmetric
            risk = self._module.accumulate(
                self.zeta, self.xi, self.theta, first, last, m, c, b, weight, symmetric, noise, *sums
            )
            return risk, sums

        if self.threads > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                parts = list(pool.map(one, blocks))
        else:
            parts = [one(block) for block in blocks]
        scale = 1.0 / (4 * self.samples)
        g_m, g_c, g_b, lower = (sum(part[1][i] for part in parts) * scale for i in range(4))
        full = lower + lower.T - np.diag(np.diag(lower))
        return Gradients(sum(part[0] for part in parts) * scale, g_m, g_c, g_b, full)


def replicates(
    problem: HeadsProblem, samples: int, rank: int, seed: int, count: int, threads: int = 1
) -> list[Averages]:
    """`count` independent sets of nodes."""
    seeds = np.random.SeedSequence(seed).generate_state(count)
    return [Averages(problem, samples, rank, int(one), threads) for one in seeds]


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis of independent replicates, and twice its standard error."""
    count = len(values)
    return values.mean(axis=0), 2 * values.std(axis=0, ddof=1) / np.sqrt(count)
