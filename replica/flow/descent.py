"""Plain gradient descent, compiled; recorded at steps that are even in log time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import kernels
from .plan import Plan
from .problem import LOSSES, MAPS, FlowProblem
from .result import FlowResult, Setting, assemble, failure, outcome

CHUNK = 200_000  # steps between two looks at the keyboard


def descend(
    problem: FlowProblem, plan: Plan, setting: Setting, times: np.ndarray, report: Callable[[float], None]
) -> FlowResult:
    """Make round(time/lr) steps V <- V - lr grad_V, A <- A - lr grad_A; int_gamma sums lr gamma.

    The records are the steps nearest to `times`, each once, so early log times below one step are merged.
    """
    marks = np.unique(np.rint(times / plan.lr).astype(np.int64))
    W, A, integral = setting.W, setting.A, np.zeros(1)
    kinds = LOSSES.index(problem.loss), MAPS.index(problem.map), problem.tied
    dW, dA = np.empty_like(W), np.empty_like(A)
    stop = -1.0 if plan.stop is None else plan.stop
    states, steps, status = [np.concatenate([W.ravel(), A.ravel(), integral])], [0], kernels.RUNNING
    for mark in marks[1:]:
        done = steps[-1]
        while done < mark and status == kernels.RUNNING:
            many, status = kernels.descend(
                min(mark - done, CHUNK), plan.lr, stop, *kinds, W, A, *setting.constants, dW, dA, setting.work, integral
            )
            done += many
            report(np.log1p(done * plan.lr) / np.log1p(plan.time))
        state = np.concatenate([W.ravel(), A.ravel(), integral])
        if done > steps[-1] and np.isfinite(state).all():
            states.append(state)
            steps.append(int(done))
        if status != kernels.RUNNING:
            break
    made = np.array(steps)
    good = np.stack(states)
    if status == kernels.NONFINITE:
        verdict = failure(problem, good[-1], f"lr = {plan.lr:g} may be too large")
    else:
        verdict = outcome(plan.stop, status == kernels.REACHED)
    return assemble(problem, plan, verdict, made * plan.lr, made, good)
