"""`replica plot`: a figure from CSV files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replica.errors import InvalidProblem

if TYPE_CHECKING:
    import pandas


@click.command()
@click.argument("files", metavar="FILE.csv...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--x", metavar="COLUMN", help="Horizontal axis.  [default: alpha, or what has most values]")
@click.option("--y", metavar="COLUMN", help="A computed number; a parameter makes a map.  [default: test_risk]")
@click.option(
    "--hue", metavar="COLUMN", help="What colour shows; a computed number makes a map.  [default: what else varies]"
)
@click.option("--where", multiple=True, metavar="COLUMN=VALUE[,VALUE...]", help="Only these rows; repeatable.")
@click.option("--output", type=click.Path(path_type=Path), help="png, svg or pdf.  [default: the first FILE as .png]")
def plot(
    files: tuple[Path, ...], x: str | None, y: str | None, hue: str | None, where: tuple[str, ...], output: Path | None
) -> None:
    """Draw tables of replica solve, sweep, erm, amp, check, thresholds, stability, flow or heads in one figure.

    Curves: predictions as lines with error bands, dashed where replica symmetry is broken, dotted where that is
    unresolved, experiments as markers. A second parameter with many values makes a heat map. Transitions of replica
    thresholds are drawn as lines; alone they make a phase diagram. The line of replica stability is drawn over the
    plane, with the distance of minima from replica erm --starts random:8 as markers. Trajectories of replica heads run
    and simulate show risk, overlaps and the Bayes risk against log time, together if they are of one problem.

    Example: replica plot risk.csv lbfgs.csv --output risk.pdf
    """
    from replica.plots.figure import check_figure, save
    from replica.sweeps.frame import read_csv

    for path in files:
        if not path.name:
            raise InvalidProblem(f"{str(path)!r} is a folder; give names of CSV files")
    output = files[0].with_suffix(".png") if output is None else output
    check_figure(output, "output")
    if output.resolve() in [path.resolve() for path in files]:
        raise InvalidProblem(f"output = {str(output)!r} would replace a table; give another name")
    frames = [read_csv(path) for path in files]
    for path, frame in zip(files, frames, strict=True):
        if frame.empty:
            raise InvalidProblem(f"{str(path)!r} has no rows, only {_header(frame)}; give a table of replica with rows")
    from replica.plots.plot import figure_of

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = figure_of(frames, x=x, y=y, hue=hue, where=where)
    save(figure, output)
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    click.echo(f"wrote {output}", err=True)


def _header(frame: pandas.DataFrame) -> str:
    """The first line of a table, shortened, as what may be no table at all shows there."""
    text = ",".join(map(str, frame.columns))
    return f"the header {text if len(text) <= 60 else text[:57] + '...'!r}"
