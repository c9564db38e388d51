"""Trapezoidal rules for Gaussian averages of analytic functions: exponentially accurate in 1/step.

Unlike Gauss-Hermite, the step can follow the integrand (a sigmoid of unit width under a Gaussian of width 20), and
the relative accuracy survives in the tails, because every term is positive.
"""

from __future__ import annotations

import math

import numpy as np

REACH = 9.0
INV_SQRT_2PI = 0.3989422804014327


def normal_rule(step: float, reach: float = REACH) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E f(x), x ~ N(0, 1), equally spaced by `step` to `reach` or just beyond.

    The step is kept, so that the rule is a smooth function of its arguments.

    The error for an f analytic in a strip of half-width b is of order exp(-2 pi b/step) (step < 1), plus the
    neglected tail, exp(-reach^2/2).
    """
    half = math.ceil(reach / step)
    nodes = np.arange(-half, half + 1) * step
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def half_normal_sinh_rule(scale: float, step: float, reach: float = REACH) -> tuple[np.ndarray, np.ndarray]:
    """Nodes a >= 0 and weights of E f(a), a ~ N(0, scale^2), f even and varying on the scale of one.

    a = c sinh(r) with c = min(1, scale), r equally spaced: resolves both f and a Gaussian of any width with about
    log(scale)/step nodes (theory.md section 6, asinh-spaced A).
    """
    if scale == 0.0:
        return np.zeros(1), np.ones(1)
    unit = min(1.0, scale)
    top = math.asinh(reach * scale / unit)
    count = math.ceil(top / step)
    r = np.arange(count + 1) * step
    nodes = unit * np.sinh(r)
    weights = np.exp(-0.5 * (nodes / scale) ** 2) * np.cosh(r)
    weights[0] *= 0.5
    return nodes, weights / weights.sum()


def window_rule(
    centre: np.ndarray, scale: float, bound: float, count: int, reach: float = REACH
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of E f(w), w ~ N(centre, scale^2), for an f that vanishes beyond |w| = bound.

    Parameters
    ----------
    centre : ndarray, shape (n,)
    scale : float
        Standard deviation, >= 0; with 0 all nodes sit at the centre.
    bound, reach : float
        Nodes stay in [-bound, bound] and within `reach` deviations of the centre.
    count : int
        Nodes for each centre.

    Returns
    -------
    nodes, weights : ndarray, shape (n, count)
        The weights sum to the probability of the window.
    """
    low = np.clip(centre - reach * scale, -bound, bound)
    high = np.clip(centre + reach * scale, -bound, bound)
    spacing = np.maximum(high - low, 0.0) / (count - 1)
    nodes = low[:, None] + spacing[:, None] * np.arange(count)
    if scale == 0.0:
        return np.broadcast_to(centre[:, None], nodes.shape).copy(), np.full(nodes.shape, 1.0 / count)
    x = (nodes - centre[:, None]) / scale
    return nodes, np.exp(-0.5 * x**2) * (INV_SQRT_2PI * spacing[:, None] / scale)
