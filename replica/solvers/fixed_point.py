"""Fixed points of x -> F(x): damped iteration, Anderson acceleration, Newton with an approximate Jacobian.

Convergence is always judged on the undamped residual |F(x) - x|. The accelerated steps are taken in a chart,
unconstrained coordinates z of the domain, so that no step can leave it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..types import Status

# steps back towards the last good point before F is called undefined
RETREATS = 8
Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Chart:
    """Coordinates in which a domain is all of R^n, and the size against which a change of x is measured."""

    to_free: Map
    to_domain: Map
    scale: Map


IDENTITY = Chart(lambda x: x, lambda z: z, lambda x: 1.0 + np.abs(x))


@dataclass(frozen=True)
class FixedPointResult:
    """Where an iteration ended.

    Attributes
    ----------
    x, value : ndarray
        The last point and F there.
    status : Status
    residual : float
        max |F(x) - x| / scale(x), undamped.
    evaluations : int
        Calls of F.
    """

    x: np.ndarray
    value: np.ndarray
    status: Status
    residual: float
    evaluations: int


def residual_of(x: np.ndarray, value: np.ndarray, chart: Chart) -> float:
    """max |F(x) - x| / scale(x); nan if F is not finite."""
    return float(np.max(np.abs(value - x) / chart.scale(x)))


def iterate(
    function: Map,
    start: np.ndarray,
    *,
    tolerance: float,
    max_evaluations: int = 500,
    damping: float = 0.0,
    accelerate: bool = True,
    chart: Chart = IDENTITY,
    memory: int = 6,
    plain_steps: int = 4,
) -> FixedPointResult:
    """Iterate x <- damping x + (1 - damping) F(x), with Anderson mixing of the last `memory` steps if `accelerate`.

    Parameters
    ----------
    function : callable
        F on the domain; where it is not finite the step is shortened, and the iteration ends if that does not help.
    tolerance : float
        Bound on the undamped residual max |F(x) - x|/scale(x).
    damping : float
        Weight of the old iterate, in [0, 1).
    plain_steps : int
        Steps before mixing starts: they decide the basin, mixing only hastens the approach.
    """
    x = np.array(start, dtype=float)
    steps: list[np.ndarray] = []
    points: list[np.ndarray] = []
    patience = 60.0 / (1.0 - damping)  # damped steps are shorter
    best, since_best, retreats = np.inf, 0, 0
    last = FixedPointResult(x, x, Status.MAX_ITER, np.nan, 0)
    for evaluation in range(1, max_evaluations + 1):
        value = function(x)
        if not np.all(np.isfinite(value)):
            if not points or retreats == RETREATS:
                return FixedPointResult(x, value, Status.NONFINITE, np.nan, evaluation)
            # F is not defined here: come back a good part of the way to the last point where it was
            retreats += 1
            x = chart.to_domain(points[-1] + 0.25 * (chart.to_free(x) - points[-1]))
            continue
        retreats = 0
        residual = residual_of(x, value, chart)
        if residual <= tolerance:
            return FixedPointResult(x, value, Status.CONVERGED, residual, evaluation)
        last = FixedPointResult(x, value, Status.MAX_ITER, residual, evaluation)
        z, target = chart.to_free(x), chart.to_free(value)
        if not (np.all(np.isfinite(z)) and np.all(np.isfinite(target))):
            return FixedPointResult(x, value, Status.OUT_OF_DOMAIN, residual, evaluation)
        best, since_best = (residual, 0) if residual < 0.98 * best else (best, since_best + 1)
        if since_best > patience:
            return FixedPointResult(x, value, Status.STALLED, residual, evaluation)
        step = target - z
        if accelerate and residual > 10.0 * best:
            points.clear()
            steps.clear()
        points.append(z)
        steps.append(step)
        del points[: -memory - 1], steps[: -memory - 1]
        new = z + (1.0 - damping) * step
        if accelerate and evaluation > plain_steps and len(steps) > 1:
            new = new + _mixing(points, steps, 1.0 - damping)
            longest = np.max(np.abs(new - z))
            # a long extrapolation says more about noise in the differences than about the fixed point
            limit = max(1.0, 4.0 * float(np.max(np.abs(step))))
            if longest > limit:
                new = z + (new - z) * (limit / longest)
        x = chart.to_domain(new) if accelerate else damping * x + (1.0 - damping) * value
    return replace(last, evaluations=max_evaluations)


def _mixing(points: list[np.ndarray], steps: list[np.ndarray], beta: float) -> np.ndarray:
    """Anderson's correction: minus the combination of past differences that best cancels the last step."""
    d_points = np.diff(np.array(points), axis=0).T
    d_steps = np.diff(np.array(steps), axis=0).T
    scale = np.linalg.norm(d_steps, axis=0)
    scale[scale == 0.0] = 1.0
    gamma = np.linalg.lstsq(d_steps / scale, steps[-1], rcond=1e-10)[0] / scale
    return -(d_points + beta * d_steps) @ gamma


def jacobian(function: Map, x: np.ndarray, value: np.ndarray, chart: Chart, step: float = 1e-5) -> np.ndarray:
    """dG/dz of G = to_free o F o to_domain at z(x), by one-sided differences: n evaluations of F."""
    z, base = chart.to_free(x), chart.to_free(value)
    columns = []
    for index in range(len(z)):
        moved = z.copy()
        moved[index] += step * (1.0 + abs(z[index]))
        target = chart.to_free(function(chart.to_domain(moved)))
        columns.append((target - base) / (moved[index] - z[index]))
    return np.array(columns).T


def newton(
    function: Map,
    start: np.ndarray,
    slope: np.ndarray,
    *,
    tolerance: float,
    max_evaluations: int = 40,
    chart: Chart = IDENTITY,
) -> tuple[FixedPointResult, np.ndarray]:
    """Newton's method on F(x) = x from an approximate Jacobian `slope` = dG/dz, with Broyden updates.

    Returns the result and the updated slope. It gives up (`stalled`) as soon as the residual stops falling, so that the
    caller can iterate or renew the Jacobian.
    """
    x, slope = np.array(start, dtype=float), np.array(slope)
    identity = np.eye(len(x))
    best: FixedPointResult | None = None
    z_old = step_old = move = None
    failures = 0
    for evaluation in range(1, max_evaluations + 1):
        value = function(x)
        z, target = chart.to_free(x), chart.to_free(value)
        residual = residual_of(x, value, chart)
        if not (np.isfinite(residual) and np.all(np.isfinite(target))):
            status = Status.NONFINITE if not np.all(np.isfinite(value)) else Status.OUT_OF_DOMAIN
            return FixedPointResult(x, value, status, residual, evaluation), slope
        step = target - z
        if z_old is not None:
            # G changed by (step + z) - (step_old + z_old) along `move`
            error = (step + z) - (step_old + z_old) - slope @ move
            slope = slope + np.outer(error, move) / (move @ move)
        result = FixedPointResult(x, value, Status.CONVERGED, residual, evaluation)
        if residual <= tolerance:
            return result, slope
        if best is not None and residual > 0.5 * best.residual:
            failures += 1
        if best is None or residual < best.residual:
            best = result
        if failures > 3:
            break
        try:
            move = np.linalg.solve(identity - slope, step)
        except np.linalg.LinAlgError:
            break
        longest = np.max(np.abs(move))
        if longest > 1.0:
            move = move / longest
        z_old, step_old = z, step
        x = chart.to_domain(z + move)
    return FixedPointResult(best.x, best.value, Status.STALLED, best.residual, evaluation), slope
