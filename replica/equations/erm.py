"""Replica-symmetric energy of ERM and the twelve equations of its stationarity (theory.md section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from .nodes import GaussianAverage

OVERLAPS = m_k, q_k, V_k, m_v, q_v, V_v = sympy.symbols("m_k q_k V_k m_v q_v V_v", real=True)
CONJUGATES = m_hat_k, q_hat_k, V_hat_k, m_hat_v, q_hat_v, V_hat_v = sympy.symbols(
    "m_hat_k q_hat_k V_hat_k m_hat_v q_hat_v V_hat_v", real=True
)
ALPHA, REG_K, REG_V, NOISE, NU = sympy.symbols("alpha reg_k reg_v noise nu", positive=True)


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


def stationarity(channel: GaussianAverage) -> EquationSystem:
    """Make the energy stationary in all twelve order parameters.

    The energy is linear in the overlaps apart from the channel term, and its derivatives in the conjugates are linear
    in the overlaps, so sympy solves both halves in closed form.
    """
    prior = prior_energy()
    energy = prior + ALPHA * channel
    overlaps = sympy.solve([prior.diff(hat) for hat in CONJUGATES], OVERLAPS, dict=True)[0]
    slopes = sympy.symbols("slope:6")
    linear = [prior.diff(overlap) + ALPHA * slope for overlap, slope in zip(OVERLAPS, slopes, strict=True)]
    solved = sympy.solve(linear, CONJUGATES, dict=True)[0]
    values = {slope: channel.diff(overlap) for overlap, slope in zip(OVERLAPS, slopes, strict=True)}
    conjugates = {hat: solved[hat].subs(values) for hat in CONJUGATES}
    ordered = {overlap: sympy.factor(overlaps[overlap]) for overlap in OVERLAPS}
    return EquationSystem(energy, channel, ordered, conjugates)
