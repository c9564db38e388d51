"""`replica erm`: the experiment behind the theory of empirical risk minimisation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .experiment import check_open_interval, experiment_options, finish, integers, show_progress
from .options import NUMBER, problem_options, problems
from .output import check_output, output_options


@click.command()
@problem_options(optimal=False)
@experiment_options()
@click.option(
    "--starts",
    default="informed,random,small",
    show_default=True,
    help="Where L-BFGS starts: (k*, v*), standard normal entries, a hundredth of these; random:8 for eight of a kind.",
)
@click.option(
    "--gtol",
    type=NUMBER,
    default=1e-5,
    show_default=True,
    help="Largest entry of the gradient over min(1, reg): about the error of an entry of (k, v).",
)
@click.option("--max-iter", type=click.IntRange(min=1), default=10_000, show_default=True, help="L-BFGS iterations.")
@output_options
def erm(
    dimensions: str,
    seeds: int,
    seed: int,
    starts: str,
    gtol: float,
    max_iter: int,
    format_: str | None,
    output: Path | None,
    **problem: Any,
) -> None:
    """Draw data at finite dimension, minimise the regularised empirical risk by L-BFGS, measure the minimiser.

    One row for each start and each d: means and standard errors over seeds. Test risks are measured on fresh data. From
    three values of --d on, a row with empty d holds the limit extrapolated in 1/d. Exit code 3 if a fit did not
    converge.

    Example: replica erm --model max-slr --alpha 2 --d 500,1000,2000 --seeds 10
    """
    check_open_interval(gtol=gtol)
    format_ = check_output(output, format_)
    asked, sizes = problems(**problem), integers("d", dimensions)
    from replica.simulation.data import sample_count
    from replica.simulation.erm import check_starts, experiments
    from replica.simulation.summary import summarise

    names = check_starts(starts.split(","))
    for one in asked:
        for size in sizes:
            sample_count(one, size)
    rows: list[dict[str, Any]] = []
    for one in asked:
        fits = []
        for size in sizes:
            progress = show_progress(f"{one.activation.name}, d = {size}")
            fits += experiments(
                one, size, range(seed, seed + seeds), names, gtol=gtol, max_iter=max_iter, progress=progress
            )
        rows += [solution.to_row() for solution in summarise(one, fits, tolerance=gtol)]
    finish(rows, output, format_)
