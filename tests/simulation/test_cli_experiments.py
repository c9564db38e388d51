"""`replica erm` and `replica amp`: rows, files, exit codes, refusals in one line."""

import csv
import json
import sys

import pytest
from replica_cli.main import run

from replica.schema import NAMES


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["replica", *arguments])
    with pytest.raises(SystemExit) as stop:
        run()
    out = capsys.readouterr()
    return stop.value.code or 0, out.out, out.err


ERM = ("erm", "--model", "max-slr", "--alpha", "2")


def test_rows_of_three_sizes_end_with_their_limit(monkeypatch, capsys, tmp_path):
    path = tmp_path / "rows.csv"
    code, _, err = call(
        monkeypatch, capsys, *ERM, "--d", "80,40,60", "--seeds", "3", "--starts", "small", "--output", str(path)
    )
    assert (code, err.count("\n")) == (0, 1)
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == NAMES
    assert [row["d"] for row in rows] == ["40", "60", "80", ""]
    assert [row["selected"] for row in rows] == ["false"] * 3 + ["true"]
    assert {row["estimator"] for row in rows} == {"experiment-erm"}
    assert [row["seeds"] for row in rows] == ["3", "3", "3", "9"]
    assert all(float(row["test_risk_err"]) > 0 for row in rows)


def test_json_is_reproducible_and_depends_on_the_seed(monkeypatch, capsys):
    def risks(seed):
        options = ("--d", "40", "--seeds", "2", "--seed", seed, "--format", "json")
        return [row["test_risk"] for row in json.loads(call(monkeypatch, capsys, *ERM, *options)[1])]

    first = risks("5")
    assert len(first) == 3
    assert first == risks("5")
    assert first != risks("6")


def test_the_table_shows_every_activation_asked(monkeypatch, capsys):
    options = ("--activation", "erf", "--activation", "linear", "--erf-offset", "-0.5", "-L", "1:1,3:1")
    code, out, _ = call(monkeypatch, capsys, *ERM, *options, "--d", "30", "--seeds", "2", "--starts", "informed")
    assert code == 0
    assert "erf_offset = -0.5" in out
    assert "experiment-erm, linear, from informed, d = 30" in out


def test_fits_that_are_cut_short_are_written_and_exit_3(monkeypatch, capsys):
    options = ("--d", "40", "--seeds", "2", "--starts", "random", "--max-iter", "2", "--format", "json")
    code, out, err = call(monkeypatch, capsys, *ERM, *options)
    assert code == 3
    assert [row["status"] for row in json.loads(out)] == ["max_iter"]
    assert "2 of 2 runs did not converge" in err


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        (("--d", "5"), "d = 5"),
        (("--d", "100,x"), "d = '100,x'"),
        (("--starts", "warm"), "start = 'warm'"),
        (("--seeds", "0"), "seeds"),
        (("--gtol", "0"), "gtol = 0"),
        (("--alpha", "inf"), "alpha = inf"),
        (("--reg", "-1"), "reg_k = -1"),
        (("--output", "/nowhere/rows.csv"), "/nowhere"),
    ],
)
def test_bad_input_exits_2_with_one_line(monkeypatch, capsys, options, needle):
    code, out, err = call(monkeypatch, capsys, *ERM, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert needle in err


AMP = ("amp", "--model", "spiked-slr", "--alpha", "2", "--noise", "0.3")


def test_amp_rows_know_neither_activation_nor_penalty(monkeypatch, capsys):
    code, out, _ = call(monkeypatch, capsys, *AMP, "--d", "60,80,100", "--seeds", "3", "--format", "json")
    rows = json.loads(out)
    assert code == 0
    assert [row["d"] for row in rows] == [60, 80, 100, None]
    assert {(row["estimator"], row["activation"], row["reg_k"], row["init"]) for row in rows} == {
        ("experiment-amp", None, None, "uninformed")
    }
    assert all(row["V_v_err"] > 0 for row in rows)
    assert "d = inf" in call(monkeypatch, capsys, *AMP, "--d", "60,80,100", "--seeds", "2")[1]


def test_amp_that_is_cut_short_exits_3(monkeypatch, capsys):
    code, out, err = call(monkeypatch, capsys, *AMP, "--d", "60", "--seeds", "2", "--max-iter", "2", "--format", "json")
    assert code == 3
    assert json.loads(out)[0]["status"] == "max_iter"
    assert "2 of 2 runs" in err


@pytest.mark.parametrize(
    ("options", "needle"),
    [(("--damping", "1"), "damping = 1"), (("--tol", "0"), "tol = 0"), (("--nu", "inf"), "nu = inf")],
)
def test_amp_refuses_in_one_line(monkeypatch, capsys, options, needle):
    code, out, err = call(monkeypatch, capsys, *AMP, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert needle in err
