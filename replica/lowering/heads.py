"""The multi-head averages as a compiled module (theory-dynamics.md A)."""

from __future__ import annotations

from types import ModuleType

from . import cache


def load(activation: str) -> ModuleType:
    """The compiled averages of `activation`; derives it with sympy only if the cache does not hold it."""
    return cache.load(f"heads_{activation.replace('-', '_')}", activation, lambda: source(activation))


def source(activation: str) -> str:
    """Text of the generated module."""
    from ..equations import heads
    from .printer import assignments, function

    built = heads.build(activation)
    arguments = {
        "entry": ["chi", "threshold", "shift"],
        "normaliser": ["total", "shift"],
        "slope": ["share", "error", "error_share", "weight"],
    }
    parts = [
        f'"""Generated from sympy: {activation} over heads and tokens."""\n',
        "import math\n",
        "import numpy as np",
        "from numba import njit\n",
        f"FLOOR = {built.floor}",
        f"JOINT = {built.joint}\n\n",
    ]
    parts += [
        function(name, names, assignments({"value": getattr(built, name)}, "t"), ["value"])
        for name, names in arguments.items()
    ]
    return "\n".join([*parts, cache.kernel_text("heads")])
