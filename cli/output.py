"""Rows to the terminal or to a file, as table, JSON or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from replica.errors import InvalidProblem

FORMATS = ("table", "json", "csv")
_SUFFIXES = {".json": "json", ".csv": "csv", ".txt": "table"}


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--format and --output."""
    function = click.option(
        "--output",
        type=click.Path(path_type=Path),
        help="File to write atomically; .json, .csv or .txt sets the format.",
    )(function)
    return click.option("--format", "format_", type=click.Choice(FORMATS), help="Output format.  [default: table]")(
        function
    )


def check_output(output: Path | None, format_: str | None) -> str:
    """The format to write, after checking that the file can be written.

    Raises
    ------
    InvalidProblem
        If the suffix says nothing or contradicts --format, or the file cannot be written.
    """
    if output is None:
        return format_ or "table"
    from replica.io.atomic import check_writable

    by_suffix = _SUFFIXES.get(output.suffix.lower())
    if by_suffix is None and format_ is None:
        raise InvalidProblem(
            f"output = {str(output)!r} does not say the format; allowed: .json, .csv, .txt, or --format"
        )
    if by_suffix and format_ and by_suffix != format_:
        raise InvalidProblem(f"output = {str(output)!r} contradicts --format {format_}; change one of them")
    check_writable(output)
    return format_ or by_suffix


def say_if_anew(output: Path | None, resume: bool) -> None:
    """Say on stderr where --resume finds nothing to continue."""
    from replica.sweeps.journal import journal_path

    if resume and output is not None and not output.exists() and not journal_path(output).exists():
        click.echo(f"{journal_path(output)} does not exist: nothing to resume, beginning anew", err=True)


def emit(rows: Sequence[dict[str, Any]], output: Path | None, format_: str, table: Callable[..., str]) -> None:
    """Write the rows: to stdout, or atomically to `output`."""
    from replica.io.atomic import write_text
    from replica.io.rows import to_csv, to_json

    if format_ == "json":
        text = to_json(rows)
    elif format_ == "csv":
        text = to_csv(rows, list(rows[0]))
    else:
        text = table(rows)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)
        click.echo(f"wrote {output} ({len(rows)} row{'s' if len(rows) != 1 else ''})", err=True)
