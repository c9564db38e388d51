"""Is replica symmetry right here: replicon, jumps of the proximal point, and the verdict (theory.md section 8)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .channels import StabilitySums

if TYPE_CHECKING:
    from .erm import Equations, State

# jumps matter when the perturbation that they sustain exceeds this share of q_k
JUMP_SHARE = 0.01
# below this share of V_hat_k the responses are bounded in practice
NEGLIGIBLE_JUMP = 1e-4
SQRT_TERM = 2.0 / math.sqrt(math.pi)


@dataclass(frozen=True)
class Verdict:
    """Replicon and jump measures with errors.

    Attributes
    ----------
    stable : bool or None
        replicon < 1 and C*/q_k < 0.01; None if the errors leave it open.
    """

    replicon: float
    replicon_error: float
    prox_jump: float
    prox_jump_error: float
    stable: bool | None
    message: str


@dataclass(frozen=True)
class _Measure:
    replicon: float
    prox_jump: float
    jump_strength: float


def replicon_of(overlaps: np.ndarray, alpha: float, sums: StabilitySums) -> float:
    """Spectral radius of the perturbation operator T on the manifold M: a 2x2 block on (C_kk, C_vv) and C_kv."""
    V_k, V_v = overlaps[2], overlaps[5]
    block = alpha * np.array([[V_k**2 * sums.kk, V_k**2 * sums.kv], [V_v**2 * sums.kv, V_v**2 * sums.vv]])
    trace, determinant = np.trace(block), np.linalg.det(block)
    largest = trace / 2 + math.sqrt(max(trace**2 / 4 - determinant, 0.0))
    return float(max(largest, abs(alpha * V_k * V_v * sums.cross)))


def _measure(equations: Equations, state: State) -> _Measure:
    x, alpha = state.result.x, equations.problem.alpha
    sums = equations.channel.stability(equations.parameters(x))
    prox_jump = -alpha * sums.jump / x[2] / state.conjugates[2]
    # b of theory.md section 8, with Dg = (delta_+ - delta_-)/(2 V_k)
    return _Measure(replicon_of(x, alpha, sums), prox_jump, 0.5 * alpha * sums.jump_square)


def _range(values: list[float]) -> float:
    return max(values) - min(values)


def assess(equations_at: Callable[[int], Equations], level: int, cap: int, state: State) -> Verdict:
    """Measure on the nodes of `level` and of the level before; where the proximal point jumps up to `cap`. Judge by the
    range of the last three values.

    Close to a cusp of the proximal point the responses diverge, so that the averages converge slowly and not steadily.
    """
    first = max(min(level, cap) - 1, 0)
    measures = [_measure(equations_at(first), state), _measure(equations_at(first + 1), state)]
    if abs(measures[-1].prox_jump) > NEGLIGIBLE_JUMP:
        measures += [_measure(equations_at(finer), state) for finer in range(max(first + 2, cap - 2), cap + 1)]
    best, last = measures[-1], measures[-3:]
    replicon_error = _range([m.replicon for m in last]) + 1e-9
    prox_jump_error = _range([m.prox_jump for m in measures[-2:]]) + 1e-9
    low, high = best.replicon - 2 * replicon_error, best.replicon + 2 * replicon_error
    spread = _range([m.jump_strength for m in last])
    q_k = state.result.x[1]

    def share(replicon: float, strength: float) -> float:
        """C*/q_k, the squared distance between near-degenerate minima relative to |k|^2."""
        return (SQRT_TERM * max(strength, 0.0) / (1.0 - replicon)) ** 2 / q_k if replicon < 1 else math.inf

    if high < 1 and share(high, best.jump_strength + spread) < JUMP_SHARE:
        stable, message = True, ""
    elif low > 1:
        stable, message = False, "replica symmetry is broken: replicon above 1"
    elif share(low, best.jump_strength - spread) > JUMP_SHARE:
        stable, message = False, "replica symmetry is broken: the proximal point jumps between distant minima"
    else:
        stable, message = None, "replica-symmetric stability is unresolved"
    return Verdict(best.replicon, replicon_error, best.prox_jump, prox_jump_error, stable, message)
