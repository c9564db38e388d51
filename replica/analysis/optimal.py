"""Penalties, and the offset of erf attention, of least test risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..models.problem import Problem
from ..solvers.fixed_point import FixedPointResult, newton
from ..types import Solution, Status
from . import ridge
from .discretise import Ladder, ladder
from .erm_map import Equations, overlap_chart
from .path import LOOSEST, STARTS, Path, PathOptions, starting_point

# range of the search, in logs for the penalties
BOUNDS = {"reg_k": (1e-3, 1e3), "reg_v": (1e-3, 1e3), "erf_offset": (-8.0, 4.0)}
# a found value this close to a bound, in the coordinate of the search, is at it
AT_BOUND = 0.05
# where the search starts from the best: both penalties, and the offset
_COARSE_REGS, _COARSE_OFFSETS = (0.2, 2.0), (0.0, -1.0)
# simplices: size, and the position to which they shrink; the risk is flat there to the square of it
_SIMPLICES = ((0.7, 0.05), (0.1, 0.01))
# level of the nodes of each simplex, contact set and sampled: one set for all of it, so that the risk is smooth in what
# is tuned; sampled ones cost more
_LEVELS = {True: (2, 2), False: (2, 4)}


def optimise(problem: Problem, *, seed: int, threads: int | None, **options: Any) -> list[Solution]:
    """Fixed points at the values of least test risk of whatever in `problem` is "optimal".

    The search (Nelder-Mead in log lambda and the offset, from the best point of a coarse grid, once more from where it
    ends) works on fixed nodes with starts from the last fixed point; the solution at its end is computed afresh from
    all starts. Messages say when the optimum is at a bound of the search or where replica symmetry is in doubt, and
    where coarser sampled nodes would have placed it: how well that is known.

    Parameters
    ----------
    options
        Those of `replica.analysis.erm.fixed_points`.

    Raises
    ------
    InvalidProblem
        As `fixed_points`.
    """
    from .erm import fixed_points

    search = _Search(problem, seed=seed, threads=threads)
    best = search.run()
    found = search.problem_at(best)
    solutions = fixed_points(found, seed=seed, threads=threads, **options)
    note = ", ".join(f"{name} = {value:.4g}" for name, value in search.values_at(best).items())
    if search.coarser is not None:
        note += " (on coarser nodes " + ", ".join(f"{value:.4g}" for value in search.coarser.values()) + ")"
    notes = [f"optimal {note}", *search.bounds_reached(best)]
    count = len(search.names)
    method = f"; {count} value{'s' * (count > 1)} optimised over {search.solved} problems"
    return [
        replace(
            solution,
            message="; ".join([*notes, *_doubt(solution), *([solution.message] if solution.message else [])]),
            method=solution.method + method,
            optimised=search.names,
        )
        for solution in solutions
    ]


def _doubt(solution: Solution) -> list[str]:
    if solution.rs_stable is False:
        return ["the optimum lies in the replica-unstable region"]
    return []


class _Search:
    """The test risk as a function of the values to optimise, on fixed nodes."""

    def __init__(self, problem: Problem, *, seed: int, threads: int | None) -> None:
        self._problem = problem
        self.names = problem.unknowns
        self.coarser: dict[str, float] | None = None
        self._channel, self._channels = None, [None] * len(_SIMPLICES)
        if not ridge.applies(problem):
            levels = ladder(self.problem_at(self._coarse()[0]), seed=seed, threads=threads)
            chosen = _LEVELS[levels.stability_cap > 0]
            self._channels = [levels.channel(min(level, levels.count - 1)) for level in chosen]
        self._result: FixedPointResult | None = None
        self._slope: np.ndarray | None = None
        self.solved = 0

    def values_at(self, z: Sequence[float]) -> dict[str, float]:
        """Values by name at a point of the search."""
        return {
            name: float(value if name == "erf_offset" else math.exp(value))
            for name, value in zip(self.names, z, strict=True)
        }

    def problem_at(self, z: Sequence[float]) -> Problem:
        """The problem with these values."""
        return self._problem.with_values(self.values_at(z))

    def bounds_reached(self, z: Sequence[float]) -> list[str]:
        """A note for each value at a bound of the search."""
        notes = []
        for name, value, (low, high) in zip(self.names, z, self._bounds(), strict=True):
            if min(value - low, high - value) < AT_BOUND:
                notes.append(f"{name} is at a bound of the search, {BOUNDS[name][0]:g} to {BOUNDS[name][1]:g}")
        return notes

    def run(self) -> np.ndarray:
        """The point of least risk."""
        from scipy.optimize import minimize

        self._channel = self._channels[0]
        risks = [self._fresh_risk(z) for z in self._coarse()]
        point, bounds = np.array(self._coarse()[int(np.argmin(risks))]), self._bounds()
        for (radius, position), channel in zip(_SIMPLICES, self._channels, strict=True):
            if channel is not self._channel:
                self.coarser, self._channel = self.values_at(point), channel
            # towards the middle of the range, so that the simplex is inside
            middle = np.mean(bounds, axis=1)
            steps = np.where(point > middle, -radius, radius)
            simplex = np.vstack([point, point + np.diag(steps)])
            options = {"initial_simplex": simplex, "xatol": position, "fatol": math.inf, "maxfev": 150}
            point = minimize(self._risk, point, method="Nelder-Mead", bounds=bounds, options=options).x
        return point

    def _bounds(self) -> list[tuple[float, float]]:
        return [
            BOUNDS[name] if name == "erf_offset" else tuple(math.log(end) for end in BOUNDS[name])
            for name in self.names
        ]

    def _coarse(self) -> list[list[float]]:
        offsets = _COARSE_OFFSETS if "erf_offset" in self.names else (0.0,)
        regs = _COARSE_REGS if set(self.names) - {"erf_offset"} else (1.0,)
        return [
            [offset if name == "erf_offset" else math.log(reg) for name in self.names]
            for reg in regs
            for offset in offsets
        ]

    def _equations(self, problem: Problem) -> Equations:
        return Equations(problem, self._channel.with_activation(problem.activation))

    def _fresh_risk(self, z: Sequence[float]) -> float:
        """Risk of the lowest fixed point from both starts; the next solves start from the last of these."""
        problem = self.problem_at(z)
        self.solved += 1
        if self._channel is None:
            return ridge.solution(problem, rtol=1.0, init=STARTS, seed=0).test_risk
        channel = self._equations(problem).channel
        levels = Ladder(1, 1.0, 0, lambda level: channel)
        paths = [Path(problem, levels, PathOptions(1.0), (name,), starting_point(problem, name)) for name in STARTS]
        for path in paths:
            path.begin()
        best = min(paths, key=lambda path: (not path.converged, path.objective))
        if not best.converged:
            return math.inf
        self._result, self._slope = best.result, best.slope
        return best.states[-1].numbers["test_risk"]

    def _risk(self, z: Sequence[float]) -> float:
        """Risk of the fixed point that continues the last one; from both starts where it cannot be followed."""
        if self._result is None or self._slope is None:
            return self._fresh_risk(z)
        equations = self._equations(self.problem_at(z))
        result, slope = newton(equations, self._result.x, self._slope, tolerance=LOOSEST, chart=overlap_chart())
        if result.status is not Status.CONVERGED:
            return self._fresh_risk(z)
        self.solved += 1
        self._result, self._slope = result, slope
        return equations.evaluate(result.x).numbers["test_risk"]
