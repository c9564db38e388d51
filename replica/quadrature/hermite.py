"""Gauss-Hermite grids for averages over standard normal variables."""

from __future__ import annotations

import functools

import numpy as np


@functools.lru_cache(maxsize=32)
def gauss_hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (summing to one) of the n-point rule for N(0, 1); exact to degree 2n - 1."""
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(n)
    return nodes, weights / weights.sum()


@functools.lru_cache(maxsize=32)
def even_plane(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n x n grid for averages over N(0, I_2) of even functions f(-x) = f(x): one half of it, n even.

    Returns
    -------
    nodes : ndarray, shape (n^2/2, 2)
    weights : ndarray, shape (n^2/2,)
        Nodes of weight below 1e-18 are left out.
    """
    if n % 2:
        raise ValueError("an even number of nodes has no node at the origin to count twice")
    x, w = gauss_hermite(n)
    half = x > 0
    first, second = np.meshgrid(x[half], x, indexing="ij")
    weights = 2.0 * np.outer(w[half], w).ravel()
    keep = weights > 1e-18
    nodes = np.column_stack([first.ravel(), second.ravel()])[keep]
    return np.ascontiguousarray(nodes), weights[keep]
