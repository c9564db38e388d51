"""Functions that sympy keeps whole: stable to evaluate, with known derivatives.

Each is lowered to the leaf of the same name in `replica/kernels/leaves.py`, log_sum_exp to nested `log_add_exp`.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy


class sigmoid(sympy.Function):
    """1/(1 + e^{-x}); derivative sigmoid(x) sigmoid(-x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid(self.args[0]) * sigmoid(-self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return (1 / (1 + sympy.exp(-self.args[0])))._eval_evalf(prec)


class softplus(sympy.Function):
    """log(1 + e^x); derivative sigmoid(x)."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid(self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return sympy.log(1 + sympy.exp(self.args[0]))._eval_evalf(prec)


class log_softplus(sympy.Function):
    """log log(1 + e^x), ~ x as x -> -inf; derivative softplus_slope(x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return softplus_slope(self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return sympy.log(softplus(self.args[0]))._eval_evalf(prec)


class softplus_slope(sympy.Function):
    """sigmoid(x)/softplus(x), the logarithmic slope of softplus; from 1 to 0."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        x = self.args[0]
        return softplus_slope(x) * (sigmoid(-x) - softplus_slope(x))

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return (sigmoid(self.args[0]) / softplus(self.args[0]))._eval_evalf(prec)


class normal_pdf(sympy.Function):
    """phi(x) = e^{-x^2/2}/sqrt(2 pi)."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return -self.args[0] * normal_pdf(self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return (sympy.exp(-(self.args[0] ** 2) / 2) / sympy.sqrt(2 * sympy.pi))._eval_evalf(prec)


class normal_cdf(sympy.Function):
    """Phi(x), the standard normal distribution function, accurate in the lower tail."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return normal_pdf(self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return (sympy.erfc(-self.args[0] / sympy.sqrt(2)) / 2)._eval_evalf(prec)


class inverse_mills(sympy.Function):
    """phi(x)/Phi(x), ~ -x as x -> -inf."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        x = self.args[0]
        return -inverse_mills(x) * (x + inverse_mills(x))

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return (normal_pdf(self.args[0]) / normal_cdf(self.args[0]))._eval_evalf(prec)


class log_ndtr(sympy.Function):
    """log Phi(x); derivative inverse_mills(x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return inverse_mills(self.args[0])

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return sympy.log(normal_cdf(self.args[0]))._eval_evalf(prec)


class log_sum_exp(sympy.Function):
    """log(e^{x_1} + ... + e^{x_n}) of any number of arguments; its derivatives are the softmax weights."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.exp(self.args[argindex - 1] - self)

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return sympy.log(sympy.Add(*map(sympy.exp, self.args)))._eval_evalf(prec)

    def nested(self, pair: str, show: Callable[[sympy.Expr], str]) -> str:
        """Code for it by a function of two arguments: pair(x_1, pair(x_2, ...))."""
        *rest, text = map(show, self.args)
        for argument in reversed(rest):
            text = f"{pair}({argument}, {text})"
        return text

    def _numpycode(self, printer) -> str:
        return self.nested(printer._module_format("numpy.logaddexp"), printer._print)

    _scipycode = _numpycode


def log_of(expression: sympy.Expr) -> sympy.Expr:
    """log of a positive expression, with exponentials and softplus kept from underflow."""
    expanded = sympy.expand_log(sympy.log(expression), force=True)

    def stable(argument: sympy.Expr) -> sympy.Expr:
        if isinstance(argument, softplus):
            return log_softplus(argument.args[0])
        # factors of a positive product can be negative
        return sympy.log(argument if argument.is_positive else sympy.Abs(argument))

    return expanded.replace(sympy.log, stable)


OPAQUE = (sigmoid, softplus, log_softplus, softplus_slope, normal_pdf, normal_cdf, inverse_mills, log_ndtr)
