"""A random number of tokens: the average of the channels of each length."""

from __future__ import annotations

import numpy as np

from .channel import Channel, ChannelAverages


class OneToken:
    """L = 1: nothing to find. Spiked-SLR shows k* in every sample, max-SLR never.

    Parameters
    ----------
    signal : float
        nu of the spiked model, 0 for the max model.
    """

    method = "exact"
    levels = 1
    default_rtol = 1e-6

    def __init__(self, signal: float) -> None:
        self.signal = signal

    def nodes(self, level: int) -> int:
        return 1

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        return ChannelAverages(self.signal, 1.0, 0.0, 0.5 * self.signal * (1.0 - miss_k), 0.0)

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        return self.averages(miss_k, 1.0, 0.0, level)

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self.averages(miss_k, miss_v, noise, level).as_array()[None]


class Mixture:
    """Channels of several lengths, each with its probability.

    Parameters
    ----------
    parts : list of (Channel, float)
    """

    def __init__(self, parts: list[tuple[Channel, float]]) -> None:
        self._parts = parts
        self.method = "+".join(dict.fromkeys(channel.method for channel, _ in parts))
        self.levels = max(channel.levels for channel, _ in parts)
        self.default_rtol = max(channel.default_rtol for channel, _ in parts)

    def nodes(self, level: int) -> int:
        return sum(channel.nodes(level) for channel, _ in self._parts)

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        found = [p * channel.averages(miss_k, miss_v, noise, level).as_array() for channel, p in self._parts]
        return ChannelAverages(*np.sum(found, axis=0))

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        found = [p * channel.known_position(miss_k, level).as_array() for channel, p in self._parts]
        return ChannelAverages(*np.sum(found, axis=0))

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        rows = [channel.samples(miss_k, miss_v, noise, level) for channel, _ in self._parts]
        count = max(map(len, rows))
        if count > 1:
            # next to random nodes the error of the deterministic parts is negligible: they only shift all rows
            point = (miss_k, miss_v, noise, level)
            rows = [
                row if len(row) > 1 else channel.averages(*point).as_array()[None]
                for row, (channel, _) in zip(rows, self._parts, strict=True)
            ]
        return sum(p * row for row, (_, p) in zip(rows, self._parts, strict=True))
