"""What the commands that run experiments share: options, progress, table, exit code."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from replica.errors import InvalidProblem

from .output import emit
from .table import Row, problem_line, with_error

_SHOWN = ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v", "objective", "train_loss", "test_risk", "attention_relevant",
          "distance_k", "minima")  # fmt: skip


def experiment_options(sizes: str = "1000") -> Callable[..., Any]:
    """--d, which is `sizes` by default, --seeds and --seed."""
    options = (
        click.option(
            "--d",
            "dimensions",
            default=sizes,
            show_default=True,
            help="Dimension, or several as 500,1000,2000.",
        ),
        click.option(
            "--seeds",
            type=click.IntRange(min=1),
            default=10,
            show_default=True,
            help="Independent data sets for each d.",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the first one."),
    )
    return lambda function: functools.reduce(lambda inner, option: option(inner), reversed(options), function)


def integers(name: str, text: str) -> list[int]:
    """A comma-separated list of integers without repetition, in increasing order.

    Raises
    ------
    InvalidProblem
        If an entry is not an integer.
    """
    try:
        return sorted({int(entry) for entry in text.split(",")})
    except ValueError:
        raise InvalidProblem(f"{name} = {text!r} is not understood; allowed: integers such as 500,1000,2000") from None


def check_open_interval(**tolerances: float) -> None:
    """Refuse numbers outside (0, 1).

    Raises
    ------
    InvalidProblem
    """
    for name, value in tolerances.items():
        if not 0.0 < value < 1.0:
            raise InvalidProblem(f"{name} = {value:g} is out of range; allowed: 0 < {name} < 1")


def show_progress(what: str) -> Callable[[int, str], None] | None:
    """A progress line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return None
    return lambda seed, start: click.echo(f"\r\x1b[K{what}, seed {seed}, {start}", err=True, nl=False)


def finish(rows: Sequence[Row], output: Path | None, format_: str) -> None:
    """Write the rows, warn about those that did not converge, and exit with code 3 if there are any."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    emit(rows, output, format_, experiment_table)
    failed = [row for row in rows if row["status"] != "converged"]
    for row in failed:
        click.echo(f"warning: {_label(row)}: {row['status']}: {row['message']}", err=True)
    if failed:
        sys.exit(3)


def experiment_table(rows: Sequence[Row]) -> str:
    """One block for each row: problem, data, measured numbers with their standard errors."""
    return "\n".join(_block(row) for row in rows)


def _label(row: Row) -> str:
    parts = [row["estimator"], row["activation"], f"from {row['init']}", f"d = {row['d'] or 'inf'}"]
    return ", ".join(part for part in parts if part)


def _block(row: Row) -> str:
    lines = [
        f"{row['model']}: {_label(row)}"
        + (" (lowest objective)" if row["selected"] and row["objective"] is not None else "")
    ]
    lines += ["  " + problem_line(row), ""]
    lines += [f"  {name:<20} {with_error(row[name], row[f'{name}_err'])}" for name in _SHOWN if row[name] is not None]
    lines.append("")
    lines.append(
        f"  {row['status']}; residual {row['residual']:.1e}, {row['iterations']} iterations in all; {row['method']}; "
        f"{row['seeds']} data set{'s' if row['seeds'] != 1 else ''} from seed {row['seed']}"
    )
    if row["message"]:
        lines.append(f"  note: {row['message']}")
    return "\n".join(lines) + "\n"
