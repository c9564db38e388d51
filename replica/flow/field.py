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

    def __init__(self, problem: FlowProblem, setting: Setting) -> None:
        self.problem = problem
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
        """The largest force on a frozen token of l1, -1 if there is none; its zero is a corner."""
        if not self.frozen.any():
            return -1.0
        return float(np.max(np.where(self.frozen, self._free(y)[0][self._logits], -np.inf)))

    def turn(self, y: np.ndarray, falls: bool) -> None:
        """Update the live set at a corner: a live token `falls` to rest at 0, or a frozen one rises."""
        if falls:
            live = np.where(self.frozen, np.inf, y[self._logits])
            fallen = live <= max(live.min(), 0.0)  # several tokens may arrive within the rounding of one event
            y[self._logits][fallen] = 0.0
            self.frozen |= fallen & (self._free(y)[0][self._logits] <= 0.0)
        else:
            force = np.where(self.frozen, self._free(y)[0][self._logits], -np.inf)
            self.frozen[np.argmax(force)] = False

    def recorded(self, states: np.ndarray) -> np.ndarray:
        """States (n, size) with the resting values of dead tokens put back."""
        states = np.array(states)
        states[:, self._logits] += self._resting
        return states

    def _free(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        out = np.empty_like(y)
        setting = self._setting
        residual = kernels.flow_field(y, out, *self._sizes, *setting.constants, setting.work)
        return out, residual
