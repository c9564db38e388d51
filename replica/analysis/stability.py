"""Is replica symmetry right here: replicon, jumps of the proximal point, and the verdict (theory.md section 8)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ..solvers.fixed_point import Chart
from . import error_bars
from .channels import LOG2_LINES, Channel, StabilitySums
from .erm_map import Equations, State

# jumps matter when the perturbation that they sustain exceeds this share of q_k
JUMP_SHARE = 0.01
# below this share of V_hat_k the responses are bounded in practice
NEGLIGIBLE_JUMP = 1e-4
# error of the median of 2, 3, 4, 5 values over their range: half of the limits of 95 % of Student's law times the ratio
# of the standard deviation of the median to the mean range, of normal values; the range itself for up to three levels
RANGES = (1.0, 1.0, 0.5, 0.35)
# in free coordinates: wide enough to average over jumps and cusps of few nodes
SLOPE_STEP = 0.02
SQRT_TERM = 2.0 / math.sqrt(math.pi)
STRENGTH = 1.0 / math.sqrt(2.0)


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
    """One set of nodes' replicon, share of the jumps in V_hat_k, and b of the square-root term, alpha/sqrt(2) times the
    integral of |chi_+ - chi_-|^2 over the surface of the jumps."""

    replicon: float
    prox_jump: float
    jump_strength: float


def replicon_of(overlaps: np.ndarray, alpha: float, sums: StabilitySums) -> float:
    """Spectral radius of the perturbation operator T on the manifold M: a 2x2 block on (C_kk, C_vv) and C_kv."""
    V_k, V_v = overlaps[2], overlaps[5]
    block = alpha * np.array([[V_k**2 * sums.kk, V_k**2 * sums.kv], [V_v**2 * sums.kv, V_v**2 * sums.vv]])
    trace, determinant = np.trace(block), block[0, 0] * block[1, 1] - block[0, 1] * block[1, 0]
    largest = trace / 2 + math.sqrt(max(trace**2 / 4 - determinant, 0.0))
    return float(max(largest, abs(alpha * V_k * V_v * sums.cross)))


def _share(part: float, alpha: float, state: State) -> float:
    """Of V_hat_k; nothing of nothing where the attention does not depend on the key."""
    return alpha * part / state.conjugates[2] if part else 0.0


def _measure(state: State, alpha: float, sums: StabilitySums) -> _Measure:
    return _Measure(
        replicon_of(state.x, alpha, sums), _share(sums.jump, alpha, state), STRENGTH * alpha * sums.jump_square
    )


def assess(
    equations_at: Callable[[int], Equations],
    level: int,
    caps: tuple[int, int],
    state: State,
    chart: Chart,
    moves: Sequence[Sequence[np.ndarray]],
) -> Verdict:
    """Measure with errors, and judge what they allow.

    The replicon is off because its averages are, and because the point is: `moves` of `error_bars.Estimate`. Where the
    nodes have variants these give the errors. Elsewhere the nodes of `level` and of the level before do, and where the
    proximal point jumps those up to the first of the caps, and to the second while the verdict is open: close to a cusp
    of the proximal point the responses diverge, so that the averages converge slowly and not steadily.
    """
    equations = equations_at(level)
    par, alpha = equations.parameters(state.x), equations.problem.alpha
    slope = _replicon_slope(equations_at(0), state, chart)
    changes = [[float(slope @ move) for move in source] for source in moves]
    if equations.channel.stability_variants(par):
        return _by_variants(equations.channel, par, alpha, state, changes)
    # a single level, where the iteration did not converge, does not tell
    moved = abs(changes[0][0]) if changes else math.nan

    def measure(at: int) -> _Measure:
        return _measure(state, alpha, equations_at(at).channel.stability(par))

    first = max(min(level, caps[0]) - 1, 0)
    measures = [measure(first), measure(first + 1)]
    if abs(measures[-1].prox_jump) <= NEGLIGIBLE_JUMP:
        return _judge(*_from_levels(measures, moved), state)
    last = first + 1
    for cap in caps:
        measures += [measure(finer) for finer in range(max(last + 1, cap - 2), cap + 1)]
        last = cap
        verdict = _judge(*_from_levels(measures, moved), state)
        if verdict.stable is not None:
            break
    return verdict


def _replicon_slope(equations: Equations, state: State, chart: Chart) -> np.ndarray:
    """Derivative of the replicon in the free coordinates of the point, on few nodes: it only serves an error."""
    z = chart.to_free(state.x)

    def replicon(at: np.ndarray) -> float:
        x = chart.to_domain(at)
        sums = equations.channel.stability(equations.parameters(x), None)
        return replicon_of(x, equations.problem.alpha, sums)

    return np.array([(replicon(z + step) - replicon(z - step)) / (2.0 * SLOPE_STEP) for step in SLOPE_STEP * np.eye(6)])


def _from_levels(measures: list[_Measure], moved: float) -> tuple[_Measure, _Measure]:
    """The last level with the median of the replicon, which does not see the one node on a cusp that can dominate a
    level, and errors from the ranges; `moved` is what the replicon changes with the point."""
    recent = measures[-len(RANGES) - 1 :]
    replicons = [one.replicon for one in recent]
    best = replace(measures[-1], replicon=statistics.median(replicons)) if len(recent) > 2 else measures[-1]
    error = _Measure(
        replicon=math.hypot(RANGES[len(recent) - 2] * _range(replicons), moved),
        prox_jump=_range([one.prox_jump for one in measures[-2:]]),
        jump_strength=0.5 * _range([one.jump_strength for one in measures[-3:]]),
    )
    return best, error


def _by_variants(
    channel: Channel, par: np.ndarray, alpha: float, state: State, changes: Sequence[Sequence[float]]
) -> Verdict:
    """With more and more lines, as long as those could decide; `changes` of the replicon with the point."""
    for effort in range(len(LOG2_LINES)):
        sums = channel.stability(par, effort)
        best = _measure(state, alpha, sums)
        sampled = error_bars.combined(
            [
                [_change(_measure(state, alpha, other), best, change) for other, change in zip(*pair, strict=True)]
                for pair in zip(channel.stability_variants(par, effort), changes, strict=True)
            ]
        )
        unseen = _share(sums.unseen, alpha, state), STRENGTH * alpha * sums.unseen_square
        error = _Measure(
            sampled["replicon"],
            math.hypot(sampled["prox_jump"], unseen[0]),
            math.hypot(sampled["jump_strength"], unseen[1]),
        )
        verdict = _judge(best, error, state)
        certain = replace(error, prox_jump=0.0, jump_strength=0.0)
        if verdict.stable is not None or _judge(best, certain, state).stable is None:
            break
    return verdict


def _range(values: list[float]) -> float:
    return max(values) - min(values)


def _change(new: _Measure, old: _Measure, moved: float) -> dict[str, float]:
    changes = {field.name: getattr(new, field.name) - getattr(old, field.name) for field in fields(_Measure)}
    return {**changes, "replicon": changes["replicon"] + moved}


def _judge(best: _Measure, error: _Measure, state: State) -> Verdict:
    replicon_error, jump_error = error.replicon + 1e-9, error.prox_jump + 1e-9
    low, high = best.replicon - 2 * replicon_error, best.replicon + 2 * replicon_error
    spread, q_k = 2 * error.jump_strength, state.x[1]

    def share(replicon: float, strength: float) -> float:
        """C*/q_k, the squared distance between near-degenerate minima relative to |k|^2."""
        return (SQRT_TERM * max(strength, 0.0) / (1.0 - replicon)) ** 2 / q_k if replicon < 1 else math.inf

    if math.isnan(low + high + best.jump_strength + spread):
        message = "replica-symmetric stability is unresolved: its averages are not finite"
        return Verdict(best.replicon, replicon_error, best.prox_jump, jump_error, None, message)
    harmless = share(high, best.jump_strength + spread) < JUMP_SHARE
    # the replicon is positive, however large its error
    harmful = share(max(low, 0.0), best.jump_strength - spread) > JUMP_SHARE
    if high < 1 and harmless:
        stable, message = True, ""
    elif low > 1:
        stable, message = False, "replica symmetry is broken: replicon above 1"
    elif harmful:
        stable, message = False, "replica symmetry is broken: the proximal point jumps between distant minima"
    else:
        stable, message = None, "replica-symmetric stability is unresolved"
    return Verdict(best.replicon, replicon_error, best.prox_jump, jump_error, stable, message)
