"""What the author of an ingredient returns, checked: a sympy expression of the arguments it was given."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..errors import InvalidProblem, ReplicaError

if TYPE_CHECKING:
    import sympy


def expression(
    what: str, make: Callable[[], object], arguments: Iterable[sympy.Expr], example: str = "sympy.tanh(chi)"
) -> sympy.Expr:
    """The expression that `make` returns; a plain number is a constant, and text is not evaluated.

    Parameters
    ----------
    what : str
        Its name, for messages.
    make : callable
        Written by a user.
    arguments : iterable of Expr
        What it may depend on.
    example : str
        What would be allowed, for messages.

    Raises
    ------
    InvalidProblem
        If it fails, returns something else, or contains what is not real, or symbols and functions that stand for
        nothing.
    """
    import sympy
    from sympy.core.function import AppliedUndef

    try:
        found = make()
    except ReplicaError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InvalidProblem(
            f"{what} fails with {type(error).__name__}: {reason}; allowed: functions of sympy, such as {example}"
        ) from error
    if isinstance(found, numbers.Real) and not isinstance(found, bool):
        found = sympy.sympify(found)
    if not isinstance(found, sympy.Expr):
        raise InvalidProblem(f"{what} returns {_short(found)}; allowed: a sympy expression, such as {example}")
    unknown = found.free_symbols.difference(*(argument.free_symbols for argument in arguments))
    unknown |= found.atoms(AppliedUndef)
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        raise InvalidProblem(
            f"{what} contains {names}, which has no value; allowed: its arguments, and numbers such as fields of the "
            "class"
        )
    if found.has(sympy.nan, sympy.zoo, sympy.I):
        raise InvalidProblem(f"{what} is {_short(found)}; allowed: real values, such as {example}")
    return found


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
