"""The committed tables and pictures: made by this code, and still what it makes."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

import replica
from replica.analysis.thresholds import thresholds
from replica.errors import InvalidProblem
from replica.schema import NAMES

ROOT = Path(__file__).parents[2]
ACTIVATIONS = {"softmax": replica.Softmax, "linear": replica.Linear, "softplus": replica.Softplus, "erf": replica.Erf}


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_results", ROOT / "results" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(name):
    return replica.read_csv(ROOT / "results" / f"{name}.csv")


def problem(row):
    model = {"spiked-slr": replica.SpikedSLR, "max-slr": replica.MaxSLR}[row["model"]]
    options = {"offset": row["erf_offset"]} if row["estimator"] == "erm" and row["activation"] == "erf" else {}
    sigma = ACTIVATIONS[row["activation"]](**options) if row["estimator"] == "erm" else replica.Softmax()
    penalties = {name: row[name] for name in ("reg_k", "reg_v") if row["estimator"] == "erm"}
    return replica.Problem(
        data=model(nu=row["nu"]), activation=sigma, alpha=row["alpha"], length=row["length"], noise=row["noise"],
        **penalties,
    )  # fmt: skip


def test_every_picture_is_drawn_from_its_tables(make, tmp_path, monkeypatch):
    for name, (tables, _) in make.PICTURES.items():
        assert (ROOT / "results" / f"{name}.png").exists()
        for one in tables:
            (tmp_path / f"{one}.csv").write_bytes((ROOT / "results" / f"{one}.csv").read_bytes())
    monkeypatch.setattr(make, "HERE", tmp_path)
    for name in make.PICTURES:
        make.draw(name)
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000


def test_unknown_pictures_are_refused(make, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["make.py", "blue"])
    with pytest.raises(SystemExit) as stop:
        make.main()
    assert stop.value.code == 2
    assert "'blue' is unknown; known: population_nu" in capsys.readouterr().err


def test_a_table_that_was_cut_off_goes_on_where_it_was(make, tmp_path, monkeypatch):
    done = []

    def work(alpha):
        if alpha == 3 and len(done) < 3:
            raise KeyboardInterrupt
        done.append(alpha)
        return [dict.fromkeys(make.NAMES) | {"alpha": alpha, "nu": math.inf}]

    points = [{"alpha": alpha} for alpha in (1, 2, 3, 4)]
    monkeypatch.setattr(make, "HERE", tmp_path)
    monkeypatch.setattr(make, "TABLES", {"mine": make.Table(lambda: points, work)})
    (tmp_path / "mine.csv").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        make.recompute("mine")
    assert (tmp_path / "mine.csv").read_text() == "old"
    done.append("again")
    make.recompute("mine")
    assert done == [1, 2, "again", 3, 4]
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.csv"]
    found = replica.read_csv(tmp_path / "mine.csv")
    assert list(found["alpha"]) == [1, 2, 3, 4]
    assert (found["nu"] == math.inf).all()


def test_a_table_cut_off_is_not_mixed_with_other_points(make, tmp_path, monkeypatch):
    def work(alpha):
        raise KeyboardInterrupt

    monkeypatch.setattr(make, "HERE", tmp_path)
    for alpha, error in ((1, KeyboardInterrupt), (2, InvalidProblem)):
        monkeypatch.setattr(make, "TABLES", {"mine": make.Table(lambda alpha=alpha: [{"alpha": alpha}], work)})
        with pytest.raises(error):
            make.recompute("mine")


def test_minima_scatter_where_replica_symmetry_breaks():
    """Verdicts of the theory next to eight starts of L-BFGS on the same data sets."""
    found = table("stability_minima")
    assert set(found["status"]) == {"converged"}
    share = (found["distance_k"] / found["q_k"]).groupby([found["alpha"], found["reg_k"]]).mean()
    minima = found.groupby(["alpha", "reg_k"])["minima"].mean()
    grid = table("stability_line").query("kind == 'grid'")
    stable = grid[grid["rs_stable"].fillna(False)].groupby("alpha")["reg_k"].min()
    assert list(minima[2.0][[0.1, 0.2]]) == list(minima[4.0][[0.1, 0.2]]) == [1, 1]
    for alpha in (1.0, 2.0, 4.0, 8.0):
        assert (minima[alpha][[0.005, 0.01]] > 3).all()
        assert (share[alpha][[0.005, 0.01, 0.02]] > 0.01).all()
        assert share[alpha][0.005] > 2 * share[alpha][0.1]
        above = share[alpha][share[alpha].index >= stable.get(alpha, math.inf)]
        # as the verdict promises in the limit; at alpha = 1 few data sets of this size have two distant minima
        assert (above < (0.2 if alpha == 1.0 else 0.01)).all()


@pytest.mark.parametrize("name", ["population_nu", "population_length", "learning_curves", "stability_minima"])
def test_tables_have_columns_of_the_schema_and_converged_rows(make, name):
    found = table(name)
    # the schema may have grown since, but means the same
    assert set(found.columns) <= set(NAMES)
    assert found.loc[found["selected"], ["test_risk", "test_risk_err"]].notna().all(axis=None)
    assert set(found.loc[found["selected"], "status"]) == {"converged"}
    assert name in make.TABLES


@pytest.mark.parametrize("name", ["population_nu", "population_length"])
def test_population_rows_are_what_the_code_makes(name):
    for _, row in table(name).sample(5, random_state=0).iterrows():
        again = (
            replica.solve(problem(row)) if row["estimator"] == "erm" else replica.solve(problem(row), estimator="bayes")
        )
        assert again.test_risk == pytest.approx(row["test_risk"], abs=1e-9 + 4 * row["test_risk_err"])


def test_softmax_is_bayes_optimal_in_the_population_and_the_best():
    found = table("population_nu")
    risks = found.assign(estimate=found["activation"].fillna("bayes")).pivot(
        index=["model", "length", "nu"], columns="estimate", values="test_risk"
    )
    assert (risks["softmax"] - risks["bayes"]).abs().max() < 1e-9
    assert (risks[["linear", "erf", "softplus"]].sub(risks["bayes"], axis=0) > 0).all(axis=None)


def test_transitions_are_in_their_brackets():
    found = table("phase_diagram")
    certified = found[found["status"] == "certified"]
    assert len(certified) > 30
    assert ((certified["lo"] <= certified["value"]) & (certified["value"] <= certified["hi"])).all()
    row = certified[(certified["length"] == "2") & (certified["noise"] == 0.01)].set_index("kind")
    again = thresholds(replica.Problem(data=replica.SpikedSLR(nu=1.0), length=2, noise=0.01), tol=3e-3)
    for one in again:
        assert one.value == pytest.approx(row.loc[one.kind, "value"], rel=6e-3)


def test_lbfgs_agrees_with_the_theory():
    theory, found = table("learning_curves"), table("learning_curves_lbfgs")
    place = ["model", "nu", "alpha", "activation"]
    both = found[found["selected"]].merge(theory[theory["selected"]], on=place, suffixes=("", "_theory"))
    assert len(both) == 20
    assert both["d"].isna().all()  # at the limit
    z = (both["test_risk"] - both["test_risk_theory"]) / both["test_risk_err"]
    assert z.abs().max() < 4
    assert (both["test_risk_err"] < 0.03 * both["test_risk"]).all()
    assert all(math.isclose(a, b) for a, b in zip(both["reg_k"], both["reg_k_theory"], strict=True))
