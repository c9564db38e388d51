"""Functions that sympy keeps whole: stable to evaluate, with known derivatives.

Each is lowered to the leaf of the same name in `replica/kernels/leaves.py`, log_sum_exp to nested `log_add_exp`.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy


class _Whole(sympy.Function):
    def formula(self) -> sympy.Expr:
        """Its definition by functions of sympy, or others of this module."""
        raise NotImplementedError

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        return self.formula()._eval_evalf(prec)


class sigmoid(_Whole):
    """1/(1 + e^{-x}); derivative sigmoid(x) sigmoid(-x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid(self.args[0]) * sigmoid(-self.args[0])

    def formula(self) -> sympy.Expr:
        return 1 / (1 + sympy.exp(-self.args[0]))


class softplus(_Whole):
    """log(1 + e^x); derivative sigmoid(x)."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid(self.args[0])

    def formula(self) -> sympy.Expr:
        return sympy.log(1 + sympy.exp(self.args[0]))


class log_softplus(_Whole):
    """log log(1 + e^x), ~ x as x -> -inf; derivative softplus_slope(x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return softplus_slope(self.args[0])

    def formula(self) -> sympy.Expr:
        return sympy.log(softplus(self.args[0]))


class softplus_slope(_Whole):
    """sigmoid(x)/softplus(x), the logarithmic slope of softplus; from 1 to 0."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        x = self.args[0]
        return softplus_slope(x) * (sigmoid(-x) - softplus_slope(x))

    def formula(self) -> sympy.Expr:
        return sigmoid(self.args[0]) / softplus(self.args[0])


class normal_pdf(_Whole):
    """phi(x) = e^{-x^2/2}/sqrt(2 pi)."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return -self.args[0] * normal_pdf(self.args[0])

    def formula(self) -> sympy.Expr:
        return sympy.exp(-(self.args[0] ** 2) / 2) / sympy.sqrt(2 * sympy.pi)


class normal_cdf(_Whole):
    """Phi(x), the standard normal distribution function, accurate in the lower tail."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return normal_pdf(self.args[0])

    def formula(self) -> sympy.Expr:
        return sympy.erfc(-self.args[0] / sympy.sqrt(2)) / 2


class inverse_mills(_Whole):
    """phi(x)/Phi(x), ~ -x as x -> -inf."""

    is_positive = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        x = self.args[0]
        return -inverse_mills(x) * (x + inverse_mills(x))

    def formula(self) -> sympy.Expr:
        return normal_pdf(self.args[0]) / normal_cdf(self.args[0])


class log_ndtr(_Whole):
    """log Phi(x); derivative inverse_mills(x)."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return inverse_mills(self.args[0])

    def formula(self) -> sympy.Expr:
        return sympy.log(normal_cdf(self.args[0]))


class log_sum_exp(_Whole):
    """log(e^{x_1} + ... + e^{x_n}) of any number of arguments; its derivatives are the softmax weights."""

    is_real = True

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.exp(self.args[argindex - 1] - self)

    def formula(self) -> sympy.Expr:
        return sympy.log(sympy.Add(*map(sympy.exp, self.args)))

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


def explicit(expression: sympy.Expr) -> sympy.Expr:
    """The expression with the definitions in place of the functions of this module."""
    while expression.has(_Whole):
        expression = expression.replace(lambda node: isinstance(node, _Whole), lambda node: node.formula())
    return expression


OPAQUE = (sigmoid, softplus, log_softplus, softplus_slope, normal_pdf, normal_cdf, inverse_mills, log_ndtr)
