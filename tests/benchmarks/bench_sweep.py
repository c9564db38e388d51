"""Sweeps: a 20 x 20 grid, the gain of a second worker, and tables of 10^5 rows.

Aims on two cores: a 20 x 20 (alpha, nu) grid at L = 2 and penalty 1, softmax ERM or Bayes, in 60 s; 1.7 times as fast
with two jobs of one thread; 10^5 rows written and read in seconds.
Run: python -m pytest tests/benchmarks/bench_sweep.py
"""

from __future__ import annotations

import io

import numpy as np
import pytest

import replica
from replica.io.rows import to_csv
from replica.sweeps.journal import Journal
from replica.sweeps.lines import NAMES, solve_line
from replica.sweeps.plan import plan

GRID = {"model": "spiked-slr", "estimator": "erm", "alpha": "0.5:8:20", "nu": "0.5:8:20", "reg": 1}
ROWS = 100_000


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    replica.sweep({"model": "spiked-slr", "estimator": "erm", "alpha": 1})


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """Many rows that look like those of a sweep, every number different."""
    (line,) = plan({"model": "spiked-slr", "estimator": "erm", "alpha": 1}).lines
    model = dict(zip(NAMES, solve_line(line, 1)[0], strict=True))
    numbers = [name for name in NAMES if isinstance(model[name], float)]
    draws = np.random.default_rng(0).random((ROWS, len(numbers))).tolist()
    return [model | dict(zip(numbers, draw, strict=True)) for draw in draws]


@pytest.mark.parametrize("estimator", ["erm", "bayes"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_grid_20x20(benchmark, jobs, estimator):
    grid = GRID | {"estimator": estimator}
    frame = benchmark.pedantic(replica.sweep, (grid,), {"jobs": jobs, "threads": 1}, rounds=1)
    assert len(frame) == 800
    assert (frame["status"] == "converged").all()


def test_write(benchmark, rows):
    text = benchmark.pedantic(to_csv, (rows, NAMES), rounds=1)
    assert text.count("\n") == ROWS + 1


def test_read(benchmark, rows):
    text = to_csv(rows, NAMES)
    frame = benchmark.pedantic(lambda: replica.read_csv(io.StringIO(text)), rounds=1)
    assert len(frame) == ROWS
    assert frame["test_risk"].iloc[-1] == rows[-1]["test_risk"]


def test_resume_from_a_journal(benchmark, rows, tmp_path):
    planned = plan(GRID | {"alpha": "0.5:8:250", "nu": "0.5:8:200"})
    cells = [[row[name] for name in NAMES] for row in rows]

    def write_and_reopen():
        path = tmp_path / "journal"
        with Journal(path, planned, anew=path.exists()) as journal:
            for index in range(200):
                journal.append(index, cells[500 * index : 500 * (index + 1)])
        with Journal(path, planned) as journal:
            return journal.finished

    assert len(benchmark.pedantic(write_and_reopen, rounds=1)) == 200
