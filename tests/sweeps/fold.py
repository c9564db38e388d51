"""Estimators with known answers, in place of the solver: a fold with exact hysteresis, and ways to fail."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from replica.errors import InvalidProblem, UnsupportedExpression
from replica.types import Overlaps, Solution, Status

# stable states of the energy x^4/4 - x^2/2 - h x exist on both sides while |h| < FOLD
FOLD = 2.0 / (3.0 * math.sqrt(3.0))
CENTRE = 2.0


def field(alpha: float) -> float:
    return alpha - CENTRE


def roots(alpha: float) -> np.ndarray:
    """Minima of the energy, increasing."""
    found = np.roots([1.0, 0.0, -1.0, -field(alpha)])
    real = np.sort(found[np.abs(found.imag) < 1e-9].real)
    return real[3.0 * real**2 > 1.0]


def energy(x: float, alpha: float) -> float:
    return x**4 / 4 - x**2 / 2 - field(alpha) * x


def fixed_points(problem, *, init="both", start=None, **options) -> list[Solution]:
    """The minimum in whose basin the start lies: the nearer one to it."""
    x0 = start.overlaps.m_k if start is not None else {"informed": 1.0, "uninformed": -1.0}[init]
    minima = roots(problem.alpha)
    x = float(minima[np.argmin(np.abs(minima - x0))])
    return [
        Solution(
            problem=problem,
            estimator="erm",
            status=Status.CONVERGED,
            overlaps=Overlaps(x, x * x + 1.0, 1.0, 0.0, 1.0, 1.0),
            test_risk=1.0,
            objective=energy(x, problem.alpha),
            init=("given" if start is not None else init,),
            seed=options["seed"],
        )
    ]


def breaks_at_two(problem, **options) -> list[Solution]:
    if problem.alpha == 2.0:
        raise ZeroDivisionError("float division\nby zero")
    return fixed_points(problem, **options)


def warm_never_converges(problem, *, start=None, **options) -> list[Solution]:
    found = fixed_points(problem, start=start, **options)
    if start is None:
        return found
    return [replace(found[0], status=Status.STALLED)]


def never(problem, **options) -> list[Solution]:
    raise UnsupportedExpression("no way")


def disk_is_full(problem, **options) -> list[Solution]:
    raise OSError(28, "No space left on device")


def refuses(problem, **options) -> list[Solution]:
    raise InvalidProblem("alpha = 1 is not to my taste; allowed: others")


def bayes(problem, **options) -> list[Solution]:
    found = fixed_points(problem, **options)[0]
    return [replace(found, estimator="bayes", objective=math.nan, free_entropy=problem.alpha)]
