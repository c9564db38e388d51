"""The fixed-point map of ERM on one set of nodes, and the numbers at a point (theory.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..lowering import prior as prior_lowering
from ..models.problem import Problem
from ..solvers.fixed_point import Chart
from ..types import Overlaps
from .channels import VANISHED, Averages, Channel, ChannelSums

MAX_GROWTH = 5.0
# overlaps beyond this have diverged
DIVERGED = 1e9
# m and q below this are resolved absolutely, to SMALL times the tolerance
SMALL = 1e-3
# of q - m^2, relative to q
ROUNDING = 1e-12


@dataclass(frozen=True)
class State:
    """A point, F there, and the numbers derived from it, on one set of nodes."""

    x: np.ndarray
    value: np.ndarray
    conjugates: np.ndarray
    sums: ChannelSums
    numbers: dict[str, float]
    nodes: int


class Equations:
    """The map F from overlaps to overlaps on one set of nodes: the exact gradient of the discretised energy."""

    def __init__(self, problem: Problem, channel: Channel) -> None:
        self.problem, self.channel = problem, channel
        self._prior = prior_lowering.load()
        self._tail = (problem.noise, problem.data.nu, problem.alpha, problem.reg_k, problem.reg_v)
        self.evaluations = 0

    def parameters(self, x: np.ndarray) -> np.ndarray:
        return np.array([*x, *self._tail])

    def step(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, ChannelSums]:
        """F(x), the conjugates and the channel sums at x; nan where the iteration has diverged."""
        self.evaluations += 1
        if not np.max(np.abs(x)) < DIVERGED:
            nothing = np.full(6, np.nan)
            return nothing, nothing, ChannelSums(np.nan, nothing, np.nan, np.nan, False)
        par = self.parameters(x)
        sums = self.channel.sums(par)
        return *self._close(par, sums), sums

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.step(x)[0]

    def _close(self, par: np.ndarray, sums: ChannelSums) -> tuple[np.ndarray, np.ndarray]:
        """F and the conjugates from the channel sums.

        V_hat is held where V = 1/(lambda + V_hat) is at most MAX_GROWTH times the old V: far from a fixed point the
        channel can push lambda + V_hat below zero. A fixed point, where V does not change, is out of its reach.
        """
        hat = np.array(self._prior.conjugates_of(par, sums.slopes))
        held = hat.copy()
        for index, reg in ((2, self.problem.reg_k), (5, self.problem.reg_v)):
            held[index] = max(hat[index], 1.0 / (MAX_GROWTH * par[index]) - reg)
        with np.errstate(over="ignore"):
            return np.array(self._prior.overlaps_of(par, held)), hat

    def energy(self, x: np.ndarray, hat: np.ndarray) -> float:
        """e of theory.md section 4, per D, at any overlaps and conjugates."""
        par = self.parameters(x)
        return float(self._prior.prior_energy(par, hat)) + self.problem.alpha * self.channel.sums(par).envelope

    def evaluate(self, x: np.ndarray, averages: Averages | None = None) -> State:
        """Everything at x, from the averages of the channel or from others."""
        par, problem = self.parameters(x), self.problem
        if averages is None:
            averages = Averages(self.channel.sums(par), *self.channel.attention(par))
        value, hat = self._close(par, averages.sums)
        energy = float(self._prior.prior_energy(par, hat)) + problem.alpha * averages.sums.envelope
        numbers = dict(zip(Overlaps._fields, map(float, x), strict=True))
        numbers["test_risk"] = 1.0 + problem.noise**2 - 2.0 * x[3] * averages.first + x[4] * averages.square
        numbers["train_loss"] = averages.sums.train_loss
        numbers["objective"] = energy / problem.alpha
        numbers["attention_relevant"] = averages.first
        return State(x, value, hat, averages.sums, numbers, self.channel.nodes)


def overlap_chart() -> Chart:
    """Free coordinates (m, log(q - m^2), log V) of the domain q > m^2, V > 0, for keys and values.

    Changes are measured against sqrt(q), q and V: heavy penalties make some overlaps tiny. Those of V are relative: it
    does not vanish at a solution.
    """

    def log_spread(m: float, q: float) -> float:
        spread = q - m**2
        return np.log(max(spread, VANISHED) if spread >= -ROUNDING * abs(q) else np.nan)

    def to_free(x: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.array([x[0], log_spread(x[0], x[1]), np.log(x[2]), x[3], log_spread(x[3], x[4]), np.log(x[5])])

    def to_domain(z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            spread_k, V_k, spread_v, V_v = np.exp(z[[1, 2, 4, 5]])
        return np.array([z[0], spread_k + z[0] ** 2, V_k, z[3], spread_v + z[3] ** 2, V_v])

    def scale(x: np.ndarray) -> np.ndarray:
        small = np.array([SMALL, SMALL, 0.0, SMALL, SMALL, 0.0])
        return small + np.array([np.sqrt(x[1]), x[1], x[2], np.sqrt(x[4]), x[4], x[5]])

    return Chart(to_free, to_domain, scale)
