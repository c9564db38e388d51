"""Risk and gradients averaged over tokens and signals, on nodes that stay the same throughout a computation."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..errors import InvalidProblem
from ..lowering import heads as lowering
from .nodes import is_grid, token_nodes
from .problem import HeadsProblem

_BLOCKS = 16
_LARGEST = 2**28  # numbers in the nodes of a set: two gigabytes, and a few times that on the way
_LEAST = 16  # nodes that are no images of each other
T = TypeVar("T")


@dataclass(frozen=True)
class Gradients:
    """R and the derivatives of R/2: by m (H, F), c (H, J), b (H,); `noise` = E sum_l rho_hl rho_h'l (H, H)."""

    risk: float
    m: np.ndarray
    c: np.ndarray
    b: np.ndarray
    noise: np.ndarray


class Averages(ABC):
    """E over Z, theta of the risk at overlaps m, noise directions c and thresholds b (theory-dynamics.md A).

    The fields are chi_hl = sum_f m_hf (zeta_fl + delta_l,1 theta_f) + sum_j c_hj xi_jl. Nodes are random, scrambled
    Sobol points or shifted grids, each used in mirror images; two seeds give independent averages, so the spread over
    seeds measures the error. The gradients are those of the discretised risk itself: a gradient flow on one set of
    nodes can only lower it.

    Parameters
    ----------
    problem : HeadsProblem
    samples : int
        Number of nodes, about; a power of two.
    rank : int
        Number J of noise directions, the largest rank of r = c c^T.
    seed : int
        Seed of the nodes.
    threads : int
        Threads over fixed blocks of nodes; the result does not depend on their number.
    mirrored : bool
        Whether the signs of single features are changed too, wherever that keeps the law of theta. An overlap
        m_hf = 0 over h then has no gradient even where other features are learned. Without, the error of the nodes
        drives it, and a feature that starts at 1/sqrt(D) seems to emerge early, on every set of nodes.
    """

    def __init__(
        self, problem: HeadsProblem, samples: int, rank: int, seed: int, threads: int = 1, mirrored: bool = False
    ) -> None:
        self.problem, self.samples, self.rank, self.threads = problem, samples, rank, threads
        signal = problem.signal
        self._signs = np.array(signal.mirrors if mirrored else [(1,) * signal.features], dtype=float)
        # two images of every node, or fewer nodes with more
        self._base = max(min(samples, 2 * samples // len(self._signs)), min(samples, _LEAST))
        self._module = lowering.load(problem.activation)
        count = self._make_nodes(seed)
        edges = np.linspace(0, count, min(_BLOCKS, count) + 1).astype(int)
        self._blocks = list(itertools.pairwise(edges))

    floor = 0.0  # error of the risk that all node sets share
    draws = 0  # random nodes, which may all miss what is rarer than one in so many; 0: the nodes are a grid

    @abstractmethod
    def _make_nodes(self, seed: int) -> int:
        """Make the nodes and return their number."""

    @abstractmethod
    def __call__(self, m: np.ndarray, c: np.ndarray, b: np.ndarray, *, noise: bool = False) -> Gradients:
        """Averages at m (H, F), c (H, J), b (H,); `noise` also fills the last field."""

    def _map(self, one: Callable[[int, int], T]) -> list[T]:
        """`one` of every block (first, last), in order."""
        if self.threads == 1:
            return [one(*block) for block in self._blocks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(lambda block: one(*block), self._blocks))


class SeparateAverages(Averages):
    """Of activations that normalise each head by itself: a node is a draw of all L tokens."""

    def _make_nodes(self, seed: int) -> int:
        from scipy.special import ndtri
        from scipy.stats import qmc

        signal, length = self.problem.signal, self.problem.length
        samples = self._base
        gauss = length * (signal.features + self.rank)
        points = qmc.Sobol(signal.uniforms + gauss, rng=np.random.default_rng(seed)).random(samples)
        np.clip(points, 2.0**-40, 1 - 2.0**-40, out=points)  # a scrambled coordinate may round to 0
        theta = signal.transform(points[:, : signal.uniforms])
        normal = ndtri(points[:, signal.uniforms :]).reshape(samples, length, -1)
        signs, repeats = self._signs[:, None, None, :], (len(self._signs), 1, 1)
        nodes = (
            (signs * normal[:, :, : signal.features]).reshape(-1, length, signal.features),
            np.tile(normal[:, :, signal.features :], repeats),
            (signs * theta[:, None]).reshape(-1, 1, signal.features),
        )
        # the node last: (L, F, N), (L, J, N), (1, F, N)
        self.zeta, self.xi, self.theta = (np.ascontiguousarray(np.moveaxis(one, 0, -1)) for one in nodes)
        # keys carry little noise while features are learned: images by xi would add less than those by signs
        self._images = 4 if len(self._signs) == 1 else 2
        self.draws = self._images * self.theta.shape[-1]
        return self.theta.shape[-1]

    def __call__(self, m: np.ndarray, c: np.ndarray, b: np.ndarray, *, noise: bool = False) -> Gradients:
        m, c, b = (np.ascontiguousarray(x, dtype=float) for x in (m, c, b))
        weight, symmetric = self.problem.head_weight, self.problem.signal.symmetric

        def one(first: int, last: int) -> tuple[float, list[np.ndarray]]:
            sums = _zeros(m, c, b)
            return self._module.accumulate(
                self.zeta, self.xi, self.theta, first, last, m, c, b, weight, symmetric, self._images, noise, *sums
            ), sums

        parts = self._map(one)
        scale = 1.0 / (self._images * self.theta.shape[-1])
        return _gradients(sum(risk for risk, _ in parts) * scale, [sums for _, sums in parts], scale)


class JointAverages(Averages):
    """Of one normaliser over heads and tokens: a node is one token, whatever L is.

    The average over the other tokens is an integral over log s (`replica.equations.heads_joint`).
    """

    floor = 1e-9  # the step and the ends of the integral, the ends of the grid, the interpolation

    def _make_nodes(self, seed: int) -> int:
        signal = self.problem.signal
        x, xi, weights = token_nodes(signal, self._base, self.rank, seed)
        self.x = np.concatenate([x * signs for signs in self._signs])
        self.xi = np.tile(xi, (len(self._signs), 1))
        self._images = np.array(list(itertools.product((1.0, -1.0) if signal.symmetric else (1.0,), (1.0, -1.0))))
        self.weights = np.tile(weights, len(self._signs)) / (len(self._images) * len(self._signs))
        self.draws = 0 if is_grid(signal) else len(self._images) * len(self.x)
        return len(self.x)

    def __call__(self, m: np.ndarray, c: np.ndarray, b: np.ndarray, *, noise: bool = False) -> Gradients:
        m, c, b = (np.ascontiguousarray(x, dtype=float) for x in (m, c, b))
        module, signs = self._module, self._images
        images = len(signs)
        u = np.empty((images * len(self.x), len(b)))
        total = np.empty(len(u))
        top = max(self._map(lambda first, last: module.fields(self.x, self.xi, first, last, m, c, b, signs, u)))
        least = min(self._map(lambda first, last: module.weigh(u, images * first, images * last, top, total)))
        # lattice points of log w on both sides of every token's
        start = least - module.POINTS * module.FINE
        bins = int((np.log(len(b)) - start) / module.FINE) + module.POINTS
        # outside these ends of log s the integrand is below e^-23, or below exp(-e^4)
        low = -23.0 - np.log(len(b))
        size = int((4.0 - least - low) / module.STEP) + 2
        lattice = np.zeros((2, bins))
        module.spread(total, self.weights, images, start, lattice)
        table = np.zeros((7 if noise else 4, module.REFINE * (size - 1) + bins))
        ends = module.powers(low + start, table)
        sums = np.zeros((2, module.MOMENTS, size))
        module.moments(lattice, table, *ends, module.MOMENTS if noise else 3, sums)
        slope, square = np.zeros((2, module.MOMENTS, size)), np.zeros((2, module.MOMENTS, size))
        risk = module.coefficients(self.problem.length - 1, *sums, noise, slope, square)
        pulls, weighs = np.zeros((2, bins)), np.zeros((2, bins))
        # the polynomials of the slopes are of second degree
        module.integrals(slope[:, :3], table, *ends, 1, pulls)
        if noise:
            module.integrals(square, table, *ends, 2, weighs)

        def one(first: int, last: int) -> list[np.ndarray]:
            sums = _zeros(m, c, b)
            module.accumulate(
                self.x, self.xi, self.weights, u, total, first, last, signs, start, pulls, weighs, noise, *sums
            )
            return sums

        return _gradients(risk, self._map(one), 1.0)


def check_nodes(name: str, value: int, problem: HeadsProblem, rank: int, least: int = 16) -> None:
    """Refuse a number of Sobol nodes that is not a power of two, or too small, or more than memory holds.

    Raises
    ------
    InvalidProblem
    """
    if value < least or value & (value - 1):
        raise InvalidProblem(f"{name} = {value} is not possible; allowed: a power of two >= {least}")
    one = problem.length * (problem.signal.features + rank)
    if problem.activation == "bayes-softmax":
        one = problem.signal.features + rank + 2 * problem.heads
    if value * one > _LARGEST:
        most = 2 ** max(int(np.log2(_LARGEST / one)), 0)
        raise InvalidProblem(f"{name} = {value} does not fit in memory; allowed: {name} <= {most} here")


def build_averages(
    problem: HeadsProblem, samples: int, rank: int, seed: int, threads: int = 1, mirrored: bool = False
) -> Averages:
    """The averages of the problem's activation."""
    kind = JointAverages if problem.activation == "bayes-softmax" else SeparateAverages
    return kind(problem, samples, rank, seed, threads, mirrored)


def _gradients(risk: float, parts: list[list[np.ndarray]], scale: float) -> Gradients:
    """Sums over blocks, in order, of the four gradients, to averages."""
    m, c, b, lower = (sum(part[i] for part in parts) * scale for i in range(4))
    return Gradients(risk, m, c, b, lower + lower.T - np.diag(np.diag(lower)))


def _zeros(m: np.ndarray, c: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    return [np.zeros_like(m), np.zeros_like(c), np.zeros_like(b), np.zeros((len(b), len(b)))]


def replicates(
    problem: HeadsProblem,
    samples: int,
    rank: int,
    seed: int,
    count: int,
    threads: int = 1,
    mirrored: bool = False,
) -> list[Averages]:
    """`count` independent sets of nodes."""
    seeds = np.random.SeedSequence(seed).generate_state(count)
    return [build_averages(problem, samples, rank, int(one), threads, mirrored) for one in seeds]


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis of independent replicates, and twice its standard error."""
    count = len(values)
    return values.mean(axis=0), 2 * values.std(axis=0, ddof=1) / np.sqrt(count)
