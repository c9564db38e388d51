"""The risk of one normaliser over all heads and tokens, reduced to averages over a single token (bayes-softmax).

With u_hl = exp(chi_hl - b_h), w_l = sum_h u_hl and W = sum_l w_l the attention is s_l = w_l/W, and every average that
the flow needs is a sum of monomials u^a w^b W^-k of degree zero. Tokens are independent given which one is informative:

    W^-k = int_0^inf s^{k-1} exp(-s W) ds/(k-1)!

turns each into one integral over log s of products of single-token averages (theory-dynamics.md A; as for E p_eps in
theory.md section 6). All the powers of s are absorbed in x = s w, s u. Written with

    inf_j = E_1 x^j e^{-x}  (informative token),   noise_j = E_0 x^j e^{-x}  (another token),   power_k = noise_0^{n-k},

n = L - 1 the number of other tokens.
"""

from __future__ import annotations

import sympy

n, x = sympy.symbols("n x", real=True)
inf = sympy.symbols("inf_0:5", real=True)
noise = sympy.symbols("noise_0:5", real=True)
power = sympy.symbols("power_0:5", real=True)
# the weight of the token looked at, of the informative one if that is another, W, and the sum of w^2 over r more tokens
_w, _v, _total, _squares = sympy.symbols("w v W Q", positive=True)
DEGREE = 4  # of the polynomials in x


def density() -> sympy.Expr:
    """(R - 1) per unit of log s: R = E (s_1 - 1)^2 + E sum_{l>1} s_l^2."""
    risk = (_w / _total - 1) ** 2 + _squares / _total**2 - 1
    return sum(value * inf[j] for j, value in _single(risk, n, informative=True).items())


def slopes() -> tuple[list[sympy.Expr], list[sympy.Expr]]:
    """Polynomials p(x), as coefficients, with dR/2 = E_1 p_1(x) e^{-x} dx + E_0 p_0(x) e^{-x} dx per unit of log s."""
    value = density() / 2
    by_inf = {j: sympy.diff(value, inf[j]) for j in range(DEGREE + 1)}
    by_noise = {j: sympy.diff(value, noise[j]) for j in range(1, DEGREE + 1)}
    by_noise[0] = sum((n - k) * power[k + 1] * sympy.diff(value, power[k]) for k in range(DEGREE))
    # d(x^j e^{-x}) = (j x^{j-1} - x^j) e^{-x} dx
    return tuple(
        _coefficients(sum(factor * (j * x ** (j - 1) - x**j) for j, factor in parts.items()))
        for parts in (by_inf, by_noise)
    )


def squares() -> tuple[list[sympy.Expr], list[sympy.Expr]]:
    """Polynomials p(x), as coefficients: E sum_l rho_hl rho_kl = E_1 y_h y_k p_1(x) e^{-x} + E_0 y_h y_k p_0(x) e^{-x}.

    y_h = s u_h; rho_hl = u_hl/W (e_l - sum_l' s_l' e_l') with e = s - delta, sum_l' s_l' e_l' = sum_l' s_l'^2 - s_1.
    """
    first = (2 * _w / _total - 1 - (_w**2 + _squares) / _total**2) ** 2 / _total**2
    other = (_w / _total + _v / _total - (_w**2 + _v**2 + _squares) / _total**2) ** 2 / _total**2
    mine = _single(first, n, informative=True)
    theirs = {j: n * value for j, value in _single(other, n - 1, informative=False).items()}
    return tuple(_coefficients(sum(value * x**j for j, value in parts.items())) for parts in (mine, theirs))


def _single(expression: sympy.Expr, others: sympy.Expr, *, informative: bool) -> dict[int, sympy.Expr]:
    """Average all but the token looked at: coefficient of w^j e^{-sw} in units where s = 1, for each j.

    `others` noise tokens are in Q. Of `informative` False the informative token is v.
    """
    gone = n - others  # noise tokens that are not in Q
    moments = {
        0: power[gone],
        1: others * noise[2] * power[gone + 1],
        2: others * noise[4] * power[gone + 1] + others * (others - 1) * noise[2] ** 2 * power[gone + 2],
    }
    result: dict[int, sympy.Expr] = {}
    inverse = sympy.Symbol("inverse", positive=True)
    terms = sympy.Poly(sympy.expand(expression.subs(_total, 1 / inverse)), _w, _v, _squares, inverse)
    for (j, of_v, of_squares, k), number in terms.terms():
        value = number * moments[of_squares] / sympy.factorial(k - 1)
        result[j] = result.get(j, 0) + value * (1 if informative else inf[of_v])
    return result


def _coefficients(polynomial: sympy.Expr) -> list[sympy.Expr]:
    read = sympy.Poly(sympy.expand(polynomial), x)
    return [read.coeff_monomial(x**j) for j in range(DEGREE + 1)]
