"""Products with all tokens of a data set, block by block, on all cores; their number changes no bit."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits

from .data import Dataset, blocks

_CHUNKS = 8  # partial sums, added in order: the bits do not depend on the number of threads
_SERIAL = 1 << 20  # token entries below which threads cost more than they save

Work = list[tuple[int, slice]]
Local = Callable[[int, slice, np.ndarray], np.ndarray]


class Tokens:
    """The linear map W -> scores X_l.w/sqrt(D) for the rows w of W, shape (2, D), and its transpose.

    Tokens enter the arithmetic as float64 whatever their storage.
    """

    def __init__(self, dataset: Dataset, threads: int | None = None) -> None:
        self.dataset = dataset
        self._scale = 1.0 / math.sqrt(dataset.dimension)
        work = [
            (number, slice(start, stop))
            for number, group in enumerate(dataset.groups)
            for start, stop in blocks(len(group.label), group.tokens[0].size)
        ]
        edges = np.linspace(0, len(work), min(_CHUNKS, len(work)) + 1).astype(int)
        self._chunks = [work[a:b] for a, b in pairwise(edges)]
        small = sum(group.tokens.size for group in dataset.groups) < _SERIAL
        self.threads = 1 if small else min(threads or os.cpu_count() or 1, len(self._chunks))
        self._map = map

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold the threads for a series of products; BLAS keeps to one thread in each."""
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(self.threads) as pool:
            self._map = pool.map if self.threads > 1 else map
            try:
                yield
            finally:
                self._map = map

    def forward(self, weights: np.ndarray) -> list[np.ndarray]:
        """The scores of every group, each of shape (2, n, L)."""
        scores = [np.empty((2, *group.tokens.shape[:2])) for group in self.dataset.groups]
        scaled = weights * self._scale

        def chunk(work: Work) -> None:
            for number, span, rows in self._load(work):
                target = scores[number][:, span]
                target[:] = (scaled @ rows.T).reshape(target.shape)

        list(self._map(chunk, self._chunks))
        return scores

    def backward(self, slopes: Sequence[np.ndarray]) -> np.ndarray:
        """sum_{n,l} slope_{n,l} X_{n,l}/sqrt(D), shape (2, D), from slopes of shape (2, n, L) for each group."""

        def chunk(work: Work) -> np.ndarray:
            return sum(slopes[number][:, span].reshape(2, -1) @ rows for number, span, rows in self._load(work))

        return sum(self._map(chunk, self._chunks)) * self._scale

    def sweep(self, weights: np.ndarray, local: Local) -> np.ndarray:
        """`backward` of slopes that depend on the scores of their own sample, with one reading of the tokens.

        Parameters
        ----------
        weights : ndarray, shape (2, D)
        local : callable
            Receives the number of a group, a range of its samples, and their scores, shape (2, n, L); returns the
            slopes, of the same shape.
        """
        scaled = weights * self._scale

        def chunk(work: Work) -> np.ndarray:
            total = np.zeros_like(scaled)
            for number, span, rows in self._load(work):
                scores = (scaled @ rows.T).reshape(2, span.stop - span.start, -1)
                total += local(number, span, scores).reshape(2, -1) @ rows
            return total

        return sum(self._map(chunk, self._chunks)) * self._scale

    def _load(self, work: Work) -> Iterator[tuple[int, slice, np.ndarray]]:
        """Blocks of tokens as float64 matrices, in one buffer that stays in the cache."""
        groups = self.dataset.groups
        buffer = np.empty(max((span.stop - span.start) * groups[number].tokens[0].size for number, span in work))
        for number, span in work:
            tokens = groups[number].tokens[span]
            rows = buffer[: tokens.size].reshape(-1, self.dataset.dimension)
            rows[:] = tokens.reshape(rows.shape)
            yield number, span, rows
