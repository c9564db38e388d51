"""`replica flow`: training dynamics of the value-softmax model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from replica.flow.problem import LOSSES, MAPS

from .flow_table import trajectory_table
from .output import check_output, emit, output_options


@click.group()
def flow() -> None:
    """Value-softmax gradient flow: beta = V map(a) trained on one target; why attention polarises."""


def _all(options: list[Callable[..., Any]]) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


start_options = _all(
    [
        click.option("--rows", type=int, default=1, show_default=True, help="Rows T of the attention map."),
        click.option("--tied", is_flag=True, help="One square matrix U for logits and values: U map(U a)."),
        click.option("--norm", type=float, help="|beta*|.  [default: 1; sqrt(dim) with --condition]"),
        click.option("--temperature", type=float, default=1.0, show_default=True, help="kl: y = softmax(beta*/T)."),
        click.option("--scale-v", type=float, help="V(0) ~ SCALE N(0,1).  [default: 0.1; square 1e-5]"),
        click.option("--scale-a", type=float, help="A(0) ~ MEAN + SCALE N(0,1).  [default: 0; square 1e-3]"),
        click.option("--mean-a", type=float, help="[default: 0; 1 for the maps without a value at 0]"),
    ]
)
plan_options = _all(
    [
        click.option("--method", default="flow", show_default=True, help="flow or descent."),
        click.option("--time", type=float, default=1e6, show_default=True, help="Last time t; steps are time/lr."),
        click.option("--lr", type=float, help="Step of descent.  [default: 0.1]"),
        click.option("--rtol", type=float, help="Relative tolerance of flow.  [default: 1e-8]"),
        click.option("--stop", type=float, help="Residual at which a run ends as converged."),
    ]
)


@flow.command()
@click.option("--loss", default="logistic", show_default=True, help=f"One of {', '.join(LOSSES)}.")
@click.option("--map", default="softmax", show_default=True, help=f"One of {', '.join(MAPS)}.")
@click.option("--dim", type=int, help="Rows of V.  [default: 8; 20 with --condition]")
@click.option("--tokens", type=int, help="Columns of V.  [default: dim]")
@click.option("--condition", type=float, help="square: condition number of a dim x dim design X.")
@start_options
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of target, start and design.")
@plan_options
@click.option("--records", type=int, default=200, show_default=True, help="Times recorded, even in log(1 + t).")
@output_options
def run(
    method: str,
    time: float,
    lr: float | None,
    rtol: float | None,
    stop: float | None,
    records: int,
    format_: str | None,
    output: Path | None,
    **problem: Any,
) -> None:
    """Train one problem and write its trajectory.

    The table shows the last state; csv and json hold every recorded time. Exit code 3 if the run failed or did not
    reach --stop.

    Example: replica flow run --loss square --condition 5 --stop 1e-6 --output flow.csv
    """
    from replica.flow.plan import Plan
    from replica.flow.problem import FlowProblem
    from replica.flow.train import train

    format_ = check_output(output, format_)
    result = train(FlowProblem(**problem), Plan(method, time, lr, records, rtol, stop), progress())
    emit(result.trajectory(), output, format_, trajectory_table)
    if not result.ok:
        click.echo(f"warning: {result.status}: {result.message}", err=True)
        sys.exit(3)


def progress() -> Callable[[float], None] | None:
    """A percentage on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    shown = [-1]

    def show(fraction: float) -> None:
        percent = int(100 * fraction)
        if percent != shown[0]:
            shown[0] = percent
            end = "\n" if percent >= 100 else ""
            click.echo(f"\r{percent:3d} %", nl=False, err=True)
            click.echo(end, nl=False, err=True)

    return show
