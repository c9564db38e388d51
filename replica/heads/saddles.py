"""The saddles that training visits, one more feature learned at each, and the times that follow from their rates.

While a feature f is not learned its overlaps grow with the rate lambda_f of where the learned features have brought the
heads, from norm/sqrt(D) to order one: it emerges when int lambda_f dtau = log(sqrt(D)/norm), where the integral is over
all stages before. Of a long stage only the rate at the saddle matters, and the time grows as log(sqrt(D))/lambda_f
(theory-dynamics.md A). A constant of order one is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidProblem
from .averages import build_averages
from .escape import feature_rate
from .flow import State, Trajectory, integrate, square_root, velocity
from .problem import HeadsProblem
from .stages import emergence_times

_POINTS = 101  # of the way to a saddle
_LOOKS = 7  # of these where rates are computed
_SEED = 0.3  # overlaps at which a feature is let go, in units of norm


@dataclass(frozen=True)
class Stage:
    """From the moment when the last of the `learned` features (from 0) emerges to the saddle beyond.

    since (K,): time since that moment; rates, rates_err (K, F): growth rates of the overlaps with the others and their
    error bounds, nan for the learned; state: where it ends; residual: largest |dm/dtau| over learned features there.
    """

    learned: tuple[int, ...]
    since: np.ndarray
    rates: np.ndarray
    rates_err: np.ndarray
    state: State
    residual: float


def stages_visited(
    problem: HeadsProblem,
    rate: float,
    norm: float,
    time: float,
    dimension: float,
    direction: np.ndarray,
    samples: int = 1024,
    seed: int = 0,
) -> list[Stage]:
    """The stages of training at the learning rate `rate`, as far as features emerge, in the order at `dimension`.

    Each is followed for `time`, with the overlaps with features that are still to come held at zero. Which heads learn
    a feature depends on the overlaps that training starts from, here in proportion to `direction` (H, F).

    Raises
    ------
    InvalidProblem
        If theta and -theta have different laws: then overlaps do not stay zero.
    """
    if not problem.signal.symmetric:
        raise InvalidProblem("emergence is predicted for symmetric laws of theta only; allowed: flipped, or mean zero")
    heads, features = problem.heads, problem.signal.features
    state = State(np.zeros((heads, features)), norm**2 * np.eye(heads), np.zeros(heads))
    learned: list[int] = []
    left = list(range(features))
    found: list[Stage] = []
    now = 0.0
    way = np.linspace(0.0, time, _POINTS)
    options = {"samples": samples // 4, "max_samples": samples // 4, "count": 2, "seed": seed}
    while True:
        path = integrate(problem, state, way, rate, frozen=left, **options)
        first = 0
        if learned:
            emerged = emergence_times(way, path.m)[learned[-1]]
            first = int(np.searchsorted(way, emerged)) if np.isfinite(emerged) else 0
        looks = first + np.unique(np.geomspace(1, _POINTS - first, _LOOKS).astype(int)) - 1
        states = [_state(path, i, left) for i in looks]
        rates = np.full((2, len(looks), features), np.nan)
        for f in left:
            rates[:, :, f] = np.transpose([feature_rate(problem, one, f, samples, seed=seed) for one in states])
        end = states[-1]
        d_m = velocity(build_averages(problem, samples, heads, seed), rate, end.m, square_root(end.r), end.b)[0]
        residual = float(np.abs(d_m[:, learned]).max(initial=0.0))
        found.append(Stage(tuple(learned), way[looks] - way[first], *rates, end, residual))
        times = predicted_times(found, features, norm, dimension, left)
        if not left or np.isinf(times[left]).all():
            return found
        chosen = left.pop(int(np.argmin(times[left])))
        # the next stage begins where the feature emerges, before this one has come to rest
        moment = way[first] + times[chosen] - now
        state = _state(path, min(int(np.searchsorted(way, moment)), _POINTS - 1), left)
        now = times[chosen]
        learned.append(chosen)
        m = state.m.copy()
        m[:, chosen] += _SEED * norm * direction[:, chosen]
        state = State(m, state.r, state.b)


def _state(path: Trajectory, index: int, left: list[int]) -> State:
    m = path.m[index].copy()
    r = path.q[index] - m @ m.T
    m[:, left] = 0.0  # exactly, whatever rounding has done
    return State(m, r, path.b[index])


def predicted_times(
    found: list[Stage], features: int, norm: float, dimension: float, last: list[int] | None = None
) -> np.ndarray:
    """Emergence time of every feature at D, inf for one that does not grow within its error at the last saddle.

    `last`: features of the last stage to give times for; by default those that never emerge stay inf.
    """
    goal = np.log(np.sqrt(dimension) / norm)
    gained, times, now = np.zeros(features), np.full(features, np.inf), 0.0
    for index, stage in enumerate(found):
        final = index + 1 == len(found)
        leaving = (last or []) if final else [found[index + 1].learned[-1]]
        lasts = {f: _crossing(stage, f, goal - gained[f]) for f in leaving}
        for f, duration in lasts.items():
            times[f] = now + duration
        if final:
            return times
        duration = lasts[leaving[0]]
        for f in range(features):
            if f not in stage.learned and np.isfinite(duration):
                gained[f] = max(gained[f] + _growth(stage, f, duration), 0.0)
        now += duration
    return times


def _growth(stage: Stage, feature: int, duration: float) -> float:
    """Int lambda_f over the first `duration` of the stage; beyond its end the last rate goes on."""
    t, rates = stage.since, stage.rates[:, feature]
    inside = np.append(t[t < duration], min(duration, t[-1]))
    known = np.interp(inside, t, rates)
    return float(np.trapezoid(known, inside) + max(duration - t[-1], 0.0) * rates[-1])


def _crossing(stage: Stage, feature: int, goal: float) -> float:
    """When int lambda_f first reaches `goal`."""
    from scipy.optimize import brentq

    t, rates = stage.since, stage.rates[:, feature]
    reached = [_growth(stage, feature, end) >= goal for end in t]
    if any(reached):
        k = int(np.argmax(reached))
        if k == 0:
            return 0.0
        return float(brentq(lambda end: _growth(stage, feature, end) - goal, t[k - 1], t[k]))
    if rates[-1] <= stage.rates_err[-1, feature]:
        return np.inf
    return float(t[-1] + (goal - _growth(stage, feature, t[-1])) / rates[-1])
