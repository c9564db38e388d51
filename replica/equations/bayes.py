"""Bayes-optimal free entropy and the equations of its stationarity (theory.md section 6)."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from ..errors import UnsupportedExpression
from ..models.data.base import DataModel
from ..models.length import LengthLaw
from .erm import ALPHA, NOISE, q_k, q_v
from .functions import normal_pdf

MOST_TOKENS = 6
q_hat_k, q_hat_v = sympy.symbols("q_hat_k q_hat_v", positive=True)
y = sympy.Symbol("y", real=True)


def _tokens(name: str, length: int) -> tuple[sympy.Symbol, ...]:
    return tuple(sympy.Symbol(f"{name}{position}", real=True) for position in range(1, length + 1))


class Partition(sympy.Expr):
    """Z(y, omega) = E f(y, x) over independent x_j ~ N(omega_j, 1 - q), and its derivatives in omega.

    A density f seen through the posterior of the fields solves the backward heat equation,
    dZ/dq = -(1/2) sum_j d^2 Z/d omega_j^2, over the fields of that overlap.

    Parameters
    ----------
    name : Symbol
        How to print it; it stands for f, which is kept apart because sympy rewrites the arguments of what it
        differentiates, and equal terms would no longer cancel.
    fields : Tuple of (x, omega, q)
    orders : Tuple of int
        Order of the derivative in each omega.
    """

    is_commutative = True
    is_real = True

    def __new__(cls, name: sympy.Symbol, fields: sympy.Tuple, orders: sympy.Tuple) -> Partition:
        return sympy.Expr.__new__(cls, name, fields, orders)

    def _raised(self, position: int, by: int) -> Partition:
        name, fields, orders = self.args
        raised = [order + by * (place == position) for place, order in enumerate(orders)]
        return Partition(name, fields, sympy.Tuple(*raised))

    def _eval_derivative(self, parameter: sympy.Symbol) -> sympy.Expr:
        total = sympy.S.Zero
        for position, (_, omega, q) in enumerate(self.args[1]):
            if parameter == omega:
                total += self._raised(position, 1)
            elif parameter == q:
                total -= self._raised(position, 2) / 2
        return total

    def closed(self, density: sympy.Expr) -> sympy.Expr:
        """The average of f = `density` in closed form, term by term, where the density is a sum of Gaussians.

        Raises
        ------
        UnsupportedExpression
            If a term is not the exponential of a quadratic form.
        """
        _, fields, orders = self.args
        explicit = density.replace(normal_pdf, lambda x: sympy.exp(-(x**2) / 2) / sympy.sqrt(2 * sympy.pi))
        total = sympy.S.Zero
        for term in sympy.Add.make_args(sympy.expand(explicit)):
            for x, omega, q in fields:
                term = _gaussian_average(term, x, omega, 1 - q)
            total += term
        for (_, omega, _), order in zip(fields, orders, strict=True):
            total = total.diff(omega, order) if order else total
        return total

    def _derivatives(self, printer) -> list[tuple[str, int]]:
        pairs = zip(self.args[1], self.args[2], strict=True)
        return [(printer.doprint(omega), int(order)) for (_, omega, _), order in pairs if order]

    def _sympystr(self, printer) -> str:
        text = printer.doprint(self.args[0])
        for omega, order in self._derivatives(printer):
            text = f"D({text}, {omega})" if order == 1 else f"D({text}, {omega}, {order})"
        return text

    def _latex(self, printer) -> str:
        text = printer.doprint(self.args[0])
        derivatives = self._derivatives(printer)
        for omega, order in derivatives:
            text = rf"\partial_{{{omega}}}{'' if order == 1 else f'^{{{order}}}'} {text}"
        return rf"\left({text}\right)" if derivatives else text


def _gaussian_average(term: sympy.Expr, x: sympy.Symbol, mean: sympy.Expr, variance: sympy.Expr) -> sympy.Expr:
    if not term.has(x):
        return term
    factor, exponential = term.as_independent(x)
    power = sympy.expand_log(sympy.log(exponential), force=True)
    form = sympy.Poly(power, x) if power.is_polynomial(x) else None
    if form is None or form.degree() > 2:
        raise UnsupportedExpression(f"the average of {term} over {x} has no closed form here")
    a, b, c = (form.coeff_monomial(x**degree) for degree in (2, 1, 0))
    width = 1 - 2 * a * variance
    exponent = c + (a * mean**2 + b * mean + b**2 * variance / 2) / width
    return factor * sympy.exp(sympy.simplify(exponent)) / sympy.sqrt(sympy.simplify(width))


class ChannelAverage(sympy.Expr):
    """int dy E f(y, omega) over omega_a ~ N(0, q_a I).

    The law of omega solves the heat equation: d/dq E f = E[df/dq + (1/2) sum_j d^2 f/d omega_j^2].
    """

    is_commutative = True

    def __new__(cls, integrand: sympy.Expr, *fields: sympy.Tuple) -> ChannelAverage:
        return sympy.Expr.__new__(cls, sympy.sympify(integrand), *fields)

    @property
    def integrand(self) -> sympy.Expr:
        return self.args[0]

    def _eval_derivative(self, parameter: sympy.Symbol) -> sympy.Expr:
        inner = self.integrand.diff(parameter)
        inner += sum(self.integrand.diff(omega, 2) for omega, q in self.args[1:] if parameter == q) / 2
        return ChannelAverage(sympy.expand(inner), *self.args[1:])

    def _sympystr(self, printer) -> str:
        return f"E[{printer.doprint(self.integrand)}]"

    def _latex(self, printer) -> str:
        return rf"\mathbb{{E}}\left[{printer.doprint(self.integrand)}\right]"


@dataclass(frozen=True)
class BayesSystem:
    """The free entropy per D and what makes it stationary.

    Attributes
    ----------
    free_entropy : Expr
        (1/2) sum_a (q_a + log(1 - q_a)) + alpha E log Z, the average over the law of the data: int dy E[Z log Z].
    partition : dict
        For each length, Z: the density of y, relative to pure noise, given the fields omega.
    density : dict
        For each length, the density f that Z averages: sum_eps g(eps, chi) N(y; z_eps, Delta^2)/L.
    overlaps : dict
        Each overlap as a function of its conjugate.
    conjugates : dict
        Each conjugate as an average, derived from the free entropy.
    """

    free_entropy: sympy.Expr
    partition: dict[int, Partition]
    density: dict[int, sympy.Expr]
    overlaps: dict[sympy.Symbol, sympy.Expr]
    conjugates: dict[sympy.Symbol, sympy.Expr]


def fields(length: int) -> sympy.Tuple:
    """(x, omega, q) of every field of L tokens: (chi_l, omega_kl, q_k), then (z_l, omega_vl, q_v)."""
    keys = zip(_tokens("chi", length), _tokens("omega_k", length), strict=True)
    values = zip(_tokens("z", length), _tokens("omega_v", length), strict=True)
    return sympy.Tuple(*((x, omega, q_k) for x, omega in keys), *((x, omega, q_v) for x, omega in values))


def label_density(data: DataModel, length: int) -> sympy.Expr:
    """sum_eps g(eps, chi) N(y; z_eps, Delta^2)/L, the density of (eps, y) given the true fields, summed over eps."""
    chi, z = _tokens("chi", length), _tokens("z", length)
    normal = [normal_pdf((y - mean) / NOISE) / NOISE for mean in z]
    return sum(sympy.exp(data.log_weight(chi, eps)) * normal[eps] for eps in range(length)) / length


def bayes_system(data: DataModel, length: LengthLaw) -> BayesSystem:
    """Derive the state evolution from the free entropy.

    Parameters
    ----------
    data : DataModel
    length : LengthLaw
        Of at most six tokens: all of them are written out.

    Raises
    ------
    UnsupportedExpression
        For longer sequences, whose equations read the same.
    """
    if length.support[-1] > MOST_TOKENS:
        raise UnsupportedExpression(
            f"length = {length}: the equations are written out for at most {MOST_TOKENS} tokens, "
            "and read the same for every length; derive a shorter one"
        )
    overlaps = (q_k, q_v)
    channel, partition = sympy.S.Zero, dict[int, Partition]()
    slopes = dict.fromkeys(overlaps, sympy.S.Zero)
    for tokens, weight in length:
        probability = sympy.S.One if length.fixed else sympy.Float(weight)
        name = sympy.Symbol("Z" if length.fixed else f"Z_{tokens}")
        places = fields(tokens)
        z = Partition(name, places, sympy.Tuple(*[0] * len(places)))
        average = ChannelAverage(z * sympy.log(z), *(sympy.Tuple(*place[1:]) for place in places))
        partition[tokens] = z
        channel += probability * average
        for overlap in overlaps:
            slopes[overlap] += probability * average.diff(overlap)
    prior = sum(q + sympy.log(1 - q) for q in overlaps) / 2
    # d phi/dq = 0 with the slope 2 alpha dE log Z/dq called q_hat
    solved = {
        q: sympy.factor(sympy.solve(prior.diff(q) + hat / 2, q)[0])
        for q, hat in zip(overlaps, (q_hat_k, q_hat_v), strict=True)
    }
    conjugates = {hat: 2 * ALPHA * slopes[q] for q, hat in zip(overlaps, (q_hat_k, q_hat_v), strict=True)}
    density = {tokens: label_density(data, tokens) for tokens in partition}
    return BayesSystem(prior + ALPHA * channel, partition, density, solved, conjugates)


def to_text(system: BayesSystem) -> str:
    """Readable lines: the free entropy, its stationarity, and what Z stands for."""
    lines = ["free entropy per D, stationary in both overlaps", f"  phi = {system.free_entropy}", "", "equations"]
    lines += [f"  {name} = {value}" for name, value in (*system.overlaps.items(), *system.conjugates.items())]
    lines += ["", "where E[.] integrates over y and averages over omega_k ~ N(0, q_k I), omega_v ~ N(0, q_v I), and"]
    lines += [f"  {z} = < {system.density[tokens]} >" for tokens, z in system.partition.items()]
    lines += ["averages over chi ~ N(omega_k, (1 - q_k) I), z ~ N(omega_v, (1 - q_v) I); D(Z, x) is dZ/dx", ""]
    return "\n".join(lines)


def to_latex(system: BayesSystem) -> str:
    """The same as an aligned LaTeX display."""
    names = {q_hat_k: r"\hat{q}_k", q_hat_v: r"\hat{q}_v", NOISE: r"\Delta"}

    def row(left: str, value: sympy.Expr) -> str:
        return rf"{left} &= {sympy.latex(value, symbol_names=names)} \\"

    rows = [row(r"\varphi", system.free_entropy)]
    rows += [row(sympy.latex(name, symbol_names=names), value) for name, value in system.overlaps.items()]
    rows += [row(names[name], value) for name, value in system.conjugates.items()]
    for tokens, z in system.partition.items():
        inside = sympy.latex(system.density[tokens], symbol_names=names)
        rows.append(rf"{sympy.latex(z)} &= \left\langle {inside} \right\rangle \\")
    return "\n".join([r"\begin{align*}", *rows, r"\end{align*}", ""])
