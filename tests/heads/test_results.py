"""The committed tables: made by this code, and what its text says of them."""

from pathlib import Path

import pytest

from replica.heads.bayes import bayes_risk
from replica.heads.optimum import optimum
from replica.heads.problem import HeadsProblem
from replica.heads.signals import flipped
from replica.heads.table import EMERGENCE, OPTIMUM, PRUNING, SPECIALISATION

ROOT = Path(__file__).parents[2]


def _table(name):
    return pytest.importorskip("pandas").read_csv(ROOT / "results" / f"heads_{name}.csv")


@pytest.mark.parametrize(
    ("name", "columns"),
    [("specialisation", SPECIALISATION), ("emergence", EMERGENCE), ("activations", OPTIMUM), ("pruning", PRUNING)],
)
def test_tables_have_the_columns_of_the_code(name, columns):
    first = ["nu"] if name == "activations" else []
    assert list(_table(name)) == [*first, *(column.name for column in columns)]


def test_predicted_emergence_agrees_with_the_equations_and_with_sgd():
    table = _table("emergence")
    assert (table["equations"] - table["predicted"]).between(0, 0.6).all()
    slopes = table.drop_duplicates("feature").set_index("feature")
    assert slopes["slope_predicted"].tolist() == pytest.approx(slopes["slope_equations"].tolist(), rel=0.01)
    # one over the rate at the saddle is the slope of far longer stages
    far = table[table["dimension"] == 10**8].set_index("feature")
    assert 1 / far["rate"][2] > 3 * slopes["slope_predicted"][2]
    assert slopes["slope_z"][2] < 2
    assert 2 < slopes["slope_z"][1] < 4
    gap = table["simulated"] - table["equations"]
    assert gap[(table["feature"] == 1) & (table["dimension"] == 100)].item() < -0.2
    assert abs(gap[(table["feature"] == 1) & (table["dimension"] == 900)].item()) < 0.1


def test_least_risks_are_what_the_code_makes():
    table = _table("activations")
    assert table["converged"].all()
    for _, row in table[(table["heads"] == 2) & (table["nu"] == 16)].iterrows():
        problem = HeadsProblem(flipped(16.0), row["activation"], 2, 4)
        found = optimum(problem, samples=512, starts=2)
        assert found.risk == pytest.approx(row["risk"], abs=2 * (found.risk_err + row["risk_err"]) + 1e-6)
        bayes, error = bayes_risk(problem)
        assert bayes == pytest.approx(row["bayes_risk"], abs=2 * (error + row["bayes_risk_err"]) + 1e-6)


def test_what_the_notebook_says_of_pruning():
    table = _table("pruning")
    keys = ["activation", "heads", "retrained"]
    risks = {key: rows.set_index("heads_left")["risk"] for key, rows in table.groupby(keys)}
    for heads in (8, 16):
        for activation, retrained in (("softmax-1", False), ("softmax-1", True), ("bayes-softmax", True)):
            risk = risks[activation, heads, retrained]
            assert risk[list(range(4, heads + 1))].tolist() == pytest.approx([risk[4]] * (heads - 3), rel=1e-6)
        bayes = risks["bayes-softmax", heads, False]
        assert 1.02 * bayes[4] < bayes[list(range(4, heads))].max() < 1.03 * bayes[4]
        assert bayes[heads] == pytest.approx(bayes[4], rel=1e-6)
    for retrained in (False, True):
        softmax = risks["softmax", 16, retrained]
        assert all(softmax[odd] > max(softmax[odd - 1], softmax[odd + 1]) for odd in range(5, 16, 2))
