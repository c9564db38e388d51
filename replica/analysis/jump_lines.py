"""Jumps of the proximal point, found along random lines through the key fields (theory.md section 8).

The global proximal point chi(omega_k) at given value fields and label is the gradient of a convex function: along a
line omega_k = mean + s (eta_perp + t u), |u| = 1, u . chi increases, so that jumps along it never cancel. With
t ~ N(0, 1) independent of eta_perp, s the standard deviation of the key noise, n the dimension of u (uniform on the
sphere), and phi the density of t,

    - E div g_k, its part from jumps  = -(n/s) E sum_jumps phi(t) u . (chi_+ - chi_-)/V_k                           (1)
    E |chi_+ - chi_-|^2 as density over
    the surface of jumps in omega_k   = E sum_jumps phi(t) |chi_+ - chi_-|^2 / (s E|u_1|)                           (2)

(2) is Crofton's formula. t is integrated, not sampled: every line sees the jumps on it with their weight. As in
section 8, jumps move with the key fields alone.

Where few lines see jumps their scatter says little: `unseen` is what 1.5 lines more could add, so that twice the error
is the limit of 95 % on lines that see a jump of the size seen so far, or of the largest there is. Fields at which the
proximal point is proved global are out of reach of jumps. That limits them too, by an estimate: the other fields are
taken to surround a jump by one standard deviation of t.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from ..kernels.prox import prox_work
from ..lowering import tokens as tokens_lowering
from ..models.problem import Problem
from ..quadrature.blocks import map_blocks
from .token_nodes import TokenNodes, token_nodes

REACH = 5.0  # standard deviations of t: the mass beyond is 6e-7
STEPS = 25
HALVINGS = 9  # of an interval in which the point moves more than its derivatives say
# relative to sqrt(q_k): smaller moves count as continuous; the verdict asks for C* = (0.1)^2 q_k
SMALLEST = 0.03
UNSEEN = 1.5
MEAN_DENSITY = 0.5 / math.sqrt(math.pi)  # of t where t ~ N(0, 1)
# fewer jumps do not tell how long others are
FEW = 3
POINTS = 2**18  # numbers in the arrays of one block of lines
INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
NO_LINES = (np.empty(0, np.int64), np.empty(0), np.empty((0, 0)))


class Ends(NamedTuple):
    """Points on lines: the line, the place t, the proximal point and its derivative in t."""

    which: np.ndarray
    place: np.ndarray
    chi: np.ndarray
    slope: np.ndarray

    def at(self, chosen: np.ndarray) -> Ends:
        return Ends(*(entry[chosen] for entry in self))


class Jumps(NamedTuple):
    """Line, place and change of the proximal point of each jump."""

    which: np.ndarray
    place: np.ndarray
    change: np.ndarray


class Lines(NamedTuple):
    """Lines eta + t rays through nodes: unit rays, uniform in `dimension` dimensions, and eta orthogonal to them."""

    nodes: TokenNodes
    rays: np.ndarray
    dimension: int


def find_jumps(
    points: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], lines: int, smallest: float
) -> Jumps:
    """Jumps longer than `smallest` of functions on `lines` lines, |t| <= REACH.

    An interval is halved while the change across it differs from what the derivatives at its ends give by the
    trapezoidal rule; what is left at the end is a jump.

    Parameters
    ----------
    points : callable
        (which, place) to the values and their derivatives in t, shape (number of points, K); nan for a derivative that
        does not exist.

    Returns
    -------
    Jumps
    """
    grid = np.linspace(-REACH, REACH, STEPS + 1)

    def ends(which: np.ndarray, place: np.ndarray) -> Ends:
        return Ends(which, place, *points(which, place))

    every = ends(np.repeat(np.arange(lines), STEPS + 1), np.tile(grid, lines))
    inner = np.arange(lines * (STEPS + 1)).reshape(lines, STEPS + 1)
    left, right = every.at(inner[:, :-1].ravel()), every.at(inner[:, 1:].ravel())
    width = grid[1] - grid[0]
    for _ in range(HALVINGS):
        expected = 0.5 * width * (left.slope + right.slope)
        # written so that nan counts as uneven
        uneven = ~(np.linalg.norm(right.chi - left.chi - expected, axis=1) <= smallest)
        left, right, width = left.at(uneven), right.at(uneven), 0.5 * width
        middle = ends(left.which, left.place + width)
        left, right = (
            Ends(*map(np.concatenate, zip(*pair, strict=True))) for pair in ((left, middle), (middle, right))
        )
    change = right.chi - left.chi
    long = np.linalg.norm(change, axis=1) > smallest
    return Jumps(left.which[long], left.place[long] + 0.5 * width, change[long])


class LineSums(NamedTuple):
    """The sides (1) and (2) of the module's text by scramble, shape (scrambles, 2), and what was not seen of each."""

    sums: np.ndarray
    unseen: tuple[float, float]


def token_lines(problem: Problem, length: int, log2_count: int, seed: tuple[int, ...]) -> Lines:
    """One scramble of lines: nodes, with their key noise made orthogonal to a `ray` through each."""
    affine = tokens_lowering.load(problem).AFFINE
    nodes = token_nodes(problem, length, log2_count, seed, affine=affine)
    count, columns = nodes.eta.shape
    rays = np.zeros((count, columns))
    # linear attention: the single direction of its key comes last
    first = columns - 1 if affine else 0
    rays[:, first:] = np.random.default_rng((*seed, 2)).standard_normal((count, columns - first))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    along = np.sum(nodes.eta * rays, axis=1, keepdims=True)
    return Lines(dataclasses.replace(nodes, eta=nodes.eta - along * rays), rays, columns - first)


def line_sums(
    module: ModuleType, par: np.ndarray, scrambles: Sequence[Lines], envelope: float, limit: float, threads: int | None
) -> LineSums:
    """Both sums from the jumps on the lines.

    Parameters
    ----------
    module : ModuleType
        See `replica.lowering.tokens.load`.
    par : ndarray
        TOKEN_PARAMETERS.
    scrambles : sequence of Lines
    envelope : float
        E M, which bounds what a jump can span: |chi - omega_k|^2 <= 2 V_k M on both of its sides.
    limit : float
        Half the limit on the probability of a field in reach of a jump.
    threads : int, optional
    """
    m_k, q_k, V_k, explained = (
        par[tokens_lowering.TOKEN_PARAMETERS.index(name)] for name in ("m_k", "q_k", "V_k", "explained")
    )
    spread = math.sqrt(q_k - explained * m_k**2)
    count, columns = scrambles[0].rays.shape
    dimension, projection = scrambles[0].dimension, mean_projection(scrambles[0].dimension)
    size = max(1, min(count, 2 ** int(math.log2(POINTS / (2 * columns * STEPS)))))

    def block(begin: int, end: int) -> np.ndarray:
        """Sums over the jumps of phi u.change, phi |change|^2, |change|^2, 1; number of points not stationary."""
        scramble, start = divmod(begin, count)
        nodes, rays, _ = scrambles[scramble]
        chosen = slice(start, start + end - begin)
        fields = nodes.star[chosen], nodes.eta[chosen], nodes.zeta[chosen], nodes.scalars[chosen]
        rows, small = prox_work(columns)
        failed = 0

        def points(which: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal failed
            found = np.empty((len(which), 2 * columns))
            line = (which, place, rays[chosen])
            _, lost = module.token_block(
                par, nodes.shift, *fields, 0, len(which), module.LINES, line, rows, small, found
            )
            failed += lost
            return found[:, :columns], spread * found[:, columns:]

        jumps = find_jumps(points, end - begin, SMALLEST * math.sqrt(q_k))
        density = INV_SQRT_2PI * np.exp(-0.5 * jumps.place**2) * fields[3][jumps.which, 2]
        along = np.sum(rays[chosen][jumps.which] * jumps.change, axis=1)
        square = np.sum(jumps.change**2, axis=1)
        return np.array([density @ along, density @ square, square.sum(), len(square), failed])

    parts = (
        np.array(map_blocks(block, count * len(scrambles), threads, size)).reshape(len(scrambles), -1, 5).sum(axis=1)
    )
    _, _, squares, seen, failed = parts.sum(axis=0)
    factors = np.array([dimension / (spread * V_k), 1.0 / (spread * projection)])
    square = squares / seen if seen >= FEW else 8.0 * V_k * envelope
    lines = count * len(scrambles)
    # a point that is not stationary may hide a jump
    density = min(MEAN_DENSITY * UNSEEN / lines, limit) + MEAN_DENSITY * failed / lines
    unseen = density * factors * [projection * math.sqrt(square), square]
    return LineSums(parts[:, :2] / count * factors, tuple(map(float, unseen)))


def mean_projection(dimension: int) -> float:
    """E|u_1| for u uniform on the unit sphere of so many dimensions."""
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)
