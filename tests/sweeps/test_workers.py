"""Lines in worker processes: deaths, errors, order."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from replica.errors import WorkerError
from replica.quadrature.blocks import BLOCK
from replica.sweeps import workers
from replica.sweeps.lines import NAMES, solve_line
from replica.sweeps.plan import plan

GRID = {"model": "spiked-slr", "estimator": "erm", "alpha": "1,2", "nu": "1:3:5", "rtol": 1e-3}


def nothing() -> None:
    pass


def test_lines_of_killed_workers_are_solved_again():
    lines = plan(GRID).lines
    expected = dict(workers.serial(lines, 1, nothing))
    found, killed, ticks = {}, 0, []
    for index, rows in workers.processes(lines, 2, 1, lambda: ticks.append(1)):
        found[index] = rows
        if killed < 2:
            multiprocessing.active_children()[0].kill()
            killed += 1
    assert killed == 2
    assert found == expected
    assert len(ticks) == 2 * 2 * len(lines)
    assert multiprocessing.active_children() == []


def test_workers_that_always_die_end_the_sweep(monkeypatch):
    # a function whose arguments fit, and that ends the process with a code of its own
    monkeypatch.setattr(workers, "_work", die)
    with pytest.raises(WorkerError, match=r"has cost 3 worker processes, the last with exit code 7"):
        list(workers.processes(plan(GRID).lines, 2, 1, nothing))
    assert multiprocessing.active_children() == []


def test_errors_of_a_worker_reach_the_caller(monkeypatch):
    monkeypatch.setattr(workers, "_work", fail)
    with pytest.raises(WorkerError, match="no room"):
        list(workers.processes(plan(GRID).lines, 2, 1, nothing))
    assert multiprocessing.active_children() == []


def test_a_caller_that_stops_leaves_no_worker():
    results = workers.processes(plan(GRID).lines, 2, 1, nothing)
    next(results)
    results.close()
    assert multiprocessing.active_children() == []


def test_threads_do_not_change_a_bit_where_nodes_fill_several_blocks():
    (line,) = plan({"model": "spiked-slr", "estimator": "erm", "alpha": "2", "reg": 0.1}).lines
    one, two, three = (solve_line(line, threads) for threads in (1, 2, 3))
    assert one[0][NAMES.index("nodes")] > BLOCK
    assert one == two == three


def die(connection, threads) -> None:
    os._exit(7)


def fail(connection, threads) -> None:
    connection.recv()
    connection.send(("error", WorkerError("no room")))
    connection.recv()
