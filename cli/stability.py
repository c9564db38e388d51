"""`replica stability`: where replica symmetry breaks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from .options import NUMBER
from .output import check_output, emit, output_options, say_if_anew
from .sweep import GRID, grid_options
from .table import Row, with_error

_AXES = ("model", "activation", "erf-offset", "length", "nu", "noise", "reg", "reg-k", "reg-v", "alpha")


@click.command()
@grid_options(*(name for name in GRID if name in _AXES), optimal=False)
@click.option(
    "--search",
    default="reg",
    show_default=True,
    help="Parameter along which the line is searched, which needs a range: alpha, nu, noise, reg, reg-k or reg-v.",
)
@click.option("--tol", type=NUMBER, default=0.02, show_default=True, help="Relative width to which it is located.")
@click.option("--resume", is_flag=True, help="Continue the map that was cut off, from OUTPUT.journal.jsonl.")
@click.option("--force", is_flag=True, help="Begin anew where files exist.")
@output_options
def stability(
    search: str,
    tol: float,
    resume: bool,
    force: bool,
    format_: str | None,
    output: Path | None,
    **grid: tuple[str, ...],
) -> None:
    """Map the line where replica symmetry breaks over two parameters.

    For each combination of the other parameters the verdict (replicon below 1, and minima that are close) is computed
    on the grid of --search, and where it changes the interval is halved. Rows of kind `grid` are these points, rows of
    kind `line` say between which values (low, high) the line lies. `resolved` is false where the errors leave the
    verdict open on a stretch longer than --tol, or the line leaves the grid. Options of the problem take lists and
    ranges as in `replica sweep`.

    Example: replica stability --model spiked-slr --alpha 1,2,4,8 --reg log:0.003:0.1:6 --output line.csv
    """
    from replica.checks.line import NAMES, LineMap

    format_ = check_output(output, format_)
    made = LineMap.of(
        {name: list(texts) for name, texts in grid.items() if texts}, search.replace("-", "_"), tolerance=tol
    )
    say_if_anew(output, resume)
    rows = made.run(output, resume=resume, force=force, tick=_progress())
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    emit([{name: row[name] for name in NAMES} for row in rows], output, format_, line_table)


def line_table(rows: Sequence[Row]) -> str:
    """One line for each row: where, replicon, side, and for crossings between which values."""
    lines = [f"{'alpha':>8} {'reg_k':>9} {'reg_v':>9}  {'replicon':<22} {'jumps':>8}  side"]
    for row in rows:
        place = f"{row['alpha']:>8.4g} {row['reg_k']:>9.4g} {row['reg_v']:>9.4g}"
        replicon = with_error(row["replicon"], row["replicon_err"])
        jump = "-" if row["prox_jump"] is None else f"{row['prox_jump']:.1e}"
        lines.append(f"{place}  {replicon:<22} {jump:>8}  {row['side']}{_crossing(row)}")
    return "\n".join(lines) + "\n"


def _crossing(row: Row) -> str:
    if row["kind"] == "grid":
        return ""
    low, high = ("the end of the grid" if row[end] is None else f"{row[end]:.4g}" for end in ("low", "high"))
    return f"  <- line between {row['searched']} = {low} and {high}{'' if row['resolved'] else ', UNRESOLVED'}"


def _progress() -> Callable[[Any], None] | None:
    """A progress line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return None
    return lambda problem: click.echo(
        f"\r\x1b[Kalpha = {problem.alpha:g}, reg = {problem.reg_k:g}, {problem.reg_v:g}", err=True, nl=False
    )
