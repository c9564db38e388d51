"""The Python entry point."""

from __future__ import annotations

import math
import warnings
from typing import Literal

from .errors import (
    ConvergenceWarning,
    InvalidProblem,
    MultipleFixedPointsWarning,
    QuadratureWarning,
    StabilityWarning,
)
from .models.problem import Problem
from .registry import ESTIMATORS, load
from .types import Solution


def solve(
    problem: Problem,
    *,
    estimator: Literal["erm", "bayes"] = "erm",
    rtol: float | None = None,
    init: Literal["informed", "uninformed", "both"] = "both",
    start: Solution | None = None,
    seed: int = 0,
    damping: float = 0.0,
    accelerate: bool = True,
    threads: int | None = None,
) -> Solution:
    """The prediction for a problem: for ERM the fixed point of lowest objective (theory.md section 4), for the
    Bayes-optimal estimator that of largest free entropy (section 6; arXiv 2509.21936).

    Parameters
    ----------
    problem : Problem
    estimator : {"erm", "bayes"}
        The Bayes-optimal estimator knows no activation and no penalties.
    rtol : float, optional
        Relative error asked of test_risk, in (0, 1); by default 1e-4 for softmax at L = 2, else 1e-3.
    init : {"informed", "uninformed", "both"}
        Where the iteration starts.
    start : Solution, optional
        An earlier solution, of a nearby problem say, to start from instead.
    seed : int
        Seed of random nodes.
    damping : float
        Weight of the old iterate, in [0, 1).
    accelerate : bool
        Anderson and Newton steps; otherwise plain damped iteration.
    threads : int, optional
        Threads for the averages of ERM; results do not depend on it. By default all cores.

    Returns
    -------
    Solution
        Check `status`, `accuracy_met` and `rs_stable`; a warning is given for each that is not as it should be.

    Raises
    ------
    InvalidProblem
        If an option makes no sense for the problem.
    """
    if not isinstance(problem, Problem):
        raise InvalidProblem(f"problem = {problem!r} is not a problem; allowed: Problem(data=..., alpha=...)")
    if not (start is None or isinstance(start, Solution)):
        raise InvalidProblem(f"start = {start!r} is not a solution; allowed: what an earlier solve returned")
    if not (threads is None or (isinstance(threads, int) and threads >= 1)):
        raise InvalidProblem(f"threads = {threads!r} is no number of threads; allowed: an integer >= 1")
    options = {"rtol": rtol, "init": init, "start": start, "seed": seed, "damping": damping, "accelerate": accelerate}
    if estimator == "erm":
        options["threads"] = threads
    found = load(ESTIMATORS, "estimator", estimator)(problem, **options)
    best = found[0]
    if not best.converged:
        warnings.warn(f"{best.status}: {best.message}", ConvergenceWarning, stacklevel=2)
    elif not best.accuracy_met:
        error = best.errors.get("test_risk", math.nan)
        message = f"test_risk is less accurate than asked: error {error:.1e}, relative {best.rtol:g} asked"
        message += f"; {best.message}" if best.message else ""
        warnings.warn(message, QuadratureWarning, stacklevel=2)
    if best.converged and estimator == "erm" and not best.rs_stable:
        warnings.warn(best.message, StabilityWarning, stacklevel=2)
    converged = sum(solution.converged for solution in found)
    if converged > 1:
        rule = "lowest objective" if estimator == "erm" else "largest free entropy"
        warnings.warn(f"{converged} fixed points found; {rule} returned", MultipleFixedPointsWarning, stacklevel=2)
    return best
