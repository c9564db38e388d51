"""`replica check`: does the theory describe the experiment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from .experiment import experiment_options, integers
from .output import check_output, emit, output_options, say_if_anew
from .sweep import GRID, grid_options
from .table import Row, problem_line, with_error

_POINT = ("model", "estimator", "activation", "alpha", "length", "nu", "noise", "reg_k", "reg_v", "erf_offset")


@click.command()
@grid_options(*(name for name in GRID if name not in ("estimator", "seed")), optimal=False)
@click.option("--estimator", multiple=True, help="erm against L-BFGS, bayes against message passing.  [default: erm]")
@experiment_options("500,1000,2000")
@click.option(
    "--starts",
    default="informed,random,small",
    show_default=True,
    help="Where L-BFGS starts; random:8 for eight of a kind; the lowest minimum is compared.",
)
@click.option("--resume", is_flag=True, help="Continue the check that was cut off, from OUTPUT.journal.jsonl.")
@click.option("--force", is_flag=True, help="Begin anew where files exist.")
@output_options
def check(
    dimensions: str,
    seeds: int,
    seed: int,
    starts: str,
    resume: bool,
    force: bool,
    format_: str | None,
    output: Path | None,
    **grid: tuple[str, ...],
) -> None:
    """Compare theory and experiment on the same problems: L-BFGS for erm, message passing for bayes.

    Each number is measured at every --d over --seeds data sets, extrapolated in 1/d, and compared at the limit: z is
    the difference in joint errors. Verdict: agrees; disagrees, if some |z| > 4; replica symmetry broken, where the
    theory finds itself invalid (the spread of the minima from different starts is shown); undecided, if something did
    not converge. z at single d holds the bias in 1/d: shown, not judged. Exit code 3 unless all points agree or are
    broken.

    Options of the problem take lists and ranges as in `replica sweep`. Every point of the grid has its own data sets;
    column seed tells the first.

    The defaults, 10 seeds at d = 500,1000,2000, take below a minute for most problems at L = 2 and alpha <= 4 and see
    deviations of about 1 %. Errors fall like 1/sqrt(seeds d), time grows like seeds d^2. For a faster and coarser check
    take --d 100,200,400; near a transition, and for bayes at noise close to 0, d of 1000 or more; for
    0.3 %, --d 1000,2000,4000 --seeds 40.

    Example: replica check --model spiked-slr --alpha 2 --estimator erm,bayes --noise 0.3
    """
    from replica.checks.compare import Plan
    from replica.checks.run import Checks
    from replica.checks.table import NAMES

    format_ = check_output(output, format_)
    plan = Plan(tuple(integers("d", dimensions)), seeds, seed, tuple(starts.split(",")))
    checks = Checks.of({name: list(texts) for name, texts in grid.items() if texts}, plan)
    say_if_anew(output, resume)
    rows = checks.run(output, resume=resume, force=force, tick=_progress())
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    emit([{name: row[name] for name in NAMES} for row in rows], output, format_, check_table)
    failed = [point for point in _points(rows) if point[0]["verdict"] in ("disagrees", "undecided")]
    for point in failed:
        click.echo(f"warning: {_label(point[0])}: {point[0]['verdict']}: {point[0]['message']}", err=True)
    if failed:
        sys.exit(3)


def check_table(rows: Sequence[Row]) -> str:
    """One block for each problem: its numbers at the limit, z at every size, and the verdict."""
    return "\n".join(_block(point) for point in _points(rows))


def _points(rows: Sequence[Row]) -> list[list[Row]]:
    return [list(point) for _, point in groupby(rows, key=lambda row: [row[name] for name in _POINT])]


def _label(row: Row) -> str:
    return f"{row['model']}, {row['activation'] or row['estimator']}, L = {row['length']}, alpha = {row['alpha']:g}"


def _block(point: Sequence[Row]) -> str:
    first = point[0]
    against = "message passing" if first["estimator"] == "bayes" else "L-BFGS"
    sizes = sorted({row["d"] for row in point if row["d"] is not None})
    lines = [f"{first['model']}: {first['activation'] or first['estimator']} against {against}"]
    lines += ["  " + problem_line(first), ""]
    lines.append(f"  {'':<20} {'theory':<22} {'experiment, d -> inf':<24} {'z':>6}   z at d = {_joined(sizes)}")
    for name, group in groupby(point, key=lambda row: row["number"]):
        *single, last = group
        theory, measured = (with_error(last[key], last[f"{key}_err"]) for key in ("theory", "experiment"))
        z = ", ".join(_z(row) for row in single)
        lines.append(f"  {name:<20} {theory:<22} {measured:<24} {_z(last):>6}   {z}")
    lines.append("")
    if first["minima"] is not None:
        lines += _minima(point, sizes)
    lines.append(f"  {first['verdict'].upper()}: {first['message']}")
    return "\n".join(lines) + "\n"


def _z(row: Row) -> str:
    """Unknown where the theory did not converge, and has no errors."""
    return "-" if row["z"] is None else f"{row['z']:.1f}"


def _minima(point: Sequence[Row], sizes: Sequence[int]) -> list[str]:
    """How many minima the starts reach, and how far apart they are."""
    risk = {row["d"]: row for row in point if row["number"] == "test_risk"}
    minima = _joined(f"{risk[d]['minima']:.3g}" for d in sizes)
    spread = _joined(f"{risk[d]['spread']:.1e}" for d in sizes)
    return [f"  distinct minima of a data set at d = {_joined(sizes)}: {minima}; spread of their test risks: {spread}"]


def _joined(values: Any) -> str:
    return ", ".join(map(str, values))


def _progress() -> Callable[..., None] | None:
    """A progress line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(problem: Any, size: int, seed: int, start: str) -> None:
        where = f"{problem.data.name}, {problem.activation.name}, L = {problem.length}, alpha = {problem.alpha:g}"
        click.echo(f"\r\x1b[K{where}: d = {size}, seed {seed}, {start}", err=True, nl=False)

    return show
