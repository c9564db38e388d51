"""Long tables made point by point: finished points are kept in a journal, as those of a sweep are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidProblem
from ..io.rows import json_value
from ..sweeps.journal import Journal, journal_path
from ..sweeps.plan import Plan
from ..sweeps.run import check_output

Rows = list[dict[str, Any]]


def make_table(
    work: Callable[[int], Rows],
    count: int,
    record: Plan,
    columns: Sequence[str],
    output: Path | None,
    *,
    resume: bool,
    force: bool,
) -> Rows:
    """All rows of the points 0 to `count` - 1, in order.

    Parameters
    ----------
    work : callable
        The rows of a point.
    count : int
    record : Plan
        Every value that decides the rows.
    columns : sequence of str
        Names of the cells of a row.
    output : Path or None
        File of the table, which the caller writes; the journal is FILE.journal.jsonl. Without it nothing is kept.
    resume, force : bool
        Continue from that journal, or begin anew where files exist.

    Raises
    ------
    InvalidProblem
        If files are in the way, or the journal belongs to other options.
    OutputError
        If the journal cannot grow.
    """
    if output is None:
        if resume or force:
            raise InvalidProblem("resume or force need an output: without one nothing is kept")
        return [row for index in range(count) for row in work(index)]
    check_output(output, resume=resume, force=force)
    with Journal(journal_path(output), record, anew=force, columns=columns) as journal:
        for index in range(count):
            if index not in journal.finished:
                rows = work(index)
                journal.append(index, [[json_value(row[name]) for name in columns] for row in rows])
        cells = [row for index in range(count) for row in journal.finished[index]]
    return [dict(zip(columns, row, strict=True)) for row in cells]
