"""Checks of a grid of problems: finished ones are kept in a journal, the table is made of it at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidProblem
from ..io.rows import json_value
from ..models.problem import Problem
from ..sweeps import plan as grids
from ..sweeps.journal import Journal, Rows, journal_path
from ..sweeps.run import check_output
from .compare import Plan, check
from .table import NAMES

Tick = Callable[[Problem, int, int, str], None]  # problem, size, seed, start


@dataclass(frozen=True)
class Checks:
    """Problems to check, in grid order, and the experiment for each.

    Attributes
    ----------
    points : tuple of (str, Problem)
        Estimator and problem.
    experiment : Plan
    record : replica.sweeps.plan.Plan
        Every value that decides the results.
    """

    points: tuple[tuple[str, Problem], ...]
    experiment: Plan
    record: grids.Plan

    @classmethod
    def of(cls, grid: Mapping[str, Any], experiment: Plan) -> Checks:
        """The product of all axes of a grid (`replica.sweeps.plan.plan`; the estimator is erm by default).

        Raises
        ------
        InvalidProblem
            If a point makes no sense or has no experiment.
        """
        for name in ("rtol", "seed"):
            if name in grid:
                raise InvalidProblem(f"{name} is not an axis of a check; its theory has the default accuracy")
        made = grids.plan({"estimator": "erm", **grid})
        points = tuple((line.estimator, line.at(alpha)) for line in made.lines for alpha in line.alphas)
        for _, problem in points:
            experiment.refuse(problem)
        options = made.options | {"experiment": dataclasses.asdict(experiment)}
        return cls(points, experiment, dataclasses.replace(made, options=options))

    def run(
        self, output: Path | None = None, *, resume: bool = False, force: bool = False, tick: Tick | None = None
    ) -> list[dict[str, Any]]:
        """Check every point; returns all rows (`replica.checks.table.CHECK_COLUMNS`), in grid order.

        Parameters
        ----------
        output : path, optional
            File of the table, which the caller writes; finished points are kept in FILE.journal.jsonl.
        resume, force : bool
            Continue from that journal, or begin anew where files exist.
        tick : callable, optional
            Called with (problem, size, seed, start) before each experiment.

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
            return [row for index in range(len(self.points)) for row in self._check(index, tick)]
        check_output(output, resume=resume, force=force)
        with Journal(journal_path(output), self.record, anew=force, columns=NAMES) as journal:
            for index in self._missing(journal.finished):
                rows = self._check(index, tick)
                journal.append(index, [[json_value(row[name]) for name in NAMES] for row in rows])
            return [
                dict(zip(NAMES, row, strict=True))
                for index in range(len(self.points))
                for row in journal.finished[index]
            ]

    def _missing(self, finished: dict[int, Rows]) -> Iterator[int]:
        return (index for index in range(len(self.points)) if index not in finished)

    def _check(self, index: int, tick: Tick | None) -> list[dict[str, Any]]:
        estimator, problem = self.points[index]
        told = None if tick is None else lambda *where: tick(problem, *where)
        return check(problem, estimator, self.experiment, progress=told).to_rows()
