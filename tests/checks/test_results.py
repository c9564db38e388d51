"""The committed tables: made by this code, still what it makes, and without a disagreement."""

from pathlib import Path

import pytest

from replica.checks.line import NAMES as LINE_NAMES
from replica.checks.run import Checks, Plan
from replica.checks.table import NAMES

ROOT = Path(__file__).parents[2]
POINT = ["model", "activation", "length", "alpha"]


@pytest.fixture(scope="module")
def table():
    pytest.importorskip("pandas")
    import replica

    return replica.read_csv(ROOT / "results" / "evidence.csv")


def test_the_table_covers_the_models_and_agrees(table):
    assert tuple(table) == NAMES
    points = table[POINT].drop_duplicates()
    assert len(points) == 48
    assert set(points["model"]) == {"spiked-slr", "max-slr"}
    assert set(points["activation"]) == {"softmax", "linear", "erf", "softplus"}
    assert set(points["length"]) == {"2", "3"}
    assert set(points["alpha"]) == {1.0, 2.0, 4.0}
    limits = table[table["judged"]]
    assert set(limits["number"]) >= {"m_k", "q_k", "m_v", "q_v", "test_risk", "objective"}
    assert len(limits) == 8 * len(points)
    assert limits["z"].abs().max() < 4
    assert set(table["verdict"]) == {"agrees"}


def test_the_experiment_resolves_the_risk_to_a_few_per_cent(table):
    risks = table[table["judged"] & (table["number"] == "test_risk")]
    assert (risks["experiment_err"] < 0.025 * risks["theory"]).all()
    assert (risks["theory_err"] < risks["experiment_err"]).all()


def test_a_point_is_what_the_code_makes(table):
    """The smallest size of one point again: the experiment is a function of the seeds, the theory of its accuracy."""
    chosen = (table["model"] == "spiked-slr") & (table["activation"] == "softmax") & (table["length"] == "2")
    stored = table[chosen & (table["alpha"] == 2.0) & (table["d"] == 150)].set_index("number")
    grid = {"model": "spiked-slr", "alpha": 2, "noise": 0.3, "rtol": 3e-3}
    plan = Plan((50, 60, 150), 10, int(stored["seed"].iloc[0]), ("small",))
    rows = Checks.of(grid, plan).run()
    for row in rows:
        if row["d"] == 150:
            assert row["experiment"] == pytest.approx(stored.loc[row["number"], "experiment"], abs=1e-4)
            allowed = row["theory_err"] + stored.loc[row["number"], "theory_err"] + 1e-9
            assert row["theory"] == pytest.approx(stored.loc[row["number"], "theory"], abs=allowed)


def test_the_line_marks_what_is_unresolved():
    pytest.importorskip("pandas")
    import replica

    line = replica.read_csv(ROOT / "results" / "stability_line.csv")
    assert set(line) <= set(LINE_NAMES)  # the schema may have gained columns since
    assert set(line["kind"]) == {"grid", "line"}
    ends = line[line["kind"] == "line"]
    assert set(ends["resolved"]) <= {True, False}
    sharp = ends[ends["resolved"].astype(bool)]
    assert (sharp["high"] <= 1.1 * sharp["low"] / 0.99).all()
