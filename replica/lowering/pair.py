"""The scalar channel (softmax, L = 2) as a compiled module (theory.md section 4)."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ..models.problem import Problem
from . import cache

if TYPE_CHECKING:
    import sympy

# order of the parameter vector of the generated functions
PARAMETERS = ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v", "noise", "nu", "alpha", "reg_k", "reg_v")
CHANNEL_TERMS = ("norm", "envelope", *(f"d_{name}" for name in PARAMETERS[:6]), "train_loss")
STABILITY_TERMS = ("kk", "kv", "vv", "cross")
OBSERVABLE_TERMS = ("attention", "attention_square")


def load(problem: Problem) -> ModuleType:
    """The compiled channel of `problem`; derives it with sympy only if the cache does not hold it."""
    data, loss = problem.data, problem.loss
    stem = f"pair_{data.name.replace('-', '_')}"
    return cache.load(
        stem,
        f"{type(data).__module__}.{type(data).__qualname__}|{_variant(data.nu)}|{loss.name}",
        lambda: source(problem),
    )


def _variant(nu: float) -> str:
    """nu enters as a number, except where the expressions themselves change."""
    return "zero" if nu == 0.0 else "infinite" if nu == float("inf") else "finite"


def source(problem: Problem) -> str:
    """Text of the generated module."""
    import sympy

    from ..equations import erm, pair
    from ..equations.nodes import at_prox
    from .printer import assignments, function, hoist

    channel = pair.build(problem)
    inner = (pair.x_delta, pair.delta)
    integrand = channel.system.channel.integrand
    weight = channel.law.weight
    terms = {
        "norm": weight,
        "envelope": at_prox(integrand),
        **{f"d_{overlap}": at_prox(integrand.diff(overlap)) for overlap in erm.OVERLAPS},
        "train_loss": weight * channel.residual**2 / 2,
    }
    stability = {name: weight * value for name, value in channel.response.items()}
    observables = {"attention": weight * channel.attention, "attention_square": weight * channel.attention_square}
    basic = {"F": channel.potential, "T": channel.preimage, "T1": channel.preimage.diff(pair.delta)}
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
        return assignments({k: v.subs(rename) for k, v in rest[group].items()}, prefix)

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
        prior_functions(channel.system),
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


def prior_functions(system) -> str:
    """`conjugates_of(par, slopes, hat)`, `overlaps_of(par, hat, new)` and `prior_energy(par, hat)`."""
    import sympy

    from ..equations import erm
    from .printer import assignments, function

    unpack = [f"{name} = par[{index}]" for index, name in enumerate(PARAMETERS)]
    unpack_hat = [f"{name} = hat[{index}]" for index, name in enumerate(map(str, erm.CONJUGATES))]
    slopes = {system.channel.diff(overlap): sympy.Symbol(f"slopes[{i}]") for i, overlap in enumerate(erm.OVERLAPS)}
    hats = {f"hat[{i}]": system.conjugates[hat].subs(slopes) for i, hat in enumerate(erm.CONJUGATES)}
    overlaps = {f"new[{i}]": system.overlaps[overlap] for i, overlap in enumerate(erm.OVERLAPS)}
    energy = {"energy": erm.prior_energy()}
    cached = "@njit(nogil=True, cache=True)"
    text = "\n".join(
        [
            function("conjugates_of", ["par", "slopes", "hat"], [*unpack, *assignments(hats, "t")], []),
            function("overlaps_of", ["par", "hat", "new"], [*unpack, *unpack_hat, *assignments(overlaps, "t")], []),
            function("prior_energy", ["par", "hat"], [*unpack, *unpack_hat, *assignments(energy, "t")], ["energy"]),
        ]
    )
    return text.replace("@njit(nogil=True)", cached)
