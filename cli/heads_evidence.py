"""`replica heads simulate`, `check` and `emerge`: online SGD, alone and against the equations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .heads_options import norm_option, problem_options, seed_option, start_options, whole_numbers
from .options import NUMBER
from .output import check_output, emit, output_options
from .progress import progress_on

if TYPE_CHECKING:
    from replica.heads.problem import HeadsProblem

_rate_option = click.option("--rate", type=NUMBER, default=0.5, show_default=True, help="Learning rate gamma > 0.")
_LARGEST_Z = 4.5


def _seeds(default: int) -> click.Option:
    return click.option("--seeds", type=click.IntRange(min=1), default=default, show_default=True, help="Runs.")


@click.command()
@problem_options
@_rate_option
@click.option("--time", type=NUMBER, default=50.0, show_default=True, help="Last time tau = gamma n/D.")
@click.option("--points", type=int, default=21, show_default=True, help="Times in the output.")
@start_options
@_seeds(4)
@seed_option
@click.option("--test", type=click.IntRange(min=1), default=1000, show_default=True, help="Fresh samples per risk.")
@output_options
def simulate(
    problem: HeadsProblem,
    rate: float,
    time: float,
    points: int,
    dimension: float,
    norm: float,
    threshold: float,
    seeds: int,
    seed: int,
    test: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Online SGD at finite D: one row for each run and time.

    Example: replica heads simulate --signal flipped:nu=6 --heads 2 --dimension 1000 --time 20 --output sgd.csv
    """
    from replica.heads.bayes import bayes_risk
    from replica.heads.flow import time_grid
    from replica.heads.simulation import simulate as train
    from replica.heads.table import simulation_columns, simulation_rows

    from .heads_table import listing

    format_ = check_output(output, format_)
    tau = time_grid(time, points, "linear")
    numbers = range(seed, seed + seeds)
    with progress_on("training") as progress:
        runs = train(
            problem, dimension, rate, tau, numbers, norm=norm, threshold=threshold, test=test, progress=progress
        )
    start = {"dimension": dimension, "norm": norm, "threshold": threshold}
    rows = simulation_rows(runs, numbers, test, bayes_risk(problem), start)
    names = [column.name for column in simulation_columns(problem.heads, problem.signal.features)]
    emit(rows, output, format_, listing([name for name in names if name[:2] not in ("q_", "b_")][:10]))


@click.command()
@problem_options
@_rate_option
@click.option("--time", type=NUMBER, default=8.0, show_default=True, help="Last time compared.")
@click.option("--points", type=int, default=5, show_default=True, help="Times, the start included.")
@click.option("--dimensions", default="300,600,1200", show_default=True, help="Values of D, at least two.")
@norm_option
@_seeds(16)
@seed_option
@output_options
def check(
    problem: HeadsProblem,
    rate: float,
    time: float,
    points: int,
    dimensions: str,
    norm: float,
    seeds: int,
    seed: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Compare the equations with online SGD from the same overlaps, by z-score, at several D and at the limit.

    The common start has overlaps m_hf ~ N(0, 1/4) from --seed and r = norm^2 I. Exit code 3 if a z-score of the
    limit exceeds 4.5.

    Example: replica heads check --activation softmax-1 --signal flipped:nu=6 --heads 2
    """
    from replica.heads.check import compare
    from replica.heads.flow import random_start, time_grid
    from replica.heads.table import CHECK, complete

    from .heads_table import check_table

    format_ = check_output(output, format_)
    sizes = whole_numbers("dimensions", dimensions)
    # keys of norm 1/2 in one dimension have overlaps N(0, 1/4); their r is then replaced
    m = random_start(problem, 1.0, 0.5, seed).m
    start = random_start(problem, 1.0, norm, seed)
    start = type(start)(m, start.r, start.b)
    with progress_on("training") as progress:
        found = compare(
            problem, start, time_grid(time, points, "linear"), rate, sizes, seeds, seed=seed, progress=progress
        )
    rows = complete(found.rows, CHECK, problem, rate=rate, seeds=seeds, seed=seed)
    emit(rows, output, format_, lambda rows: check_table(rows, found))
    if found.worst > _LARGEST_Z:
        click.echo(f"warning: the limit is off the equations by {found.worst:.1f} standard errors", err=True)
        sys.exit(3)


@click.command()
@problem_options
@_rate_option
@click.option("--time", type=NUMBER, default=16.0, show_default=True, help="Last time tau = gamma n/D.")
@click.option("--points", type=int, default=161, show_default=True, help="Times at which overlaps are looked at.")
@click.option("--dimensions", default="250,500,1000", show_default=True, help="Values of D, at least two.")
@click.option("--far", default="1e4,1e6,1e8", show_default=True, help="More D, without SGD; empty: none.")
@norm_option
@click.option(
    "--level", type=NUMBER, default=0.2, show_default=True, help="Emerged: share of the overlap at the saddle."
)
@_seeds(8)
@seed_option
@output_options
def emerge(
    problem: HeadsProblem,
    rate: float,
    time: float,
    points: int,
    dimensions: str,
    far: str,
    norm: float,
    level: float,
    seeds: int,
    seed: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Emergence times of every feature, predicted, by the equations and in SGD, and how they grow with log(sqrt(D)).

    The prediction is linear growth from the start, along the way of the features learned before. slope_z compares the
    growth of SGD with it, run by run. Refused, exit code 2: laws of theta that change with the sign of one theta_f
    (onehot, gaussian with a mean), and more than six features.

    Example: replica heads emerge --activation softmax-1 --signal flipped:nu=16 --heads 2 --dimensions 100,400,1600
    """
    from replica.heads.emergence import emergence
    from replica.heads.flow import time_grid
    from replica.heads.table import EMERGENCE, complete

    from .heads_table import emergence_table

    format_ = check_output(output, format_)
    sizes = whole_numbers("dimensions", dimensions)
    further = whole_numbers("far", far) if far else []
    tau = time_grid(time, points, "linear")
    with progress_on("training") as progress:
        options = {"far": further, "norm": norm, "level": level, "seed": seed}
        rows = emergence(problem, sizes, rate, tau, seeds, **options, progress=progress)
    rows = complete(rows, EMERGENCE, problem, sgd_rate=rate, norm=norm, level=level, seeds=seeds, seed=seed)
    emit(rows, output, format_, lambda rows: emergence_table(rows, sizes))
