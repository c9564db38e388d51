"""A sweep from plan to file: what is finished is in the journal, the CSV is made of it in grid order at the end."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidProblem
from ..io.atomic import check_writable, write_text
from ..io.rows import to_csv
from ..quadrature.blocks import default_threads
from .journal import Journal, Rows, journal_path
from .lines import NAMES
from .plan import Line, Plan
from .workers import Finished, Tick, processes, serial


@dataclass(frozen=True)
class Execution:
    """Where the lines are solved; results do not depend on it.

    Attributes
    ----------
    jobs : int
        Worker processes; 1 works in this process.
    threads : int or None
        Threads of each; by default the cores divided by the jobs.
    scheduler : str or None
        Address of a Dask scheduler whose workers solve the lines, instead of jobs.
    """

    jobs: int = 1
    threads: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        for name in ("jobs", "threads"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int) and value >= 1):
                raise InvalidProblem(f"{name} = {value!r} makes no sense; allowed: an integer >= 1")
        if self.scheduler is not None and self.jobs > 1:
            raise InvalidProblem("jobs and scheduler exclude each other: the workers of the scheduler do the work")

    def finished(self, lines: list[Line], tick: Tick) -> Finished:
        """Solve the lines; yields the index and the rows of each in any order."""
        if self.scheduler is not None and lines:
            from .cluster import cluster

            return cluster(lines, self.scheduler, self.threads, tick)
        jobs = min(self.jobs, len(lines))
        threads = self.threads or max(1, default_threads() // max(jobs, 1))
        return serial(lines, threads, tick) if jobs <= 1 else processes(lines, jobs, threads, tick)


def check_output(output: Path, *, resume: bool, force: bool) -> None:
    """Refuse to overwrite a sweep by accident.

    Raises
    ------
    InvalidProblem
        If the file or its journal exists and neither `resume` nor `force` is given, or there is nothing to resume.
    """
    if resume and force:
        raise InvalidProblem("resume and force exclude each other: continue the sweep, or begin it anew")
    check_writable(output)
    journal = journal_path(output)
    if resume and output.exists() and not journal.exists():
        raise InvalidProblem(
            f"output = {str(output)!r} has no journal {str(journal)!r} to resume; begin anew with force"
        )
    if not (resume or force):
        for path in (output, journal):
            if path.exists():
                raise InvalidProblem(f"output: {str(path)!r} exists; continue with resume, begin anew with force")


def progress_bar(plan: Plan, show: bool | None = None) -> Any:
    """A bar over the solves of a plan with the time left; by default on a terminal only."""
    from tqdm import tqdm

    show = sys.stderr.isatty() if show is None else show
    return tqdm(total=2 * plan.points, unit="solve", disable=not show, smoothing=0.1)


def verdicts(rows: Rows) -> tuple[list[str], str]:
    """What the reader must know: the failures among the predictions by their message, and how many are inaccurate."""
    status, message, selected, met = (NAMES.index(name) for name in ("status", "message", "selected", "accuracy_met"))
    chosen = [row for row in rows if row[selected]]
    failed = Counter((row[status], row[message]) for row in chosen if row[status] != "converged")
    coarse = sum(row[status] == "converged" and row[met] is False for row in chosen)
    return (
        [f"{count} of {len(chosen)} points: {kind}: {text}" for (kind, text), count in failed.most_common()],
        f"{coarse} of {len(chosen)} predictions are less accurate than asked (accuracy_met)" if coarse else "",
    )


def run(
    plan: Plan, execution: Execution, output: Path | None, *, resume: bool, force: bool, command: str | None, tick: Tick
) -> Rows:
    """Solve a plan; returns all rows in grid order, and writes them to `output` if given.

    Three files: `output`, the CSV, written at the end; FILE.journal.jsonl, the finished lines; FILE.meta.json, the
    command, seeds, options and versions.

    Parameters
    ----------
    resume, force : bool
        Continue the sweep of the journal, or begin anew where files exist.
    command : str
        For the record in FILE.meta.json; None if the sweep was not started by one.
    tick : callable
        Called once for every solve that is done, twice for each grid point; finished lines of a journal count at once.

    Raises
    ------
    InvalidProblem
        If files are in the way, or the journal belongs to other options.
    OutputError
        If the disk is full; the journal keeps what is finished.
    """
    if output is None:
        if resume or force:
            raise InvalidProblem("resume or force need an output: without one nothing is kept")
        finished: dict[int, Rows] = {}
        _solve(plan, execution, finished, finished.__setitem__, tick)
        return _in_order(plan, finished)
    check_output(output, resume=resume, force=force)
    with Journal(journal_path(output), plan, anew=force) as journal:
        _solve(plan, execution, journal.finished, journal.append, tick)
        rows = _in_order(plan, journal.finished)
        write_text(output.with_name(output.name + ".meta.json"), _meta(plan, command, len(rows)))
        write_text(output, to_csv((dict(zip(NAMES, row, strict=True)) for row in rows), NAMES))
    return rows


def _solve(
    plan: Plan, execution: Execution, finished: dict[int, Rows], keep: Callable[[int, Rows], None], tick: Tick
) -> None:
    missing = []
    for line in plan.lines:
        if line.index not in finished:
            missing.append(line)
        else:
            for _ in range(2 * len(line.alphas)):
                tick()
    with contextlib.closing(execution.finished(missing, tick)) as results:
        for index, rows in results:
            keep(index, rows)


def _in_order(plan: Plan, finished: dict[int, Rows]) -> Rows:
    return [row for line in plan.lines for row in finished[line.index]]


def _meta(plan: Plan, command: str | None, rows: int) -> str:
    about = {
        "command": command,
        "seed": plan.options["axes"]["seed"],
        "points": plan.points,
        "rows": rows,
        **plan.options,
        "digest": plan.digest,
    }
    return json.dumps(about, indent=1, allow_nan=False) + "\n"
