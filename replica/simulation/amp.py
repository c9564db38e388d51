"""Experiment `experiment-amp`: message passing for the Bayes posterior of (k*, v*) (theory.md sections 6 and 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..models.problem import Problem
from ..types import Status
from .data import Dataset, generator
from .risk import fresh_risk, gram_matrix
from .summary import Run, over_seeds
from .tokens import Tokens

_RISK_SAMPLES = 50_000
_TRUST = 3.0  # largest ratio of the curvature of v and its Nishimori value; only runs out of control reach it
_WINDOW = 20  # steps between two looks at the progress


@dataclass(frozen=True, kw_only=True)
class Posterior(Run):
    """Where message passing ended on one data set; see `Run` for the rest.

    Attributes
    ----------
    residual : float
        Largest root-mean-square change of an entry of (k, v) under one undamped step; entries have scale 1.
    iterations : int
        Steps, each with two products with the tokens.
    V_k, V_v : float
        Posterior variances of an entry, as the algorithm believes them: 1 - q on the Nishimori line.
    """

    estimator = "experiment-amp"
    method = "amp"
    measured = ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v", "test_risk", "attention_relevant")

    V_k: float
    V_v: float


def message_passing(
    dataset: Dataset, *, damping: float = 0.5, tolerance: float = 1e-4, max_iter: int = 1000, threads: int | None = None
) -> Posterior:
    """Run approximate message passing from the prior mean (k = v = 0) and measure the estimate.

    With a in {k, v}, priors N(0, I), V_a the posterior variance of an entry, scores omega_a = X a/sqrt(D) - V_a g_a
    and g_a = d log Z/d omega_a, where

        Z = sum_l pi_l(omega_k; V_k) N(y; omega_{v,l}, V_v + Delta^2),

    one step is  b_a = -sum d g_a/d omega_a / D,  V_a = 1/(1 + c_a + b_a),  a <- V_a (X^T g_a/sqrt(D) + b_a a), with
    c_k = alpha `norm_penalty`, c_v = 0. On the Nishimori line c_a + b_a = sum g_a^2/D; iterating with that alone runs
    away to V = 0 at small noise, and b_v alone fluctuates to negative values near exact recovery, so b_v is kept within
    a factor three of it. Then v is made orthogonal to k, as v* is to k*: along k* the tokens have a mean or a tilt,
    unlike a random matrix, and without this step errors of v in that direction oscillate and grow. Damping weighs the
    old g, a and V; it is raised when the iteration oscillates without shrinking.

    Parameters
    ----------
    dataset : Dataset
    damping : float
        0 <= damping < 1.
    tolerance : float
        On `Posterior.residual`.
    max_iter : int
    threads : int, optional
        Threads for the tokens; all cores by default. Results do not depend on it.
    """
    problem, dimension = dataset.problem, dataset.dimension
    tokens, state = Tokens(dataset, threads), _State.prior(dataset)
    residual, checked, steps = math.inf, math.inf, 0
    with tokens.running(), np.errstate(all="ignore"):  # a run that overflows ends as nonfinite
        while steps < max_iter and residual > tolerance:
            residual = state.step(tokens, damping if steps else 0.0)
            steps += 1
            if steps % _WINDOW == 0:
                if state.oscillates and residual > 0.5 * checked:
                    damping = 0.5 * (1.0 + damping)
                checked = residual
    if not math.isfinite(residual):
        status, message = Status.NONFINITE, f"the messages are not finite after {steps} steps; use a larger damping"
    elif residual > tolerance:
        status, message = Status.MAX_ITER, f"residual {residual:.1e} > {tolerance:g} after {steps} steps"
    else:
        status, message = Status.CONVERGED, ""
    gram = gram_matrix(dataset, state.weights)
    risk = (math.nan,) * 3
    if status is not Status.NONFINITE:
        rng = generator(dataset.seed, dimension, "test")
        risk = fresh_risk(problem, state.attention(problem), gram, rng, _RISK_SAMPLES)[:3]
    return Posterior(
        seed=dataset.seed,
        dimension=dimension,
        start="uninformed",
        status=status,
        message=message,
        residual=residual,
        iterations=steps,
        m_k=float(gram[0, 1]),
        q_k=float(gram[1, 1]),
        V_k=float(state.variances[0]),
        m_v=float(gram[2, 3]),
        q_v=float(gram[3, 3]),
        V_v=float(state.variances[1]),
        test_risk=risk[0],
        test_risk_err=risk[1],
        attention_relevant=risk[2],
    )


@dataclass
class _State:
    """Estimates (k, v), their variances, the messages g of every group, shape (2, n, L), and the last change."""

    weights: np.ndarray
    variances: np.ndarray
    messages: list[np.ndarray]
    change: np.ndarray
    oscillates: bool = False

    @classmethod
    def prior(cls, dataset: Dataset) -> _State:
        messages = [np.zeros((2, *group.tokens.shape[:2])) for group in dataset.groups]
        nothing = np.zeros((2, dataset.dimension))
        return cls(nothing, np.ones(2), messages, nothing)

    def attention(self, problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
        """Posterior of the position given the scores of a fresh sample, before its label is seen."""
        variance = self.variances[0]
        return lambda chi: problem.data.position_evidence(chi, variance, np.zeros_like(chi))[0]

    def step(self, tokens: Tokens, damping: float) -> float:
        """One damped step; returns the change of the undamped one."""
        dataset = tokens.dataset
        dimension, data = dataset.dimension, dataset.problem.data
        width = self.variances[1] + dataset.problem.noise**2
        curvature = np.zeros(2)
        for scores, messages, group in zip(tokens.forward(self.weights), self.messages, dataset.groups, strict=True):
            omega_k, omega_v = scores - self.variances[:, None, None] * messages
            misfit = (group.label[:, None] - omega_v) / np.sqrt(width)
            posterior, score, bend = data.position_evidence(omega_k, self.variances[0], -0.5 * misfit**2)
            messages *= damping
            messages += (1.0 - damping) * np.stack([score, posterior * misfit / np.sqrt(width)])
            bend_v = np.sum(posterior * (1.0 - (1.0 - posterior) * misfit**2)) / width
            curvature += np.array([np.sum(bend), bend_v]) / dimension
        energy = np.sum([np.sum(messages[1] ** 2) for messages in self.messages]) / dimension
        curvature[1] = np.clip(curvature[1], energy / _TRUST, energy * _TRUST)
        prior = 1.0 + np.array([data.norm_penalty * dataset.samples / dimension, 0.0])
        variances = 1.0 / np.maximum(prior + curvature, 1.0)
        weights = variances[:, None] * (tokens.backward(self.messages) + curvature[:, None] * self.weights)
        norm = weights[0] @ weights[0]
        if norm > 0:
            weights[1] -= (weights[1] @ weights[0] / norm) * weights[0]
        change = weights - self.weights
        self.oscillates = bool(np.sum(change * self.change) < 0)
        self.change = change
        self.weights = damping * self.weights + (1.0 - damping) * weights
        self.variances = damping * self.variances + (1.0 - damping) * variances
        return float(np.sqrt(np.max(np.mean(change**2, axis=1))))


def experiments(
    problem: Problem,
    dimension: int,
    seeds: Sequence[int],
    *,
    damping: float = 0.5,
    tolerance: float = 1e-4,
    max_iter: int = 1000,
    threads: int | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> list[Posterior]:
    """Message passing over seeds, one data set in memory at a time.

    Raises
    ------
    InvalidProblem
        See `over_seeds`.
    """

    def run(dataset: Dataset) -> list[Posterior]:
        if progress is not None:
            progress(dataset.seed, "uninformed")
        return [message_passing(dataset, damping=damping, tolerance=tolerance, max_iter=max_iter, threads=threads)]

    return over_seeds(problem, dimension, seeds, run)
