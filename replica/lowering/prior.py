"""The prior side of the equations, conjugates to overlaps and back, as plain generated Python."""

from __future__ import annotations

from types import ModuleType

from . import cache

OVERLAP_NAMES = ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v")
# order of the parameter vector of every generated function
PARAMETERS = (*OVERLAP_NAMES, "noise", "nu", "alpha", "reg_k", "reg_v")


def load() -> ModuleType:
    """Module with `conjugates_of(par, slopes)`, `overlaps_of(par, hat)` and `prior_energy(par, hat)`.

    `slopes` are the derivatives of the channel average E M in the six overlaps.
    """
    return cache.load("prior", "ridge", source, announce=False)


def source() -> str:
    """Text of the generated module, from the stationarity of the energy."""
    from ..equations import erm
    from .printer import assignments

    solved = erm.prior_equations()
    par = [f"{', '.join(PARAMETERS)} = par"]
    hat = [f"{', '.join(map(str, erm.CONJUGATES))} = hat"]
    slope = [f"{', '.join(map(str, erm.SLOPES))} = slopes"]

    def plain(name: str, arguments: str, lines: list[str], returns: list[str]) -> str:
        body = "\n    ".join([*lines, f"return ({', '.join(returns)})"])
        return f"def {name}({arguments}):\n    {body}\n"

    new = {f"new_{overlap}": value for overlap, value in solved.overlaps.items()}
    new_hat = {f"new_{conjugate}": value for conjugate, value in solved.conjugates.items()}
    return "\n".join(
        [
            '"""Generated from sympy: the prior side of the ERM equations."""\n\nimport math\n',
            plain("conjugates_of", "par, slopes", [*par, *slope, *assignments(new_hat, "t")], list(new_hat)),
            plain("overlaps_of", "par, hat", [*par, *hat, *assignments(new, "t")], list(new)),
            plain(
                "prior_energy", "par, hat", [*par, *hat, *assignments({"energy": erm.prior_energy()}, "t")], ["energy"]
            ),
        ]
    )
