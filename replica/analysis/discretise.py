"""Which discretisation of the channel a problem gets, and its ladder of finer and finer node sets."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..lowering import pair as pair_lowering
from ..models.problem import Problem
from .channels import Channel, PairChannel
from .mixture import Member, MixtureChannel, RidgeChannel
from .node_channel import NodeChannel

# levels skipped at once at most: the errors of few nodes are rough
MAX_STEPS = 5
# scrambled points on averages with kinks: the error falls as N^-0.75
SAMPLED_FALL = 0.6


class Ladder:
    """Levels of nodes for one problem, made on demand.

    Attributes
    ----------
    count : int
        Number of levels; the last is the cap.
    default_rtol : float
        Relative accuracy of test_risk asked for by default.
    stability_cap : int
        Level up to which the replicon is measured; beyond it while the verdict is open.
    entries : tuple of int
        Levels on which to start, the next where the iteration fails on one.
    fall : float or None
        About the factor by which an error falls from level to level; None where only the next level tells.
    """

    def __init__(
        self,
        count: int,
        default_rtol: float,
        stability_cap: int,
        make: Callable[[int], Channel],
        entries: tuple[int, ...] = (0,),
        fall: float | None = None,
    ) -> None:
        self.count, self.default_rtol, self.stability_cap, self.entries = count, default_rtol, stability_cap, entries
        self.fall = fall
        self._make = make
        self._channels: dict[int, Channel] = {}

    def after(self, level: int, excess: float) -> int:
        """The level to go on to where the error is `excess` times what is asked: the first that should do."""
        steps = 1
        if self.fall is not None and 1.0 < excess < math.inf:
            steps = min(math.ceil(math.log(excess) / -math.log(self.fall)), MAX_STEPS)
        return min(level + steps, self.count - 1)

    def channel(self, level: int) -> Channel:
        """The channel on the nodes of a level."""
        if level not in self._channels:
            self._channels[level] = self._make(level)
        return self._channels[level]


def ladder(problem: Problem, *, seed: int, threads: int | None) -> Ladder:
    """The levels of nodes suited to the problem."""
    if problem.length.fixed is not None:
        return _ladder_of(problem, problem.length.fixed, seed=seed, threads=threads)
    parts = [(weight, _ladder_of(problem, length, seed=seed, threads=threads)) for length, weight in problem.length]
    count = min(part.count for _, part in parts if part.count > 1)

    sampled = any(part.fall is not None for _, part in parts)

    def mixture(level: int) -> Channel:
        return MixtureChannel([_member(weight, part, level, sampled=sampled) for weight, part in parts])

    fall = SAMPLED_FALL if sampled else None
    return Ladder(count, max(part.default_rtol for _, part in parts), 0, mixture, fall=fall)


def _member(weight: float, part: Ladder, level: int, *, sampled: bool) -> Member:
    if part.count == 1:
        return Member(weight, part.channel(0))
    if part.stability_cap:
        # the contact set is cheap beside sampled nodes: levels ahead, and the one before for its error
        level = min((level // 2 if sampled else level) + 3, part.count - 1)
        return Member(weight, part.channel(level), part.channel(level - 1))
    return Member(weight, part.channel(level))


def _ladder_of(problem: Problem, length: int, *, seed: int, threads: int | None) -> Ladder:
    """The levels of nodes at one length."""
    activation = problem.activation
    if length == 1 and activation.combination in ("normalised", "centred"):
        return Ladder(1, 1e-4, 0, lambda level: RidgeChannel())
    if length == 2 and pair_lowering.applies(problem):
        return Ladder(len(PairChannel.steps), 1e-4, 5, lambda level: PairChannel(problem, level, threads), (0, 3))
    # refuses a data model that makes no sense before kernels are compiled
    problem.data.teacher_scores(np.full((1, problem.data.score_points(length)), 0.5), length)
    counts = node_counts(length, affine=NodeChannel.affine(problem))

    def nodes(level: int) -> Channel:
        return NodeChannel(problem, length, counts[level], seed, threads)

    # where proximal points jump the averages over few nodes are rough, and may have no fixed point
    return Ladder(len(counts), 1e-3, 0, nodes, (0, 2, 4), SAMPLED_FALL)


def node_counts(length: int, *, affine: bool) -> range:
    """log2 of the points in one scramble by level: fewer where there are more tokens, for the memory they take.

    Linear attention works on a handful of directions whatever the number of tokens.
    """
    tokens = 2 if affine else math.ceil(math.log2(length))
    return range(max(5, 8 - tokens // 2), max(5, min(16, 21 - tokens)) + 1)
