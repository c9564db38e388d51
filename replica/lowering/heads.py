"""The multi-head averages as a compiled module (theory-dynamics.md A)."""

from __future__ import annotations

from types import ModuleType

from . import cache


def load(activation: str) -> ModuleType:
    """The compiled averages of `activation`; derives it with sympy only if the cache does not hold it."""
    return cache.load(f"heads_{activation.replace('-', '_')}", activation, lambda: source(activation))


def source(activation: str) -> str:
    """Text of the generated module."""
    head = [
        f'"""Generated from sympy: {activation} over heads and tokens."""\n',
        "import math\n",
        "import numpy as np",
        "from numba import njit\n",
    ]
    if activation == "bayes-softmax":
        return "\n".join([*head, "\n", *_joint(), cache.kernel_text("heads_joint")])
    return "\n".join([*head, *_separate(activation), cache.kernel_text("heads")])


def _separate(activation: str) -> list[str]:
    from ..equations import heads
    from .printer import assignments, function

    built = heads.build(activation)
    arguments = {
        "entry": ["chi", "threshold", "shift"],
        "normaliser": ["total", "shift"],
        "slope": ["share", "error", "error_share", "weight"],
    }
    return [
        f"FLOOR = {built.floor}\n\n",
        *(
            function(name, names, assignments({"value": getattr(built, name)}, "t"), ["value"])
            for name, names in arguments.items()
        ),
    ]


def _joint() -> list[str]:
    import sympy

    from ..equations import heads, heads_joint
    from .printer import assignments, function

    def indexed(expression: sympy.Expr) -> sympy.Expr:
        names = {"inf": heads_joint.inf, "noise": heads_joint.noise, "power": heads_joint.power}
        return expression.subs(
            {symbol: sympy.IndexedBase(name)[j] for name, symbols in names.items() for j, symbol in enumerate(symbols)}
        )

    arguments = ["n", "inf", "noise", "power"]
    parts = [
        function("entry", ["chi", "threshold", "shift"], assignments({"value": heads.entry()}, "t"), ["value"]),
        function("density", arguments, assignments({"value": indexed(heads_joint.density())}, "t"), ["value"]),
    ]
    for name, polynomials in (("slope", heads_joint.slopes()), ("square", heads_joint.squares())):
        for kind, polynomial in zip(("inf", "noise"), polynomials, strict=True):
            outputs = {f"out[{j}]": indexed(coefficient) for j, coefficient in enumerate(polynomial)}
            parts.append(function(f"{name}_{kind}", [*arguments, "out"], assignments(outputs, "t"), []))
    return parts
