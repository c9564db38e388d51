"""`replica flow` from the outside: files, exit codes, refusals in one line."""

import csv
import json
import math
import sys

import pytest
from click.testing import CliRunner
from replica_cli import main

from replica.flow import theorems
from replica.flow.problem import FlowProblem
from replica.flow.schema import trajectory_columns


def call(monkeypatch, capsys, *arguments):
    """(exit code, stdout, stderr) of the console entry, with its translation of errors."""
    monkeypatch.setattr(sys, "argv", ["replica", "flow", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main.run()
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def test_run_writes_the_trajectory_twice_the_same(tmp_path, monkeypatch, capsys):
    table, objects = tmp_path / "run.csv", tmp_path / "run.json"
    short = ("run", "--dim", 3, "--rows", 2, "--time", 100, "--records", 10)
    for path in (table, objects):
        assert call(monkeypatch, capsys, *short, "--output", path)[0] in (0, None)
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    names = [column.name for column in trajectory_columns(2, 3)]
    parsed = json.loads(objects.read_text())
    assert list(rows[0]) == list(parsed[0]) == names
    assert len(rows) == len(parsed) == 11
    for row, other in zip(rows, parsed, strict=True):
        for column in trajectory_columns(2, 3):
            if column.kind == "number" and other[column.name] is not None:
                assert float(row[column.name]) == other[column.name]
    assert float(rows[-1]["t"]) == 100.0
    assert math.isclose(sum(float(rows[-1][f"s_1_{i}"]) for i in range(3)), 1.0)


def test_the_table_shows_the_last_state(monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "run", "--method", "descent", "--time", 10)
    assert code in (0, None)
    assert "logistic loss, softmax map, descent: finished at t = 10" in out


def test_a_run_that_misses_its_goal_is_exit_3(monkeypatch, capsys):
    code, out, err = call(monkeypatch, capsys, "run", "--loss", "square", "--time", 1, "--stop", 1e-9)
    assert code == 3
    assert "time_limit" in out
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--method", "descent", "--lr", 0),
        ("run", "--dim", 0),
        ("run", "--dim", 300000),
        ("run", "--loss", "hinge"),
        ("run", "--map", "max"),
        ("run", "--method", "euler"),
        ("run", "--time", "nan"),
        ("run", "--time", "abc"),
        ("run", "--output", "/nowhere/at/all.csv"),
        ("run", "--output", "trajectory.parquet"),
        ("run", "--condition", 5),
        ("run", "--tied", "--map", "relu"),
        ("run", "--nonsense"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_exit_2(arguments, monkeypatch, capsys):
    code, out, err = call(monkeypatch, capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("method", ["flow", "descent"])
def test_a_start_without_weights_is_shown_and_exit_3(method, monkeypatch, capsys):
    code, out, err = call(monkeypatch, capsys, "run", "--map", "relu", "--mean-a", -5, "--time", 10, "--method", method)
    assert code == 3
    assert "out_of_domain at t = 0" in out
    assert "sum to zero" in err


def test_help():
    shown = CliRunner().invoke(main.cli, ["flow", "--help"])
    assert shown.exit_code == 0
    assert "run" in shown.output


def test_check_prints_a_line_for_each_statement(monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, "check", "--instances", 1, "--steps", 20_000)
    assert code in (0, None)
    assert out.count("ok    ") == out.count("\n") - 1 == 28


def test_a_false_statement_is_exit_3(monkeypatch, capsys):
    def worse(result):
        violation, limit = theorems.sum_conserved(result)
        return violation + 1.0, limit

    false = theorems.Theorem("false", "a false claim", lambda seed: FlowProblem(seed=seed), worse)
    monkeypatch.setattr(theorems, "THEOREMS", (false,))
    code, out, err = call(monkeypatch, capsys, "check", "--instances", 1, "--steps", 10_000)
    assert code == 3
    assert "FAILS" in out
    assert "false (flow, seed 0)" in err


def test_sweep_and_figures(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    table, picture, trace = tmp_path / "sweep.csv", tmp_path / "sweep.pdf", tmp_path / "run.svg"
    sizes = ("--dim", "3,4", "--map", "softmax,relu", "--seeds", 1, "--time", 100)
    code, _, _ = call(monkeypatch, capsys, "sweep", *sizes, "--output", table, "--plot", picture)
    assert code in (0, None)
    assert len(table.read_text().splitlines()) == 1 + 2 * 2 * (1 + 4 + 1)
    assert picture.stat().st_size > 1000
    assert call(monkeypatch, capsys, "run", "--time", 100, "--plot", trace)[0] in (0, None)
    assert trace.read_text().startswith("<?xml")


def test_a_sweep_of_failures_says_that_there_is_no_figure(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    table, picture = tmp_path / "sweep.csv", tmp_path / "sweep.png"
    sizes = ("--loss", "logistic", "--dim", "3", "--map", "relu", "--mean-a=-5", "--seeds", 1, "--time", 100)
    code, _, err = call(monkeypatch, capsys, "sweep", *sizes, "--output", table, "--plot", picture)
    assert code == 3
    assert "no figure: no run finished" in err
    assert table.exists()
    assert not picture.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("sweep", "--dim", "3,x"),
        ("sweep", "--dim", "0"),
        ("sweep", "--map", "max"),
        ("sweep", "--condition", "0.1"),
        ("sweep", "--tied"),
        ("sweep", "--jobs", 0),
        ("sweep", "--plot", "picture.bmp"),
        ("run", "--plot", "/nowhere/at/all.png"),
        ("check", "--instances", 0),
        ("check", "--lr", "nan"),
    ],
    ids=str,
)
def test_bad_input_of_check_and_sweep(arguments, monkeypatch, capsys):
    test_bad_input_is_one_line_and_exit_2(arguments, monkeypatch, capsys)


def test_a_step_size_given_to_the_flow_is_noted_and_changes_nothing(monkeypatch, capsys):
    plain = call(monkeypatch, capsys, "run", "--time", 10, "--format", "csv")
    code, out, err = call(monkeypatch, capsys, "run", "--lr", 0.1, "--time", 10, "--format", "csv")
    assert (code, out) == plain[:2]
    assert "--method descent" in err
