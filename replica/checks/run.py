"""Checks of a grid of problems: finished ones are kept in a journal, the table is made of it at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidProblem
from ..models.problem import Problem
from ..sweeps import plan as grids
from .compare import Plan, check
from .journaled import make_table
from .table import NAMES

Tick = Callable[[Problem, int, int, str], None]  # problem, size, seed, start


@dataclass(frozen=True)
class Checks:
    """Problems to check, in grid order, and the experiment for each.

    Attributes
    ----------
    points : tuple of (str, Problem, float or None)
        Estimator, problem, and relative accuracy of the theory.
    experiment : Plan
    record : replica.sweeps.plan.Plan
        Every value that decides the results.
    """

    points: tuple[tuple[str, Problem, float | None], ...]
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
        if "seed" in grid:
            raise InvalidProblem("seed is not an axis of a check: it belongs to the experiment")
        made = grids.plan({"estimator": "erm", **grid})
        points = tuple((line.estimator, line.at(alpha), line.rtol) for line in made.lines for alpha in line.alphas)
        for _, problem, _ in points:
            experiment.refuse(problem)
        options = made.options | {"experiment": dataclasses.asdict(experiment)}
        return cls(points, experiment, dataclasses.replace(made, options=options))

    def run(
        self, output: Path | None = None, *, resume: bool = False, force: bool = False, tick: Tick | None = None
    ) -> list[dict[str, Any]]:
        """Check every point; returns all rows (`replica.checks.table.CHECK_COLUMNS`), in grid order.

        Parameters
        ----------
        output, resume, force
            As for `make_table`.
        tick : callable, optional
            Called with (problem, size, seed, start) before each experiment.

        Raises
        ------
        InvalidProblem, OutputError
            See `make_table`.
        """
        return make_table(
            lambda index: self._check(index, tick),
            len(self.points),
            self.record,
            NAMES,
            output,
            resume=resume,
            force=force,
        )

    def _check(self, index: int, tick: Tick | None) -> list[dict[str, Any]]:
        estimator, problem, rtol = self.points[index]
        # other data sets for every point: neighbours that share them deviate together
        first = self.experiment.seed + index * self.experiment.seeds
        experiment = dataclasses.replace(self.experiment, seed=first)
        told = None if tick is None else lambda *where: tick(problem, *where)
        return check(problem, estimator, experiment, rtol=rtol, progress=told).to_rows()
