"""`replica heads optimum` and `prune`: what training can reach, and what the heads are worth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .heads_options import problem_options, seed_option
from .output import check_output, emit, output_options
from .progress import progress_on

if TYPE_CHECKING:
    from replica.heads.optimum import Optimum
    from replica.heads.problem import HeadsProblem

TABLES = ("specialisation", "emergence", "activations", "pruning")
_samples_option = click.option("--samples", type=int, default=4096, show_default=True, help="Nodes, a power of two.")
_starts_option = click.option("--starts", type=int, default=8, show_default=True, help="Starts of the search.")


@click.command()
@problem_options
@_samples_option
@_starts_option
@seed_option
@output_options
def optimum(
    problem: HeadsProblem, samples: int, starts: int, seed: int, output: Path | None, format_: str | None
) -> None:
    """Least risk over overlaps, key noise and thresholds, beside the Bayes risk.

    The Bayes risk is an average of its own, over 8 sets of 64 times --samples points, at most 2^20.

    Exit code 3 if the search did not end at a stationary point: a derivative is above 1e-4 of the risk.

    Example: replica heads optimum --activation softmax-1 --signal flipped:nu=16 --heads 2
    """
    from replica.heads.bayes import bayes_risk, beside
    from replica.heads.optimum import optimum as search
    from replica.heads.table import optimum_row

    from .heads_table import listing

    format_ = check_output(output, format_)
    with progress_on("searching") as progress:
        found = search(problem, samples, starts, seed, progress)
    names = ("risk", "slack", "spread", "bayes_risk", "r_largest", "gradient")
    emit([optimum_row(found, bayes_risk(problem, beside(samples)), seed)], output, format_, listing(names))
    _finish(found)


@click.command()
@problem_options
@click.option("--retrain/--no-retrain", default=None, help="One curve only.  [default: both]")
@_samples_option
@_starts_option
@seed_option
@output_options
def prune(
    problem: HeadsProblem,
    retrain: bool | None,
    samples: int,
    starts: int,
    seed: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Remove heads from the optimum one by one, the cheapest first, with and without training again.

    Exit code 3 if the search for the optimum did not end at a stationary point.

    Example: replica heads prune --activation softmax-1 --signal flipped:nu=16,features=2 --heads 8
    """
    from replica.heads.bayes import bayes_risk, beside
    from replica.heads.optimum import optimum as search
    from replica.heads.prune import prune as remove
    from replica.heads.table import PRUNING, complete

    from .heads_table import listing

    format_ = check_output(output, format_)
    with progress_on("searching") as progress:
        found = search(problem, samples, starts, seed, progress)
    rows = []
    for again in (False, True) if retrain is None else (retrain,):
        with progress_on("pruning") as progress:
            rows += remove(found, retrain=again, seed=seed, progress=progress)
    bayes = dict(zip(("bayes_risk", "bayes_risk_err"), bayes_risk(problem, beside(samples)), strict=True))
    names = ("retrained", "removed", "heads_left", "risk")
    emit(complete(rows, PRUNING, problem, nodes=samples, seed=seed, **bayes), output, format_, listing(names))
    _finish(found)


def _finish(found: Optimum) -> None:
    if not found.converged:
        click.echo(
            f"warning: the search ended with a derivative of {found.gradient:.1e}; other --starts may help", err=True
        )
        sys.exit(3)


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where the tables go.",
)
@click.option(
    "--table",
    "names",
    type=click.Choice(TABLES),
    multiple=True,
    help="Repeatable.  [default: all]",
)
@seed_option
def study(folder: Path, names: tuple[str, ...], seed: int) -> None:
    """Write the tables behind the pictures: heads_specialisation.csv, _emergence, _activations, _pruning.

    Example: replica heads study --folder results
    """
    from replica.heads import study as tables

    chosen = names or TABLES
    paths = {name: folder / f"heads_{name}.csv" for name in chosen}
    for path in paths.values():
        check_output(path, None)
    for name, path in paths.items():
        with progress_on(name) as progress:
            rows = getattr(tables, name)(seed=seed, progress=progress)
        emit(rows, path, "csv", str)
