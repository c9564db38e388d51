"""The channel of any activation and number of tokens on scrambled Sobol nodes (theory.md section 4)."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable

import numpy as np

from ..kernels.prox import prox_work
from ..lowering import tokens as tokens_lowering
from ..models.activations.base import Activation
from ..models.problem import Problem
from ..quadrature.blocks import BLOCK, map_blocks
from .channels import Averages, Channel, ChannelSums, StabilitySums
from .token_nodes import TokenNodes, token_nodes

SCRAMBLES = 8


class NodeChannel(Channel):
    """L tokens on `SCRAMBLES` independent scrambles of 2^m Sobol points; the average is over all of them."""

    def __init__(self, problem: Problem, length: int, log2_count: int, seed: int, threads: int | None = None) -> None:
        self._module = tokens_lowering.load(problem)
        self._extra, self._threads = (float(length), problem.data.explained), threads
        self._count = 2**log2_count
        self._directions = length - int(problem.activation.combination == "centred")
        self._parts = [
            token_nodes(problem, length, log2_count, (seed, length, scramble), affine=self._module.AFFINE)
            for scramble in range(SCRAMBLES)
        ]
        self.nodes = SCRAMBLES * self._count
        self.description = f"{SCRAMBLES} scrambles of {self._count} Sobol points"
        self._last: tuple[bytes, np.ndarray, int, int] | None = None

    def with_activation(self, activation: Activation) -> NodeChannel:
        moved = copy.copy(self)
        # directions of linear attention have no location
        if not self._module.AFFINE:
            shift = np.full_like(self._parts[0].shift, activation.location)
            moved._parts = [dataclasses.replace(part, shift=shift) for part in self._parts]
            moved._last = None
        return moved

    @staticmethod
    def affine(problem: Problem) -> bool:
        """Whether a few directions in token space stand for all the tokens."""
        return tokens_lowering.load(problem).AFFINE

    def sums(self, par: np.ndarray) -> ChannelSums:
        scrambles, unproved, failed = self._scrambles(par)
        return self._channel_sums(scrambles.mean(axis=0), unproved, failed)

    def attention(self, par: np.ndarray) -> tuple[float, float]:
        first, square = self._attention(par).mean(axis=0)
        return float(first), float(square)

    def variants(self, par: np.ndarray) -> list[list[Averages]]:
        scrambles, unproved, failed = self._scrambles(par)
        return [
            [
                Averages(self._channel_sums(part, unproved, failed), *map(float, seen))
                for part, seen in zip(scrambles, self._attention(par), strict=True)
            ]
        ]

    def stability(self, par: np.ndarray) -> StabilitySums:
        return self._stability_sums(par, self._responses(par).mean(axis=0), self._scrambles(par)[0].mean(axis=0))

    def stability_variants(self, par: np.ndarray) -> list[list[StabilitySums]]:
        pairs = zip(self._responses(par), self._scrambles(par)[0], strict=True)
        return [[self._stability_sums(par, responses, channel) for responses, channel in pairs]]

    def _channel_sums(self, total: np.ndarray, unproved: int, failed: int) -> ChannelSums:
        # a proximal point that is not stationary counts against the norm, hence in every error
        return ChannelSums(total[0], total[1:7], total[7], 1.0 + failed / self.nodes, unproved == 0)

    def _stability_sums(self, par: np.ndarray, responses: np.ndarray, channel: np.ndarray) -> StabilitySums:
        """The whole response is 2 dE M/dq_k, by Stein's lemma; without the jumps it is minus the trace."""
        trace, _, *squares = responses
        slope = channel[tokens_lowering.CHANNEL_TERMS.index("d_q_k")]
        # linear attention jumps only where its key has a single direction
        jump = 0.0 if self._module.AFFINE and self._directions > 1 else 2.0 * slope + trace
        return StabilitySums(*map(float, squares), jump=float(jump), jump_square=math.nan)

    def _scrambles(self, par: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Averages of CHANNEL_TERMS by scramble, and how many proximal points are not proved global or not stationary;
        the last ones are kept, for the error bars."""
        key = par.tobytes()
        if self._last is None or self._last[0] != key:
            terms = len(tokens_lowering.CHANNEL_TERMS)

            def block(nodes: TokenNodes, begin: int, end: int, rows, small) -> tuple[np.ndarray, int, int]:
                total = np.zeros(terms)
                counts = self._module.token_block(*self._arguments(par, nodes), begin, end, False, rows, small, total)
                return total, *counts

            parts = self._map(block)
            totals = np.array([np.sum([total for total, _, _ in part], axis=0) for part in parts]) / self._count
            unproved, failed = (sum(entry[i] for part in parts for entry in part) for i in (1, 2))
            self._last = (key, totals, unproved, failed)
        return self._last[1:]

    def _responses(self, par: np.ndarray) -> np.ndarray:
        """Averages of RESPONSE_TERMS by scramble."""

        def block(nodes: TokenNodes, begin: int, end: int, rows, small) -> np.ndarray:
            total = np.zeros(len(tokens_lowering.RESPONSE_TERMS))
            self._module.token_block(*self._arguments(par, nodes), begin, end, True, rows, small, total)
            return total

        return np.array([np.sum(part, axis=0) for part in self._map(block)]) / self._count

    def _attention(self, par: np.ndarray) -> np.ndarray:
        def block(nodes: TokenNodes, begin: int, end: int, rows, _small) -> np.ndarray:
            total = np.zeros(2)
            self._module.token_attention(*self._arguments(par, nodes), nodes.read, begin, end, rows, total)
            return total

        return np.array([np.sum(part, axis=0) for part in self._map(block)]) / self._count

    def _arguments(self, par: np.ndarray, nodes: TokenNodes) -> tuple:
        return np.array([*par, *self._extra]), nodes.shift, nodes.star, nodes.eta, nodes.zeta, nodes.scalars

    def _map(self, block: Callable) -> list[list]:
        """block(nodes, begin, end, rows, small) over all scrambles, grouped by scramble."""
        size = min(BLOCK, self._count)
        per = self._count // size

        def run(begin: int, end: int):
            scramble, start = divmod(begin, self._count)
            nodes = self._parts[scramble]
            rows, small = prox_work(nodes.shift.size)
            return block(nodes, start, start + end - begin, rows, small)

        results = map_blocks(run, self.nodes, self._threads, size)
        return [results[i * per : (i + 1) * per] for i in range(SCRAMBLES)]
