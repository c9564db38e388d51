"""The reduced system in (u, A): the second road to the same numbers, in plain numpy and with another integrator.

Where every pull on beta is along beta*, V(t) = V(0) + beta* w(t)^T and the flow closes on u = V^T beta*
(theory-dynamics.md part B, after arXiv 2603.06248): with s_t = softmax(A_t) over T rows,

    du/dt = mean_t gamma_t |beta*|^2 s_t,    dA_t/dt = (gamma_t/T) (diag s_t - s_t s_t^T) u,

gamma = 1/(1 + exp(<u, s>)) for logistic and 1 - <u, s>/|beta*|^2 for square. Square needs V(0) = 0.
"""

from __future__ import annotations

import numpy as np

from ..errors import IntegrationError, InvalidProblem
from .problem import FlowProblem


def check_reducible(problem: FlowProblem) -> None:
    """Refuse a problem whose flow does not close on (u, A).

    Raises
    ------
    InvalidProblem
        Unless softmax, untied, and logistic, or square without design from V(0) = 0.
    """
    closes = problem.loss == "logistic" or (
        problem.loss == "square" and problem.condition is None and problem.scale_v == 0
    )
    if not closes or problem.map != "softmax" or problem.tied:
        raise InvalidProblem(
            f"loss = {problem.loss!r}, map = {problem.map!r} has no reduced flow; allowed: untied softmax with "
            "logistic, or with square without condition from scale_v = 0"
        )


def reduced_velocity(problem: FlowProblem, u: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """(du/dt, dA/dt, mean gamma) at u (tokens) and A (rows, tokens)."""
    scale = problem.norm**2
    s = np.exp(A - A.max(axis=1, keepdims=True))
    s /= s.sum(axis=1, keepdims=True)
    margin = s @ u
    gamma = np.exp(-np.logaddexp(0.0, margin)) if problem.loss == "logistic" else 1.0 - margin / scale
    rows = len(A)
    return scale * (gamma @ s) / rows, gamma[:, None] * s * (u - margin[:, None]) / rows, float(gamma.mean())


def reduced_flow(problem: FlowProblem, times: np.ndarray, rtol: float = 1e-9) -> tuple[np.ndarray, ...]:
    """(u, A, int gamma) at `times`, integrated by Radau in log(1 + t).

    Raises
    ------
    InvalidProblem
        If the flow does not close (see `check_reducible`).
    IntegrationError
        If the integrator gives up.
    """
    from scipy.integrate import solve_ivp

    check_reducible(problem)
    u, A = _start(problem)

    def right_side(tau: float, y: np.ndarray) -> np.ndarray:
        du, dA, gamma = reduced_velocity(problem, y[: u.size], y[u.size : -1].reshape(A.shape))
        return np.concatenate([du, dA.ravel(), [gamma]]) * np.exp(tau)

    tau = np.log1p(times)
    y = np.concatenate([u, A.ravel(), [0.0]])
    smallest = min((scale for scale in (problem.scale_v, problem.scale_a) if scale), default=1.0)
    found = solve_ivp(right_side, (0.0, tau[-1]), y, "Radau", tau, rtol=rtol, atol=1e-3 * rtol * smallest)
    if not found.success:
        raise IntegrationError(f"the integrator of the reduced flow failed: {found.message}")
    return found.y[: u.size].T, found.y[u.size : -1].T.reshape(-1, *A.shape), found.y[-1]


def reduced_descent(problem: FlowProblem, lr: float, marks: np.ndarray) -> tuple[np.ndarray, ...]:
    """(u, A, sum lr gamma) after the steps `marks` of gradient descent, which closes just like the flow.

    Raises
    ------
    InvalidProblem
        If the flow does not close (see `check_reducible`).
    """
    check_reducible(problem)
    u, A = _start(problem)
    integral = 0.0
    found = []
    for step in range(marks[-1] + 1):
        if step == marks[len(found)]:
            found.append((u.copy(), A.copy(), integral))
        du, dA, gamma = reduced_velocity(problem, u, A)
        u += lr * du
        A += lr * dA
        integral += lr * gamma
    return tuple(np.array(part) for part in zip(*found, strict=True))


def _start(problem: FlowProblem) -> tuple[np.ndarray, np.ndarray]:
    W, A, target, _ = problem.arrays()
    return W @ target, A
