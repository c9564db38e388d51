"""Is replica symmetry right here: replicon, jumps of the proximal point, and the verdict (theory.md section 8)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# jumps matter when the perturbation that they sustain exceeds this share of q_k
JUMP_SHARE = 0.01
# below this share the responses are bounded in practice and the nodes of the risk serve
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


def replicon_of(overlaps: np.ndarray, alpha: float, sums) -> float:
    """Spectral radius of the perturbation operator T on the manifold M: a 2x2 block on (C_kk, C_vv) and C_kv."""
    V_k, V_v = overlaps[2], overlaps[5]
    block = alpha * np.array([[V_k**2 * sums.kk, V_k**2 * sums.kv], [V_v**2 * sums.kv, V_v**2 * sums.vv]])
    trace, determinant = np.trace(block), np.linalg.det(block)
    largest = trace / 2 + math.sqrt(max(trace**2 / 4 - determinant, 0.0))
    return float(max(largest, abs(alpha * V_k * V_v * sums.cross)))


def _measure(equations, state) -> _Measure:
    x, alpha = state.result.x, equations.problem.alpha
    sums = equations.channel.stability(equations.parameters(x))
    prox_jump = -alpha * sums.jump / x[2] / state.conjugates[2]
    # b of theory.md section 8, with Dg = (delta_+ - delta_-)/(2 V_k)
    return _Measure(replicon_of(x, alpha, sums), prox_jump, 0.5 * alpha * sums.jump_square)


def assess(problem, levels, level: int, equations_at, state) -> Verdict:
    """Measure on two node sets, the finer at least the given level, and judge what their difference allows."""
    measures = [_measure(equations_at(max(level - 1, 0)), state)]
    fine = max(level, 1)
    if abs(measures[0].prox_jump) > NEGLIGIBLE_JUMP:
        # near cusps of the proximal point the responses have heavy tails: finer nodes than the risk needs
        fine = max(fine, levels.stability_level)
        measures[0] = _measure(equations_at(fine - 1), state)
    measures.append(_measure(equations_at(fine), state))
    coarse, best = measures
    replicon_error = abs(best.replicon - coarse.replicon) + 1e-9
    low, high = best.replicon - 2 * replicon_error, best.replicon + 2 * replicon_error
    spread = abs(best.jump_strength - coarse.jump_strength)
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
    return Verdict(
        best.replicon, replicon_error, best.prox_jump, abs(best.prox_jump - coarse.prox_jump) + 1e-12, stable, message
    )
