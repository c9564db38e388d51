"""Test risk on fresh data, projected on span(k*, v*, k, v): exact in law at any dimension (theory.md section 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..models.problem import Problem
from .data import Dataset

Sigma = Callable[[np.ndarray], np.ndarray]
_TOKENS = 1 << 19  # fresh tokens handled at once


class Risk(NamedTuple):
    """E (y - f)^2 and E sigma_eps with their sampling errors (one standard deviation)."""

    test_risk: float
    test_risk_err: float
    attention: float
    attention_err: float


def gram_matrix(dataset: Dataset, weights: np.ndarray) -> np.ndarray:
    """Inner products of (k*, k, v*, v), per D, shape (4, 4), from weights (k, v) of shape (2, D)."""
    frame = np.stack([dataset.key, weights[0], dataset.value, weights[1]])
    return frame @ frame.T / dataset.dimension


def fresh_risk(
    problem: Problem, sigma: Sigma, gram: np.ndarray, rng: np.random.Generator, samples: int = 200_000
) -> Risk:
    """The risk of f(X) = sigma(chi)^T z on fresh data, noise included.

    Only the key plane (chi*, chi) is sampled. Given it, every (z*_l, z_l) is Gaussian and independent of the other
    tokens, with mean B (chi*_l, chi_l) and covariance C, so the average over the values is done exactly:

        E[(y - f)^2 | chi, eps] = Delta^2 + (mu*_eps - sigma.mu)^2 + C** - 2 sigma_eps C*. + |sigma|^2 C..

    Parameters
    ----------
    problem : Problem
        Its data model, lengths and noise matter.
    sigma : callable
        Attention: scores of shape (n, L) to weights of that shape.
    gram : ndarray, shape (4, 4)
        See `gram_matrix`.
    rng : numpy.random.Generator
    samples : int
        Fresh samples, divided among the lengths by their probability.
    """
    transfer = gram[2:, :2] @ np.linalg.pinv(gram[:2, :2], hermitian=True)
    covariance = gram[2:, 2:] - transfer @ gram[:2, 2:]
    means, variances = np.zeros(2), np.zeros(2)
    for length, weight in problem.length:
        count = max(2, round(weight * samples))
        step = max(1, _TOKENS // length)
        parts = [
            _draw(problem, sigma, gram, transfer, covariance, rng, min(step, count - start), length)
            for start in range(0, count, step)
        ]
        values = np.concatenate(parts, axis=1)
        means += weight * values.mean(axis=1)
        variances += weight**2 * values.var(axis=1, ddof=1) / count
    errors = np.sqrt(variances)
    return Risk(float(means[0] + problem.noise**2), float(errors[0]), float(means[1]), float(errors[1]))


def _draw(
    problem: Problem,
    sigma: Sigma,
    gram: np.ndarray,
    transfer: np.ndarray,
    covariance: np.ndarray,
    rng: np.random.Generator,
    count: int,
    length: int,
) -> np.ndarray:
    """The conditional squared error without label noise, and sigma_eps; shape (2, count)."""
    (norm, m_k), q_k = gram[0, :2], gram[1, 1]
    chi_star = np.sqrt(norm) * rng.standard_normal((count, length))
    spread = np.sqrt(max(q_k - m_k**2 / norm, 0.0))
    chi = (m_k / norm) * chi_star + spread * rng.standard_normal((count, length))
    rows = np.arange(count)
    eps, shift = problem.data.sample_position(rng, chi_star)
    # the token at eps moves by shift k*/sqrt(D): every score moves by shift times its product with k*
    mean_star = transfer[0, 0] * chi_star[rows, eps] + transfer[0, 1] * chi[rows, eps] + shift * gram[2, 0]
    mean = transfer[1, 0] * chi_star + transfer[1, 1] * chi
    mean[rows, eps] += shift * gram[3, 0]
    chi[rows, eps] += shift * m_k
    attention = sigma(chi)
    relevant = attention[rows, eps]
    bias = mean_star - np.sum(attention * mean, axis=1)
    spread_z = covariance[0, 0] - 2 * relevant * covariance[0, 1] + np.sum(attention**2, axis=1) * covariance[1, 1]
    return np.stack([bias**2 + spread_z, relevant])
