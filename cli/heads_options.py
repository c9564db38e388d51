"""Options that the commands of `replica heads` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from replica.errors import InvalidProblem

from .options import NUMBER


def problem_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the problem; the command receives it as `problem`."""

    @functools.wraps(function)
    def call(activation: str, n_heads: int, length: int, signal: str, weight: str, thresholds: str, **rest: Any) -> Any:
        from replica.heads.problem import HeadsProblem
        from replica.heads.signals import parse

        return function(
            problem=HeadsProblem(parse(signal), activation, n_heads, length, weight or "", thresholds or ""), **rest
        )

    options = (
        click.option("--activation", default="softmax", show_default=True, help="softmax, softmax-1, bayes-softmax."),
        click.option("--heads", "n_heads", type=int, default=4, show_default=True, help="Number of heads H."),
        click.option("--length", type=int, default=4, show_default=True, help="Number of tokens L."),
        click.option(
            "--signal",
            required=True,
            help="flipped:nu=6[,features=2], onehot:nu=6[,features=2], gaussian:8,3[;mean=1,0] or discrete:FILE "
            "(CSV with header weight,theta_1,..,theta_F).",
        ),
        click.option("--weight", help="Head weight: mean (1/H) or sum (1).  [default: mean for softmax, else sum]"),
        click.option("--thresholds", help="train or fixed.  [default: train; softmax has none]"),
    )
    return functools.reduce(lambda inner, option: option(inner), reversed(options), call)


seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed.")
dimension_option = click.option(
    "--dimension", type=NUMBER, default=1e4, show_default=True, help="D of the start, m ~ 1/sqrt(D)."
)
norm_option = click.option("--norm", type=NUMBER, default=0.1, show_default=True, help="Keys start at norm N(0, I_D).")
_START = (
    dimension_option,
    norm_option,
    click.option("--threshold", type=NUMBER, default=0.0, show_default=True, help="All b_h at the start."),
)


def start_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of where training starts."""
    return functools.reduce(lambda inner, option: option(inner), reversed(_START), function)


def whole_numbers(name: str, text: str) -> list[int]:
    """The whole numbers of a comma-separated list.

    Raises
    ------
    InvalidProblem
    """
    try:
        return [int(float(part)) if float(part) == int(float(part)) else int(part) for part in text.split(",")]
    except (ValueError, OverflowError):
        raise InvalidProblem(f"{name} = {text!r} is not a list; allowed: whole numbers such as 250,1000") from None
