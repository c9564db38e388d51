"""The committed tables: made by this code, and still what it makes."""

from pathlib import Path

import pytest

from replica.flow.plan import Plan
from replica.flow.problem import FlowProblem
from replica.flow.schema import FINAL
from replica.flow.train import train

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["flow_sweep", "flow_conditioning"])
def test_tables_have_the_schema_and_good_runs_only(name):
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(ROOT / "results" / f"{name}.csv")
    assert list(table) == [column.name for column in FINAL]
    assert set(table["status"]) <= {"finished", "converged"}
    assert table["max_s_err"].max() < 1e-3


def test_rows_are_what_the_code_makes():
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(ROOT / "results" / "flow_sweep.csv")
    for _, row in table[table["dim"] < 10].sample(6, random_state=0).iterrows():
        condition = None if pd.isna(row["condition"]) else row["condition"]
        settings = {name: row[name] for name in ("map", "dim", "seed")}
        problem = FlowProblem(loss=row["loss_kind"], condition=condition, **settings)
        again = train(problem, Plan(time=row["t"], records=40, rtol=row["rtol"])).row()
        for number in ("max_s", "loss", "int_gamma"):
            allowed = 2 * (row[f"{number}_err"] + again[f"{number}_err"]) + 1e-9
            assert again[number] == pytest.approx(row[number], abs=allowed)
