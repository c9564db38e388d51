"""The equations in readable form: the same derivation with the Gaussian fields kept under their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from ..models.expression import expression
from ..models.problem import Problem
from . import erm, pair, tokens
from .functions import sigmoid
from .nodes import GaussianAverage, Moreau


@dataclass(frozen=True)
class Description:
    """What is solved, ready to print.

    Attributes
    ----------
    energy : Expr
        The energy per D; E M stands for the channel average.
    definitions : dict
        Named fields, their derivatives and integrands.
    equations : dict
        The twelve stationarity equations.
    nodes : str
        What the averages run over.
    """

    energy: sympy.Expr
    definitions: dict[sympy.Symbol, sympy.Expr]
    equations: dict[sympy.Symbol, sympy.Expr]
    nodes: str


A, b, delta_0, W, M, r, s, E_M = sympy.symbols("A b delta_0 W M r s E_M", real=True)


def describe(problem: Problem) -> Description:
    """The equations that the solver uses for `problem`: of the scalar channel where it applies, else token by token."""
    is_pair = problem.length.fixed == 2 and pair.law_of(problem) is not None
    return _describe_pair(problem) if is_pair else _describe_tokens(problem)


def _describe_tokens(problem: Problem) -> Description:
    """Any activation and L: sums over tokens l of the proximal point times nodes, sigma = sigma(chi) at that point."""
    channel = tokens.build(problem)
    prior = erm.prior_equations()
    nodes = (tokens.x_t, tokens.x_R, tokens.star, tokens.eta, tokens.zeta)
    slopes = {slope: _average(channel.terms[str(slope)], nodes) for slope in erm.SLOPES}
    l, activation = tokens.token, problem.activation
    omega_k, omega_v, label = sympy.symbols("omega_k[l] omega_v[l] y", real=True)
    sigma, chi = tokens.sigma[l], tokens.chi[l]
    phi = expression(f"phi of {activation.name}", lambda: activation.phi(chi), [chi])
    combined = {
        "elementwise": phi,
        "normalised": phi / tokens.over_tokens(phi),
        "centred": 1 + phi - tokens.over_tokens(phi) / tokens.n_tokens,
    }[activation.combination]
    square = tokens.over_tokens(sigma**2)
    objective = (label - tokens.over_tokens(sigma * omega_v)) ** 2 / (2 * (1 + erm.V_v * square))
    objective += tokens.over_tokens((chi - omega_k) ** 2) / (2 * erm.V_k)
    return Description(
        erm.prior_energy() + erm.ALPHA * E_M,
        {
            omega_k: channel.omega_k,
            omega_v: channel.omega_v,
            label: channel.label,
            sigma: combined,
            M: Moreau(objective, tokens.chi),
            tokens.r: (label - tokens.over_tokens(sigma * omega_v)) / (1 + erm.V_v * square),
            tokens.g_k[l]: (chi - omega_k) / erm.V_k,
            E_M: GaussianAverage(tokens.weight * M, *nodes),
        },
        {**prior.overlaps, **{hat: value.subs(slopes) for hat, value in prior.conjugates.items()}},
        "eta[l], zeta[l], x_t, x_R standard normals; star[l] = X_l.k*/sqrt(D), hidden token first, weight its density; "
        "explained = 1 where omega_k keeps star, 0 where it is only its mean",
    )


def _average(integrand: sympy.Expr, nodes: Sequence[sympy.Expr]) -> sympy.Expr:
    """E[integrand] with the numerical factor in front."""
    factor, inside = sympy.factor(integrand).as_coeff_Mul()
    return factor * GaussianAverage(inside, *nodes)


def _describe_pair(problem: Problem) -> Description:
    """The equations of softmax attention at L = 2 with s = sigma_1(delta), A = omega_v1 - omega_v2, b = y - omega_v2.

    The fields enter as functions of the overlaps while the channel average is differentiated; their derivatives are
    then written out as definitions.
    """
    channel = pair.build(problem)
    explicit = {A: channel.fields[pair.w_1], b: channel.fields[pair.y], delta_0: channel.fields[pair.k_1]}
    explicit[W] = channel.law.weight
    functions = {symbol: _as_function(symbol, value) for symbol, value in explicit.items()}
    origin = {pair.w_2: sympy.S.Zero, pair.k_2: sympy.S.Zero}
    named = {pair.y: b, pair.w_1: A, pair.k_1: delta_0, **origin}
    attention = {sigmoid(pair.delta): s, sigmoid(-pair.delta): 1 - s}
    objective = channel.objective.xreplace(named)
    moreau = Moreau(objective.xreplace(functions), pair.delta)
    average_over = (pair.x_A, pair.x_R, pair.x_delta)
    system = erm.stationarity(GaussianAverage(functions[W] * moreau, *average_over))

    symbols = {function: symbol for symbol, function in functions.items() if not function.is_number}
    residual = channel.residual.xreplace(named).xreplace(attention)
    # the label eliminated in favour of the residual, so that the loss shows as r
    (label,) = sympy.solve(residual - r, b)
    derivatives: dict[sympy.Symbol, sympy.Expr] = {}

    def name_derivative(node: sympy.Derivative) -> sympy.Symbol:
        field, parameter = symbols[node.expr], node.variables[0]
        symbol = sympy.Symbol(f"d{field}_d{parameter}", real=True)
        derivatives[symbol] = explicit[field].diff(parameter)
        return symbol

    def integrand(node: GaussianAverage) -> sympy.Expr:
        inside = node.integrand.xreplace(symbols).xreplace(attention).subs(b, label)
        return _average(sympy.simplify(inside), node.args[1:])

    def readable(expression: sympy.Expr) -> sympy.Expr:
        expression = expression.replace(lambda node: isinstance(node, Moreau), lambda _: M)
        expression = expression.replace(lambda node: isinstance(node, sympy.Derivative), name_derivative)
        return expression.replace(lambda node: isinstance(node, GaussianAverage), integrand)

    equations = {**system.overlaps, **{hat: readable(value) for hat, value in system.conjugates.items()}}
    definitions = {
        **explicit,
        s: sigmoid(pair.delta),
        M: Moreau(objective.xreplace(attention), pair.delta),
        r: residual,
        E_M: GaussianAverage(W * M, *average_over),
        **derivatives,
    }
    return Description(
        erm.prior_energy() + erm.ALPHA * E_M, definitions, equations, "x_A, x_R, x_delta independent standard normals"
    )


def _as_function(symbol: sympy.Symbol, value: sympy.Expr) -> sympy.Expr:
    """The field as an unevaluated function of the overlaps in it; a constant stays a constant."""
    overlaps = [overlap for overlap in erm.OVERLAPS if overlap in value.free_symbols]
    return sympy.Function(str(symbol), real=True)(*overlaps) if overlaps else value


def to_text(description: Description) -> str:
    """Readable lines: the energy, the twelve equations, and what their names stand for."""

    def block(title: str, part: dict[sympy.Symbol, sympy.Expr]) -> list[str]:
        return [title, *(f"  {name} = {value}" for name, value in part.items()), ""]

    lines = ["energy per D, stationary in all twelve order parameters", f"  e = {description.energy}", ""]
    lines += block("equations", description.equations)
    lines += block(f"where ({description.nodes})", description.definitions)
    return "\n".join(lines)


def to_latex(description: Description) -> str:
    """The same as an aligned LaTeX display."""

    def row(name: sympy.Expr | str, value: sympy.Expr) -> str:
        left = name if isinstance(name, str) else _latex(name)
        return rf"{left} &= {_latex(value)} \\"

    rows = [row("e", description.energy)]
    rows += [row(name, value) for name, value in description.equations.items()]
    rows += [row(name, value) for name, value in description.definitions.items()]
    return "\n".join([r"\begin{align*}", *rows, r"\end{align*}", ""])


def _latex(expression: sympy.Expr) -> str:
    names = {symbol: _latex_name(str(symbol)) for symbol in expression.atoms(sympy.Symbol)}
    return sympy.latex(expression, symbol_names=names)


def _latex_name(name: str) -> str:
    """m_hat_k is \\hat m_k, reg_k is \\lambda_k, db_dq_v is a partial derivative."""
    field, found, parameter = name.partition("_d")
    if found and field.startswith("d") and parameter != "elta":
        return rf"\partial_{{{_latex_name(parameter)}}} {_latex_name(field[1:])}"
    if "_hat_" in name:
        letter, key = name.split("_hat_")
        return rf"\hat{{{letter}}}_{key}"
    if name in ("noise", "reg_k", "reg_v"):
        return {"noise": r"\Delta", "reg_k": r"\lambda_k", "reg_v": r"\lambda_v"}[name]
    if name == "E_M":
        return r"\mathbb{E}[W M]"
    return sympy.latex(sympy.Symbol(name))
