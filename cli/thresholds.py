"""`replica thresholds`: first-order transitions of the Bayes-optimal estimator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .options import NUMBER, data_model, length_option, model_option, noise_option, nu_option
from .output import check_output, emit, output_options

Row = dict[str, Any]


@click.command()
@model_option
@nu_option
@noise_option
@length_option
@click.option(
    "--tol", type=NUMBER, default=1e-3, show_default=True, help="Width of the brackets, relative to the threshold."
)
@click.option("--alpha-min", type=NUMBER, default=0.01, show_default=True, help="Where the search begins.")
@click.option("--alpha-max", type=NUMBER, default=100.0, show_default=True, help="Where the search ends.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of quasi-random nodes.")
@output_options
def thresholds(
    model: str,
    nu: float | None,
    noise: float,
    length: str,
    tol: float,
    alpha_min: float,
    alpha_max: float,
    seed: int,
    format_: str | None,
    output: Path | None,
) -> None:
    """Where the Bayes-optimal estimator jumps as alpha = N/D grows.

    Three rows for each first-order transition: the end of the branch reached from q = 0, the birth of the better
    branch, and the alpha at which their free entropies are equal. A bracket [lo, hi] is certified by solving at both
    ends. Exit code 3 if one could not be.

    Example: replica thresholds --model spiked-slr --nu 2 --noise 0
    """
    format_ = check_output(output, format_)
    from replica.analysis.thresholds import thresholds as find
    from replica.models.problem import Problem

    problem = Problem(data=data_model(model, nu), length=length, noise=noise)
    rows = [one.to_row() for one in find(problem, tol=tol, alpha_min=alpha_min, alpha_max=alpha_max, seed=seed)]
    emit(rows, output, format_, _table)
    failed = [row for row in rows if row["status"] == "uncertified"]
    for row in failed:
        click.echo(f"warning: {row['kind']}: uncertified: {row['message']}", err=True)
    if failed:
        sys.exit(3)


def _table(rows: Sequence[Row]) -> str:
    first = rows[0]
    head = f"{first['model']}: Bayes-optimal transitions, length = {first['length']}  nu = {first['nu']:g}"
    lines = [f"{head}  noise = {first['noise']:g}"]
    if first["status"] == "none":
        return "\n".join([*lines, f"  {first['message']}", ""])
    for row in rows:
        value = "-" if row["value"] is None else f"{row['value']:.7g}"
        lines.append(
            f"  {row['kind']:<20} {value:>10}  in [{row['lo']:.7g}, {row['hi']:.7g}]  {row['status']}: {row['message']}"
        )
    return "\n".join([*lines, ""])
