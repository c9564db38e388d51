"""The sweep command: files, refusals, exit codes, silence."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess

import pytest
from click.testing import CliRunner
from replica_cli.main import cli

from replica.errors import InvalidProblem
from replica.registry import ESTIMATORS
from replica.sweeps.lines import NAMES
from tests.sweeps import command

GRID = ["--model", "spiked-slr", "--estimator", "erm", "--alpha", "3,1:2:3", "--noise", "0.1"]


@pytest.fixture(autouse=True)
def _known_answers(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "erm", "tests.sweeps.fold:fixed_points")


def invoke(*arguments: str):
    return CliRunner().invoke(cli, ["sweep", *arguments])


def refusal(*arguments: str) -> str:
    result = invoke(*arguments)
    assert isinstance(result.exception, InvalidProblem), result.output
    message = str(result.exception)
    assert "\n" not in message
    return message


def test_three_files(tmp_path):
    output = tmp_path / "risk.csv"
    result = invoke(*GRID, "--output", str(output))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == f"wrote {output} (4 points, 8 rows)\n"  # and no progress bar away from a terminal
    with output.open(newline="") as stream:
        reader = csv.DictReader(stream)
        rows = list(reader)
    assert tuple(reader.fieldnames) == NAMES
    assert [float(row["alpha"]) for row in rows[::2]] == [3.0, 1.0, 1.5, 2.0]
    meta = json.loads((tmp_path / "risk.csv.meta.json").read_text())
    assert meta["seed"] == [0]
    assert (meta["points"], meta["rows"]) == (4, 8)
    assert meta["axes"]["alpha"] == [3.0, 1.0, 1.5, 2.0]
    assert {"replica", "python", "numpy", "numba"} <= set(meta["versions"])
    assert len((tmp_path / "risk.csv.journal.jsonl").read_text().splitlines()) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "risk.csv",
        "risk.csv.journal.jsonl",
        "risk.csv.meta.json",
    ]


def test_the_recorded_command_repeats_the_sweep(tmp_path):
    output = tmp_path / "with space.csv"
    invoke(
        *GRID, "--length", "1:1,2:1", "--length", "3", "--damping", "0.25", "--threads", "2", "--output", str(output)
    )
    meta = output.with_name("with space.csv.meta.json")
    first = output.read_bytes(), meta.read_bytes()
    words = shlex.split(json.loads(meta.read_text())["command"])
    assert words[:2] == ["replica", "sweep"]
    assert invoke(*words[2:], "--force").exit_code == 0
    assert (output.read_bytes(), meta.read_bytes()) == first


def test_existing_files_are_safe(tmp_path):
    output = tmp_path / "risk.csv"
    output.write_text("precious")
    assert "exists; continue with resume, begin anew with force" in refusal(*GRID, "--output", str(output))
    assert "has no journal" in refusal(*GRID, "--output", str(output), "--resume")
    assert "exclude each other" in refusal(*GRID, "--output", str(output), "--resume", "--force")
    assert output.read_text() == "precious"
    assert invoke(*GRID, "--output", str(output), "--force").exit_code == 0
    done = output.read_bytes()
    output.unlink()
    assert "journal.jsonl' exists" in refusal(*GRID, "--output", str(output))
    assert invoke(*GRID, "--output", str(output), "--resume").exit_code == 0
    assert output.read_bytes() == done


def test_resume_says_where_there_is_nothing_to_resume(tmp_path):
    output = tmp_path / "risk.csv"
    first = invoke(*GRID, "--output", str(output), "--resume")
    assert first.exit_code == 0
    said = f"{output}.journal.jsonl does not exist: nothing to resume, beginning anew\n"
    assert first.stderr.startswith(said)
    assert said not in invoke(*GRID, "--output", str(output), "--resume").stderr


def test_resume_with_other_options_is_refused(tmp_path):
    output = tmp_path / "risk.csv"
    assert invoke(*GRID, "--output", str(output)).exit_code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "noise = 0.1, not 0.2" in refusal(*GRID[:-1], "0.2", "--output", str(output), "--resume")
    assert "init = both, not informed" in refusal(*GRID, "--init", "informed", "--output", str(output), "--resume")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--alpha", "1"], "model is missing"),
        (["--model", "max-slr"], "alpha is missing"),
        (["--model", "max-slr", "--alpha", "1:2"], "alpha = '1:2' is not understood"),
        (["--model", "slr", "--alpha", "1"], "model = 'slr' is unknown"),
        (["--model", "spiked-slr", "--nu", "1,inf", "--alpha", "1"], "nu = inf"),
        (["--model", "max-slr", "--alpha", "1", "--damping", "1"], "damping = 1 is out of range"),
    ],
)
def test_bad_grids_are_refused_before_any_file(tmp_path, arguments, words):
    assert words in refusal(*arguments, "--output", str(tmp_path / "risk.csv"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"), [("no/risk.csv", "does not exist"), (".", "is a folder"), ("a.json", "CSV")]
)
def test_bad_outputs_are_refused(tmp_path, name, words):
    assert words in refusal(*GRID, "--output", str(tmp_path / name))
    assert "is a folder" in refusal(*GRID, "--output", "")


def test_failures_are_rows_and_exit_code_3(tmp_path, monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "erm", "tests.sweeps.fold:breaks_at_two")
    output = tmp_path / "risk.csv"
    result = invoke(*GRID, "--output", str(output))
    assert result.exit_code == 3
    assert "warning: 1 of 4 points: failed: ZeroDivisionError: float division by zero" in result.stderr
    with output.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["status"] for row in rows if row["alpha"] == "2.0"] == ["failed", "failed"]
    assert len(rows) == 8


def test_quiet(tmp_path):
    result = invoke(*GRID, "--quiet", "--output", str(tmp_path / "risk.csv"))
    assert (result.exit_code, result.output) == (0, "")


def test_a_bar_on_a_terminal(tmp_path):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    parent, child = pty.openpty()
    termios.tcsetwinsize(child, (24, 100))
    grid = ["--model", "spiked-slr", "--estimator", "erm", "--alpha", "1", "--length", "1"]
    done = subprocess.run(command.arguments(tmp_path / "risk.csv", grid=grid), stderr=child, check=False, timeout=120)
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert done.returncode == 0
    assert "100%" in shown
    assert "2/2" in shown
