"""Replica-symmetric energy of ERM and the twelve equations of its stationarity (theory.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from .nodes import GaussianAverage

OVERLAPS = m_k, q_k, V_k, m_v, q_v, V_v = sympy.symbols("m_k q_k V_k m_v q_v V_v", real=True)
CONJUGATES = sympy.symbols("m_hat_k q_hat_k V_hat_k m_hat_v q_hat_v V_hat_v", real=True)
# derivatives of the channel average E M in the overlaps
SLOPES = sympy.symbols(" ".join(f"d_{overlap}" for overlap in OVERLAPS), real=True)
ALPHA, REG_K, REG_V, NOISE, NU = sympy.symbols("alpha reg_k reg_v noise nu", positive=True)


@dataclass(frozen=True)
class PriorEquations:
    """The half of the equations that does not know the data: linear in the slopes of the channel average."""

    overlaps: dict[sympy.Symbol, sympy.Expr]
    conjugates: dict[sympy.Symbol, sympy.Expr]


@dataclass(frozen=True)
class EquationSystem:
    """The energy per D and what makes it stationary.

    Attributes
    ----------
    energy : Expr
        e = sum_a [m^_a m_a - V^_a q_a/2 + q^_a V_a/2 - (m^_a^2 + q^_a)/(2 (lambda_a + V^_a))] + alpha E M.
    channel : GaussianAverage
        E M, the average Moreau envelope of the loss, for the given data, activation and length.
    overlaps : dict
        Each overlap as a function of the conjugates.
    conjugates : dict
        Each conjugate as a derivative of the channel term, in terms of the proximal point.
    """

    energy: sympy.Expr
    channel: GaussianAverage
    overlaps: dict[sympy.Symbol, sympy.Expr]
    conjugates: dict[sympy.Symbol, sympy.Expr]


def prior_energy() -> sympy.Expr:
    """The part of the energy without data: conjugate pairs and the ridge penalties."""
    total = sympy.S.Zero
    for m, q, V, m_hat, q_hat, V_hat, reg in (
        (*OVERLAPS[:3], *CONJUGATES[:3], REG_K),
        (*OVERLAPS[3:], *CONJUGATES[3:], REG_V),
    ):
        total += m_hat * m - V_hat * q / 2 + q_hat * V / 2 - (m_hat**2 + q_hat) / (2 * (reg + V_hat))
    return total


def prior_equations() -> PriorEquations:
    """Stationarity of the energy with the channel known through its slopes.

    The energy is linear in the overlaps apart from the channel term, and its derivatives in the conjugates are linear
    in the overlaps, so sympy solves both halves in closed form.
    """
    prior = prior_energy()
    overlaps = sympy.solve([prior.diff(hat) for hat in CONJUGATES], OVERLAPS, dict=True)[0]
    linear = [prior.diff(overlap) + ALPHA * slope for overlap, slope in zip(OVERLAPS, SLOPES, strict=True)]
    conjugates = sympy.solve(linear, CONJUGATES, dict=True)[0]
    return PriorEquations(
        {overlap: sympy.factor(overlaps[overlap]) for overlap in OVERLAPS},
        {hat: conjugates[hat] for hat in CONJUGATES},
    )


def stationarity(channel: GaussianAverage) -> EquationSystem:
    """Make the energy prior + alpha `channel` stationary in all twelve order parameters."""
    prior = prior_equations()
    slopes = {slope: channel.diff(overlap) for overlap, slope in zip(OVERLAPS, SLOPES, strict=True)}
    conjugates = {hat: value.subs(slopes) for hat, value in prior.conjugates.items()}
    return EquationSystem(prior_energy() + ALPHA * channel, channel, prior.overlaps, conjugates)
