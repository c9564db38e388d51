"""Which channel integrates which problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidProblem
from .channel import Channel

if TYPE_CHECKING:
    from ..models.problem import Problem


def channel_for(problem: Problem, seed: int) -> Channel:
    """The cheapest exact reduction of the problem's channel.

    Raises
    ------
    InvalidProblem
        For a data model without one.
    """
    data, law = problem.data, problem.length
    # at nu = 0 the tokens say nothing about eps in either model
    if data.name == "spiked-slr" or data.nu == 0.0:
        if law.fixed == 2:
            from .spiked_pair import SpikedPair

            return SpikedPair(data.nu)
        from .spiked_tokens import SpikedTokens

        return SpikedTokens(data.nu, law)
    raise InvalidProblem(f"data = {data.name!r} has no Bayes-optimal channel; allowed: spiked-slr, max-slr")
