"""The multi-head activations as sympy expressions and the gradient of the loss they give (theory-dynamics.md A).

Every activation is an entry u = exp(chi - b), a normaliser Z = kappa + sum_l u over the tokens of a head, and a share
sigma = u/Z. With the loss rho = 1/2 sum_l e_l^2, e_l = w sum_h sigma_hl - delta_l,eps, the derivative with respect to
one field is

    d rho/d chi = w [e d sigma/d chi + sum_{other tokens} e' d sigma'/d chi],

and the last sum needs only A = sum_l e sigma, because d sigma'/d chi is sigma' times a function of sigma alone. Of
bayes-softmax, whose normaliser is over heads and tokens together, only the entry is used here: see `heads_joint`.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from ..errors import UnsupportedExpression

chi, threshold, shift, total = sympy.symbols("chi threshold shift total", real=True)
share, error, error_share, weight = sympy.symbols("share error error_share weight", real=True)
_other, _rest = sympy.symbols("other rest", real=True)


@dataclass(frozen=True)
class Activation:
    """Expressions of one activation.

    `shift` is any constant: entries are exp(chi - b - shift) and kappa becomes kappa e^{-shift}, which leaves the
    shares as they are and keeps the exponentials below one.
    """

    entry: sympy.Expr
    normaliser: sympy.Expr
    slope: sympy.Expr
    floor: bool


_KAPPA = {"softmax": 0, "softmax-1": 1}


def build(name: str) -> Activation:
    """Derive the expressions of the activation `name`."""
    kappa = _KAPPA[name]
    # one entry against another of its group; what else is in the normaliser is _rest
    own = sympy.exp(chi)
    normaliser = own + sympy.exp(_other) + _rest + kappa
    sigma, sigma_other = own / normaliser, sympy.exp(_other) / normaliser
    derivative = _in_shares(sympy.diff(sigma, chi), normaliser)
    coupling = _in_shares(sympy.diff(sigma_other, chi) / sigma_other, normaliser)
    if coupling.has(_other, _rest, chi) or derivative.has(_other, _rest, chi):
        raise UnsupportedExpression(f"the gradient of {name} is not a function of the shares alone")
    slope = weight * (error * derivative + coupling * (error_share - error * share))
    return Activation(entry(), kappa * sympy.exp(-shift) + total, sympy.factor(slope), bool(kappa))


def entry() -> sympy.Expr:
    """What a head gives a token before normalisation, in units of e^shift."""
    return sympy.exp(chi - threshold - shift)


def _in_shares(expression: sympy.Expr, normaliser: sympy.Expr) -> sympy.Expr:
    """Eliminate chi with e^chi = share Z."""
    size = sympy.Symbol("size", positive=True)
    rest = size - sympy.exp(chi) - (normaliser - _rest - sympy.exp(chi))
    return sympy.simplify(sympy.simplify(expression.subs(_rest, rest)).subs(sympy.exp(chi), share * size))
