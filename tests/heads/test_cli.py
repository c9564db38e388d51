"""The commands: their files, their exit codes, their one-line refusals."""

import csv
import math

import pytest
from click.testing import CliRunner
from replica_cli.heads import heads

from replica.errors import InvalidProblem
from replica.heads.table import CHECK, EMERGENCE, OPTIMUM, PRUNING, RATES, simulation_columns, trajectory_columns

RUN = ["run", "--signal", "flipped:nu=6", "--heads", "2", "--length", "3", "--time", "4", "--points", "5"]


def _rows(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_run_writes_the_trajectory(tmp_path):
    path = tmp_path / "run.csv"
    result = CliRunner().invoke(heads, [*RUN, "--rate", "0.5", "--output", str(path)])
    assert result.exit_code == 0, result.output
    rows = _rows(path)
    assert list(rows[0]) == [column.name for column in trajectory_columns(2, 1)]
    assert [float(row["tau"]) for row in rows] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert all(0 < float(row["risk_err"]) <= 1e-3 * float(row["risk"]) for row in rows)
    assert float(rows[0]["bayes_risk"]) < float(rows[0]["risk"])


def test_run_says_when_the_accuracy_is_not_met():
    result = CliRunner().invoke(heads, [*RUN, "--rtol", "1e-9", "--max-samples", "256"])
    assert result.exit_code == 3
    assert "less accurate" in result.output
    assert "m_2_1" in result.output


def test_rates_lists_features_and_spectrum(tmp_path):
    path = tmp_path / "rates.csv"
    arguments = ["rates", "--signal", "gaussian:8,3", "--heads", "2", "--samples", "128", "--output", str(path)]
    assert CliRunner().invoke(heads, arguments).exit_code == 0
    rows = _rows(path)
    assert list(rows[0]) == [column.name for column in RATES]
    features = [row for row in rows if row["mode"] == "feature" and row["norm"] == "0.0"]
    assert [row["variance"] for row in features] == ["8.0", "3.0"]
    assert float(features[0]["escape_time"]) < float(features[1]["escape_time"])
    assert sum(row["mode"] == "spectrum" for row in rows) == 2 * (4 + 4)
    table = CliRunner().invoke(heads, arguments[:-2])
    assert "spectrum" in table.output


def test_stages_are_listed():
    arguments = ["stages", "--signal", "flipped:nu=16", "--heads", "2", "--time", "30", "--rtol", "1e-2"]
    result = CliRunner().invoke(heads, arguments)
    assert result.exit_code == 0, result.output
    assert "risk_before" in result.output
    assert isinstance(CliRunner().invoke(heads, [*arguments, "--time", "0.1"]).exception, InvalidProblem)


def test_evidence_commands_write_their_columns(tmp_path):
    common = ["--signal", "flipped:nu=6", "--heads", "2", "--length", "3", "--time", "1", "--points", "3"]
    for name, columns, more in (
        ("simulate", simulation_columns(2, 1), ["--dimension", "40", "--seeds", "2"]),
        ("check", CHECK, ["--dimensions", "40,80", "--seeds", "4"]),
        ("emerge", EMERGENCE, ["--dimensions", "40,80", "--seeds", "2"]),
    ):
        path = tmp_path / f"{name}.csv"
        result = CliRunner().invoke(heads, [name, *common, *more, "--output", str(path)])
        assert result.exit_code == 0, result.output
        rows = _rows(path)
        assert list(rows[0]) == [column.name for column in columns]
        assert CliRunner().invoke(heads, [name, *common, *more]).exit_code == 0
    assert len(_rows(tmp_path / "simulate.csv")) == 2 * 3


def test_optimum_and_prune_write_their_columns(tmp_path):
    common = ["--signal", "flipped:nu=6", "--heads", "2", "--samples", "64", "--starts", "2"]
    for name, columns, count in (("optimum", OPTIMUM, 1), ("prune", PRUNING, 4)):
        path = tmp_path / f"{name}.csv"
        assert CliRunner().invoke(heads, [name, *common, "--output", str(path)]).exit_code == 0
        rows = _rows(path)
        assert list(rows[0]) == [column.name for column in columns]
        assert len(rows) == count
        assert "bayes_risk" in rows[0]
        assert "risk" in CliRunner().invoke(heads, [name, *common]).output


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--signal", "flipped:nu=x"],
        [*RUN, "--time", "0"],
        [*RUN, "--time", "inf"],
        [*RUN, "--dimension", "0"],
        [*RUN, "--norm", "-1"],
        [*RUN, "--norm", "1e200"],
        [*RUN, "--rate", "1e9"],
        [*RUN, "--activation", "relu"],
        [*RUN, "--max-samples", "100"],
        [*RUN, "--output", "/nowhere/run.csv"],
        ["rates", "--signal", "flipped:nu=6", "--norm", "-1"],
        *(["rates", "--signal", "flipped:nu=6", "--norm", norm] for norm in ("inf", "nan", "1e5")),
        *(["rates", "--signal", "flipped:nu=6", "--samples", samples] for samples in ("0", "-4", "3", "1")),
        *([name, "--signal", "flipped:nu=6", "--samples", str(2**30)] for name in ("rates", "optimum")),
        [*RUN, "--max-samples", str(2**30)],
        [*RUN, "--rtol", "2"],
        [*RUN, "--points", str(2**31)],
        ["run", "--signal", "discrete:"],
        ["simulate", "--signal", "flipped:nu=6", "--dimension", "3"],
        ["simulate", "--signal", "flipped:nu=6", "--dimension", "50", "--rate", "100", "--time", "10"],
        ["simulate", "--signal", "flipped:nu=6", "--time", "1e30"],
        ["emerge", "--signal", "onehot:nu=6"],
        ["emerge", "--signal", "flipped:nu=6", "--level", "0"],
        ["check", "--signal", "flipped:nu=6", "--dimensions", "a,b"],
        ["emerge", "--signal", "flipped:nu=6", "--dimensions", "100"],
        ["optimum", "--signal", "flipped:nu=6", "--samples", "100"],
        ["prune", "--signal", "flipped:nu=6", "--starts", "1"],
    ],
)
def test_bad_input_is_refused(arguments):
    result = CliRunner().invoke(heads, arguments)
    assert isinstance(result.exception, InvalidProblem), result.output
    assert "\n" not in str(result.exception)


def test_tiny_risks_are_printed_with_their_figures():
    from replica_cli.table import with_error

    assert with_error(1.492e-110, 4.4e-114) == "1.49200e-110 +- 4.4e-114"
    assert with_error(0.0, 1e-300) == "0.0e+00 +- 1.0e-300"
    assert with_error(0.5, 1e-15) == "0.500000000000 +- 1.0e-15"


def test_slopes_over_the_same_dimensions_stand_side_by_side():
    from replica_cli.heads_table import emergence_table

    problem = {"activation": "softmax", "heads": 2, "length": 4, "signal": "s", "weight": "mean", "thresholds": "none"}
    slopes = {"slope_predicted": 7.0, "slope_equations": 8.0, "slope_simulated": 9.0, "slope_gap": 1.0, "slope_z": 0.5}
    slopes |= {"slope_simulated_err": None, "feature": 1, "learned_before": "", "rate": 0.25, "seen": 2}
    rows = [
        {**problem, **slopes, "dimension": size, "predicted": time, "equations": 2 * time}
        | {"simulated": time if size < 1000 else None, "difference": 0.0 if size < 1000 else None}
        for size, time in ((100, 1.0), (400, 1.0 + math.log(2)), (10**4, 50.0), (10**6, 60.0))
    ]
    _, near, far, _ = emergence_table(rows, [400, 100])[:-1].split("\n\n")[1:]
    assert "over D = 100, 400," in near
    assert near.splitlines()[2].split() == ["1", "-", "0.25", "1", "2", "9", "1", "0.5"]
    assert "over D = 10000, 1e+06" in far
    assert far.splitlines()[2].split() == ["1", "7", "8"]
