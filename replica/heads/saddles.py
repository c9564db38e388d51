"""The saddles that training visits, one more feature learned at each, and the emergence times that follow.

While a feature f is not learned its overlaps v = (m_hf) are small and grow linearly, dv/dtau = A_f(tau) v, where A_f is
minus the Hessian of R/2 over v at the state to which the learned features have brought the heads. So the emergence time
follows from this linear growth along the trajectory, from v = O(norm/sqrt(D)) to order one. At a saddle A_f is constant
and its largest eigenvalue is the escape rate: of a long stage only that matters, and the time grows as
log(sqrt(D))/rate (theory-dynamics.md A). At D that can be simulated stages are short, and their beginnings count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidProblem
from .averages import build_averages
from .escape import feature_rate
from .flow import State, integrate, square_root, velocity
from .problem import HeadsProblem
from .signals import MIRRORED

FIRST = 0.1  # the overlap by which features are put in order, before that at their saddle is known


@dataclass(frozen=True)
class Stage:
    """Training while the features `learned` (from 0, in order) are learned and no others.

    tau (T,); sizes (T, F): max_h |m_hf|, which grows linearly for the others; rates, rates_err (F,): growth rates of
    the others at the end, and error bounds, nan for the learned; residual: largest |dm/dtau| over the learned there.
    """

    learned: tuple[int, ...]
    tau: np.ndarray
    sizes: np.ndarray
    rates: np.ndarray
    rates_err: np.ndarray
    residual: float


def check_separable(problem: HeadsProblem) -> None:
    """Refuse a law of theta of which features cannot be told apart as learned and not.

    Raises
    ------
    InvalidProblem
        If the sign of some theta_f cannot be changed without changing the law: then training does not keep m_hf = 0; or
        if there are more features than averages can be made exactly even in.
    """
    if not problem.signal.separable:
        raise InvalidProblem(
            f"signal = {problem.signal.label!r}: emergence is predicted if the sign of each theta_f can be changed "
            "without changing the law; allowed: flipped, gaussian of mean zero, discrete laws of that kind"
        )
    if problem.signal.features > MIRRORED:
        raise InvalidProblem(
            f"the signal has {problem.signal.features} features; allowed where emergence is predicted: up to {MIRRORED}"
        )


def stages_visited(
    problem: HeadsProblem, start: State, tau: np.ndarray, rate: float, samples: int = 512, seed: int = 0
) -> list[Stage]:
    """The stages of training from `start` at the learning rate `rate`, as far as features emerge within `tau`.

    Each is integrated from the start over all of `tau`, the learned features by their full equations.

    Raises
    ------
    InvalidProblem
        As `check_separable`.
    """
    check_separable(problem)
    heads, features = problem.heads, problem.signal.features
    nodes = {"samples": samples, "max_samples": samples, "count": 2, "seed": seed, "rtol": 0.1}  # risks are not used
    learned: list[int] = []
    found: list[Stage] = []
    while True:
        left = [f for f in range(features) if f not in learned]
        path = integrate(problem, start, tau, rate, linear=left, **nodes)
        m = path.m[-1].copy()
        r = path.q[-1] - m @ m.T
        m[:, left] = 0.0
        end = State(m, r, path.b[-1])
        rates = np.full((2, features), np.nan)
        for f in left:
            rates[:, f] = feature_rate(problem, end, f, samples, seed=seed)
        d_m = velocity(build_averages(problem, samples, heads, seed), rate, m, square_root(r), end.b)[0]
        residual = float(np.abs(d_m[:, learned]).max(initial=0.0))
        found.append(Stage(tuple(learned), tau, np.abs(path.m).max(axis=1), *rates, residual))
        times = {f: _crossing(found[-1], f, FIRST) for f in left}
        times = {f: tau[0] if np.isnan(time) else time for f, time in times.items()}  # emerged at the start
        first = min(times, key=times.__getitem__, default=None)
        if first is None or times[first] > tau[-1]:
            return found
        learned.append(first)


def predicted_times(found: Sequence[Stage], targets: np.ndarray) -> np.ndarray:
    """When the linear growth of every feature reaches its target (F,), in the last stage without it.

    Beyond the end of tau the growth goes on with the rate there; inf if that is not positive within its error; nan if
    the feature starts beyond its target.
    """
    return np.array([_crossing(last_without(found, f), f, target) for f, target in enumerate(targets)])


def last_without(found: Sequence[Stage], feature: int) -> Stage:
    """The stage that the feature leaves, or the last one if it stays."""
    return [stage for stage in found if feature not in stage.learned][-1]


def _crossing(stage: Stage, feature: int, target: float) -> float:
    size = stage.sizes[:, feature]
    above = np.flatnonzero(size >= target)
    if len(above):
        i = above[0]
        if i == 0:
            return np.nan
        return float(np.interp(np.log(target), np.log(size[i - 1 : i + 1]), stage.tau[i - 1 : i + 1]))
    if stage.rates[feature] <= stage.rates_err[feature] or size[-1] == 0:
        return np.inf
    return float(stage.tau[-1] + np.log(target / size[-1]) / stage.rates[feature])
