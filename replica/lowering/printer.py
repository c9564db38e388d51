"""Sympy expressions to lines of numba-compilable Python: common subexpressions, loop-invariant parts, token sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy
from sympy.printing.pycode import PythonCodePrinter

from ..equations.functions import OPAQUE
from ..errors import UnsupportedExpression

_LEAVES = {function.__name__: function.__name__ for function in OPAQUE}


class NumbaPrinter(PythonCodePrinter):
    """Prints scalar real expressions with `math` functions and the leaves of `replica.kernels.leaves`."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": True, "user_functions": _LEAVES, "standard": "python3"})

    def _print_Rational(self, expr: sympy.Rational) -> str:
        return f"({float(expr)!r})"

    def _print_Integer(self, expr: sympy.Integer) -> str:
        return f"{float(expr)!r}" if expr >= 0 else f"({float(expr)!r})"

    def _print_Float(self, expr: sympy.Float) -> str:
        return f"{float(expr)!r}" if expr >= 0 else f"({float(expr)!r})"

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, exponent = expr.as_base_exp()
        text = f"({self._print(base)})"
        if exponent.is_Integer and 1 <= abs(int(exponent)) <= 4:
            # repeated products: exact for negative bases and faster than pow
            product = "*".join([text] * abs(int(exponent)))
            return f"({product})" if exponent > 0 else f"(1.0/({product}))"
        if exponent == sympy.S.Half:
            return f"math.sqrt{text}"
        if exponent == -sympy.S.Half:
            return f"(1.0/math.sqrt{text})"
        return f"({text}**({self._print(exponent)}))"

    def _print_Indexed(self, expr: sympy.Indexed) -> str:
        return f"{expr.base.label}[{', '.join(str(index) for index in expr.indices)}]"

    def _print_log_sum_exp(self, expr: sympy.Expr) -> str:
        return expr.nested("log_add_exp", self._print)

    def _print_Abs(self, expr: sympy.Abs) -> str:
        return f"abs({self._print(expr.args[0])})"

    def _print_Heaviside(self, expr: sympy.Heaviside) -> str:
        return f"(1.0 if {self._print(expr.args[0])} > 0.0 else 0.0)"

    def emptyPrinter(self, expr: object) -> str:
        raise UnsupportedExpression(
            f"{type(expr).__name__} in {expr} cannot be lowered to numba; allowed: real functions such as exp or erf"
        )

    _print_not_supported = _print_ImaginaryUnit = _print_MatrixBase = emptyPrinter

    def doprint(self, expr: sympy.Expr, assign_to: str | None = None) -> str:
        try:
            return super().doprint(expr, assign_to)
        except NotImplementedError:  # how sympy refuses what it has no name for
            return self.emptyPrinter(expr)


def assignments(outputs: Mapping[str, sympy.Expr], prefix: str) -> list[str]:
    """Lines that assign each output, with common subexpressions computed once in `prefix`0, `prefix`1, ...

    Raises
    ------
    UnsupportedExpression
        If an expression has a node with no scalar real counterpart.
    """
    printer = NumbaPrinter()
    names = list(outputs)
    symbols = sympy.numbered_symbols(prefix)
    shared, reduced = sympy.cse([sympy.sympify(outputs[name]) for name in names], symbols=symbols)
    lines = [f"{symbol} = {printer.doprint(expression)}" for symbol, expression in shared]
    lines += [f"{name} = {printer.doprint(expression)}" for name, expression in zip(names, reduced, strict=True)]
    return lines


def token_loop(outputs: Mapping[str, sympy.Expr], prefix: str) -> tuple[list[str], dict[str, sympy.Expr]]:
    """One loop for all the sums over the same index, with common subexpressions shared inside it.

    Returns
    -------
    lines : list of str
        Accumulate each distinct sum in `prefix`0, `prefix`1, ...; none if there are no sums.
    rest : dict
        The outputs with these symbols in place of the sums.

    Raises
    ------
    UnsupportedExpression
        If the sums do not share their limits.
    """
    sums = sorted(set().union(*(value.atoms(sympy.Sum) for value in outputs.values())), key=sympy.default_sort_key)
    if not sums:
        return [], dict(outputs)
    limits = {total.limits for total in sums}
    if len(limits) > 1 or len(sums[0].limits) > 1 or sums[0].limits[0][1] != 0:
        raise UnsupportedExpression(f"sums over different ranges cannot share a loop: {limits}")
    ((index, _, last),) = sums[0].limits
    names = {total: sympy.Symbol(f"{prefix}{position}", real=True) for position, total in enumerate(sums)}
    body = assignments({f"{prefix}term{i}": total.function for i, total in enumerate(sums)}, f"{prefix}t")
    body += [f"{name} += {prefix}term{i}" for i, name in enumerate(names.values())]
    lines = [f"{name} = 0.0" for name in names.values()]
    lines += [f"for {index} in range({sympy.expand(last + 1)}):", *(f"    {line}" for line in body)]
    return lines, {name: value.xreplace(names) for name, value in outputs.items()}


def hoist(
    outputs: Mapping[str, sympy.Expr], inner: Sequence[sympy.Symbol], prefix: str
) -> tuple[dict[str, sympy.Expr], dict[str, sympy.Expr]]:
    """Split expressions into loop-invariant parts and the rest.

    Returns
    -------
    invariant : dict
        New symbol name to an expression free of the `inner` symbols.
    rest : dict
        The outputs rewritten with these symbols.
    """
    inner_set = set(inner)
    invariant: dict[sympy.Expr, sympy.Symbol] = {}

    def named(part: sympy.Expr) -> sympy.Expr:
        if part.is_number:
            return part
        if part not in invariant:
            invariant[part] = sympy.Symbol(f"{prefix}{len(invariant)}", real=True)
        return invariant[part]

    def visit(node: sympy.Expr) -> sympy.Expr:
        if not node.free_symbols & inner_set:
            return named(node)
        if isinstance(node, sympy.Add | sympy.Mul):
            fixed, varying = node.as_independent(*inner, as_Add=isinstance(node, sympy.Add))
            terms = [visit(argument) for argument in type(node).make_args(varying)]
            return node.func(named(fixed), *terms)
        return node.func(*[visit(argument) for argument in node.args]) if node.args else node

    rest = {name: visit(sympy.sympify(expression)) for name, expression in outputs.items()}
    return {str(symbol): part for part, symbol in invariant.items()}, rest


def function(name: str, arguments: Sequence[str], lines: Sequence[str], returns: Sequence[str]) -> str:
    """Source of a jitted function with the given body."""
    body = "\n    ".join([*lines, f"return {', '.join(returns)}"] if returns else lines)
    # numpy's error model: 1/0 is inf, which the callers look for, and not an exception
    return f"@njit(nogil=True, error_model='numpy')\ndef {name}({', '.join(arguments)}):\n    {body}\n"
