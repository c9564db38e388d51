"""Numpy face of max single-location regression with uncertain scores: who wins a race of noisy runners."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

_STEP = 0.5  # of the race's grid, in standard widths; trapezoid on densities analytic in a wide strip
_TABLE = 0.004  # step of the tabulated distribution, read by linear interpolation
_NODES = 0.25  # step of the average of one law over the other, by the same rule
_REACH, _FAR = 7.5, 12.0  # normal standard deviations: where races are decided; how far their density is known
_TINY = 1e-300
_GUMBEL_LOW, _GUMBEL_HIGH = 3.5, 24.0  # its tails there: exp(-exp(3.5)), exp(-24)
_ENTRIES = 1 << 19  # numbers of one kind held at once


@dataclass(frozen=True)
class Runner:
    """The law of T = N + rho G, N standard normal, G standard Gumbel: F and three derivatives tabulated on `grid`.

    rho = 0 is the normal law itself.
    """

    rho: float
    grid: np.ndarray
    table: np.ndarray

    @classmethod
    @functools.lru_cache(maxsize=4)  # the groups of one step share it
    def of(cls, rho: float) -> Runner:
        """Tabulate the law over the range that a race visits."""
        width = math.hypot(1.0, rho)
        grid = np.arange(-_REACH - _GUMBEL_LOW * rho, _FAR + _GUMBEL_HIGH * rho + _TABLE * width, _TABLE * width)
        if rho == 0.0:
            return cls(rho, grid, _normal_law(grid))
        table = np.zeros((4, len(grid)))
        if rho <= 0.5:  # average the normal law over the Gumbel
            nodes = np.arange(-_GUMBEL_LOW, _GUMBEL_HIGH, _NODES)
            for node, weight in zip(nodes, _NODES * np.exp(-nodes - np.exp(-nodes)), strict=True):
                table += weight * _normal_law(grid - rho * node)
        else:  # average the Gumbel law over the normal
            nodes = np.arange(-_REACH, _REACH, _NODES)
            for node, weight in zip(nodes, _NODES * _normal_law(nodes)[1], strict=True):
                table += weight * _gumbel_law(grid - node, rho)
        return cls(rho, grid, table)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """F and three derivatives at t, shape (4, ...); constant beyond the table."""
        at = np.clip((t - self.grid[0]) / (self.grid[1] - self.grid[0]), 0.0, len(self.grid) - 1.001)
        low = at.astype(np.intp)
        share = at - low
        return np.stack([row.take(low) + share * np.diff(row).take(low) for row in self.table])


def race_evidence(omega: np.ndarray, spread: float, nu: float, log_likelihood: np.ndarray) -> np.ndarray:
    """`DataModel.position_evidence` of the race chi_l + G_l/nu, chi ~ N(omega, spread^2 I), G standard Gumbel.

    pi_l = E softmax(nu chi)_l = integral f_l(u) prod_{j != l} F_j(u) du (theory.md section 6). Returns, for
    Z = sum_l pi_l exp(log_likelihood_l), the posterior, d log Z/d omega_l and -d^2 log Z/d omega_l^2, shape (3, n, L).

    Parameters
    ----------
    omega, log_likelihood : ndarray, shape (n, L)
    spread : float
        > 0.
    nu : float
        > 0, or inf.
    """
    count, length = omega.shape
    runner = Runner.of(0.0 if math.isinf(nu) else 1.0 / (nu * spread))
    width = math.hypot(1.0, runner.rho)
    # finish lines, from the best runner's mean: the winner is not far behind it, nor ahead of the best of L equals
    last = _REACH + runner.rho * (_GUMBEL_HIGH + math.log(length))
    u = np.arange(runner.grid[0], last, _STEP * width)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    result = np.empty((3, count, length))
    step = max(1, _ENTRIES // (length * len(u)))
    for start in range(0, count, step):
        rows = slice(start, start + step)
        gaps = (omega[rows].max(axis=1, keepdims=True) - omega[rows]) / spread
        cdf, density, slope, bend = runner(u[:, None, None] + gaps)
        cdf = np.maximum(cdf, _TINY)
        everyone = np.prod(cdf, axis=2, keepdims=True)
        own = likelihood[rows]
        wins = own * density / cdf
        others = wins.sum(axis=2, keepdims=True) - wins
        mass = np.sum(everyone * wins, axis=0)
        evidence = mass.sum(axis=1, keepdims=True)
        first = -np.sum(everyone * (density * others + own * slope) / cdf, axis=0) / evidence
        second = np.sum(everyone * (slope * others + own * bend) / cdf, axis=0) / evidence
        result[:, rows] = mass / evidence, first / spread, (first**2 - second) / spread**2
    return result


def _normal_law(t: np.ndarray) -> np.ndarray:
    """Phi and its first three derivatives, shape (4, ...)."""
    density = np.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
    return np.stack([ndtr(t), density, -t * density, (t * t - 1) * density])


def _gumbel_law(t: np.ndarray, rho: float) -> np.ndarray:
    """exp(-exp(-t/rho)) and its first three derivatives, shape (4, ...)."""
    tail = np.exp(np.minimum(-t / rho, 6.6))  # beyond, the law is below 1e-300
    law = np.exp(-tail)
    density = law * tail
    return np.stack([law, density / rho, density * (tail - 1) / rho**2, density * (tail**2 - 3 * tail + 1) / rho**3])
