"""One token, weights fixed to one: ridge regression on v in closed form (theory.md section 4, 'L = 1')."""

from __future__ import annotations

import math

from ..models.problem import Problem
from ..types import Conjugates, Overlaps, Solution, Status

EPSILON = 2.0**-50


def applies(problem: Problem) -> bool:
    """Whether the problem is ridge regression: L = 1 and an activation that is then identically one."""
    return problem.length.fixed == 1 and problem.activation.combination in ("normalised", "centred")


def solution(problem: Problem, *, rtol: float, init: tuple[str, ...], seed: int) -> Solution:
    """The fixed point of ridge regression; the key decouples: m_k = q_k = 0, V_k = 1/lambda_k.

    V solves lambda V^2 + (lambda + alpha - 1) V = 1; with kappa = alpha V^2/(1 + V)^2
    m = alpha V/(1 + V), q = (m^2 + kappa (1 + Delta^2 - 2 m))/(1 - kappa). The response is -1/(1 + V), so that the
    replicon is kappa < 1.
    """
    alpha, reg, noise = problem.alpha, problem.reg_v, problem.noise
    slope = (alpha - 1.0) + reg  # in this order exact near alpha = 1, where V is sensitive to it
    # sqrt(slope^2 + 4 reg) - slope cancels for slope > 0
    root = math.hypot(slope, 2.0 * math.sqrt(reg))
    V = 2.0 / (slope + root) if slope > 0 else (root - slope) / (2.0 * reg)
    V_hat = alpha / (1.0 + V)
    m = V_hat * V
    kappa = m * V / (1.0 + V)
    q = (m * m + kappa * (1.0 + noise**2 - 2.0 * m)) / (1.0 - kappa)
    risk = 1.0 + noise**2 - 2.0 * m + q
    train = risk / (2.0 * (1.0 + V) ** 2)
    overlaps = Overlaps(0.0, 0.0, 1.0 / problem.reg_k, m, q, V)
    numbers = {**overlaps._asdict(), "test_risk": risk, "train_loss": train, "objective": train + reg * q / (2 * alpha)}
    # cancellation in 1 - kappa and in the risk
    scale = EPSILON * (1.0 + noise**2 + q) / (1.0 - kappa)
    errors = {name: EPSILON * abs(value) + scale for name, value in numbers.items()}
    errors.update(m_k=0.0, q_k=0.0, V_k=EPSILON / problem.reg_k)
    return Solution(
        problem=problem,
        estimator="erm",
        status=Status.CONVERGED,
        message="one token: the key is not used",
        overlaps=overlaps,
        conjugates=Conjugates(0.0, 0.0, 0.0, V_hat, V_hat * risk / (1.0 + V), V_hat),
        test_risk=risk,
        train_loss=train,
        objective=numbers["objective"],
        attention_relevant=1.0,
        errors={**errors, "replicon": scale, "prox_jump": 0.0},
        init=init,
        replicon=kappa,
        prox_jump=0.0,
        rs_stable=True,
        prox_global=True,
        accuracy_met=errors["test_risk"] <= rtol * risk,
        residual=0.0,
        method="closed form (ridge regression)",
        seed=seed,
        rtol=rtol,
    )
