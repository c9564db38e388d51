"""The line where replica symmetry breaks over two parameters, with its unresolved part (theory.md section 8).

Along one parameter the verdict `rs_stable` is computed on a grid, and where it changes sides the interval is halved
until it is short. It asks for a replicon below one and for minima that are close, so that the line lies where jumps of
the proximal point already part the minima, before the replicon of the regular part reaches one (de Almeida-Thouless
line). Where the errors leave the verdict open it is unresolved: close to cusps of the proximal point the replicon
converges slowly, and a point estimate would claim too much.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..analysis.erm import fixed_points
from ..errors import InvalidProblem
from ..models.checks import number
from ..models.problem import Problem
from ..schema import COLUMNS, Column
from ..sweeps import grids, plan
from ..types import Solution
from .journaled import make_table

STABLE, BROKEN, UNRESOLVED = "stable", "broken", "unresolved"
SEARCHABLE = ("alpha", "nu", "noise", "reg", "reg_k", "reg_v")
RTOL = 3e-3  # of the test risk: the error of the replicon near the line is larger, and does not come from there
MAX_POINTS = 60  # on one line of search, grid included

_EXTRA = (
    Column("kind", "text", "grid: a grid point; line: where replica symmetry breaks along the searched parameter"),
    Column("side", "text", "stable or broken by `rs_stable`; unresolved"),
    Column("searched", "text", "name of the searched parameter"),
    Column("low", "number", "line: largest value of it before the line where the side is known; null: none"),
    Column("high", "number", "line: smallest value beyond the line where the side is known; null: none"),
    Column("resolved", "flag", "line: sides are known at low and high, differ, and low to high is within tol"),
)
LINE_COLUMNS = (*COLUMNS, *_EXTRA)
NAMES = tuple(column.name for column in LINE_COLUMNS)

Tick = Callable[[Problem], None]


class Point(NamedTuple):
    """A value of the searched parameter, the prediction there, and its side."""

    value: float
    solution: Solution
    side: str


class Crossing(NamedTuple):
    """Where the side changes: the known points around it (None at an end of the grid), and an unresolved one between
    them, or the lower of the two where there is none."""

    low: Point | None
    high: Point | None
    middle: Point
    resolved: bool


def side_of(solution: Solution) -> str:
    """The verdict of a solution."""
    if not solution.converged or solution.rs_stable is None:
        return UNRESOLVED
    return STABLE if solution.rs_stable else BROKEN


def refine(
    solve: Callable[[float], Solution], values: tuple[float, ...], tolerance: float
) -> tuple[list[Point], list[Crossing]]:
    """The points of a search, in increasing order, and the crossings between them.

    Neighbours on different sides are separated by their midpoint (geometric for positive values) until they differ by
    at most `tolerance`, relative.

    Parameters
    ----------
    solve : callable
        The prediction at a value of the searched parameter.
    values : tuple of float
        The grid.
    tolerance : float
    """

    def point(value: float) -> Point:
        solution = solve(value)
        return Point(value, solution, side_of(solution))

    points = [point(value) for value in sorted(values)]
    while len(points) < MAX_POINTS:
        wide = [
            index
            for index in range(len(points) - 1)
            if points[index].side != points[index + 1].side
            and not _close(points[index].value, points[index + 1].value, 0.5 * tolerance)
        ]
        if not wide:
            break
        widest = max(wide, key=lambda index: points[index + 1].value - points[index].value)
        points.insert(widest + 1, point(_middle(points[widest].value, points[widest + 1].value)))
    return points, _crossings(points, tolerance)


def _crossings(points: list[Point], tolerance: float) -> list[Crossing]:
    """Runs of unresolved points between known ones, and direct changes of side."""
    found: list[Crossing] = []
    last: Point | None = None
    between: list[Point] = []
    for one in [*points, None]:
        if one is not None and one.side == UNRESOLVED:
            between.append(one)
            continue
        changes = None not in (last, one) and last.side != one.side
        if between or changes:
            middle = between[len(between) // 2] if between else last
            found.append(Crossing(last, one, middle, changes and _close(last.value, one.value, tolerance)))
        last, between = one, []
    return found


def _middle(low: float, high: float) -> float:
    return math.sqrt(low * high) if low > 0 else 0.5 * (low + high)


def _close(low: float, high: float, tolerance: float) -> bool:
    return high - low <= tolerance * max(abs(low), abs(high))


@dataclass(frozen=True)
class LineMap:
    """Problems along which the line is searched, one for each combination of the other parameters.

    Attributes
    ----------
    problems : tuple of Problem
    search : str
        The searched parameter, one of `SEARCHABLE`; `reg` moves both penalties.
    values : tuple of float
        Its grid.
    tolerance : float
        Relative width to which the line is located.
    record : replica.sweeps.plan.Plan
        Every value that decides the results.
    """

    problems: tuple[Problem, ...]
    search: str
    values: tuple[float, ...]
    tolerance: float
    record: plan.Plan

    @classmethod
    def of(cls, grid: Mapping[str, Any], search: str = "reg", tolerance: float = 0.02) -> LineMap:
        """The product of all axes of a grid (`replica.sweeps.plan.plan`) other than `search`.

        Raises
        ------
        InvalidProblem
            If a point makes no sense, or the searched axis has fewer than two values.
        """
        if search not in SEARCHABLE:
            raise InvalidProblem(f"search = {search!r} is unknown; known: {', '.join(SEARCHABLE)}")
        if search not in grid:
            raise InvalidProblem(f"{search} is missing; give the range in which the line is searched")
        apart = [name for name in ("reg_k", "reg_v") if name in grid]
        if search == "reg" and apart:
            raise InvalidProblem(f"reg moves both penalties; allowed: {apart[0]} fixed and the other one searched")
        tolerance = number("tol", tolerance, minimum=0.0, strict=True)
        values = grids.numbers(search, grid[search])
        if len(values) < 2:
            raise InvalidProblem(f"{search} = {values[0]:g} leaves nothing to search; give a list or a range")
        made = [plan.plan({**grid, "estimator": "erm", search: value}) for value in values]
        problems = tuple(line.at(alpha) for line in made[0].lines for alpha in line.alphas)
        for problem in problems:
            if problem.unknowns:
                raise InvalidProblem(f"{problem.unknowns[0]} = optimal moves along the line; allowed: a number")
        if any(math.isinf(_at(problem, search, value).alpha) for problem in problems for value in values):
            raise InvalidProblem("alpha = inf has no replicas; allowed: a finite alpha")
        options = made[0].options | {"search": search, "values": list(values), "tolerance": tolerance}
        return cls(problems, search, values, tolerance, dataclasses.replace(made[0], options=options))

    def run(
        self, output: Path | None = None, *, resume: bool = False, force: bool = False, tick: Tick | None = None
    ) -> list[dict[str, Any]]:
        """Rows of `LINE_COLUMNS`: for each problem the grid by the searched parameter, increasing, then the line.

        Parameters
        ----------
        output, resume, force
            As for `replica.checks.journaled.make_table`.
        tick : callable, optional
            Called with each problem before it is solved.

        Raises
        ------
        InvalidProblem, OutputError
            See `make_table`.
        """
        return make_table(
            lambda index: self._search(self.problems[index], tick),
            len(self.problems),
            self.record,
            NAMES,
            output,
            resume=resume,
            force=force,
        )

    def _search(self, problem: Problem, tick: Tick | None) -> list[dict[str, Any]]:
        def solve(value: float) -> Solution:
            moved = _at(problem, self.search, value)
            if tick is not None:
                tick(moved)
            return fixed_points(moved, rtol=RTOL)[0]

        points, crossings = refine(solve, self.values, self.tolerance)
        common = {"searched": self.search, "low": None, "high": None, "resolved": None}
        rows = [
            one.solution.to_row() | common | {"kind": "grid", "side": one.side}
            for one in points
            if one.value in self.values
        ]
        for found in crossings:
            ends = {
                name: None if one is None else one.value for name, one in (("low", found.low), ("high", found.high))
            }
            marks = {"kind": "line", "side": found.middle.side, "resolved": found.resolved}
            rows.append(found.middle.solution.to_row() | common | ends | marks)
        return rows


def _at(problem: Problem, name: str, value: float) -> Problem:
    if name == "nu":
        return dataclasses.replace(problem, data=dataclasses.replace(problem.data, nu=value))
    changes = {"reg_k": value, "reg_v": value} if name == "reg" else {name: value}
    return dataclasses.replace(problem, **changes)
