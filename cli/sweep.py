"""`replica sweep`: a grid of problems into one CSV."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from replica.errors import InvalidProblem
from replica.registry import ACTIVATIONS, DATA_MODELS, ESTIMATORS

from .options import iteration_options
from .output import say_if_anew

GRID = {
    "model": f"Data models.  [known: {', '.join(DATA_MODELS)}; required]",
    "estimator": f"What to predict.  [known: {', '.join(ESTIMATORS)}; default: all]",
    "activation": f"Attention functions.  [known: {', '.join(ACTIVATIONS)}; default: softmax]",
    "erf-offset": "Offset c of erf attention{optimal}.  [default: 0]",
    "length": "Numbers of tokens, or one law such as 1:1,2:1,3:2; repeat for several laws.  [default: 2]",
    "nu": "Signal strengths, inf where allowed.  [default: inf for max-slr, 2 for spiked-slr]",
    "noise": "Standard deviation Delta of the label noise.  [default: 0]",
    "reg": "Both ridge penalties lambda together{optimal}.  [default: 1]",
    "reg-k": "Penalty on the key vector{optimal}, instead of --reg.",
    "reg-v": "Penalty on the value vector{optimal}, instead of --reg.",
    "rtol": "Relative error asked of test_risk.  [default: chosen by problem]",
    "seed": "Seed of random integration nodes.  [default: 0]",
    "alpha": "Samples per dimension, alpha = N/D.  [required]",
}
_OPTIMAL = {
    "erf-offset": ", or `optimal`",
    "reg": "; `optimal`: those of least test risk, each its own",
    "reg-k": ", or `optimal`",
    "reg-v": ", or `optimal`",
}


def grid_options(*names: str, optimal: bool = True) -> Callable[..., Any]:
    """An option for each of these axes of a grid; `optimal` says whether that word is understood."""

    def decorate(function: Any) -> Any:
        for name in reversed(names):
            flags = (f"--{name}", *(["-L"] if name == "length" else []))
            text = GRID[name].format(optimal=_OPTIMAL.get(name, "") if optimal else "")
            function = click.option(*flags, multiple=True, help=text)(function)
        return function

    return decorate


@click.command()
@grid_options(*GRID)
@iteration_options
@click.option("--output", type=click.Path(path_type=Path), required=True, help="CSV file to write.")
@click.option("--resume", is_flag=True, help="Continue the sweep that was cut off.")
@click.option("--force", is_flag=True, help="Begin anew where files exist.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of each worker.  [default: cores/jobs]")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers solve the lines, instead of --jobs.")
@click.option("--quiet", is_flag=True, help="No progress bar and no summary.")
def sweep(
    init: str,
    damping: float,
    accelerate: bool,
    output: Path,
    resume: bool,
    force: bool,
    jobs: int,
    threads: int | None,
    scheduler: str | None,
    quiet: bool,
    **grid: tuple[str, ...],
) -> None:
    """Solve the product of all lists and ranges, each alpha line up and down with warm starts.

    Options of the problem take a list 1,2,4, a range START:STOP:COUNT, a range in equal ratios log:START:STOP:COUNT, or
    several of these joined by commas. Rows have the columns of `replica solve` and the direction in `sweep`; one row
    of each point is selected. Finished lines are kept in OUTPUT.journal.jsonl for --resume. Results do not depend on
    --jobs, --threads or --scheduler. Exit code 3 if a prediction did not converge.

    Example: replica sweep --model max-slr --alpha 0.5:8:30 --reg log:0.1:10:5 --output risk.csv
    """
    from replica.sweeps.plan import plan
    from replica.sweeps.run import Execution, check_output, progress_bar, run, verdicts

    if output.suffix.lower() in (".json", ".txt"):
        raise InvalidProblem(f"output = {str(output)!r}: a sweep writes CSV; allowed: a name such as risk.csv")
    check_output(output, resume=resume, force=force)
    given = {name: list(texts) for name, texts in grid.items() if texts}
    solver = {"init": init, "damping": damping, "accelerate": accelerate}
    planned = plan(given, **solver)
    execution = Execution(jobs, threads, scheduler)
    say_if_anew(output, resume)
    command = _command(given, solver, output)
    with warnings.catch_warnings(record=True) as caught, progress_bar(planned, False if quiet else None) as bar:
        warnings.simplefilter("always")
        try:
            rows = run(planned, execution, output, resume=resume, force=force, command=command, tick=bar.update)
        except KeyboardInterrupt:
            bar.close()
            click.echo("interrupted; finished lines are kept, continue with --resume", err=True)
            raise
    for warning in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"warning: {warning}", err=True)
    if not quiet:
        click.echo(f"wrote {output} ({planned.points} points, {len(rows)} rows)", err=True)
    failed, coarse = verdicts(rows)
    for message in (*failed, coarse):
        if message:
            click.echo(f"warning: {message}", err=True)
    if failed:
        sys.exit(3)


def _command(grid: dict[str, list[str]], solver: dict[str, Any], output: Path) -> str:
    """The command that gives this file, whatever jobs, threads and interruptions there were."""
    words = ["replica", "sweep"]
    for name, texts in grid.items():
        for text in texts:
            words += [f"--{name.replace('_', '-')}", text]
    words += ["--init", solver["init"], "--damping", repr(solver["damping"])]
    words += ["--accelerate" if solver["accelerate"] else "--no-accelerate", "--output", str(output)]
    return shlex.join(words)
