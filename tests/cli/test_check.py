"""`replica check`: rows, exit codes, continuing, refusals in one line."""

import csv
import dataclasses
import json

import pytest

from replica.checks.table import NAMES

CHECK = ("check", "--model", "spiked-slr", "--alpha", "2", "--starts", "small", "--d", "40,60,80", "--seeds", "3")


@pytest.fixture
def shifted(monkeypatch):
    """A theory whose test risk is off by half."""
    from replica.checks import compare

    original = compare.load

    def load(registry, kind, name):
        def solve(problem, **options):
            found = original(registry, kind, name)(problem, **options)
            return [dataclasses.replace(one, test_risk=1.5 * one.test_risk) for one in found]

        return solve

    monkeypatch.setattr(compare, "load", load)


def test_the_table_shows_both_sides_and_the_verdict(run):
    code, out, err = run(*CHECK, "--estimator", "erm,bayes", "--noise", "0.3", "--d", "100,150,200")
    assert (code, err) == (0, "")
    assert out.count("AGREES: largest |z|") == 2
    assert "softmax against L-BFGS" in out
    assert "bayes against message passing" in out
    assert "z at d = 100, 150, 200" in out


def test_disagreement_is_written_and_exits_3(run, shifted):
    code, out, err = run(*CHECK, "--format", "json")
    rows = json.loads(out)
    assert code == 3
    assert {row["verdict"] for row in rows} == {"disagrees"}
    assert {row["number"] for row in rows if row["judged"] and abs(row["z"]) > 4} == {"test_risk"}
    assert "spiked-slr, softmax, L = 2, alpha = 2: disagrees: largest |z|" in err
    assert err.count("\n") == 1


def test_broken_symmetry_is_no_disagreement(run):
    code, out, err = run(*CHECK, "--reg", "0.01", "--starts", "informed,random,small")
    assert (code, err) == (0, "")
    assert "REPLICA SYMMETRY BROKEN: " in out
    assert "distinct minima of a data set at d = 40, 60, 80: " in out


def test_a_grid_can_be_continued_and_ends_with_the_same_bytes(run, tmp_path):
    grid = [*CHECK, "--noise", "0,0.3", "--output"]
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    assert run(*grid, str(whole))[0] == 0
    with whole.open() as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == NAMES
    assert [row["noise"] for row in rows] == ["0.0"] * (len(rows) // 2) + ["0.3"] * (len(rows) // 2)
    # as if killed after the first point
    journal = (tmp_path / "whole.csv.journal.jsonl").read_text().splitlines(keepends=True)
    assert len(journal) == 3
    (tmp_path / "parts.csv.journal.jsonl").write_text("".join(journal[:2]))
    assert run(*grid, str(parts), "--resume")[0] == 0
    assert parts.read_bytes() == whole.read_bytes()
    code, _, err = run(*grid, str(parts), "--resume", "--seed", "1")
    assert code == 2
    assert "experiment" in err


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        (("--d", "100,200"), "d = 100,200"),
        (("--d", "100,200,x"), "d = '100,200,x'"),
        (("--seeds", "1"), "seeds = 1"),
        (("--starts", "warm"), "start = 'warm'"),
        (("--alpha", "1,inf"), "alpha = inf"),
        (("--estimator", "map"), "estimator = 'map'"),
        (("--reg", "-1"), "reg_k = -1"),
        (("--output", "/nowhere/rows.csv"), "/nowhere"),
        (("--resume",), "resume"),
    ],
)
def test_bad_input_exits_2_with_one_line(run, options, needle):
    code, out, err = run(*CHECK, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert needle in err


def test_every_point_has_its_own_data_sets(run):
    rows = json.loads(run(*CHECK, "--noise", "0,0.3", "--seed", "5", "--format", "json")[1])
    assert {(row["noise"], row["seed"]) for row in rows} == {(0.0, 5), (0.3, 8)}
