"""Channels averaged over a law of the number of tokens, and the channel of one token (theory.md sections 1 and 4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ..lowering.prior import PARAMETERS
from ..models.activations.base import Activation
from .channels import Averages, Channel, ChannelSums, StabilitySums

Record = TypeVar("Record", ChannelSums, StabilitySums, Averages)


class RidgeChannel(Channel):
    """One token of weight one, sigma = 1: E M = (1 - 2 m_v + q_v + Delta^2)/(2 (1 + V_v)), exactly."""

    nodes = 0
    description = "one token in closed form"

    def sums(self, par: np.ndarray) -> ChannelSums:
        m_v, q_v, V_v, noise = par[PARAMETERS.index("m_v") : PARAMETERS.index("noise") + 1]
        square = 1.0 - 2.0 * m_v + q_v + noise**2
        inverse = 1.0 / (1.0 + V_v)
        slopes = np.array([0.0, 0.0, 0.0, -inverse, 0.5 * inverse, -0.5 * square * inverse**2])
        return ChannelSums(0.5 * square * inverse, slopes, 0.5 * square * inverse**2, 1.0, True)

    def attention(self, par: np.ndarray) -> tuple[float, float]:
        return 1.0, 1.0

    def stability(self, par: np.ndarray, effort: int | None = 0) -> StabilitySums:
        response = 1.0 / (1.0 + par[PARAMETERS.index("V_v")])
        return StabilitySums(kk=0.0, kv=0.0, vv=response**2, cross=0.0, jump=0.0, jump_square=0.0)


@dataclasses.dataclass(frozen=True)
class Member:
    """One length of a law.

    Attributes
    ----------
    weight : float
        Its probability.
    channel : Channel
    coarse : Channel, optional
        A coarser rule for the same averages, whose difference estimates the error of a channel without variants.
    """

    weight: float
    channel: Channel
    coarse: Channel | None = None


class MixtureChannel(Channel):
    """E over L of the averages of one channel for each length; the errors of the members are independent."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = tuple(members)
        self.nodes = sum(member.channel.nodes for member in self._members)
        self.description = "; ".join(dict.fromkeys(member.channel.description for member in self._members))

    def with_activation(self, activation: Activation) -> Channel:
        def moved(member: Member) -> Member:
            return dataclasses.replace(member, channel=member.channel.with_activation(activation))

        return MixtureChannel([moved(member) for member in self._members])

    def sums(self, par: np.ndarray) -> ChannelSums:
        return self._mean(lambda channel: channel.sums(par))

    def attention(self, par: np.ndarray) -> tuple[float, float]:
        first, square = zip(*(member.channel.attention(par) for member in self._members), strict=True)
        weights = [member.weight for member in self._members]
        return float(np.dot(weights, first)), float(np.dot(weights, square))

    def stability(self, par: np.ndarray, effort: int | None = 0) -> StabilitySums:
        return self._mean(lambda channel: channel.stability(par, effort))

    def variants(self, par: np.ndarray) -> list[list[Averages]]:
        def averages(channel: Channel) -> Averages:
            return Averages(channel.sums(par), *channel.attention(par))

        return self._swapped(averages, lambda channel: channel.variants(par))

    def stability_variants(self, par: np.ndarray, effort: int = 0) -> list[list[StabilitySums]]:
        return self._swapped(
            lambda channel: channel.stability(par, effort), lambda channel: channel.stability_variants(par, effort)
        )

    def _mean(self, value: Callable):
        return weighted([member.weight for member in self._members], [value(m.channel) for m in self._members])

    def _swapped(self, value: Callable, variants: Callable) -> list[list]:
        """For each source of error of each member, the mean with that member's variants in its place."""
        weights = [member.weight for member in self._members]
        values = [value(member.channel) for member in self._members]
        sources = []
        for index, member in enumerate(self._members):
            own = variants(member.channel)
            if member.coarse is not None:
                own = [*own, [value(member.coarse)]]
            for source in own:
                sources.append([weighted(weights, [*values[:index], other, *values[index + 1 :]]) for other in source])
        return sources


def weighted(weights: Sequence[float], values: Sequence[Record]) -> Record:
    """Weighted mean of dataclasses field by field; flags must all hold."""
    first = values[0]
    found = {}
    for field in dataclasses.fields(first):
        entries = [getattr(value, field.name) for value in values]
        if dataclasses.is_dataclass(entries[0]):
            found[field.name] = weighted(weights, entries)
        elif isinstance(entries[0], bool):
            found[field.name] = all(entries)
        else:
            found[field.name] = sum(weight * entry for weight, entry in zip(weights, entries, strict=True))
    return type(first)(**found)
