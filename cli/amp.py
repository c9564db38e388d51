"""`replica amp`: the experiment behind the Bayes-optimal theory."""

from __future__ import annotations

from pathlib import Path

import click

from .experiment import check_open_interval, experiment_options, finish, integers, show_progress
from .options import NUMBER, data_model, length_option, model_option, noise_option, nu_option
from .output import check_output, output_options


@click.command()
@model_option
@click.option("--alpha", type=NUMBER, required=True, help="Samples per dimension, alpha = N/D.")
@length_option
@nu_option
@noise_option
@experiment_options()
@click.option(
    "--damping",
    type=NUMBER,
    default=0.5,
    show_default=True,
    help="Weight of the old messages, 0 <= d < 1, to begin with.",
)
@click.option(
    "--tol",
    type=NUMBER,
    default=1e-4,
    show_default=True,
    help="Largest root-mean-square change of (k, v) in an undamped step.",
)
@click.option("--max-iter", type=click.IntRange(min=1), default=1000, show_default=True, help="Steps.")
@output_options
def amp(
    model: str,
    alpha: float,
    length: str,
    nu: float | None,
    noise: float,
    dimensions: str,
    seeds: int,
    seed: int,
    damping: float,
    tol: float,
    max_iter: int,
    format_: str | None,
    output: Path | None,
) -> None:
    """Draw data at finite dimension and run approximate message passing for the Bayes posterior.

    It starts from the prior, so it should reach the uninformed fixed point of the theory, in the hard phase too. One
    row for each d: means and standard errors over seeds. From three values of --d on, a row with empty d holds the
    limit extrapolated in 1/d. Close to noise 0 small d scatter widely around the transition: prefer d of 1000 or more
    there. Exit code 3 if a run did not converge.

    Example: replica amp --model spiked-slr --alpha 2 --noise 0.3 --d 500,1000,2000
    """
    check_open_interval(tol=tol)
    if damping != 0.0:
        check_open_interval(damping=damping)
    format_ = check_output(output, format_)
    sizes = integers("d", dimensions)
    from replica.models.problem import Problem
    from replica.simulation.amp import experiments
    from replica.simulation.data import sample_count
    from replica.simulation.summary import summarise

    problem = Problem(data=data_model(model, nu), alpha=alpha, length=length, noise=noise)
    for size in sizes:
        sample_count(problem, size)
    runs = []
    for size in sizes:
        options = {"damping": damping, "tolerance": tol, "max_iter": max_iter}
        runs += experiments(problem, size, range(seed, seed + seeds), **options, progress=show_progress(f"d = {size}"))
    finish([solution.to_row() for solution in summarise(problem, runs, tolerance=tol)], output, format_)
