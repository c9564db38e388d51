"""Continuation along alpha: hysteresis, ranks, failures."""

from __future__ import annotations

import pytest

from replica.errors import WorkerError
from replica.registry import ESTIMATORS
from replica.schema import NAMES as SCHEMA
from replica.sweeps.lines import NAMES, solve_line
from replica.sweeps.plan import plan
from tests.sweeps import fold

GRID = {"model": "spiked-slr", "estimator": "erm"}


def rows_of(monkeypatch, estimator: str, alphas, **options) -> list[dict]:
    monkeypatch.setitem(ESTIMATORS, "erm", f"tests.sweeps.fold:{estimator}")
    (line,) = plan(GRID | {"alpha": alphas}, **options).lines
    return [dict(zip(NAMES, row, strict=True)) for row in solve_line(line, 1)]


def test_columns_are_those_of_solve_and_the_direction():
    assert (*SCHEMA, "sweep") == NAMES


def test_both_branches_of_a_fold_are_followed(monkeypatch):
    rows = rows_of(monkeypatch, "fixed_points", "1.2:2.8:33")
    both = [alpha for alpha in {row["alpha"] for row in rows} if abs(fold.field(alpha)) < fold.FOLD]
    assert len(both) > 10
    for row in rows:
        minima = fold.roots(row["alpha"])
        # upwards the lower minimum lasts until its fold, downwards the upper one
        assert row["m_k"] == pytest.approx(minima[0] if row["sweep"] == "up" else minima[-1])
        if row["alpha"] in both and fold.field(row["alpha"]) != 0:
            assert row["selected"] == (row["branch"] == 0) == ((row["sweep"] == "up") == (fold.field(row["alpha"]) < 0))


def test_one_row_of_each_point_is_selected_and_one_point_has_one_rank(monkeypatch):
    rows = rows_of(monkeypatch, "fixed_points", "3,0.5,2")
    assert [(row["alpha"], row["sweep"]) for row in rows] == [
        (alpha, direction) for alpha in (3.0, 0.5, 2.0) for direction in ("up", "down")
    ]
    assert [row["selected"] for row in rows] == [True, False] * 3
    assert [row["branch"] for row in rows[:4]] == [0, 0, 0, 0]
    assert sorted(row["branch"] for row in rows[4:]) == [0, 1]


def test_starts_are_recorded(monkeypatch):
    rows = rows_of(monkeypatch, "fixed_points", "1,2,3")
    assert [row["init"] for row in rows] == ["uninformed", "warm", "warm", "warm", "warm", "informed"]
    rows = rows_of(monkeypatch, "fixed_points", "1,2,3", init="informed")
    assert [row["init"] for row in rows] == ["informed", "warm", "warm", "warm", "warm", "informed"]


def test_the_population_limit_starts_cold(monkeypatch):
    rows = rows_of(monkeypatch, "fixed_points", [1, 10])
    assert {row["init"] for row in rows} == {"uninformed", "informed", "warm"}
    monkeypatch.setattr(fold, "field", lambda alpha: 1.0)
    rows = rows_of(monkeypatch, "fixed_points", [1, float("inf")])
    assert [row["init"] for row in rows] == ["uninformed", "informed"] * 2
    assert rows[2]["alpha"] == "inf"


@pytest.mark.parametrize("estimator", ["breaks_at_two"])
def test_a_failed_point_is_a_row(monkeypatch, estimator):
    rows = rows_of(monkeypatch, estimator, "1,2,3")
    failed = [row for row in rows if row["alpha"] == 2.0]
    assert [row["status"] for row in failed] == ["failed", "failed"]
    assert [row["message"] for row in failed] == ["ZeroDivisionError: float division by zero"] * 2
    assert [row["selected"] for row in failed] == [True, False]
    assert failed[0]["test_risk"] is None
    # the walk goes on, cold
    rest = [row for row in rows if row["alpha"] != 2.0]
    assert [(row["status"], row["init"]) for row in rest] == [
        ("converged", "uninformed"),
        ("converged", "informed"),
        ("converged", "uninformed"),
        ("converged", "informed"),
    ]


@pytest.mark.parametrize(("estimator", "name"), [("never", "UnsupportedExpression"), ("refuses", "InvalidProblem")])
def test_errors_of_the_package_become_rows(monkeypatch, estimator, name):
    rows = rows_of(monkeypatch, estimator, "1,2")
    assert len(rows) == 4
    assert {row["status"] for row in rows} == {"failed"}
    assert all(row["message"].startswith(name) for row in rows)


def test_trouble_of_the_machine_ends_the_sweep(monkeypatch):
    with pytest.raises(WorkerError, match="No space"):
        rows_of(monkeypatch, "disk_is_full", "1,2")


def test_a_warm_start_that_fails_is_replaced_by_a_cold_one(monkeypatch):
    rows = rows_of(monkeypatch, "warm_never_converges", "1,2,3")
    assert {row["status"] for row in rows} == {"converged"}
    assert [row["init"] for row in rows] == ["uninformed", "informed"] * 3


def test_warm_starts_reach_what_cold_ones_do():
    from replica import Problem, SpikedSLR
    from replica.analysis.erm import fixed_points

    (line,) = plan(GRID | {"alpha": "1,2,4"}).lines
    ticks = []
    rows = [dict(zip(NAMES, row, strict=True)) for row in solve_line(line, 1, lambda: ticks.append(1))]
    assert len(ticks) == 6
    for row in rows:
        (cold,) = fixed_points(Problem(SpikedSLR(), alpha=row["alpha"]))
        assert row["status"] == "converged"
        assert row["branch"] == 0
        assert row["test_risk"] == pytest.approx(cold.test_risk, rel=1e-7)
        assert row["m_k"] == pytest.approx(cold.overlaps.m_k, rel=1e-6)


def test_hysteresis_of_the_hard_phase(monkeypatch):
    """Bayes, L = 5, nu = 2, no noise: v* can be recovered from alpha = 1, is found from 1.5..1.7 (section 6)."""
    monkeypatch.setitem(ESTIMATORS, "bayes", "replica.analysis.bayes:fixed_points")
    (line,) = plan(
        {"model": "spiked-slr", "estimator": "bayes", "length": 5, "nu": 2, "alpha": "0.9,1.1,1.5,1.7"}
    ).lines
    rows = [dict(zip(NAMES, row, strict=True)) for row in solve_line(line)]
    assert {row["status"] for row in rows} == {"converged"}
    recovered = [(row["sweep"], row["q_v"] == 1.0) for row in rows]
    assert recovered == [
        ("up", False), ("down", False),
        ("up", False), ("down", True),
        ("up", False), ("down", True),
        ("up", True), ("down", True),
    ]  # fmt: skip
    # the prediction is the recovered branch as soon as there is one: its free entropy is infinite
    assert [row["selected"] for row in rows] == [True, False, False, True, False, True, True, False]
    assert [row["branch"] for row in rows] == [0, 0, 1, 0, 1, 0, 0, 0]
    assert rows[3]["free_entropy"] == "inf"
