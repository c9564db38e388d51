"""Train a problem: adaptive flow in log time, or plain gradient descent, with the same result object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .descent import descend
from .integrate import integrate
from .plan import Plan
from .problem import FlowProblem
from .result import FlowResult, Setting

COARSER = 30.0
WITH_ERROR = ("loss", "max_s", "int_gamma")


def train(problem: FlowProblem, plan: Plan, progress: Callable[[float], None] | None = None) -> FlowResult:
    """Train `problem` as `plan` says; `progress` is called with the fraction of log time done.

    The flow is integrated twice, at rtol and at 30 rtol; twice the change of a number is its error estimate, which is
    that of the coarser run and so on the safe side for the finer one that is returned.

    Returns
    -------
    FlowResult
        With the states up to the last good time; failures are a status with a message, the same object either way.

    Raises
    ------
    InvalidProblem
        If the plan does not fit the problem (see `Plan.check`).
    """
    plan.check(problem)
    report = progress or (lambda _: None)
    times = np.expm1(np.linspace(0.0, np.log1p(plan.time), plan.records + 1))
    times[-1] = plan.time
    if plan.method == "descent":
        return descend(problem, plan, Setting.of(problem), times, report)
    fine = integrate(problem, plan, Setting.of(problem), times, report)
    loose = replace(plan, rtol=min(COARSER * plan.rtol, 0.1), stop=None)
    coarse = integrate(problem, loose, Setting.of(problem), fine.t, report)
    return replace(fine, errors=_changes(fine, coarse))


def _changes(fine: FlowResult, coarse: FlowResult) -> dict[str, np.ndarray]:
    """Twice the largest change so far, as errors of the state outlive their cause, and rounding of the largest value.

    The loss falls by many orders, so its own change at each time is taken.
    """
    errors = {}
    for name in WITH_ERROR:
        a, b = fine.scalars[name], coarse.scalars[name]
        errors[name] = np.full(len(a), np.nan)  # times the coarse run did not reach have no estimate
        with np.errstate(invalid="ignore"):  # a state on its way to overflow has no error
            change = np.abs(a[: len(b)] - b)
            sofar = change if name == "loss" else np.fmax.accumulate(change)
            errors[name][: len(b)] = 2 * sofar + 4 * np.finfo(float).eps * np.max(np.abs(a))
    return errors
