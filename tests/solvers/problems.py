"""A catalogue of fixed-point problems with exact answers, some of which have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MapProblem:
    """F, a start, and the fixed point; `contracts` says whether the plain iteration converges."""

    function: Callable[[np.ndarray], np.ndarray]
    start: np.ndarray
    answer: np.ndarray
    contracts: bool


def _linear(eigenvalues, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    matrix, answer = basis @ np.diag(eigenvalues) @ basis.T, rng.normal(size=len(eigenvalues))
    return MapProblem(
        lambda x: answer + matrix @ (x - answer), np.zeros(len(answer)), answer, max(np.abs(eigenvalues)) < 1
    )


DOTTIE = 0.7390851332151607
PROBLEMS = {
    "contraction": _linear([0.5, -0.3, 0.1, 0.0, 0.2, 0.4], 0),
    "slow": _linear([0.97, 0.5, 0.2, -0.4, 0.1, 0.0], 1),
    "oscillating": _linear([-0.97, 0.5, 0.2], 2),
    "expanding": _linear([-1.6, 0.5, 0.2], 3),
    "cosine": MapProblem(np.cos, np.array([1.0]), np.array([DOTTIE]), True),
    "square root": MapProblem(lambda x: (x + 2 / x) / 2, np.array([5.0]), np.array([np.sqrt(2)]), True),
    "coupled": MapProblem(
        lambda x: np.array([np.sin(x[1]) / 2, np.cos(x[0]) / 2]),
        np.array([2.0, -3.0]),
        np.array([0.23372550195872077, 0.48640515466592127]),
        True,
    ),
    "constant": MapProblem(lambda x: np.array([3.0, -1.0]), np.array([0.0, 0.0]), np.array([3.0, -1.0]), True),
}
