"""Pruning: the risk when the heads that matter least are removed one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .averages import build_averages
from .optimum import Optimum, choosing_risk, descend, fresh_risk, leading_direction, with_heads
from .problem import HeadsProblem


def prune(
    found: Optimum, *, retrain: bool, seed: int = 0, progress: Callable[[float], None] | None = None
) -> list[dict[str, Any]]:
    """Greedy removal down to one head: each time the head whose absence raises the risk least.

    Parameters
    ----------
    found : Optimum
        Where pruning starts; its number of nodes is used throughout.
    retrain : bool
        Whether the heads that are left are trained again, from where they are, after each removal.

    Returns
    -------
    list of dict
        removed, heads_left, risk, risk_err (two standard errors on fresh nodes), retrained.
    """
    problem, samples = found.problem, found.samples
    m, b, c = found.state.m, found.state.b, leading_direction(found.state.r)
    rows = [_row(problem, 0, m, b, c, samples, seed, retrain)]
    for removed in range(1, problem.heads):
        m, b, c = _without_least(problem, m, b, c, samples, seed)
        left = with_heads(problem, problem.heads - removed)
        if retrain:
            _, *trained = descend(build_averages(left, samples, c.shape[1], seed + 1), m, b, c, iterations=300)
            # training can fit its nodes where few of them decide the risk: it must gain on others too
            m, b, c = min((m, b, c), tuple(trained), key=lambda state: choosing_risk(left, *state, samples, seed))
        rows.append(_row(left, removed, m, b, c, samples, seed, retrain))
        if progress is not None:
            progress(removed / (problem.heads - 1))
    return rows


def _without_least(problem: HeadsProblem, m: np.ndarray, b: np.ndarray, c: np.ndarray, samples: int, seed: int):
    left = with_heads(problem, len(b) - 1)
    nodes = build_averages(left, samples, c.shape[1], seed + 1)
    candidates = [tuple(np.delete(part, h, axis=0) for part in (m, b, c)) for h in range(len(b))]
    risks = [nodes(one_m, one_c, one_b).risk for one_m, one_b, one_c in candidates]
    return candidates[int(np.argmin(risks))]


def _row(problem, removed, m, b, c, samples, seed, retrain) -> dict[str, Any]:
    risk, error = fresh_risk(problem, m, b, c, samples, [seed, 3])
    return {
        "removed": removed,
        "heads_left": problem.heads,
        "retrained": retrain,
        "risk": risk,
        "risk_err": error,
    }
