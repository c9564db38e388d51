"""What the state evolution needs from a data model: averages over one sample, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

NUMBERS = 5


@dataclass(frozen=True)
class ChannelAverages:
    """Averages over the law of (omega, y) at given overlaps (theory.md section 6); p is the posterior of eps.

    Attributes
    ----------
    info_k : float
        E sum_l (d log Z/d omega_{k,l})^2, so that q_hat_k = alpha info_k.
    fit : float
        E[p_1 u^2] in [0, 1], so that q_hat_v = alpha fit/tau^2; it tends to one as tau -> 0.
    surprise : float
        E(-log p_1).
    log_prior : float
        E log pi_1, pi before normalisation over tokens.
    misplaced : float
        E(1 - w_1), w the posterior of eps before y is seen; kept with its relative precision.
    """

    info_k: float
    fit: float
    surprise: float
    log_prior: float
    misplaced: float

    def as_array(self) -> np.ndarray:
        """The five numbers in the order of the attributes."""
        return np.array([self.info_k, self.fit, self.surprise, self.log_prior, self.misplaced])


class Channel(Protocol):
    """A channel: the overlaps enter through miss = 1 - q, which keeps its precision near perfect recovery.

    Attributes
    ----------
    method : str
        Name of the integration.
    levels : int
        Number of refinement levels.
    default_rtol : float
        Relative error of the risk that is cheap to reach.
    """

    method: str
    levels: int
    default_rtol: float

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        """Averages at refinement `level` = 0, 1, 2, ...; higher is finer."""
        ...

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        """The same with eps known: fit = 1, surprise = 0; an upper bound on information."""
        ...

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        """Independent estimates of the averages, shape (R, NUMBERS), whose spread is the integration error.

        A deterministic rule returns one row, the averages of a finer rule.
        """
        ...

    def nodes(self, level: int) -> int:
        """Number of integration nodes at `level`."""
        ...
