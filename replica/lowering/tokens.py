"""The channel of any activation and number of tokens as a compiled module (theory.md section 4)."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import UnsupportedExpression
from ..models.activations.base import Activation
from ..models.expression import expression
from ..models.problem import Problem
from . import cache
from .prior import OVERLAP_NAMES, PARAMETERS

if TYPE_CHECKING:
    import sympy

    from .pieces import Pieces

# order of `TokenChannel.terms`
CHANNEL_TERMS = ("envelope", *(f"d_{name}" for name in OVERLAP_NAMES), "train_loss")
RESPONSE_TERMS = ("trace_kk", "trace_vv", "kk", "kv", "vv", "cross")
# parameter vector of the generated functions
TOKEN_PARAMETERS = (*PARAMETERS, "length", "explained")


def load(problem: Problem) -> ModuleType:
    """The compiled channel of `problem`, the same for every data model, every L and every number in the problem.

    It defines AFFINE, whether tokens are replaced by directions, and the blocks of `replica/kernels/tokens.py`.
    """
    activation = problem.activation
    return cache.load(
        f"tokens_{cache.identifier(activation.name)}",
        f"{_activation_key(activation)}|{problem.loss.name}",
        lambda: source(problem),
    )


def _activation_key(activation: Activation) -> str:
    if cache.is_own(activation):
        # the text of the class is part of every module's hash
        fields = {f.name: getattr(activation, f.name) for f in dataclasses.fields(activation)}
        # what only shifts chi is not part of the module
        return f"{type(activation).__qualname__}|{fields if activation.location == 0.0 else ''}"
    import sympy

    phi = shifted(activation, sympy.Symbol("x", real=True))
    return f"{activation.combination}|{activation.suprema}|{sympy.srepr(phi)}"


def shifted(activation: Activation, x: sympy.Expr) -> sympy.Expr:
    """phi as a function of x = chi + location."""
    chi = x - activation.location if activation.location else x
    return expression(f"phi of {activation.name}", lambda: activation.phi(chi), [chi])


def is_affine(activation: Activation) -> bool:
    """Whether sigma is 1 + chi, or 1 + chi - mean(chi): what the closed-form proximal point takes."""
    import sympy

    x = sympy.Symbol("x", real=True)
    form = {"elementwise": 1 + x, "centred": x}.get(activation.combination)
    return form is not None and sympy.expand(shifted(activation, x) - form) == 0


def source(problem: Problem) -> str:
    """Text of the generated module."""
    from ..equations import tokens
    from ..kernels.prox import prox_files
    from .printer import assignments, function, hoist, token_loop

    activation = problem.activation
    channel = tokens.build(problem)
    affine = is_affine(activation)
    arrays = ["star", "eta", "zeta"]
    unpack = [f"{name} = par[{index}]" for index, name in enumerate(TOKEN_PARAMETERS)]

    fixed, fields = hoist({"omega_k": channel.omega_k, "omega_v": channel.omega_v}, [tokens.token], "c")
    loop = assignments({f"{name}[{tokens.token}]": value for name, value in fields.items()}, "t")
    fields_body = [*unpack, *assignments({**fixed, "y": channel.label}, "s")]
    fields_body += [f"for {tokens.token} in range(omega_k.size):", *(f"    {line}" for line in loop)]

    sums, terms = token_loop(channel.terms, "sum_")
    terms_body = [*unpack, "n_tokens = sigma.size", *sums, *assignments(terms, "t")]
    terms_body += [f"total[{index}] += {name}" for index, name in enumerate(terms)]

    label_body = [*unpack, *assignments(channel.label_coefficients(), "t")]

    nodes = [*arrays, "x_t", "x_R"]
    parts = [
        f'"""Generated from sympy: {activation.name}, any number of tokens."""\n',
        "import numpy as np\n",
        cache.kernel_text("leaves"),
        f"AFFINE = {affine}\nFIXED_SUM = {activation.combination != 'elementwise'}",
        *(f"P_{name} = {TOKEN_PARAMETERS.index(name)}" for name in ("V_k", "V_v", "length")),
        "",
        *_scalar_functions(activation, affine),
        *(path.read_text(encoding="utf-8") for path in prox_files(activation.combination, affine)),
        function("token_fields", ["par", *nodes, "omega_k", "omega_v"], fields_body, ["y"]),
        function("token_terms", ["par", *nodes, "weight", "sigma", "g_k", "r", "total"], terms_body, []),
        function("token_label", ["par"], label_body, list(channel.label_coefficients())),
        cache.kernel_text("tokens_affine" if affine else "tokens_direct", "tokens"),
    ]
    return "\n".join(parts)


def _scalar_functions(activation: Activation, affine: bool) -> list[str]:
    """What the leaves of the proximal point leave open (`replica/kernels/prox.py`)."""
    if affine:
        # directions in token space: the centring is done there
        return ["CENTRED = False\n"]
    import sympy

    from ..equations.functions import log_of
    from .pieces import split
    from .printer import assignments, function
    from .regular import check_bounds, check_regular

    x = sympy.Symbol("x", real=True)
    pieces = split(shifted(activation, x), x)
    parts = pieces.parts
    # in the words of the printer, where there are none
    assignments({f"phi{number}": part for number, part in enumerate(parts)}, "t")
    check_regular(activation.name, pieces, x)
    bounds = [repr(float(bound)).replace("inf", "math.inf") for bound in activation.suprema]
    kinks = ", ".join(map(repr, pieces.breaks))
    constants = [f"KINKED, KINKS = {bool(kinks)}, np.array([{kinks}], dtype=np.float64)"]
    if activation.combination == "normalised":
        constants += [f"D1_SUP, D2_SUP = {', '.join(bounds[1:])}", f"RISING = {_check_positive(activation, pieces, x)}"]
        parts = tuple(map(log_of, parts))
    else:
        straight = bool(kinks) and all(sympy.expand(part).diff(x, 2) == 0 for part in parts)
        constants += [f"PHI_SUP, D1_SUP, D2_SUP = {', '.join(bounds)}"]
        constants += [f"CENTRED, STRAIGHT = {activation.combination == 'centred'}, {straight}"]
    # log |f| and log f have one derivative
    slopes = [part.replace(sympy.Abs, lambda argument: argument).diff(x) for part in parts]
    outputs = [{"value": p, "slope": s, "curvature": s.diff(x)} for p, s in zip(parts, slopes, strict=True)]
    check_bounds(activation, [tuple(functions.values()) for functions in outputs], pieces.breaks, x)
    lines = []
    for number, functions in enumerate(outputs):
        body = assignments(functions, "t")
        if number + 1 < len(parts):
            body = [f"if piece == {number}:", *(f"    {line}" for line in body), "    return value, slope, curvature"]
        lines += body
    terms = function("scalar_terms", ["x", "piece"], lines, ["value", "slope", "curvature"])
    return ["\n".join([*constants, ""]), terms]


def _check_positive(activation: Activation, pieces: Pieces, x: sympy.Symbol) -> bool:
    """Refuse a phi that cannot be normalised by its sum, as far as a grid shows; whether it rises throughout."""
    import sympy

    rising = True
    for step in range(-80, 81):
        point = 0.25 * step + 0.01
        at = pieces.at(point)
        # not as doubles, which underflow where log phi, which is what the kernels take, is still a number
        value, slope = (part.subs(x, sympy.Float(point)).evalf() for part in (at, at.diff(x)))
        if not value > 0:
            raise UnsupportedExpression(
                f"phi of {activation.name} is {float(value):.3g} at {point:.3g}: its sum can vanish; allowed: phi > 0"
            )
        rising = rising and bool(slope > 0)
    for end in pieces.breaks:
        if not float(pieces.at(end).subs(x, end)) > 0.0:
            raise UnsupportedExpression(
                f"phi of {activation.name} vanishes at its kink {end:g}; allowed: phi > 0 there"
            )
    return rising
