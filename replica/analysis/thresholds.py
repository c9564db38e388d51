"""Transitions of the Bayes-optimal estimator in alpha: spinodals and the information-theoretic threshold.

All fixed points of all alpha form one curve in the plane of the conjugates: at given (q_k, q_v) each of the two
equations of state evolution is linear in alpha, and the curve is where they ask for the same one. The uninformed
branch ends where alpha is largest along it, the informed one where it is smallest. What the curve shows is then
certified by solving on both sides (theory.md section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bayes.channel import Channel
from ..bayes.channels import channel_for
from ..bayes.state_evolution import FixedPoint, StateEvolution, informed_start, solve, uninformed_start
from ..errors import InvalidProblem
from ..models.checks import number
from .bayes import observables

if TYPE_CHECKING:
    from ..models.problem import Problem

KINDS = ("spinodal-uninformed", "spinodal-informed", "information-theoretic")
STRIDE = 0.25  # along the curve, in log conjugates
MOST_POINTS = 4000
NEAR_RECOVERY = math.log(1e-7)
DIFFERENCE = 1e-5
FINEST, COARSEST = 1e-7, 0.1  # brackets, relative to the threshold


@dataclass(frozen=True)
class Threshold:
    """A transition of one problem, or the statement that there is none.

    Attributes
    ----------
    problem : Problem
        Its alpha plays no part.
    kind : str
        "spinodal-uninformed": the largest alpha with a branch that grows from q = 0; "spinodal-informed": the
        smallest with a second, better one; "information-theoretic": where their free entropies are equal.
    value : float
        alpha at the transition, nan if there is none.
    lo, hi : float
        The bracket: both ends were solved from the stated start and lie on different sides.
    status : str
        "certified", "uncertified" or "none".
    message : str
    """

    problem: Problem
    kind: str
    value: float
    lo: float
    hi: float
    status: str
    message: str

    def to_row(self) -> dict[str, Any]:
        """The problem's columns, then kind, value, lo, hi, status, message; None where a number does not exist."""
        numbers = {name: getattr(self, name) for name in ("value", "lo", "hi")}
        return {
            "model": self.problem.data.name,
            "length": str(self.problem.length),
            "nu": self.problem.data.nu,
            "noise": self.problem.noise,
            "kind": self.kind,
            **{name: None if math.isnan(value) else value for name, value in numbers.items()},
            "status": self.status,
            "message": self.message,
        }


class _Curve:
    """The fixed points of all alpha, in the coordinates w = log of the conjugates q^ = q/(1 - q)."""

    def __init__(self, channel: Channel, noise: float, level: int = 0) -> None:
        self.channel, self.noise, self.level = channel, noise, level

    def log_alphas(self, w: np.ndarray) -> np.ndarray:
        """log alpha that the keys' and the values' equation ask for at w."""
        miss = 1.0 / (1.0 + np.exp(w))
        averages = self.channel.averages(float(miss[0]), float(miss[1]), self.noise, self.level)
        variance = miss[1] + self.noise**2
        return np.array([w[0] - math.log(averages.info_k), w[1] + math.log(variance / averages.fit)])

    def gap(self, w: np.ndarray) -> float:
        one, two = self.log_alphas(w)
        return float(one - two)

    def gradient(self, w: np.ndarray, at_w: float) -> np.ndarray:
        return np.array([(self.gap(w + DIFFERENCE * axis) - at_w) / DIFFERENCE for axis in np.eye(2)])

    def project(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray | None:
        """The point of the curve on the line w + t direction nearest to w, or None."""
        t, value = 0.0, self.gap(w)
        slope = (self.gap(w + DIFFERENCE * direction) - value) / DIFFERENCE
        for _ in range(12):
            if abs(value) < 1e-11:
                return w + t * direction
            if slope == 0.0 or not math.isfinite(slope):
                return None
            step = -value / slope
            if abs(t + step) > 2.0 * STRIDE:
                return None
            new = self.gap(w + (t + step) * direction)
            slope, t, value = (new - value) / step, t + step, new
        return w + t * direction if abs(value) < 1e-8 else None

    def trace(self, start: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        """Points of the curve from the fixed point `start` towards larger q_v, until `end` or near recovery."""
        points, ahead = [start], np.array([1.0, 1.0])
        while len(points) < MOST_POINTS:
            w = points[-1]
            normal = self.gradient(w, self.gap(w))
            normal /= np.linalg.norm(normal)
            tangent = np.array([-normal[1], normal[0]])
            tangent *= math.copysign(1.0, float(tangent @ ahead))
            stride, found = STRIDE, None
            while found is None and stride > 1e-3:
                found = self.project(w + stride * tangent, normal)
                stride *= 0.5
            if found is None:
                break
            ahead = found - w
            points.append(found)
            if found[1] >= end[1] or -math.log1p(math.exp(found[1])) < NEAR_RECOVERY:
                break
        return points


class _OneDimension(_Curve):
    """The same where nothing is learnt about the keys: q_k = 0 throughout."""

    def log_alphas(self, w: np.ndarray) -> np.ndarray:
        miss = 1.0 / (1.0 + math.exp(w[1]))
        averages = self.channel.averages(1.0, miss, self.noise, self.level)
        value = w[1] + math.log((miss + self.noise**2) / averages.fit)
        return np.array([value, value])

    def project(self, w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return w

    def trace(self, start: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        last = min(end[1], -NEAR_RECOVERY)
        count = max(2, math.ceil((last - start[1]) / STRIDE))
        return [np.array([-math.inf, value]) for value in np.linspace(start[1], last, count)]


def thresholds(
    problem: Problem, *, tol: float = 1e-3, alpha_min: float = 0.01, alpha_max: float = 100.0, seed: int = 0
) -> list[Threshold]:
    """First-order transitions of the Bayes-optimal estimator for alpha in [alpha_min, alpha_max].

    Parameters
    ----------
    problem : Problem
        Its alpha, activation and penalties play no part.
    tol : float
        Width of the brackets, relative to alpha.
    alpha_min, alpha_max : float
    seed : int
        Of the quasi-random nodes, where the channel needs them.

    Returns
    -------
    list of Threshold
        Three for each transition, in the order of `KINDS`; three of status "none" if there is no transition.

    Raises
    ------
    InvalidProblem
        If an option is out of range.
    """
    number("tol", tol, minimum=0.0, strict=True)
    number("alpha-min", alpha_min, minimum=0.0, strict=True)
    number("alpha-max", alpha_max, minimum=0.0, strict=True)
    if not FINEST <= tol <= COARSEST:
        fault = "small: the place of a fold is known to about 1e-8" if tol < FINEST else "large"
        raise InvalidProblem(f"tol = {tol:g} is too {fault}; allowed: {FINEST:g} <= tol <= {COARSEST:g}")
    if alpha_max <= alpha_min:
        raise InvalidProblem(f"alpha-max = {alpha_max:g} is not above alpha-min = {alpha_min:g}; widen the range")
    search = _Search(problem, channel_for(problem, seed), tol)
    folds = search.folds(alpha_min, alpha_max)
    if not folds and search.always_recovers and alpha_min < 1.0 < alpha_max:
        return search.merged()
    if not folds:
        message = (
            f"no first-order transition for alpha in [{alpha_min:g}, {alpha_max:g}]: "
            "one fixed point for every alpha, along a curve on which alpha only grows"
        )
        return [Threshold(problem, kind, math.nan, math.nan, math.nan, "none", message) for kind in KINDS]
    return [row for fold in folds for row in search.certify(*fold)]


class _Search:
    """Folds of the curve of one problem, and their certificates."""

    def __init__(self, problem: Problem, channel: Channel, tol: float) -> None:
        self.problem, self.channel, self.tol = problem, channel, tol
        blind = channel.averages(0.5, 0.5, problem.noise, 0).info_k == 0.0
        self.curve = (_OneDimension if blind else _Curve)(channel, problem.noise)

    def branch(self, alpha: float, informed: bool) -> FixedPoint:
        """The fixed point reached from a start at alpha."""
        evolution = StateEvolution(self.channel, alpha, self.problem.noise)
        return solve(evolution, informed_start(evolution) if informed else uninformed_start(), max_calls=50_000)

    def phi(self, point: FixedPoint, alpha: float) -> float:
        return float(observables(point.averages, point.x, alpha, self.problem.noise)[1])

    def folds(self, alpha_min: float, alpha_max: float) -> list[tuple[float, float]]:
        """(largest, smallest) alpha of each stretch of the curve on which alpha decreases.

        Without noise the curve ends at alpha = 1, where q_v = 1 turns stable.
        """
        start, end = (self._coordinates(self.branch(a, i)) for a, i in ((alpha_min, False), (alpha_max, True)))
        points = self.curve.trace(start, end)
        alphas = np.array([self.curve.log_alphas(w)[1] for w in points])
        found: list[tuple[float, float]] = []
        top: float | None = None
        for i in range(1, len(points) - 1):
            if alphas[i] > alphas[i - 1] and alphas[i] >= alphas[i + 1]:
                top = self._extremum(points[i - 1], points[i + 1], 1.0)
            elif alphas[i] < alphas[i - 1] and alphas[i] <= alphas[i + 1] and top is not None:
                found.append((top, self._extremum(points[i - 1], points[i + 1], -1.0)))
                top = None
        if top is not None and self.problem.noise == 0.0:
            found.append((top, 1.0))
        return [(high, low) for high, low in found if high > alpha_min and low < alpha_max]

    @property
    def always_recovers(self) -> bool:
        """Whether q_v = 1 becomes stable discontinuously at alpha = 1: no noise, and more than one token."""
        return self.problem.noise == 0.0 and self.problem.length.support[-1] > 1

    def merged(self) -> list[Threshold]:
        """Thresholds without noise where the hard phase is too narrow to be seen along the curve."""
        lo, hi = 1.0 - 0.5 * self.tol, 1.0 + 0.5 * self.tol
        sure = self.branch(hi, False).recovered and not self.branch(lo, True).recovered
        status = "certified" if sure else "uncertified"
        narrow = "between 1 and hi: from q = 0, v* is recovered exactly at hi"
        exact = "exact: without noise q_v = 1 is stable, with infinite free entropy, for alpha > 1"
        return [
            Threshold(self.problem, kind, 1.0, lo, hi, status, narrow if kind == KINDS[0] else exact) for kind in KINDS
        ]

    @staticmethod
    def _coordinates(point: FixedPoint) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return np.log(np.expm1(-point.x))

    def _extremum(self, before: np.ndarray, after: np.ndarray, sign: float) -> float:
        """alpha at the fold between two points of the curve: its extremum over the chord, each node projected."""
        from scipy.optimize import minimize_scalar

        chord = np.where(np.isfinite(after), after, 0.0) - np.where(np.isfinite(before), before, 0.0)
        normal = np.array([-chord[1], chord[0]]) / np.linalg.norm(chord)

        def value(t: float) -> float:
            w = self.curve.project(before + t * chord, normal)
            return math.inf if w is None else -sign * self.curve.log_alphas(w)[1]

        found = minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
        return math.exp(-sign * found.fun)

    def certify(self, high: float, low: float) -> list[Threshold]:
        """Brackets around the two spinodals and the crossing between them."""
        width = min(self.tol * low, 0.25 * (high - low))
        middle = 0.5 * (high + low)
        apart = self._jump(middle)
        rows = [
            self._spinodal("spinodal-uninformed", high, width, informed=False, apart=apart),
            self._spinodal("spinodal-informed", low, width, informed=True, apart=apart),
        ]
        return [*rows, self._crossing(low, high, width)]

    def _jump(self, alpha: float) -> float:
        """l_v halfway between the two branches where both exist."""
        one, two = self.branch(alpha, False).x[1], self.branch(alpha, True).x[1]
        return 0.5 * (one + max(two, one - 2.0))

    def _spinodal(self, kind: str, value: float, width: float, *, informed: bool, apart: float) -> Threshold:
        start = "informed" if informed else "uninformed"
        for _ in range(3):
            lo, hi = value - 0.5 * width, value + 0.5 * width
            below, above = self.branch(lo, informed), self.branch(hi, informed)
            settled = below.status == above.status == "converged"
            if settled and below.x[1] > apart > above.x[1]:
                message = f"from the {start} start, q_v = {_q(below)} at lo and {_q(above)} at hi"
                return Threshold(self.problem, kind, value, lo, hi, "certified", message)
            width *= 2.0
        message = f"from the {start} start no jump of q_v was seen between lo and hi"
        return Threshold(self.problem, kind, value, lo, hi, "uncertified", message)

    def _crossing(self, low: float, high: float, width: float) -> Threshold:
        kind = KINDS[2]
        if self.problem.noise == 0.0 and low == 1.0:
            # q_v = 1 wins as soon as it is stable: its free entropy is +inf
            lo, hi = 1.0 - 0.5 * width, 1.0 + 0.5 * width
            sure = self.branch(hi, True).recovered and not self.branch(lo, True).recovered
            message = "exact: without noise q_v = 1 is stable, with infinite free entropy, for alpha > 1"
            return Threshold(self.problem, kind, 1.0, lo, hi, "certified" if sure else "uncertified", message)
        margin = 1e-3 * (high - low)
        lo, hi = low + margin, high - margin
        lead = {alpha: self._lead(alpha) for alpha in (lo, hi)}
        if not lead[lo] < 0.0 < lead[hi]:
            message = "the free entropies of the branches do not cross between the spinodals"
            return Threshold(self.problem, kind, math.nan, low, high, "uncertified", message)
        while hi - lo > width:
            # secant, kept off the ends so that the bracket shrinks
            share = -lead[lo] / (lead[hi] - lead[lo])
            alpha = lo + (hi - lo) * min(max(share, 0.1), 0.9)
            lead[alpha] = self._lead(alpha)
            lo, hi = (lo, alpha) if lead[alpha] > 0.0 else (alpha, hi)
        value = lo - lead[lo] * (hi - lo) / (lead[hi] - lead[lo])
        message = f"free entropy of the informed branch minus the other: {lead[lo]:.2e} at lo, {lead[hi]:.2e} at hi"
        return Threshold(self.problem, kind, value, lo, hi, "certified", message)

    def _lead(self, alpha: float) -> float:
        return self.phi(self.branch(alpha, True), alpha) - self.phi(self.branch(alpha, False), alpha)


def _q(point: FixedPoint) -> str:
    return f"{-math.expm1(point.x[1]):.6g}"
