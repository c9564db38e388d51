"""The interface of a data model: a density ratio g(eps, chi) with E g = 1, and a sampler."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np
    import sympy


@dataclass(frozen=True)
class PairLaw:
    """Law of delta_0 = omega_k1 - omega_k2 at L = 2, hidden token 1: density weight(x) N(x; 0, 1) of
    x = (delta_0 - mean)/sqrt(2 q_k).

    Attributes
    ----------
    mean : Expr
    weight : Expr
        In terms of x and the overlaps; its average is 1.
    width : Expr
        Scale in x on which the weight varies near x = 0; infinite if it does not.
    """

    mean: sympy.Expr
    weight: sympy.Expr
    width: sympy.Expr


class DataModel(ABC):
    """P(X | eps, k*) = g(eps, chi*) prod_l N(X_l; 0, I_D), eps uniform on 1..L, exchangeable over tokens.

    chi*_l = X_l.k*/sqrt(D); y = X_eps.v*/sqrt(D) + Delta xi  (arXiv 2509.21936; theory.md section 1).
    `nu` is the signal strength, if the model has one: it stands in tables, and in `pair_law`. Without it their column
    nu is empty. Instances are frozen and hashable.
    """

    name: ClassVar[str]
    nu: float = math.nan
    # the key field is omega_k,l = m_k chi*_l + sqrt(q_k - explained m_k^2) eta_l: 1 if `teacher_scores` draws chi*,
    # 0 if it returns its mean
    explained: ClassVar[float] = 1.0

    @property
    def informed_norm(self) -> float:
        """|k|/sqrt(D) of a key along k* that finds the hidden token without saturating the attention."""
        return 1.0

    @abstractmethod
    def log_weight(self, chi: Sequence[sympy.Expr], eps: int) -> sympy.Expr:
        """log g(eps, chi) as a sympy expression of the token scores, eps counted from 0."""

    def pair_law(self, m_k: sympy.Expr, q_k: sympy.Expr, nu: sympy.Expr, x: sympy.Expr) -> PairLaw | None:
        """Law of delta_0 at L = 2 in closed form, or None if there is none; `nu` stands for `self.nu`."""
        return None

    def score_points(self, length: int) -> int:
        """Uniform numbers that `teacher_scores` takes for one sample."""
        return length + 1

    def teacher_scores(self, points: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores chi* of the tokens, the hidden one first, from uniform points; nodes that no overlap moves.

        By default: chi ~ N(0, I) but for one token, drawn with density p close to that of the hidden one; eps drawn
        with probability g(eps, chi)/sum_l g(l, chi) and swapped to the front, and the sample weighted by
        mean_l g(l, chi)/mean_l h(chi_l), h = p over the normal density.

        Parameters
        ----------
        points : ndarray, shape (n, score_points(length))
            Uniform on the unit cube.
        length : int
            Number of tokens L.

        Returns
        -------
        scores : ndarray, shape (n, L)
        weights : ndarray, shape (n,)
            Average one.

        Raises
        ------
        InvalidProblem
            If `log_weight` is not the log of a density ratio: E g is not one, or g is not exchangeable.
        """
        from .weights import tilted_scores

        return tilted_scores(self, points, length)

    def sample_position(self, rng: np.random.Generator, noise_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw the hidden position from the scores of pure noise and return the shift it adds to the scores.

        Parameters
        ----------
        rng : numpy.random.Generator
        noise_scores : ndarray, shape (n, L)
            Z_l.k*/sqrt(D) of pure-noise tokens Z.

        Returns
        -------
        eps : int ndarray, shape (n,)
        shift : float ndarray, shape (n,)
            X_eps = Z_eps + shift k*/sqrt(D); all other tokens X_l = Z_l.
        """
        raise NotImplementedError(f"{self.name} has no sampler: it cannot be simulated")

    @property
    def norm_penalty(self) -> float:
        """c, where g for a key of any norm is g of this class times exp(-c (|k|^2/D - 1)/2)."""
        return 0.0

    def position_evidence(self, omega: np.ndarray, variance: float, log_likelihood: np.ndarray) -> np.ndarray:
        """Posterior of the hidden position when the scores are uncertain, chi ~ N(omega, variance I), by hand.

        With pi_l = E g(l, chi)/L and Z = sum_l pi_l exp(log_likelihood_l) (theory.md section 6): the posterior
        p_l = pi_l exp(log_likelihood_l)/Z, the score d log Z/d omega_l, the curvature -d^2 log Z/d omega_l^2.
        Factors of g that depend on the norm of the key alone are left to `norm_penalty`.

        Parameters
        ----------
        omega, log_likelihood : ndarray, shape (n, L)
        variance : float
            > 0.

        Returns
        -------
        ndarray, shape (3, n, L)
        """
        raise NotImplementedError(f"{self.name} has no posterior of the position: message passing cannot use it")
