"""`replica heads`: specialisation of several attention heads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replica.errors import InvalidProblem

from .heads_evidence import check, emerge, simulate
from .heads_optimum import optimum, prune, study
from .heads_options import dimension_option, norm_option, problem_options, seed_option, start_options
from .options import NUMBER
from .output import check_output, emit, output_options
from .progress import progress_on

if TYPE_CHECKING:
    from replica.heads.flow import Trajectory
    from replica.heads.problem import HeadsProblem


@click.group()
def heads() -> None:
    """Several heads on the single-location model: how they specialise, what they reach, what can be pruned."""


for _command in (simulate, check, emerge, optimum, prune, study):
    heads.add_command(_command)


def _flow_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of an integration; the command receives them as `settings`."""

    @functools.wraps(function)
    def call(**options: Any) -> Any:
        names = ("rate", "time", "points", "spacing", "dimension", "norm", "threshold", "seed", "rtol", "max_samples",
                 "method", "threads")  # fmt: skip
        return function(settings={name: options.pop(name) for name in names}, **options)

    options = (
        click.option("--rate", type=NUMBER, default=0.0, show_default=True, help="Learning rate; 0: gradient flow."),
        click.option("--time", type=NUMBER, default=50.0, show_default=True, help="Last time tau = gamma n/D."),
        click.option("--points", type=int, default=200, show_default=True, help="Times in the output."),
        click.option("--spacing", type=click.Choice(["linear", "log"]), default="linear", show_default=True),
        start_options,
        seed_option,
        click.option("--rtol", type=NUMBER, default=1e-3, show_default=True, help="Relative error asked of the risk."),
        click.option("--max-samples", type=int, default=32768, show_default=True, help="Most nodes in a set."),
        click.option("--method", default="LSODA", show_default=True, help="LSODA, BDF, Radau or RK45."),
        click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True),
    )
    return functools.reduce(lambda inner, option: option(inner), reversed(options), call)


def _integrated(problem: HeadsProblem, settings: dict[str, Any]) -> Trajectory:
    from replica.heads.flow import integrate, random_start, time_grid

    tau = time_grid(settings["time"], settings["points"], settings["spacing"])
    start = random_start(problem, *(settings[name] for name in ("dimension", "norm", "seed", "threshold")))
    with progress_on("integrating") as progress:
        return integrate(
            problem,
            start,
            tau,
            settings["rate"],
            samples=min(256, settings["max_samples"]),
            progress=progress,
            **{name: settings[name] for name in ("rtol", "max_samples", "seed", "method", "threads")},
        )


def _finish(found: Trajectory, rtol: float) -> None:
    if not found.accuracy_met:
        click.echo(f"warning: the risk is less accurate than rtol = {rtol:g}; raise --max-samples", err=True)
        sys.exit(3)


@heads.command()
@problem_options
@_flow_options
@click.option("--plot", type=click.Path(path_type=Path), help="Figure: .png, .svg or .pdf (extra plots).")
@output_options
def run(
    problem: HeadsProblem, settings: dict[str, Any], plot: Path | None, output: Path | None, format_: str | None
) -> None:
    """Integrate the order-parameter equations of online SGD, or of gradient flow.

    Exit code 3 if the risk is less accurate than --rtol.

    Example: replica heads run --heads 4 --length 4 --signal flipped:nu=6 --rate 0.5 --time 50 --output run.csv
    """
    from replica.heads.bayes import bayes_risk
    from replica.heads.table import trajectory_rows

    from .heads_table import trajectory_table

    format_ = check_output(output, format_)
    if plot:
        from replica.plots.figure import check_figure

        check_figure(plot)
    found = _integrated(problem, settings)
    start = {name: settings[name] for name in ("dimension", "norm", "threshold")}
    rows = trajectory_rows(found, bayes_risk(problem), settings["rtol"], settings["seed"], start)
    emit(rows, output, format_, trajectory_table)
    if plot:
        from replica.plots import heads as pictures
        from replica.plots.figure import save

        save(pictures.trajectory_figure(rows), plot)
    _finish(found, settings["rtol"])


@heads.command()
@problem_options
@_flow_options
@output_options
def stages(problem: HeadsProblem, settings: dict[str, Any], output: Path | None, format_: str | None) -> None:
    """Integrate as `run` does and list the descents between plateaus: when, how far, which feature.

    Example: replica heads stages --activation bayes-softmax --signal gaussian:24,6 --time 200 --spacing log --rtol 0.05
    """
    from replica.heads.stages import stages as find
    from replica.heads.table import STAGES, complete

    from .heads_table import listing

    format_ = check_output(output, format_)
    found = _integrated(problem, settings)
    rows = [{"stage": i, **vars(stage)} for i, stage in enumerate(find(found.tau, found.risk, found.m), start=1)]
    if not rows:
        raise InvalidProblem(f"no stage begins and ends before time = {settings['time']:g}; allowed: a longer --time")
    names = ("stage", "begin", "tau", "end", "risk_before", "risk_after", "feature")
    common = {"rate": settings["rate"], "seed": settings["seed"]}
    emit(complete(rows, STAGES, problem, **common), output, format_, listing(names))
    _finish(found, settings["rtol"])


@heads.command()
@problem_options
@dimension_option
@norm_option
@click.option("--samples", type=int, default=4096, show_default=True, help="Nodes in a set, a power of two.")
@seed_option
@output_options
def rates(
    problem: HeadsProblem,
    dimension: float,
    norm: float,
    samples: int,
    seed: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Escape rates of every feature from the unspecialised fixed point, and the Hessian's spectrum there.

    The rates are taken at the fixed point (r = 0) and with r = norm^2 I, where a run starts. Gradient flow.

    Example: replica heads rates --activation bayes-softmax --signal "gaussian:8,3" --dimension 1000
    """
    import numpy as np

    from replica.heads.escape import escape, unspecialised
    from replica.heads.flow import State
    from replica.heads.problem import LARGEST_NORM
    from replica.heads.table import escape_rows
    from replica.models.checks import number

    from .heads_table import rates_table

    format_ = check_output(output, format_)
    number("norm", norm, minimum=0.0, strict=False, maximum=LARGEST_NORM)
    number("dimension", dimension, minimum=1.0, strict=True)
    fixed = unspecialised(problem, samples, seed)
    rows = []
    for size in dict.fromkeys((0.0, norm)):
        state = State(fixed.m, fixed.r + size**2 * np.eye(problem.heads), fixed.b)
        rows += escape_rows(problem, escape(problem, state, dimension, samples, seed=seed), dimension, size)
    emit(rows, output, format_, rates_table)
