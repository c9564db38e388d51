"""`replica solve`: one problem, all estimators."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

from replica.models.checks import check_solver
from replica.registry import ESTIMATORS, load

from .options import estimator_option, problem_options, problems, solver_options
from .output import check_output, emit, output_options
from .table import solution_table


@click.command()
@problem_options()
@estimator_option
@solver_options
@output_options
def solve(
    estimators: tuple[str, ...],
    init: str,
    rtol: float | None,
    seed: int,
    damping: float,
    accelerate: bool,
    format_: str | None,
    output: Path | None,
    **problem: Any,
) -> None:
    """Asymptotic test risk, order parameters and stability of one problem.

    One row for each distinct fixed point, the prediction first. Exit code 3 if a prediction did not converge.

    Example: replica solve --model max-slr --alpha 2
    """
    check_solver(rtol, damping)
    format_ = check_output(output, format_)
    asked = problems(**problem)
    options = {"rtol": rtol, "init": init, "seed": seed, "damping": damping, "accelerate": accelerate}
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in dict.fromkeys(estimators):
            fixed_points = load(ESTIMATORS, "estimator", name)
            # the Bayes risk knows no activation: one problem stands for all
            for one in asked[:1] if name == "bayes" else asked:
                rows += [solution.to_row() for solution in fixed_points(one, **options)]
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"warning: {message}", err=True)
    emit(rows, output, format_, solution_table)
    selected = [row for row in rows if row["selected"]]
    for row in selected:
        if row["status"] == "converged" and row["accuracy_met"] is False:
            label = row["activation"] or row["estimator"]
            error = "unknown" if row["test_risk_err"] is None else f"{row['test_risk_err']:.1e}"
            detail = f"error {error}, relative {row['rtol']:g} asked"
            click.echo(f"warning: {label}: test_risk is less accurate than asked: {detail}", err=True)
    failed = [row for row in selected if row["status"] != "converged"]
    for row in failed:
        click.echo(f"warning: {row['activation'] or row['estimator']}: {row['status']}: {row['message']}", err=True)
    if failed:
        sys.exit(3)
