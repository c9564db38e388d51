"""The channel of any activation and any number of tokens, the proximal point left to a kernel (theory.md section 4).

Everything is a sum over tokens of fields that are linear in fixed nodes, so the derivatives of the energy in the
overlaps are sums over tokens of the proximal point times nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from ..models.problem import Problem
from .erm import NOISE, OVERLAPS, EquationSystem, V_k, V_v, m_k, m_v, q_k, q_v, stationarity
from .nodes import GaussianAverage, Moreau, at_prox

token = sympy.Symbol("l", integer=True)
# tokens in the arrays, and the number L in the formulas: fewer where sufficient statistics replace the tokens
n_tokens, L = sympy.Symbol("n_tokens", integer=True, positive=True), sympy.Symbol("length", positive=True)
# 0 or 1, see `replica.models.data.base.DataModel`
explained = sympy.Symbol("explained", real=True)
# nodes: teacher scores, key and value noise by token; projection on the teacher, label noise and weight by sample
star, eta, zeta = (sympy.IndexedBase(name, real=True) for name in ("star", "eta", "zeta"))
x_t, x_R, weight = sympy.symbols("x_t x_R weight", real=True)
# the proximal point and what is computed from it: prediction f, residual r = y - f, sigma, g_k = (chi - omega_k)/V_k
chi, z, sigma, g_k = (sympy.IndexedBase(name, real=True) for name in ("chi", "z", "sigma", "g_k"))
f, r = sympy.symbols("f r", real=True)


def over_tokens(term: sympy.Expr) -> sympy.Sum:
    """Sum over tokens."""
    return sympy.Sum(term, (token, 0, n_tokens - 1))


@dataclass(frozen=True)
class TokenChannel:
    """Everything about the channel that is lowered, in terms of the nodes, the proximal point and the overlaps.

    Attributes
    ----------
    system : EquationSystem
    omega_k, omega_v : Expr
        Fields of token `token`.
    label : Expr
        y. For activations of fixed sum it is measured from the token mean of the value fields, which are centred.
    terms : dict
        The averaged integrands: envelope, its derivatives d_* in the overlaps, and train_loss.
    """

    system: EquationSystem
    omega_k: sympy.Expr
    omega_v: sympy.Expr
    label: sympy.Expr
    terms: dict[str, sympy.Expr]

    def label_coefficients(self) -> dict[str, sympy.Expr]:
        """The label is c_t x_t + c_R x_R: both coefficients and their derivatives in m_v and q_v."""
        found = {f"c_{name}": self.label.coeff(node) for name, node in (("t", x_t), ("R", x_R))}
        moved = {f"{name}_{by}": value.diff(by) for by in (m_v, q_v) for name, value in found.items()}
        return {**found, **moved}


def build(problem: Problem) -> TokenChannel:
    """Derive the channel of `problem`."""
    omega_k = m_k * star[token] + sympy.sqrt(q_k - explained * m_k**2) * eta[token]
    omega_v = sympy.sqrt(q_v) * zeta[token]
    label = _label(problem)
    objective = (
        problem.loss.expression(label, f)
        + over_tokens((chi[token] - omega_k) ** 2) / (2 * V_k)
        + over_tokens((z[token] - omega_v) ** 2) / (2 * V_v)
    )
    # f and sigma are functions of the minimisers chi and z alone, so the envelope theorem holds them fixed
    channel = GaussianAverage(weight * Moreau(objective, chi, z, f), x_t, x_R, star, eta, zeta)

    def reduced(expression: sympy.Expr) -> sympy.Expr:
        proximal = {
            chi[token]: omega_k + V_k * g_k[token],
            z[token]: omega_v + V_v * r * sigma[token],
            f: label - r,
        }
        return _expand_sums(at_prox(expression).xreplace(proximal))

    integrand = channel.integrand
    terms = {"envelope": integrand, **{f"d_{overlap}": integrand.diff(overlap) for overlap in OVERLAPS}}
    terms = {name: reduced(value) for name, value in terms.items()}
    return TokenChannel(
        stationarity(channel),
        omega_k,
        omega_v,
        label,
        {**terms, "train_loss": weight * reduced(problem.loss.expression(label, f))},
    )


def _label(problem: Problem) -> sympy.Expr:
    """y = c omega_{v,1} + tau xi, c = m_v/q_v, tau^2 = 1 - m_v^2/q_v + Delta^2, with x_t the node of omega_{v,1}.

    If sum sigma = S whatever chi, only y - S wbar and d = omega_v - wbar enter, wbar the token mean of omega_v. Then
    y - S wbar = c d_1 + R with R ~ N(0, (S - c)^2 q_v/L + tau^2) independent of d, and x_t is the node of d_1.
    """
    c = m_v / q_v
    variance = 1 - m_v**2 / q_v + NOISE**2
    combination = problem.activation.combination
    if combination != "elementwise":
        total = L if combination == "centred" else sympy.S.One
        variance += (total - c) ** 2 * q_v / L
    return m_v / sympy.sqrt(q_v) * x_t + sympy.sqrt(variance) * x_R


def _expand_sums(expression: sympy.Expr) -> sympy.Expr:
    """Split sums over tokens into their terms and pull out the factors that do not depend on the token."""

    def split(total: sympy.Sum) -> sympy.Expr:
        parts = []
        for term in sympy.Add.make_args(sympy.expand(sympy.simplify(total.function))):
            fixed, varying = term.as_independent(token)
            parts.append(fixed * sympy.Sum(varying, *total.limits))
        return sympy.Add(*parts)

    return expression.replace(lambda node: isinstance(node, sympy.Sum), split)
