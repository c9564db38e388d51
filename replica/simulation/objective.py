"""The regularised empirical risk of (k, v) and its exact gradient on a data set (theory.md sections 2 and 9)."""

from __future__ import annotations

import numpy as np

from .data import Dataset
from .tokens import Tokens


class Objective:
    """J(k, v) = sum_n (y_n - f(X_n))^2/2 + (reg_k/2)|k|^2 + (reg_v/2)|v|^2,  f(X) = sigma(chi)^T z.

    chi_l = X_l.k/sqrt(D), z_l = X_l.v/sqrt(D). The gradient is written by hand on the activation's `sigma` and `vjp`.
    Evaluate it while `tokens.running()` is open.
    """

    def __init__(self, dataset: Dataset, threads: int | None = None) -> None:
        problem = dataset.problem
        self.tokens = Tokens(dataset, threads)
        self.penalties = np.array([[problem.reg_k], [problem.reg_v]])
        self._excess = [np.empty(len(group.label)) for group in dataset.groups]

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_n (y_n - f(X_n))^2/2 and its gradient; weights and gradient have shape (2, D), rows k and v."""
        gradient = self.tokens.sweep(weights, self._slopes)
        return 0.5 * sum(float(excess @ excess) for excess in self._excess), gradient

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """J and its gradient at the flat vector (k, v) of length 2D."""
        weights = flat.reshape(2, -1)
        value, gradient = self.loss(weights)
        value += 0.5 * float(np.sum(self.penalties * weights**2))
        return value, (gradient + self.penalties * weights).ravel()

    def _slopes(self, number: int, span: slice, scores: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each sample in its scores chi and z."""
        dataset = self.tokens.dataset
        activation, (chi, z) = dataset.problem.activation, scores
        sigma = activation.sigma(chi)
        excess = np.sum(sigma * z, axis=1) - dataset.groups[number].label[span]
        self._excess[number][span] = excess
        return np.stack([activation.vjp(chi, excess[:, None] * z), excess[:, None] * sigma])
