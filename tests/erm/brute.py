"""The scalar channel by brute force: the proximal point by dense search, the average by Gauss-Legendre between jumps.

Written from theory.md section 4 with numpy alone; it shares nothing with the package. A is omega_v1 - omega_v2, b is
y - omega_v2, delta_0 = omega_k1 - omega_k2.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

GAUSS_X, GAUSS_W = np.polynomial.legendre.leggauss(12)


def attention(delta):
    """sigma_1 and 1 - sigma_1."""
    return special.expit(delta), special.expit(-delta)


@dataclass(frozen=True)
class Potential:
    """Phi(delta) = (b - s A)^2/(2 (1 + V_v |sigma|^2)) + (delta - delta_0)^2/(4 V_k)."""

    A: float | np.ndarray
    b: float | np.ndarray
    V_k: float
    V_v: float

    def residual(self, delta):
        """r = (y - f) at the minimum over the values."""
        s, t = attention(delta)
        return (self.b - s * self.A) / (1 + self.V_v * (s * s + t * t))

    def first(self, delta):
        """The part without delta_0."""
        s, t = attention(delta)
        return 0.5 * (self.b - s * self.A) ** 2 / (1 + self.V_v * (s * s + t * t))

    def pull(self, delta):
        """delta + 2 V_k d first/d delta, equal to delta_0 at a stationary point."""
        s, t = attention(delta)
        r = self.residual(delta)
        # d first/d delta = -r (z_1 - z_2) s t, z = omega_v + V_v r sigma
        return delta - 2 * self.V_k * r * (self.A + self.V_v * r * (s - t)) * s * t

    def minimiser(self, delta_0, spacing=0.02):
        """The global minimiser for each delta_0: the best of a dense grid, then bisection of the stationarity."""
        delta_0 = np.asarray(delta_0, dtype=float)
        reach = np.sqrt(4 * self.V_k * np.max(self.first(delta_0))) + 1
        grid = np.arange(delta_0.min() - reach, delta_0.max() + reach, spacing)
        first = self.first(grid)
        best = np.empty(delta_0.shape)
        for index, centre in enumerate(delta_0):
            best[index] = grid[np.argmin(first + (grid - centre) ** 2 / (4 * self.V_k))]
        return self.polished(best, delta_0, spacing)

    def polished(self, near, delta_0, spacing):
        """The stationary point within `spacing` of each grid minimum, by bisection."""
        low, high = near - spacing, near + spacing
        for _ in range(60):
            middle = 0.5 * (low + high)
            right = self.pull(middle) < delta_0
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        return 0.5 * (low + high)

    def minima(self, delta_0, spacing=0.02):
        """Every local minimum at one delta_0 and its height."""
        reach = math.sqrt(4 * self.V_k * self.first(delta_0)) + 1
        grid = np.arange(delta_0 - reach, delta_0 + reach, spacing)
        height = self.first(grid) + (grid - delta_0) ** 2 / (4 * self.V_k)
        inside = (height[1:-1] <= height[:-2]) & (height[1:-1] < height[2:])
        delta = self.polished(grid[1:-1][inside], delta_0, spacing)
        return delta, self.first(delta) + (delta - delta_0) ** 2 / (4 * self.V_k)


def jumps_of(potential, mean, deviation, reach=7.0, points=600):
    """Places (delta_0) and ends of the jumps of the minimiser as it is followed across delta_0, by bisection."""
    delta_0 = mean + deviation * np.linspace(-reach, reach, points)
    delta = potential.minimiser(delta_0)
    found = []
    typical = np.diff(delta_0)[0]
    for k in np.flatnonzero(np.diff(delta) > 3 * typical + 0.02):
        low, high, below, above = delta_0[k], delta_0[k + 1], delta[k], delta[k + 1]
        while high - low > 1e-12 * (1 + abs(low)):
            middle = 0.5 * (low + high)
            minima, heights = potential.minima(middle)
            at = minima[np.argmin(heights)]
            if at - below < above - at:
                low, below = middle, at
            else:
                high, above = middle, at
            if above - below < 1e-3:  # steep, but continuous
                break
        else:
            found.append((0.5 * (low + high), below, above))
    return found


def average(potential, mean, deviation, weight, integrands, reach=7.0, panels=160):
    """E weight h over delta_0 ~ N(mean, deviation^2), for each h(delta_0, delta), split at the jumps."""
    cuts = [place for place, _, _ in jumps_of(potential, mean, deviation, reach)]
    low, high = mean - reach * deviation, mean + reach * deviation
    edges = np.unique([low, *[cut for cut in cuts if low < cut < high], high])
    totals = np.zeros(len(integrands))
    for start, stop in itertools.pairwise(edges):
        count = max(4, math.ceil(panels * (stop - start) / (high - low)))
        borders = np.linspace(start, stop, count + 1)
        half = 0.5 * np.diff(borders)[:, None]
        nodes = (borders[:-1, None] + half * (1 + GAUSS_X)).ravel()
        measure = (half * GAUSS_W).ravel() * np.exp(-0.5 * ((nodes - mean) / deviation) ** 2)
        measure *= weight(nodes) / (deviation * math.sqrt(2 * math.pi))
        delta = potential.minimiser(nodes)
        totals += [np.sum(measure * integrand(nodes, delta)) for integrand in integrands]
    return totals


def fields(overlaps, noise, x_A, x_R):
    """(A, b) of theory.md section 4 from two standard normals: A ~ N(0, 2 q), b = (c + 1) A/2 + R."""
    m, q = overlaps["m_v"], overlaps["q_v"]
    c = m / q
    A = np.sqrt(2 * q) * x_A
    return A, (c + 1) * A / 2 + np.sqrt((1 - c) ** 2 * q / 2 + 1 - m * m / q + noise**2) * x_R
