"""The map of Bayes-optimal state evolution, and its smallest and largest fixed points.

    q^_k = alpha E|grad_k log Z|^2,  q^_v = alpha fit/tau^2,  q_a = q^_a/(1 + q^_a),  tau^2 = 1 - q_v + Delta^2
    (theory.md section 6), in the variables l_a = log(1 - q_a), which resolve 1 - q down to round-off.

More information on k and v cannot hurt the posterior, so the map is order-preserving: iterated from q = 0 it rises to
the smallest fixed point, the uninformed branch; from the posterior that knows eps it falls to the largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..types import Status
from .channel import Channel, ChannelAverages

STEP_CAP = 0.03  # of an accelerated step in l: two branches closer than this are nearly merged
# Near recovery 1 - fit is linear in tau, so that branches cannot come in close pairs: longer steps are safe,
# and without noise l_v runs to -inf at the rate log(alpha) per step
LOG_NEAR, NEAR_CAP, LOG_RECOVERED = math.log(1e-3), 0.5, math.log(1e-12)
NEWTON_CAP = 0.5
DIFFERENCE = 1e-5
FLOOR = 1e-8  # a residual below this that no longer falls is round-off of the integration
LOG_EDGE = math.log(1e-6)  # at alpha = 1 without noise q_v = 1 is marginally unstable: start just below it


@dataclass
class StateEvolution:
    """x -> F(x), x = (log(1 - q_k), log(1 - q_v)), at one refinement level of the channel's integration.

    Attributes
    ----------
    channel : Channel
    alpha, noise : float
    level : int
    calls : int
        Evaluations so far.
    """

    channel: Channel
    alpha: float
    noise: float
    level: int = 0
    calls: int = field(default=0, init=False)

    def averages(self, x: np.ndarray) -> ChannelAverages:
        """Channel averages at x."""
        self.calls += 1
        miss_k, miss_v = np.exp(np.minimum(x, 0.0))
        return self.channel.averages(float(miss_k), float(miss_v), self.noise, self.level)

    def step(self, x: np.ndarray, averages: ChannelAverages) -> np.ndarray:
        """F(x) from the averages at x."""
        return log_miss(averages.info_k, averages.fit, math.exp(x[1]) + self.noise**2, self.alpha)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.step(x, self.averages(x))


def log_miss(info_k: float, fit: float, variance: float, alpha: float) -> np.ndarray:
    """log(1 - q) of the overlaps that the conjugates alpha info_k and alpha fit/variance imply."""
    return np.array([-math.log1p(alpha * info_k), math.log(variance / (variance + alpha * fit))])


@dataclass(frozen=True)
class FixedPoint:
    """Where an iteration ended.

    Attributes
    ----------
    x : ndarray, shape (2,)
        log(1 - q_k), log(1 - q_v); the second is -inf when v* is recovered exactly.
    averages : ChannelAverages
        At x.
    status : Status
    message : str
    residual : float
        max |F(x) - x|, undamped.
    calls : int
        Evaluations of F.
    """

    x: np.ndarray
    averages: ChannelAverages
    status: Status
    message: str
    residual: float
    calls: int

    @property
    def recovered(self) -> bool:
        """Whether q_v = 1 exactly."""
        return bool(np.isneginf(self.x[1]))


def uninformed_start() -> np.ndarray:
    """q = 0."""
    return np.zeros(2)


def informed_start(evolution: StateEvolution) -> np.ndarray:
    """The largest overlaps any estimator can have: those of the posterior that also knows eps.

    For v it is linear regression: (1 - q_v) solves miss = (miss + Delta^2)/(miss + Delta^2 + alpha). For k it is the
    largest fixed point of the channel with p = delta_{eps}. Without noise and for alpha >= 1, l_v = -inf.
    """
    return np.array([log_known_position(evolution), _log_regression(evolution.alpha, evolution.noise)])


def _log_regression(alpha: float, noise: float) -> float:
    half, variance = 0.5 * (noise**2 + alpha - 1.0), noise**2
    root = math.hypot(half, noise)
    miss = variance / (half + root) if half > 0 else root - half
    return math.log(miss) if miss > 0 else -math.inf


def log_known_position(evolution: StateEvolution) -> float:
    """log(1 - q_k) at the largest fixed point of 1 - q_k = 1/(1 + alpha info_k) when eps is known."""

    def image(log_k: float) -> float:
        info = evolution.channel.known_position(math.exp(log_k), evolution.level).info_k
        return -math.log1p(evolution.alpha * info)

    log_k = -30.0
    for _ in range(200):
        once = image(log_k)
        twice = image(once)
        if abs(twice - once) <= 1e-13 * max(1.0, abs(once)):
            return twice
        ratio = (twice - once) / (once - log_k)
        # Aitken's step where the iteration contracts steadily
        log_k = min(once + (twice - once) / (1.0 - ratio), 0.0) if 0.0 < ratio < 0.9 else twice
    return log_k


def recovered(evolution: StateEvolution, calls_before: int = 0) -> FixedPoint:
    """The fixed point q_v = 1 of the noiseless problem; locally stable for alpha > 1 (theory.md section 6)."""
    log_k = log_known_position(evolution)
    averages = evolution.channel.known_position(math.exp(log_k), evolution.level)
    residual = abs(-math.log1p(evolution.alpha * averages.info_k) - log_k)
    x, message = np.array([log_k, -math.inf]), "v* is recovered exactly (q_v = 1)"
    return FixedPoint(x, averages, Status.CONVERGED, message, residual, evolution.calls - calls_before)


def jacobian(evolution: StateEvolution, x: np.ndarray, at_x: ChannelAverages) -> tuple[np.ndarray, np.ndarray]:
    """dF/dx and d(averages)/dx by differences towards larger q, shapes (2, 2) and (NUMBERS, 2)."""
    value = evolution.step(x, at_x)
    slope, gradient = np.empty((2, 2)), []
    for column in range(2):
        moved = x.copy()
        moved[column] -= DIFFERENCE
        there = evolution.averages(moved)
        slope[:, column] = (value - evolution.step(moved, there)) / DIFFERENCE
        gradient.append((at_x.as_array() - there.as_array()) / DIFFERENCE)
    return slope, np.array(gradient).T


def solve(
    evolution: StateEvolution,
    start: np.ndarray,
    *,
    damping: float = 0.0,
    accelerate: bool = True,
    tol: float = 1e-11,
    max_calls: int = 5000,
) -> FixedPoint:
    """Follow the order-preserving iteration from `start` to the first fixed point on its way.

    Plain steps, accelerated in two ways that respect the order: a step is stretched while the residual keeps its sign
    (never by more than STEP_CAP in l), and Newton's step is taken when the map contracts and the step is short and
    goes the same way.

    Parameters
    ----------
    evolution : StateEvolution
    start : ndarray, shape (2,)
        l_v = -inf, possible without noise, is the fixed point q_v = 1 itself where it is stable (alpha > 1).
    damping : float
        Weight of the old iterate in plain steps, in [0, 1).
    accelerate : bool
        Whether to stretch steps and to try Newton's.
    tol : float
        On max |F(x) - x|.
    max_calls : int
        Evaluations of F after which the iteration gives up.
    """
    first = evolution.calls
    if np.isneginf(start[1]):
        if evolution.alpha > 1.0:
            return recovered(evolution, first)
        start = np.array([start[0], LOG_EDGE])
    x, stretch, wait = np.array(start, dtype=float), 1.0, 3
    least, idle = math.inf, 0
    averages = evolution.averages(x)
    move = evolution.step(x, averages) - x
    status, message = Status.CONVERGED, ""
    while (size := float(np.max(np.abs(move)))) > tol:
        if not np.isfinite(move).all():
            status, message = Status.NONFINITE, "the state evolution is not finite"
            break
        if evolution.calls - first >= max_calls:
            status, message = Status.MAX_ITER, f"no fixed point after {max_calls} evaluations; residual {size:.1e}"
            break
        if evolution.noise**2 == 0.0 and x[1] < LOG_RECOVERED and move[1] < 0.0:
            return recovered(evolution, first)
        least, idle = (size, 0) if size < 0.9 * least else (least, idle + 1)
        if size < FLOOR and idle >= 12:
            break  # as close as the integration allows
        trial, wait = None, wait - 1
        if accelerate and wait <= 0 and size < 0.3:
            trial = _newton(evolution, x, averages, move)
            wait = 0 if trial is not None else 8
        is_newton = trial is not None
        if trial is None:
            cap = NEAR_CAP if x[1] < LOG_NEAR else STEP_CAP
            stretch = min(stretch, max(1.0, cap / size))
            trial = np.minimum(x + (1.0 - damping) * stretch * move, 0.0)
        there = evolution.averages(trial)
        new_move = evolution.step(trial, there) - trial
        crossed = bool(np.any(new_move * move < -tol * np.abs(move)))
        if is_newton and np.max(np.abs(new_move)) > 0.5 * size:
            wait = 8  # not in its basin: the plain iteration goes on from x
            continue
        if not is_newton and stretch > 1.0 and crossed:
            stretch = 1.0
            continue
        stretch = 1.0 if crossed or not accelerate else 2.0 * stretch
        x, averages, move = trial, there, new_move
    return FixedPoint(x, averages, status, message, float(np.max(np.abs(move))), evolution.calls - first)


def _newton(evolution: StateEvolution, x: np.ndarray, averages: ChannelAverages, move: np.ndarray) -> np.ndarray | None:
    slope, _ = jacobian(evolution, x, averages)
    close = np.max(np.abs(move)) < 1e-5
    if not np.isfinite(slope).all() or (np.max(np.abs(np.linalg.eigvals(slope))) > 0.97 and not close):
        return None
    step = np.linalg.solve(np.eye(2) - slope, move)
    if np.max(np.abs(step)) > (0.02 if close else NEWTON_CAP):
        return None
    return np.minimum(x + step, 0.0)
