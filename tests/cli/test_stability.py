"""`replica stability`: the file, the table, refusals."""

import csv

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
