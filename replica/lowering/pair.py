"""The scalar channel (softmax, L = 2) as a compiled module (theory.md section 4)."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ..models.activations.softmax import Softmax
from ..models.problem import Problem
from . import cache
from .prior import OVERLAP_NAMES, PARAMETERS

if TYPE_CHECKING:
    import sympy

CHANNEL_TERMS = ("envelope", *(f"d_{name}" for name in OVERLAP_NAMES), "train_loss", "norm")
STABILITY_TERMS = ("kk", "kv", "vv", "cross")
OBSERVABLE_TERMS = ("attention", "attention_square")


def applies(problem: Problem) -> bool:
    """Whether the scalar channel describes `problem` at L = 2 (`replica.equations.pair.law_of`)."""
    if type(problem.activation) is not Softmax:
        return False
    if cache.is_own(problem.data):
        return True  # without sympy: all models of the package have a pair law
    from ..equations.pair import law_of

    return law_of(problem) is not None


def load(problem: Problem) -> ModuleType:
    """The compiled channel of `problem`; derives it with sympy only if the cache does not hold it."""
    data, loss = problem.data, problem.loss
    stem = f"pair_{cache.identifier(data.name)}"
    return cache.load(stem, f"{_law_key(problem)}|{loss.name}", lambda: source(problem))


def _law_key(problem: Problem) -> str:
    data = problem.data
    if cache.is_own(data):
        # the text of the class is part of every module's hash
        return f"{type(data).__qualname__}|{_variant(data.nu)}"
    import sympy

    from ..equations.pair import law_of

    law = law_of(problem)
    return "|".join(sympy.srepr(part) for part in (law.mean, law.weight, law.width))


def _variant(nu: float) -> str:
    """nu enters as a number, except where the expressions themselves change."""
    return "zero" if nu == 0.0 else "infinite" if nu == float("inf") else "finite"


def source(problem: Problem) -> str:
    """Text of the generated module."""
    import sympy

    from ..equations import erm, pair
    from ..equations.functions import sigmoid
    from ..equations.nodes import at_prox
    from .printer import assignments, function, hoist

    channel = pair.build(problem)
    reduced, weight = channel.reduced, channel.law.weight
    inner = (pair.x_delta, pair.delta)
    integrand = channel.system.channel.integrand
    potential, preimage = reduced(channel.potential), reduced(channel.preimage)
    first, second = (sigmoid(sign * channel.fields[pair.k_1]) for sign in (1, -1))
    basic = {"F": potential, "T": preimage, "T1": preimage.diff(pair.delta)}
    terms = {
        "envelope": at_prox(integrand),
        **{f"d_{overlap}": at_prox(integrand.diff(overlap)) for overlap in erm.OVERLAPS},
        "train_loss": weight * reduced(channel.residual) ** 2 / 2,
        "norm": weight,
    }
    stability = {name: weight * reduced(value) for name, value in channel.response.items()}
    observables = {"attention": weight * first, "attention_square": weight * (first**2 + second**2)}
    groups = {
        "potential": basic,
        "channel": terms,
        "stability": stability,
        "observable": observables,
        "weight": {"density": weight},
    }

    invariants: dict[str, sympy.Expr] = {
        "mean": channel.law.mean,
        "sd": sympy.sqrt(2 * erm.q_k),
        "width": sympy.Float(1e9) if channel.law.width is sympy.oo else channel.law.width,
        "inv4v": 1 / (4 * erm.V_k),
        "force": _force(channel),
    }
    rest = {}
    for name, group in groups.items():
        fixed, rest[name] = hoist(group, inner, f"{name}_")
        invariants.update(fixed)
    position = {name: index for index, name in enumerate(invariants)}
    array = sympy.IndexedBase("c")
    rename = {sympy.Symbol(name, real=True): array[index] for name, index in position.items()}

    def body(group: str, prefix: str = "t") -> list[str]:
        return assignments({k: v.xreplace(rename) for k, v in rest[group].items()}, prefix)

    unpack = [f"{name} = par[{index}]" for index, name in enumerate(PARAMETERS)]
    store = [f"c[{position[name]}] = inv_{name}" for name in invariants]
    outer = assignments({f"inv_{name}": value for name, value in invariants.items()}, "s")

    def accumulate(group: str) -> list[str]:
        return body(group) + [f"total[{i}] += weight*{name}" for i, name in enumerate(rest[group])]

    parts = [
        f'"""Generated from sympy: {problem.data.name}, softmax, L = 2."""\n',
        cache.kernel_text("leaves"),
        f"N_INVARIANTS = {len(invariants)}",
        *(f"C_{name.upper()} = {position[name]}" for name in ("mean", "sd", "width", "inv4v", "force")),
        "\n",
        function("outer_terms", ["par", "x_A", "x_R", "c"], [*unpack, *outer, *store], []),
        function("potential", ["delta", "c"], body("potential"), ["F", "T", "T1"]),
        function("pair_weight", ["x_delta", "c"], body("weight"), ["density"]),
        function("channel_terms", ["weight", "x_delta", "delta", "c", "total"], accumulate("channel"), []),
        function("stability_terms", ["weight", "x_delta", "delta", "c", "total"], accumulate("stability"), []),
        function("observable_terms", ["weight", "x_delta", "c", "total"], accumulate("observable"), []),
        cache.kernel_text("contact"),
    ]
    return "\n".join(parts)


def _force(channel) -> sympy.Expr:
    """2 V_k B with |F'| <= B e^{-|delta|}, |F''| <= 2 B e^{-|delta|}, B = (|A| + 4 max|y - omega|)^2/(1 + V_v/2).

    F = N^2/(2 D) with N = b - sigma_1 A, |N| <= max(|b|, |b - A|), D = 1 + V_v |sigma|^2 >= 1 + V_v/2 and
    d sigma_1/d delta = sigma_1 sigma_2 <= e^{-|delta|}.
    """
    import sympy

    from ..equations import erm, pair

    y, first = channel.fields[pair.y], channel.fields[pair.w_1]
    largest = sympy.Max(sympy.Abs(y), sympy.Abs(y - first))
    return 2 * erm.V_k * (sympy.Abs(first) + 4 * largest) ** 2 / (1 + erm.V_v / 2)
