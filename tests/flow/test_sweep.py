"""Grids of runs: order, independence of the number of processes, refusals, figures."""

import pytest

from replica.errors import InvalidProblem
from replica.flow.plan import Plan
from replica.flow.schema import FINAL
from replica.flow.sweep import problems, sweep

PLAN = Plan(time=100.0, records=5)


def test_grid_order_and_designs():
    grid = problems(["kl", "square"], ["softmax"], [1.0, 5.0], [3, 4], 2)
    described = [(p.loss, p.dim, p.condition, p.seed) for p in grid]
    assert described[:4] == [("kl", 3, None, 0), ("kl", 3, None, 1), ("kl", 4, None, 0), ("kl", 4, None, 1)]
    assert described[4:6] == [("square", 3, 1.0, 0), ("square", 3, 1.0, 1)]
    assert len(described) == len(set(described)) == 12


def test_rows_do_not_depend_on_processes():
    grid = problems(["logistic"], ["softmax", "relu"], [None], [3], 2)
    serial = sweep(grid, PLAN)
    assert sweep(grid, PLAN, jobs=2) == serial
    assert [column.name for column in FINAL] == list(serial[0])


def test_failed_runs_are_rows():
    rows = sweep(problems(["square"], ["softmax"], [None], [3], 1, scale_v=0.1), Plan("descent", lr=50.0, time=1e5))
    assert rows[0]["status"] == "nonfinite"
    assert rows[0]["message"]


@pytest.mark.parametrize(
    ("axes", "options"),
    [
        ((["logistic"], [], [None], [3], 1), {}),
        ((["logistic"], ["softmax", "softmax"], [None], [3], 1), {}),
        ((["hinge"], ["softmax"], [None], [3], 1), {}),
        ((["logistic"], ["softmax"], [None], [0], 1), {}),
        ((["logistic"], ["softmax"], [None], [3], 0), {}),
        ((["logistic"], ["softmax"], [None], list(range(1, 1000)), 1000), {}),
        ((["logistic"], ["relu"], [None], [3], 1), {"tied": True}),
        ((["logistic"], ["softmax"], [None], [10**5], 1), {}),
    ],
)
def test_bad_grids(axes, options):
    with pytest.raises(InvalidProblem):
        sweep(problems(*axes, **options), PLAN)
    with pytest.raises(InvalidProblem):
        sweep(problems(["logistic"], ["softmax"], [None], [3], 1), PLAN, jobs=0)
