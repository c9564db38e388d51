"""The channel average E M and its derivatives, on one set of nodes, as numbers (theory.md section 4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..lowering import pair as pair_lowering
from ..lowering.prior import PARAMETERS
from ..models.activations.base import Activation
from ..models.problem import Problem
from ..quadrature.blocks import map_blocks
from ..quadrature.gaussian import even_plane


@dataclass(frozen=True)
class ChannelSums:
    """Averages at the proximal point.

    Attributes
    ----------
    envelope : float
        E M.
    slopes : ndarray, shape (6,)
        Derivatives of E M in the overlaps.
    train_loss : float
        E (y - f)^2/2.
    norm : float
        E 1; its distance from one measures the inner integration.
    certain : bool
        Whether every proximal point is guaranteed to be a global minimum.
    """

    envelope: float
    slopes: np.ndarray
    train_loss: float
    norm: float
    certain: bool


@dataclass(frozen=True)
class StabilitySums:
    """Averages over responses d g/d omega and jumps, for section 8.

    Attributes
    ----------
    kk, kv, vv, cross : float
        E of sums over tokens of (dg_k/dw_k)^2, (dg_k/dw_v)^2, (dg_v/dw_v)^2, and of
        dg_k/dw_k dg_v/dw_v + dg_k/dw_v dg_v/dw_k.
    jump : float
        Part of -E sum_l d g_k,l/d omega_k,l that comes from jumps of the proximal point (V^_k/alpha is the whole).
    jump_square : float
        Integral over the surface in omega_k on which the proximal point jumps of density |chi_+ - chi_-|^2, E over the
        other variables; L = 2: E p(delta_0*) (delta_+ - delta_-)^2/sqrt(2).
    unseen, unseen_square : float
        What jumps that no node or line saw could add to the two, at half the limit of confidence.
    """

    kk: float
    kv: float
    vv: float
    cross: float
    jump: float
    jump_square: float
    unseen: float = 0.0
    unseen_square: float = 0.0


@dataclass(frozen=True)
class Averages:
    """All the averages of one node set: channel sums, E sigma_1 and E |sigma|^2."""

    sums: ChannelSums
    first: float
    square: float


# q - m^2 counts as this at least: at zero, where nothing depends on the key, fields have no law
VANISHED = 1e-12
# log2 of the random lines of one scramble (`jump_lines`), by effort
LOG2_LINES = (7, 9)


class Channel(ABC):
    """One discretisation of the channel average; a deterministic function of the parameter vector
    `replica.lowering.prior.PARAMETERS`."""

    nodes: int
    description: str

    @abstractmethod
    def sums(self, par: np.ndarray) -> ChannelSums:
        """E M, its slopes, and the train loss."""

    @abstractmethod
    def attention(self, par: np.ndarray) -> tuple[float, float]:
        """E sigma_1 and E |sigma|^2 at the fields omega_k."""

    @abstractmethod
    def stability(self, par: np.ndarray, effort: int | None = 0) -> StabilitySums:
        """Sums for the replicon and the jumps; where these are sampled, more of them for a larger `effort`, and left
        out for None."""

    def with_activation(self, activation: Activation) -> Channel:
        """The same nodes for another `location` of the activation."""
        return self

    def variants(self, par: np.ndarray) -> list[list[Averages]]:
        """Other values of the averages, by independent source of integration error; none by default.

        Several variants in a source are independent node sets whose mean is what the channel returns; a single one is
        a coarser rule. Without variants errors are judged from the levels of nodes.
        """
        return []

    def stability_variants(self, par: np.ndarray, effort: int = 0) -> list[list[StabilitySums]]:
        """The same for `stability`."""
        return []


# a larger defect of the norm: overlaps so small or large that panels fall below round-off
LOST = 1e-2


class PairChannel(Channel):
    """Softmax, L = 2: trapezoidal rule over (A, R), contact-set integration over delta_0."""

    steps = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)

    def __init__(self, problem: Problem, level: int, threads: int | None = None) -> None:
        self._module = pair_lowering.load(problem)
        self._threads = threads
        self._nodes, self._weights = even_plane(self.steps[level])
        self.nodes = len(self._weights)
        self.description = f"contact set over a plane of step {self.steps[level]}"

    def sums(self, par: np.ndarray) -> ChannelSums:
        def block(begin: int, end: int) -> tuple[np.ndarray, bool]:
            total = np.zeros(len(pair_lowering.CHANNEL_TERMS))
            certain = self._module.pair_block(par, self._nodes, self._weights, begin, end, total)
            return total, certain

        parts = map_blocks(block, self.nodes, self._threads)
        total = np.sum([total for total, _ in parts], axis=0)
        if not abs(total[8] - 1.0) < LOST:
            total = np.full_like(total, np.nan)
        return ChannelSums(total[0], total[1:7], total[7], total[8], all(certain for _, certain in parts))

    def attention(self, par: np.ndarray) -> tuple[float, float]:
        total = np.zeros(len(pair_lowering.OBSERVABLE_TERMS))
        self._module.pair_observables(par, total)
        return float(total[0]), float(total[1])

    def stability(self, par: np.ndarray, effort: int | None = 0) -> StabilitySums:
        def block(begin: int, end: int) -> np.ndarray:
            total = np.zeros(len(pair_lowering.STABILITY_TERMS) + 2)
            self._module.pair_stability(par, self._nodes, self._weights, begin, end, total)
            return total

        *responses, jump, jump_square = np.sum(map_blocks(block, self.nodes, self._threads), axis=0)
        V_k = par[PARAMETERS.index("V_k")]
        return StabilitySums(*responses, jump=-jump / V_k, jump_square=jump_square / math.sqrt(2.0))
