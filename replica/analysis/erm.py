"""Replica-symmetric ERM: from a problem to its fixed points with error bars (theory.md sections 4, 5, 8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InvalidProblem
from ..models.checks import check_solver
from ..models.problem import Problem
from ..types import Solution
from . import ridge
from .discretise import ladder
from .path import STARTS, Path, PathOptions, starting_point

# two fixed points closer than this in every overlap, relative to its scale, are one
SAME = 1e-4


def fixed_points(
    problem: Problem,
    *,
    rtol: float | None = None,
    init: str = "both",
    start: Solution | None = None,
    seed: int = 0,
    damping: float = 0.0,
    accelerate: bool = True,
    max_evaluations: int = 300,
    threads: int | None = None,
) -> list[Solution]:
    """Every distinct fixed point reached from the starts, lowest objective first, with error estimates.

    Penalties and an offset that are "optimal" are those of least test risk (`replica.analysis.optimal`).

    Nodes grow level by level until the error estimate of test_risk is within `rtol`; each level starts from the last.

    Parameters
    ----------
    rtol : float, optional
        Relative error asked of test_risk; by default 1e-4 for softmax at L = 2 and 1e-3 otherwise.
    init : {"informed", "uninformed", "both"}
    start : Solution, optional
        Start from its overlaps instead.
    seed : int
        Seed of random nodes.
    damping : float
        Weight of the old iterate in [0, 1).
    accelerate : bool
        Anderson and Newton steps; otherwise plain damped iteration.

    Raises
    ------
    InvalidProblem
        For an unknown or impossible start, or options out of range.
    """
    check_solver(rtol, damping, seed)
    if problem.is_population:
        from .population import erm_population

        return [erm_population(problem, rtol)]
    if init not in (*STARTS, "both"):
        raise InvalidProblem(f"init = {init!r} is unknown; known: informed, uninformed, both")
    if problem.unknowns:
        from .optimal import optimise

        options = {"init": init, "start": start, "damping": damping, "accelerate": accelerate}
        return optimise(problem, rtol=rtol, seed=seed, threads=threads, max_evaluations=max_evaluations, **options)
    starts = _starts(problem, init, start)
    if ridge.applies(problem):
        names = tuple(name for name, _ in starts)
        return [ridge.solution(problem, rtol=1e-3 if rtol is None else rtol, init=names, seed=seed)]
    levels = ladder(problem, seed=seed, threads=threads)
    rtol = levels.default_rtol if rtol is None else rtol
    options = PathOptions(rtol, damping, accelerate, max_evaluations)
    paths = [Path(problem, levels, options, (name,), x) for name, x in starts]
    for path in paths:
        path.begin()
    paths = _merge(paths)
    for path in paths:
        path.refine()
    paths = sorted(_merge(paths), key=lambda path: (not path.converged, path.objective))
    solutions = [path.solution(seed) for path in paths]
    lower = [path for path in paths[1:] if not path.converged and path.objective < paths[0].objective]
    if paths[0].converged and lower:
        # it may be the prediction: a user must not take the best of the converged ones for granted
        note = f"the {lower[0].names[0]} start did not converge but had a lower objective, {lower[0].objective:.4g}"
        message = "; ".join(part for part in (solutions[0].message, note) if part)
        solutions[0] = replace(solutions[0], message=message, rs_stable=None)
    return [replace(solution, branch=rank, selected=rank == 0) for rank, solution in enumerate(solutions)]


def _starts(problem: Problem, init: str, start: Solution | None) -> list[tuple[str, np.ndarray]]:
    if start is not None:
        x = np.array(start.overlaps)
        m_k, q_k, V_k, m_v, q_v, V_v = x
        inside = np.all(np.isfinite(x)) and q_k > m_k**2 and q_v > m_v**2 and min(V_k, V_v) > 0.0
        if not (ridge.applies(problem) or inside):
            raise InvalidProblem(f"start has impossible overlaps {start.overlaps}; allowed: m^2 < q, V > 0, all finite")
        return [("given", x)]
    names = STARTS if init == "both" else (init,)
    return [(name, starting_point(problem, name)) for name in names]


def _merge(paths: list[Path]) -> list[Path]:
    """One path for each distinct fixed point, keeping the names of all starts that reached it."""
    distinct: list[Path] = []
    for path in paths:
        for other in distinct:
            x, y = path.states[-1].x, other.states[-1].x
            if path.converged and other.converged and np.all(np.abs(x - y) <= SAME * path.chart.scale(y)):
                other.names += path.names
                break
        else:
            distinct.append(path)
    return distinct
