"""Which discretisation of the channel a problem gets, and its ladder of finer and finer node sets."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..errors import InvalidProblem
from ..models.activations.softmax import Softmax
from ..models.problem import Problem
from .channels import Channel, PairChannel
from .node_channel import NodeChannel


class Ladder:
    """Levels of nodes for one problem, made on demand.

    Attributes
    ----------
    count : int
        Number of levels; the last is the cap.
    default_rtol : float
        Relative accuracy of test_risk asked for by default.
    stability_cap : int
        Finest level used for the replicon.
    """

    def __init__(self, count: int, default_rtol: float, stability_cap: int, make: Callable[[int], Channel]) -> None:
        self.count, self.default_rtol, self.stability_cap = count, default_rtol, stability_cap
        self._make = make
        self._channels: dict[int, Channel] = {}

    def channel(self, level: int) -> Channel:
        """The channel on the nodes of a level."""
        if level not in self._channels:
            self._channels[level] = self._make(level)
        return self._channels[level]


def check_pair(problem: Problem) -> None:
    """Refuse a problem that the scalar channel does not cover.

    Raises
    ------
    InvalidProblem
    """
    if not (problem.length.fixed == 2 and isinstance(problem.activation, Softmax)):
        name = problem.activation.name
        raise InvalidProblem(
            f"activation = {name} at L = {problem.length} has no equations yet; allowed: softmax at L = 2"
        )


def ladder(problem: Problem, *, seed: int, threads: int | None) -> Ladder:
    """The levels of nodes suited to the problem."""
    if problem.length.fixed == 2 and isinstance(problem.activation, Softmax):
        return Ladder(len(PairChannel.steps), 1e-4, 5, lambda level: PairChannel(problem, level, threads))
    if problem.length.fixed is None:
        raise InvalidProblem(f"length = {problem.length} is a law, which erm does not have yet; allowed: an integer L")
    counts = node_counts(max(problem.length.support), affine=NodeChannel.affine(problem))

    def nodes(level: int) -> Channel:
        return NodeChannel(problem, problem.length.fixed, counts[level], seed, threads)

    return Ladder(len(counts), 1e-3, 0, nodes)


def node_counts(length: int, *, affine: bool) -> range:
    """log2 of the points in one scramble by level: fewer where there are more tokens, for the memory they take.

    Linear attention works on a handful of directions whatever the number of tokens.
    """
    tokens = 2 if affine else math.ceil(math.log2(length))
    return range(max(5, 8 - tokens // 2), min(16, 21 - tokens) + 1, 2)
