"""`replica stability`: the file, the table, refusals."""

import csv

import pytest

from replica.checks.line import NAMES


def test_command(run, tmp_path):
    path = tmp_path / "line.csv"
    options = ("--model", "spiked-slr", "--alpha", "2", "--reg", "0.1,1")
    code, out, err = run("stability", *options, "--output", str(path))
    assert (code, out) == (0, "")
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == NAMES
    assert [(row["kind"], row["side"], row["reg_k"]) for row in rows] == [
        ("grid", "stable", "0.1"),
        ("grid", "stable", "1.0"),
    ]
    assert err.startswith("wrote")
    assert run("stability", *options, "--output", str(path))[0] == 2
    assert "stable" in run("stability", *options)[1]
    code, out, err = run("stability", *options, "--tol", "0")
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.nojit
@pytest.mark.parametrize("command", ["solve", "sweep", "stability", "check", "erm"])
def test_help_offers_the_word_optimal_where_it_is_understood(run, command):
    code, out, err = run(command, "--help")
    assert code == 0
    assert ("optimal" in (out + err).lower()) == (command in ("solve", "sweep"))
    if command not in ("solve", "sweep"):
        code, _, err = run(command, "--model", "spiked-slr", "--alpha", "2", "--reg", "optimal")
        assert (code, err.count("\n")) == (2, 1)
