"""Which discretisation of the channel a problem gets, and its ladder of finer and finer node sets."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidProblem
from ..models.activations.softmax import Softmax
from ..models.problem import Problem
from .channels import Channel, PairChannel


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
    check_pair(problem)
    return Ladder(len(PairChannel.steps), 1e-4, 5, lambda level: PairChannel(problem, level, threads))
