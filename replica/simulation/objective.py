"""The regularised empirical risk of (k, v) and its exact gradient on a data set (theory.md sections 2 and 9)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from .data import Dataset, Group, blocks

_CHUNKS = 8  # partial sums, added in order: the bits do not depend on the number of threads
_SERIAL = 1 << 20  # token entries below which threads cost more than they save


class Objective:
    """J(k, v) = sum_n (y_n - f(X_n))^2/2 + (reg_k/2)|k|^2 + (reg_v/2)|v|^2,  f(X) = sigma(chi)^T z.

    chi_l = X_l.k/sqrt(D), z_l = X_l.v/sqrt(D). The gradient is written by hand on the activation's `sigma` and `vjp`.
    Tokens are read once per evaluation, block by block, and enter the arithmetic as float64 whatever their storage.
    Use as a context: threads live, and BLAS is held to one thread per block, while it is open.
    """

    def __init__(self, dataset: Dataset, threads: int | None = None) -> None:
        problem = dataset.problem
        self.dataset = dataset
        self.penalties = np.array([[problem.reg_k], [problem.reg_v]])
        work = [(group, *span) for group in dataset.groups for span in blocks(len(group.label), group.tokens[0].size)]
        edges = np.linspace(0, len(work), min(_CHUNKS, len(work)) + 1).astype(int)
        self._chunks = [work[a:b] for a, b in pairwise(edges)]
        small = sum(group.tokens.size for group in dataset.groups) < _SERIAL
        self._threads = 1 if small else min(threads or os.cpu_count() or 1, len(self._chunks))
        self._map = map

    @contextmanager
    def running(self) -> Iterator[Objective]:
        """Hold the threads for a series of evaluations."""
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(self._threads) as pool:
            self._map = pool.map if self._threads > 1 else map
            try:
                yield self
            finally:
                self._map = map

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_n (y_n - f(X_n))^2/2 and its gradient; weights and gradient have shape (2, D), rows k and v."""
        scaled = weights / math.sqrt(self.dataset.dimension)
        total, gradient = 0.0, np.zeros_like(scaled)
        for value, part in self._map(partial(self._chunk, scaled), self._chunks):
            total += value
            gradient += part
        return total, gradient / math.sqrt(self.dataset.dimension)

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """J and its gradient at the flat vector (k, v) of length 2D."""
        weights = flat.reshape(2, -1)
        value, gradient = self.loss(weights)
        value += 0.5 * float(np.sum(self.penalties * weights**2))
        return value, (gradient + self.penalties * weights).ravel()

    def _chunk(self, scaled: np.ndarray, work: list[tuple[Group, int, int]]) -> tuple[float, np.ndarray]:
        activation = self.dataset.problem.activation
        total, gradient = 0.0, np.zeros_like(scaled)
        # one buffer for all blocks: it stays in the cache
        buffer = np.empty(max((stop - start) * group.tokens[0].size for group, start, stop in work))
        for group, start, stop in work:
            tokens = group.tokens[start:stop]
            count, length, dimension = tokens.shape
            rows = buffer[: tokens.size].reshape(count * length, dimension)
            rows[:] = tokens.reshape(rows.shape)
            chi, z = (rows @ scaled.T).T.reshape(2, count, length)
            sigma = activation.sigma(chi)
            excess = np.sum(sigma * z, axis=1) - group.label[start:stop]
            total += 0.5 * float(excess @ excess)
            slopes = np.stack([activation.vjp(chi, excess[:, None] * z), excess[:, None] * sigma])
            gradient += slopes.reshape(2, -1) @ rows
        return total, gradient
