"""Which channel integrates which problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidProblem
from .channel import Channel
from .mixture import Mixture, OneToken

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
        if law.fixed == 1:
            return OneToken(data.nu if data.name == "spiked-slr" else 0.0)
        if law.fixed == 2:
            from .spiked_pair import SpikedPair

            return SpikedPair(data.nu)
        from .spiked_tokens import SpikedTokens

        return SpikedTokens(data.nu, law)
    if data.name != "max-slr":
        raise InvalidProblem(f"data = {data.name!r} has no Bayes-optimal channel; allowed: spiked-slr, max-slr")
    parts = [(_max_channel(data.nu, length, seed), probability) for length, probability in law]
    return parts[0][0] if law.fixed else Mixture(parts)


def _max_channel(nu: float, length: int, seed: int) -> Channel:
    if length == 1:
        return OneToken(0.0)
    if length == 2:
        from .max_pair import MaxPair

        return MaxPair(nu)
    if length == 3:
        from .max_triple import MaxTriple

        return MaxTriple(nu)
    from .max_tokens import MaxTokens

    return MaxTokens(nu, length, seed)
