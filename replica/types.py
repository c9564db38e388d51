"""Frozen values that travel through the pipeline: overlaps, statuses, solutions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .models.problem import Problem

NAN = math.nan


class Status(StrEnum):
    """How an iteration ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    NONFINITE = "nonfinite"
    OUT_OF_DOMAIN = "out_of_domain"
    FAILED = "failed"  # the solver raised an error; the message says which


class Overlaps(NamedTuple):
    """Order parameters of theory.md section 3: m = k.k*/D, q = |k|^2/D, V; the same for the values."""

    m_k: float
    q_k: float
    V_k: float
    m_v: float
    q_v: float
    V_v: float


class Conjugates(NamedTuple):
    """Conjugate order parameters of theory.md section 4, in the order of `Overlaps`."""

    m_hat_k: float
    q_hat_k: float
    V_hat_k: float
    m_hat_v: float
    q_hat_v: float
    V_hat_v: float


@dataclass(frozen=True)
class Solution:
    """One fixed point, or one experiment: what was asked, what came out, how far to trust it.

    Numbers that do not exist for the estimator are nan. Scaling: overlaps are per D, risks per sample.

    Attributes
    ----------
    problem : Problem
    estimator : str
        "erm" or "bayes" for theory; experiments use their own names.
    overlaps, conjugates
        Order parameters and their conjugates.
    test_risk : float
        E (y - f)^2, noise included.
    train_loss : float
        Mean of (y - f)^2/2 on the training set.
    objective : float
        Minimum of the ERM objective per sample, e/alpha.
    free_entropy : float
        Bayes only, per D.
    attention_relevant : float
        E sigma_1, the mean attention on the hidden token.
    errors : mapping
        Absolute error estimate by name of number.
    init : tuple of str
        Starts that reached this point.
    branch : int
        Rank among the distinct fixed points, 0 the best.
    selected : bool
        Whether this point is the prediction.
    replicon : float
        Spectral radius of the replica-symmetry perturbation operator; < 1 is stable (theory.md section 8).
    prox_jump : float
        Share of V_hat_k due to jumps of the proximal point (theory.md section 8).
    off_m : float
        Growth of k.v*, v.k*, k.v under one step of the equations; < 1 returns to the manifold M (theory.md section 3).
    rs_stable : bool or None
        Replica-symmetric stability; None if unresolved.
    prox_global : bool or None
        Whether every proximal point is guaranteed to be a global minimum.
    accuracy_met : bool or None
        Whether the error of test_risk is within rtol.
    optimised : tuple of str
        Which of reg_k, reg_v and erf_offset were set to the values of least test risk.
    residual : float
        Undamped max |F(x) - x| / scale, the scale of m being sqrt(q), of q and V themselves.
    iterations : int
        Evaluations of the map F.
    d, seeds : int or None
        Experiments only: dimension D, and number of data sets averaged; errors are standard errors over these.
    distance_k, minima : float
        Experiments from several starts: mean of |k - k'|^2/D over the minimisers k' from the other starts on the same
        data set, and mean number of distinct minima of a data set.
    """

    problem: Problem
    estimator: str
    status: Status
    message: str = ""
    overlaps: Overlaps = Overlaps(NAN, NAN, NAN, NAN, NAN, NAN)
    conjugates: Conjugates = Conjugates(NAN, NAN, NAN, NAN, NAN, NAN)
    test_risk: float = NAN
    train_loss: float = NAN
    objective: float = NAN
    free_entropy: float = NAN
    attention_relevant: float = NAN
    errors: Mapping[str, float] = field(default_factory=dict)
    init: tuple[str, ...] = ()
    branch: int = 0
    selected: bool = True
    replicon: float = NAN
    prox_jump: float = NAN
    off_m: float = NAN
    rs_stable: bool | None = None
    prox_global: bool | None = None
    accuracy_met: bool | None = None
    optimised: tuple[str, ...] = ()
    residual: float = NAN
    iterations: int = 0
    method: str = ""
    nodes: int = 0
    seed: int = 0
    rtol: float = NAN
    d: int | None = None
    seeds: int | None = None
    distance_k: float = NAN
    minima: float = NAN

    @property
    def converged(self) -> bool:
        """Whether the iteration reached its tolerance."""
        return self.status is Status.CONVERGED

    @property
    def cos_k(self) -> float:
        """m_k/sqrt(q_k), cosine of k and k*."""
        return _cosine(self.overlaps.m_k, self.overlaps.q_k)

    @property
    def cos_v(self) -> float:
        """m_v/sqrt(q_v), cosine of v and v*."""
        return _cosine(self.overlaps.m_v, self.overlaps.q_v)

    def to_row(self) -> dict[str, Any]:
        """The flat row of the one table schema (`replica.schema.COLUMNS`)."""
        from .schema import row_of

        return row_of(self)


def _cosine(m: float, q: float) -> float:
    return m / math.sqrt(q) if q > 0 else (0.0 if q == 0 else NAN)
