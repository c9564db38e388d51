"""`replica solve` and `replica derive`: tables, files, exit codes."""

import csv
import io
import json
import math
import os

import pytest

from replica.schema import COLUMNS, NAMES

SOLVE = ("solve", "--model", "spiked-slr", "--estimator", "erm", "--alpha", "2")
KEYS = """model estimator activation erf_offset alpha length nu noise reg_k reg_v init branch selected status message
m_k q_k V_k m_v q_v V_v m_hat_k q_hat_k V_hat_k m_hat_v q_hat_v V_hat_v test_risk train_loss objective
free_entropy cos_k cos_v attention_relevant replicon prox_jump rs_stable prox_global accuracy_met residual
iterations method nodes seed version m_k_err q_k_err V_k_err m_v_err q_v_err V_v_err test_risk_err
train_loss_err objective_err replicon_err prox_jump_err"""


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def test_table_spells_out_every_default(run):
    code, out, err = run("solve", "--model", "max-slr", "--estimator", "erm", "--alpha", "2")
    assert (code, err) == (0, "")
    for text in ("alpha = 2", "length = 2", "nu = inf", "noise = 0", "reg_k = 1", "reg_v = 1", "rtol 0.0001", "seed 0"):
        assert text in out
    names = ("m_k", "q_k", "V_k", "m_v", "q_v", "V_v", "test_risk", "train_loss", "objective", "replicon", "prox_jump")
    for name in names:
        assert f"\n  {name} " in out
    for text in ("replica symmetry     stable", "converged, accuracy met", "residual", "map evaluations", "nodes"):
        assert text in out
    assert "0.6374" in out
    assert "informed and uninformed" in out


def test_json_is_strict_and_complete(run):
    code, out, _ = run(
        "solve", "--model", "max-slr", "--estimator", "erm", "--alpha", "2", "-L", "2:7", "--format", "json"
    )
    assert code == 0
    (row,) = strict(out)
    assert set(KEYS.split()) <= set(row)
    assert tuple(row) == NAMES
    assert row["nu"] == "inf"
    assert row["length"] == "2"
    assert row["free_entropy"] is None
    assert row["erf_offset"] is None
    assert row["selected"] is True
    assert row["test_risk"] == pytest.approx(0.637469, abs=2e-5)
    kinds = {"text": str, "integer": int, "number": (int, float), "flag": bool}
    for column in COLUMNS:
        value = row[column.name]
        assert value is None or value == "inf" or isinstance(value, kinds[column.kind]), column.name


def test_csv_reads_back_as_the_json(run):
    (expected,) = strict(run(*SOLVE, "--format", "json")[1])
    code, out, err = run(*SOLVE, "--format", "csv")
    assert (code, err) == (0, "")
    (row,) = csv.DictReader(io.StringIO(out))
    assert tuple(row) == NAMES
    for column in COLUMNS:
        text, value = row[column.name], expected[column.name]
        if value is None:
            assert text == ""
        elif column.kind == "flag":
            assert text == {True: "true", False: "false"}[value]
        elif column.kind == "number" and value != "inf":
            assert float(text) == value
        else:
            assert text == str(value)


@pytest.mark.parametrize("name", ["a.json", "a.CSV", "a.txt"])
def test_suffix_sets_the_format(run, tmp_path, name):
    path = tmp_path / name
    code, out, err = run(*SOLVE, "--output", str(path))
    assert (code, out) == (0, "")
    assert err == f"wrote {path} (1 row)\n"
    printed = run(*SOLVE, "--format", {"a.json": "json", "a.CSV": "csv", "a.txt": "table"}[name])[1]
    assert path.read_text() == printed
    assert list(tmp_path.iterdir()) == [path]


def test_format_decides_without_a_suffix(run, tmp_path):
    path = tmp_path / "result"
    assert run(*SOLVE, "--format", "csv", "--output", str(path))[0] == 0
    assert path.read_text().startswith("model,estimator,")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk(run, tmp_path, monkeypatch):
    """The disk fills up while the result is written: one line, exit code 2, the old file as it was."""
    path = tmp_path / "a.json"
    path.write_text("old")
    real = os.fdopen

    def full(descriptor, *args, **kwargs):
        os.close(descriptor)
        return real(os.open("/dev/full", os.O_WRONLY), *args, **kwargs)

    monkeypatch.setattr(os, "fdopen", full)
    code, out, err = run(*SOLVE, "--output", str(path))
    assert (code, out) == (2, "")
    assert err == f"error: {str(path)!r} was not written: No space left on device\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_not_converged_exits_3_with_the_row(run, tmp_path):
    path = tmp_path / "a.json"
    heavy = ("--no-accelerate", "--damping", "0.9999", "--init", "informed")
    code, out, err = run(*SOLVE, *heavy, "--output", str(path))
    assert (code, out) == (3, "")
    assert "max_iter" in err
    (row,) = strict(path.read_text())
    assert row["status"] == "max_iter"
    assert row["residual"] > 1e-3
    assert row["rs_stable"] is None
    assert row["accuracy_met"] is False


def test_accuracy_not_met_is_said_and_exits_0(run):
    code, out, err = run(*SOLVE, "--rtol", "1e-12", "--format", "json")
    assert code == 0
    (row,) = strict(out)
    assert row["accuracy_met"] is False
    assert row["status"] == "converged"
    assert err.count("\n") == 1
    assert "less accurate than asked" in err


def test_adding_an_estimator_leaves_the_other_rows(run):
    (alone,) = strict(run(*SOLVE, "--format", "json")[1])
    both = strict(run(*SOLVE, "--estimator", "bayes", "--format", "json")[1])
    assert both[0] == alone
    bayes = [row for row in both if row["estimator"] == "bayes"]
    assert bayes
    for row in bayes:
        assert row["activation"] is row["reg_k"] is row["reg_v"] is None
        assert row["test_risk"] < alone["test_risk"]


def test_repeated_names_count_once(run):
    rows = strict(
        run(*SOLVE, "--estimator", "erm", "--activation", "softmax", "--activation", "softmax", "--format", "json")[1]
    )
    assert len(rows) == 1


def test_specific_penalties_override_the_common_one(run):
    (row,) = strict(run(*SOLVE, "--reg", "0.5", "--reg-k", "2", "--format", "json")[1])
    assert (row["reg_k"], row["reg_v"]) == (2.0, 0.5)


def test_seed_and_start_are_reported(run):
    (row,) = strict(run(*SOLVE, "--init", "uninformed", "--seed", "5", "--rtol", "0.01", "--format", "json")[1])
    assert (row["init"], row["seed"], row["rtol"]) == ("uninformed", 5, 0.01)


def test_derive(run):
    for model in ("spiked-slr", "max-slr"):
        code, out, err = run("derive", "--model", model)
        assert (code, err) == (0, "")
        assert "\n  m_hat_k = " in out
    code, latex, _ = run("derive", "--model", "spiked-slr", "--format", "latex")
    assert code == 0
    assert latex.startswith(r"\begin{align*}")


def test_derived_source_is_what_runs(run):
    from replica.lowering import pair
    from replica.models.data.spiked_slr import SpikedSLR
    from replica.models.problem import Problem

    _, out, _ = run("derive", "--model", "spiked-slr", "--format", "source")
    with open(pair.load(Problem(data=SpikedSLR(2.0))).__file__, encoding="utf-8") as stream:
        assert out == stream.read()


def test_help_and_version(run):
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert "solve" in out
    for command in ("solve", "derive"):
        assert run(command, "-h")[0] == 0
    assert run("--version")[1].startswith("replica ")


def test_an_unknown_error_is_said(run, monkeypatch):
    """At a spinodal the point answers to its nodes without bound."""
    from replica.analysis import error_bars

    known = error_bars.estimate

    def unknown(*arguments):
        found = known(*arguments)
        return error_bars.Estimate(dict.fromkeys(found.errors, math.nan), found.moves)

    monkeypatch.setattr(error_bars, "estimate", unknown)
    code, out, err = run("solve", "--model", "spiked-slr", "--alpha", "4", "--estimator", "erm", "--rtol", "1e-2")
    assert code == 0
    assert "ACCURACY NOT MET" in out
    assert "error unknown, relative 0.01 asked" in err
