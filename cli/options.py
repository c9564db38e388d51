"""Options shared by the commands, and how their text becomes numbers and problems."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from replica.errors import InvalidProblem
from replica.models.checks import parse_number
from replica.registry import ACTIVATIONS, DATA_MODELS, ESTIMATORS, load

if TYPE_CHECKING:
    from replica.models.problem import Problem


class Number(click.ParamType):
    """A real number; `inf` where written so, but not by overflow."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        return parse_number(param.name if param else "value", str(value).strip())


class NumberOrOptimal(Number):
    """A real number, or `optimal`."""

    name = "number|optimal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "optimal" else super().convert(value, param, ctx)


NUMBER, NUMBER_OR_OPTIMAL = Number(), NumberOrOptimal()
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _stack(*options: Decorator) -> Decorator:
    return lambda function: functools.reduce(lambda inner, option: option(inner), reversed(options), function)


model_option = click.option(
    "--model", type=click.Choice(list(DATA_MODELS)), required=True, help="Data model: where the relevant token hides."
)
length_option = click.option(
    "--length", "-L", default="2", show_default=True, help="Number of tokens, or a law such as 1:1,2:1,3:2."
)
nu_option = click.option(
    "--nu", type=NUMBER, help="Signal strength, a number or inf.  [default: inf for max-slr, 2 for spiked-slr]"
)
noise_option = click.option(
    "--noise", type=NUMBER, default=0.0, show_default=True, help="Standard deviation Delta of the label noise."
)


def problem_options(*, optimal: bool = True) -> Decorator:
    """Options of a problem; `optimal` says whether penalties and the offset may be that word."""
    kind = NUMBER_OR_OPTIMAL if optimal else NUMBER
    both = "; `optimal`: those of least test risk, each its own" if optimal else ""
    offset = "; `optimal`: that of least test risk" if optimal else ""
    return _stack(
        model_option,
        click.option(
            "--activation",
            "activations",
            type=click.Choice(list(ACTIVATIONS)),
            multiple=True,
            default=("softmax",),
            show_default=True,
            help="Attention function; repeatable.",
        ),
        click.option("--alpha", type=NUMBER, required=True, help="Samples per dimension, alpha = N/D."),
        length_option,
        nu_option,
        noise_option,
        click.option("--reg", type=kind, help=f"Both ridge penalties lambda{both}.  [default: 1]"),
        click.option("--reg-k", type=kind, help="Penalty on the key vector, instead of --reg."),
        click.option("--reg-v", type=kind, help="Penalty on the value vector, instead of --reg."),
        click.option("--erf-offset", type=kind, help=f"Offset c of erf attention{offset}.  [default: 0]"),
    )


estimator_option = click.option(
    "--estimator",
    "estimators",
    type=click.Choice(list(ESTIMATORS)),
    multiple=True,
    default=tuple(ESTIMATORS),
    help="What to predict; repeatable.  [default: all]",
)

iteration_options = _stack(
    click.option(
        "--init",
        type=click.Choice(["informed", "uninformed", "both"]),
        default="both",
        show_default=True,
        help="Where the iteration starts.",
    ),
    click.option(
        "--damping", type=NUMBER, default=0.0, show_default=True, help="Weight of the old iterate, 0 <= d < 1."
    ),
    click.option(
        "--accelerate/--no-accelerate", default=True, show_default=True, help="Anderson and Newton, or plain damping."
    ),
)

solver_options = _stack(
    iteration_options,
    click.option(
        "--rtol",
        type=NUMBER,
        help="Relative error asked of test_risk.  [default: 1e-4 for softmax at L = 2, else 1e-3]",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random integration nodes."
    ),
)


def data_model(model: str, nu: float | None) -> Any:
    """The data model of that name, with its own default where `nu` is not given."""
    kind = load(DATA_MODELS, "model", model)
    return kind() if nu is None else kind(nu=nu)


def problems(
    model: str,
    activations: tuple[str, ...],
    alpha: float,
    length: str,
    nu: float | None,
    noise: float,
    reg: float | str | None,
    reg_k: float | str | None,
    reg_v: float | str | None,
    erf_offset: float | str | None,
) -> list[Problem]:
    """One problem for each activation, in the order given.

    Raises
    ------
    InvalidProblem
        If a value makes no sense, or an option does not apply.
    """
    from replica.models.problem import Problem

    if erf_offset is not None and "erf" not in activations:
        raise InvalidProblem(f"erf-offset = {erf_offset} applies to --activation erf only; leave it out or add erf")
    if None not in (reg, reg_k, reg_v):
        raise InvalidProblem("reg has no effect next to reg_k and reg_v; leave out one of the three")
    both = 1.0 if reg is None else reg
    data = data_model(model, nu)
    found = []
    for name in dict.fromkeys(activations):
        kind = load(ACTIVATIONS, "activation", name)
        activation = kind(offset=erf_offset) if name == "erf" and erf_offset is not None else kind()
        found.append(
            Problem(
                data=data,
                activation=activation,
                alpha=alpha,
                length=length,
                noise=noise,
                reg_k=both if reg_k is None else reg_k,
                reg_v=both if reg_v is None else reg_v,
            )
        )
    return found
