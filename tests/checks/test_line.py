"""The map of replica symmetry: bisection on made-up verdicts, honest about what is unresolved; a real piece of it."""

import pytest

from replica.checks.line import BROKEN, STABLE, UNRESOLVED, LineMap, refine, side_of
from replica.errors import InvalidProblem
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.types import Solution, Status

PROBLEM = Problem(data=SpikedSLR(2.0), alpha=2.0)


def solution(replicon, error=1e-6, status=Status.CONVERGED):
    """Without jumps: the verdict is that of the replicon."""
    verdict = None if abs(replicon - 1.0) <= 2.0 * error else replicon < 1.0
    return Solution(problem=PROBLEM, estimator="erm", status=status, replicon=replicon, rs_stable=verdict)


def test_sides():
    assert side_of(solution(0.9, 0.04)) == STABLE
    assert side_of(solution(1.1, 0.04)) == BROKEN
    assert side_of(solution(1.1, 0.06)) == UNRESOLVED
    assert side_of(solution(0.5, 1e-6, Status.STALLED)) == UNRESOLVED


@pytest.mark.parametrize("grid", [(0.01, 0.1), (0.1, 0.03, 0.01), tuple(0.01 * 1.3**i for i in range(10))])
def test_a_sharp_line_is_bracketed_to_the_tolerance(grid):
    line = 0.0371

    points, (crossing,) = refine(lambda reg: solution(line / reg), grid, 0.02)
    assert [point.value for point in points] == sorted(point.value for point in points)
    assert crossing.low.value < line < crossing.high.value <= 1.02 * crossing.low.value
    assert (crossing.low.side, crossing.high.side, crossing.resolved) == (BROKEN, STABLE, True)


def test_a_blurred_line_is_unresolved_just_where_the_error_says():
    error = 0.1  # replicon = .04/reg is within .2 of one for reg from .0333 to .05

    _, (crossing,) = refine(lambda reg: solution(0.04 / reg, error), (0.01, 0.02, 0.1), 0.02)
    assert crossing.low.value == pytest.approx(0.04 / 1.2, rel=0.02)
    assert crossing.high.value == pytest.approx(0.04 / 0.8, rel=0.02)
    assert not crossing.resolved
    assert crossing.middle.solution.replicon == pytest.approx(1.0, abs=0.1)


def test_two_lines_none_and_one_that_leaves_the_grid():
    def hump(value):
        return solution(1.5 - 4 * (value - 0.5) ** 2)

    assert len(refine(hump, (0.0, 0.5, 1.0), 0.02)[1]) == 2
    assert refine(lambda _: solution(0.3), (0.0, 1.0), 0.02)[1] == []
    (crossing,) = refine(lambda value: solution(value, 0.1), (0.9, 2.0), 0.02)[1]
    assert (crossing.low, crossing.high.side, crossing.resolved) == (None, BROKEN, False)


def test_a_replicon_that_touches_one_is_unresolved():
    (crossing,) = refine(lambda value: solution(1.0 - (value - 0.5) ** 2, 1e-3), (0.0, 0.5, 1.0), 0.05)[1]
    assert (crossing.low.side, crossing.high.side, crossing.resolved) == (STABLE, STABLE, False)


GRID = {"model": "spiked-slr", "alpha": "2", "reg": "0.01,0.1"}


def test_the_line_of_spiked_slr(solved):
    """Broken at reg = .01, stable at .1 (theory.md section 8): the line lies between."""
    rows = LineMap.of(GRID, tolerance=1.0).run()
    assert {tuple(row[name] is not None for name in ("low", "high")) for row in rows if row["kind"] == "line"} == {
        (True, True)
    }
    below, above = rows[1], rows[0]
    assert (above["reg_k"], above["side"], below["reg_k"], below["side"]) == (0.01, BROKEN, 0.1, STABLE)
    (line,) = [row for row in rows if row["kind"] == "line"]
    assert 0.01 <= line["low"] <= line["reg_k"] < line["high"] <= 0.1
    assert (line["searched"], line["alpha"]) == ("reg", 2.0)


def test_along_another_parameter_and_both_penalties_apart():
    made = LineMap.of({"model": "max-slr", "reg": "0.01,0.1", "alpha": "1:3:3"}, "alpha")
    assert [problem.reg_k for problem in made.problems] == [0.01, 0.1]
    assert made.values == (1.0, 2.0, 3.0)
    apart = LineMap.of({"model": "spiked-slr", "alpha": 2, "reg_k": "0.01,0.1", "reg_v": 0.5}, "reg_k")
    assert [problem.reg_v for problem in apart.problems] == [0.5]


@pytest.mark.parametrize(
    ("grid", "search", "needle"),
    [
        (GRID, "length", "search = 'length'"),
        (GRID, "nu", "nu is missing"),
        ({**GRID, "reg": "0.1"}, "reg", "nothing to search"),
        ({**GRID, "reg": "-1,0.1"}, "reg", "reg_k = -1"),
        ({**GRID, "alpha": "2,inf"}, "reg", "alpha = inf"),
        ({**GRID, "alpha": "1,inf"}, "alpha", "alpha = inf"),
        ({**GRID, "reg": "optimal", "alpha": "1,2"}, "alpha", "optimal"),
        ({**GRID, "reg_k": "0.5"}, "reg", "reg"),
    ],
)
def test_maps_that_make_no_sense_are_refused(grid, search, needle):
    with pytest.raises(InvalidProblem, match=needle):
        LineMap.of(grid, search)
