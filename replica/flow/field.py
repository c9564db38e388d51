"""The vector field of the flow over a flat state, with the live set of the maps that have a corner at 0."""

from __future__ import annotations

import numpy as np

from . import kernels
from .problem import HAS_KINK, LOSSES, MAPS, FlowProblem
from .result import Setting

ABSOLUTE = 1e-6


class Field:
    """dy/dt of y = (V^T, A, int gamma), flat.

    Maps with a corner (l1, relu) use z/sum z over the live tokens, smooth between corners; frozen tokens rest at 0.
    The live set is the only thing that changes: `turn` updates it at a corner.
    """

    def __init__(self, problem: FlowProblem, setting: Setting, rtol: float) -> None:
        self.has_kink = problem.map in HAS_KINK
        self.revives = problem.map == "l1"
        kind = MAPS.index("sum" if self.has_kink else problem.map)
        self._sizes = LOSSES.index(problem.loss), kind, problem.tied, problem.tokens, problem.dim, problem.rows
        self._setting = setting
        A = np.abs(setting.A) if self.revives else setting.A
        # a relu token below 0 neither counts nor moves: its value is put back when a state is recorded
        self._resting = np.minimum(A, 0.0).ravel() if self.has_kink else np.zeros(A.size)
        live = A.ravel() - self._resting
        self._logits = slice(setting.W.size, setting.W.size + A.size)
        self.start = np.concatenate([setting.W.ravel(), live, [0.0]])
        self.frozen = (live == 0.0) & self.has_kink
        smallest = min((scale for scale in (problem.scale_v, problem.scale_a) if scale), default=1.0)
        self._noise = rtol * problem.norm**2
        self._minimum_at_infinity = problem.loss == "logistic" or problem.temperature == 0
        self.absolute = min(ABSOLUTE, 1e-3 * smallest)  # absolute over relative tolerance

    def __call__(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """(dy/dt, residual)."""
        out, residual = self._free(y)
        if self.has_kink:
            out[self._logits][self.frozen] = 0.0
        return out, residual

    def lowest_live(self, y: np.ndarray) -> float:
        """The smallest live logit; its zero is a corner."""
        return float(np.min(np.where(self.frozen, np.inf, y[self._logits])))

    def strongest_frozen(self, y: np.ndarray) -> float:
        """The largest force above the noise on a frozen token of l1, -1 if there is none; its zero is a corner."""
        if not self.frozen.any():
            return -1.0
        return float(np.max(np.where(self.frozen, self._net_force(y), -np.inf)))

    def turn(self, y: np.ndarray, falls: bool) -> None:
        """Update the live set at a corner: a live token `falls` to rest at 0, or a frozen one rises."""
        if falls:
            live = np.where(self.frozen, np.inf, y[self._logits])
            fallen = live <= max(live.min(), 0.0)  # several tokens may arrive within the rounding of one event
            y[self._logits][fallen] = 0.0
            self.frozen |= fallen & (self._net_force(y) <= 0.0)
        else:
            self.frozen[np.argmax(np.where(self.frozen, self._net_force(y), -np.inf))] = False

    def recorded(self, states: np.ndarray) -> np.ndarray:
        """States (n, size) with the resting values of dead tokens put back."""
        states = np.array(states)
        states[:, self._logits] += self._resting
        return states

    def _net_force(self, y: np.ndarray) -> np.ndarray:
        """Force on the logits less what integration errors can feign, rtol times the curvature of the loss.

        At rest in a minimum the force is noise, and each of its signs would be a corner.
        """
        out, residual = self._free(y)
        return out[self._logits] - self._noise * (residual if self._minimum_at_infinity else 1.0)

    def _free(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        out = np.empty_like(y)
        setting = self._setting
        residual = kernels.flow_field(y, out, *self._sizes, *setting.constants, setting.work)
        return out, residual
