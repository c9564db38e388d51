"""The channel of any activation and number of tokens on scrambled Sobol nodes (theory.md section 4)."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.prox import prox_work
from ..lowering import tokens as tokens_lowering
from ..lowering.prior import PARAMETERS
from ..models.activations.base import Activation
from ..models.problem import Problem
from ..quadrature.blocks import BLOCK, map_blocks
from .channels import LOG2_LINES, VANISHED, Averages, Channel, ChannelSums, StabilitySums
from .jump_lines import NO_LINES, UNSEEN, LineSums, line_sums, token_lines
from .label import label_moments, relative_to_label
from .token_nodes import TokenNodes, token_nodes

SCRAMBLES = 8


class NodeChannel(Channel):
    """L tokens on `SCRAMBLES` independent scrambles of 2^m Sobol points; the average is over all of them."""

    def __init__(self, problem: Problem, length: int, log2_count: int, seed: int, threads: int | None = None) -> None:
        self._problem, self._length, self._seed = problem, length, seed
        self._module = tokens_lowering.load(problem)
        self._extra, self._threads = (float(length), problem.data.explained), threads
        self._count = 2**log2_count
        self._directions = length - int(problem.activation.combination == "centred")
        self._parts = [
            token_nodes(problem, length, log2_count, (seed, length, scramble), affine=self._module.AFFINE)
            for scramble in range(SCRAMBLES)
        ]
        self._moments = np.array([label_moments(part.scalars) for part in self._parts])
        # of x_t: the value field of the hidden token, or its distance from the mean of all
        self._variance = 1.0 - 1.0 / length if self._module.FIXED_SUM else 1.0
        self.nodes = SCRAMBLES * self._count
        self.description = f"{SCRAMBLES} scrambles of {self._count} Sobol points"
        self._last: dict[str, tuple[bytes, Any]] = {}

    def with_activation(self, activation: Activation) -> NodeChannel:
        moved = copy.copy(self)
        # directions of linear attention have no location
        if not self._module.AFFINE:
            shift = np.full_like(self._parts[0].shift, activation.location)
            moved._parts = [dataclasses.replace(part, shift=shift) for part in self._parts]
            moved._last = {}
            moved._problem = dataclasses.replace(self._problem, activation=activation)
        return moved

    @staticmethod
    def affine(problem: Problem) -> bool:
        """Whether a few directions in token space stand for all the tokens."""
        return tokens_lowering.load(problem).AFFINE

    def sums(self, par: np.ndarray) -> ChannelSums:
        scrambles, unproved, failed = self._scrambles(par)
        return self._channel_sums(par, scrambles.mean(axis=0), self._moments.mean(axis=0), unproved, failed)

    def attention(self, par: np.ndarray) -> tuple[float, float]:
        first, square = self._attention(par).mean(axis=0)
        return float(first), float(square)

    def variants(self, par: np.ndarray) -> list[list[Averages]]:
        scrambles, unproved, failed = self._scrambles(par)
        return [
            [
                Averages(self._channel_sums(par, part, moments, unproved, failed), *map(float, seen))
                for part, moments, seen in zip(scrambles, self._moments, self._attention(par), strict=True)
            ]
        ]

    def stability(self, par: np.ndarray, effort: int | None = 0) -> StabilitySums:
        return self._stability_sums(self._responses(par).mean(axis=0), self._jumps(par, effort))

    def stability_variants(self, par: np.ndarray, effort: int = 0) -> list[list[StabilitySums]]:
        found = self._jumps(par, effort)
        return [
            [
                self._stability_sums(responses, found._replace(sums=sums[None]))
                for responses, sums in zip(self._responses(par), found.sums, strict=True)
            ]
        ]

    def _channel_sums(
        self, par: np.ndarray, averages: np.ndarray, moments: np.ndarray, unproved: int, failed: int
    ) -> ChannelSums:
        label = self._module.token_label(self._parameters(par))
        total = relative_to_label(averages, label, moments, self._variance)
        # a proximal point that is not stationary counts against the norm, hence in every error
        return ChannelSums(total[0], total[1:7], total[7], 1.0 + failed / self.nodes, bool(unproved == 0))

    def _stability_sums(self, responses: np.ndarray, found: LineSums) -> StabilitySums:
        _, _, *squares = responses
        jump, square = found.sums.mean(axis=0)
        return StabilitySums(*map(float, squares), -float(jump), float(square), *found.unseen)

    def _jumps(self, par: np.ndarray, effort: int | None) -> LineSums:
        m_k, q_k = par[: PARAMETERS.index("V_k")]
        # linear attention jumps only where its key has a single direction; where alpha E |g_k|^2 = 0 no proximal point
        # leaves its field, and the fields do not vary
        continuous = (self._module.AFFINE and self._directions > 1) or q_k - m_k**2 <= 2.0 * VANISHED
        if effort is None or continuous:
            return LineSums(np.zeros((SCRAMBLES, 2)), (0.0, 0.0))

        def found() -> LineSums:
            averages, unproved, _ = self._scrambles(par)
            envelope = float(averages[:, tokens_lowering.CHANNEL_TERMS.index("envelope")].mean())
            # linear attention has its global minimum in closed form, unique or not
            limit = 1.0 if self._module.AFFINE else (UNSEEN + unproved) / self.nodes
            lines = [
                token_lines(self._problem, self._length, LOG2_LINES[effort], (self._seed, self._length, scramble))
                for scramble in range(SCRAMBLES)
            ]
            return line_sums(self._module, self._parameters(par), lines, envelope, limit, self._threads)

        return self._kept(f"jumps {effort}", par, found)

    def _scrambles(self, par: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Averages of CHANNEL_TERMS by scramble, and how many proximal points are not proved global or not stationary;
        the last ones are kept, for the error bars."""

        def found() -> tuple[np.ndarray, int, int]:
            totals, counts = self._blocks(par, self._module.TERMS, len(tokens_lowering.CHANNEL_TERMS))
            return totals, *counts

        return self._kept("terms", par, found)

    def _responses(self, par: np.ndarray) -> np.ndarray:
        """Averages of RESPONSE_TERMS by scramble."""
        terms = len(tokens_lowering.RESPONSE_TERMS)
        return self._kept("responses", par, lambda: self._blocks(par, self._module.RESPONSES, terms)[0])

    def _blocks(self, par: np.ndarray, mode: int, terms: int) -> tuple[np.ndarray, np.ndarray]:
        """Averages by scramble, and the summed counts of `token_block`."""

        def block(nodes: TokenNodes, begin: int, end: int, rows, small) -> tuple[np.ndarray, tuple[int, int]]:
            total = np.zeros((1, terms))
            arguments = self._arguments(par, nodes)
            counts = self._module.token_block(*arguments, begin, end, mode, NO_LINES, rows, small, total)
            return total[0], counts

        parts = self._map(block)
        totals = np.array([np.sum([total for total, _ in part], axis=0) for part in parts]) / self._count
        return totals, np.sum([counts for part in parts for _, counts in part], axis=0)

    def _kept(self, name: str, par: np.ndarray, make: Callable):
        key = par.tobytes()
        if name not in self._last or self._last[name][0] != key:
            self._last[name] = (key, make())
        return self._last[name][1]

    def _attention(self, par: np.ndarray) -> np.ndarray:
        def block(nodes: TokenNodes, begin: int, end: int, rows, _small) -> np.ndarray:
            total = np.zeros(2)
            self._module.token_attention(*self._arguments(par, nodes), nodes.read, begin, end, rows, total)
            return total

        return np.array([np.sum(part, axis=0) for part in self._map(block)]) / self._count

    def _parameters(self, par: np.ndarray) -> np.ndarray:
        """TOKEN_PARAMETERS."""
        return np.array([*par, *self._extra])

    def _arguments(self, par: np.ndarray, nodes: TokenNodes) -> tuple:
        return self._parameters(par), nodes.shift, nodes.star, nodes.eta, nodes.zeta, nodes.scalars

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
