"""`replica flow`: training dynamics of the value-softmax model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from replica.flow.problem import LOSSES, MAPS

from .flow_table import check_table, sweep_table, trajectory_table
from .output import check_output, emit, output_options
from .progress import progress_on


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
plot_option = click.option("--plot", type=click.Path(path_type=Path), help="Figure: .png, .svg or .pdf (extra plots).")
SWEEP_RECORDS = 40  # only the last record is kept


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
@plot_option
@output_options
def run(
    method: str,
    time: float,
    lr: float | None,
    rtol: float | None,
    stop: float | None,
    records: int,
    plot: Path | None,
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
    _check_plot(plot)
    if method == "flow" and lr is not None:
        click.echo(f"note: the flow has no steps: --lr {lr:g} is for --method descent", err=True)
        lr = None
    with progress_on("training") as progress:
        result = train(FlowProblem(**problem), Plan(method, time, lr, records, rtol, stop), progress)
    rows = result.trajectory()
    emit(rows, output, format_, trajectory_table)
    if plot and len(rows) < 3:
        click.echo("warning: no figure: the run has fewer than two positive times", err=True)
    elif plot:
        from replica.plots import figure
        from replica.plots import flow as pictures

        figure.save(pictures.trajectory_figure(rows), plot)
    if not result.ok:
        click.echo(f"warning: {result.status}: {result.message}", err=True)
        sys.exit(3)


@flow.command()
@click.option("--instances", type=int, default=5, show_default=True, help="Random instances for each statement.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first instance.")
@click.option("--time", type=float, default=1e6, show_default=True, help="Last time of the flow.")
@click.option("--steps", type=int, default=100_000, show_default=True, help="Steps of descent.")
@click.option("--lr", type=float, default=0.1, show_default=True, help="Step of descent.")
@output_options
def check(format_: str | None, output: Path | None, **settings: Any) -> None:
    """Measure the theorems on random instances, for flow and descent.

    Exit code 3 if a statement fails on an instance.
    """
    from replica.flow.theorems import check_theorems

    format_ = check_output(output, format_)
    with progress_on("checking") as progress:
        rows = check_theorems(**settings, progress=progress)
    emit(rows, output, format_, check_table)
    failed = [f"{row['check']} ({row['method']}, seed {row['worst_seed']})" for row in rows if not row["holds"]]
    if failed:
        click.echo(f"warning: does not hold: {', '.join(failed)}", err=True)
        sys.exit(3)


@flow.command()
@click.option("--loss", default=",".join(LOSSES), show_default=True, help="Losses.")
@click.option("--map", "map_", default=",".join(MAPS), show_default=True, help="Maps.")
@click.option("--condition", default="1,2,5,10", show_default=True, help="square: condition numbers.")
@click.option("--dim", default="4,8,16", show_default=True, help="Dimensions; tokens = dim.")
@click.option("--seeds", type=int, default=5, show_default=True, help="Seeds 0, 1, ... of each point.")
@start_options
@plan_options
@click.option("--jobs", type=int, default=1, show_default=True, help="Worker processes; the rows do not depend on it.")
@plot_option
@output_options
def sweep(
    loss: str,
    map_: str,
    condition: str,
    dim: str,
    seeds: int,
    method: str,
    time: float,
    lr: float | None,
    rtol: float | None,
    stop: float | None,
    jobs: int,
    plot: Path | None,
    format_: str | None,
    output: Path | None,
    **start: Any,
) -> None:
    """Final polarisation over losses, maps, condition numbers and dimensions: lists or ranges, as in replica sweep.

    One row for each run, failures included. Exit code 3 if a run failed or did not reach --stop.

    Example: replica flow sweep --dim 8,16 --output sweep.csv --plot sweep.pdf
    """
    from replica.flow.plan import Plan
    from replica.flow.sweep import problems
    from replica.flow.sweep import sweep as run_sweep
    from replica.sweeps.grids import integers, names, numbers

    format_ = check_output(output, format_)
    _check_plot(plot)
    axes = names("loss", loss, LOSSES), names("map", map_, MAPS), numbers("condition", condition), integers("dim", dim)
    plan = Plan(method, time, lr, SWEEP_RECORDS, rtol, stop)
    with progress_on("training") as progress:
        rows = run_sweep(problems(*axes, seeds, **start), plan, jobs, progress)
    emit(rows, output, format_, sweep_table)
    bad = [row for row in rows if row["status"] not in ("finished", "converged")]
    if plot and len(bad) < len(rows):
        from replica.plots import figure
        from replica.plots import flow as pictures

        figure.save(pictures.sweep_figure(rows), plot)
    elif plot:
        click.echo("warning: no figure: no run finished", err=True)
    if bad:
        kinds = ", ".join(sorted({row["status"] for row in bad}))
        click.echo(f"warning: {len(bad)} of {len(rows)} runs did not end well: {kinds}", err=True)
        sys.exit(3)


def _check_plot(plot: Path | None) -> None:
    if plot:
        from replica.plots.figure import check_figure

        check_figure(plot)
