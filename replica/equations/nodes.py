"""Unevaluated nodes of the energy: Gaussian averages and Moreau envelopes, with their rules of differentiation."""

from __future__ import annotations

import sympy


class GaussianAverage(sympy.Expr):
    """E[integrand] over independent standard normal variables; derivatives go inside.

    The variables do not depend on the parameters (reparametrised Gaussians), so that with fixed nodes in place of the
    average every derivative is the exact derivative of the discretised average.
    """

    def __new__(cls, integrand: sympy.Expr, *variables: sympy.Expr) -> GaussianAverage:
        return sympy.Expr.__new__(cls, sympy.sympify(integrand), *variables)

    @property
    def integrand(self) -> sympy.Expr:
        return self.args[0]

    def _eval_derivative(self, parameter: sympy.Symbol) -> sympy.Expr:
        return GaussianAverage(self.integrand.diff(parameter), *self.args[1:])

    def _sympystr(self, printer) -> str:
        return f"E[{printer.doprint(self.integrand)}]"

    def _latex(self, printer) -> str:
        return rf"\mathbb{{E}}\left[{printer.doprint(self.integrand)}\right]"


class Moreau(sympy.Expr):
    """min over the minimisers of an objective; their symbols stand for the global minimiser, the proximal point.

    The derivative with respect to a parameter is that of the objective with the minimisers held at the proximal point
    (envelope theorem; valid across jumps of the proximal point, theory.md section 4).
    """

    def __new__(cls, objective: sympy.Expr, *minimisers: sympy.Expr) -> Moreau:
        return sympy.Expr.__new__(cls, sympy.sympify(objective), *minimisers)

    @property
    def objective(self) -> sympy.Expr:
        return self.args[0]

    @property
    def minimisers(self) -> tuple[sympy.Expr, ...]:
        return self.args[1:]

    def _eval_derivative(self, parameter: sympy.Symbol) -> sympy.Expr:
        return self.objective.diff(parameter)

    def _sympystr(self, printer) -> str:
        names = ", ".join(printer.doprint(minimiser) for minimiser in self.minimisers)
        return f"min_{{{names}}} [{printer.doprint(self.objective)}]"

    def _latex(self, printer) -> str:
        names = ", ".join(printer.doprint(minimiser) for minimiser in self.minimisers)
        return rf"\min_{{{names}}}\left[{printer.doprint(self.objective)}\right]"


def at_prox(expression: sympy.Expr) -> sympy.Expr:
    """The expression with every Moreau envelope replaced by its objective at the proximal point."""
    return expression.replace(lambda node: isinstance(node, Moreau), lambda node: node.objective)
