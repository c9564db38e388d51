"""The tables behind the pictures, made small, and the pictures drawn from them."""

import pandas as pd
import pytest
from click.testing import CliRunner
from replica_cli.heads import heads
from replica_cli.plot import plot

from replica.errors import InvalidProblem
from replica.heads import study
from replica.heads.table import EMERGENCE, OPTIMUM, PRUNING, SPECIALISATION
from replica.plots import heads as pictures
from replica.plots.plot import figure_of
from replica.sweeps.frame import read_csv


def _lines(axes):
    return {line.get_label(): line.get_xydata() for line in axes.get_lines()}


def test_specialisation_has_a_row_for_each_time_and_number_of_features(monkeypatch):
    monkeypatch.setattr(study, "time_grid", lambda time, points, spacing: [0.0, 0.5, 1.0])
    rows = study.specialisation(rtol=0.5)
    assert list(rows[0]) == [column.name for column in SPECIALISATION]
    assert [row["heads"] for row in rows] == [4] * 3 + [6] * 3 + [8] * 3
    assert rows[0]["top_3"] is None
    assert rows[8]["top_4"] > 0
    figure = pictures.specialisation_figure(rows)
    assert len(figure.axes) == 6
    assert _lines(figure.axes[3])["feature 2"][:, 1].tolist() == [row["top_2"] for row in rows[1:3]]


def test_activations_are_compared_and_drawn():
    rows = study.activations(strengths=(4.0,), heads=(1, 2), samples=64)
    assert list(rows[0]) == ["nu", *(column.name for column in OPTIMUM)]
    assert len(rows) == 6
    figure = pictures.activations_figure(pd.DataFrame(rows))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["H = 1", "H = 2"]
    assert _lines(figure.axes[0])["Bayes"][0, 1] == rows[0]["bayes_risk"]


def test_pruning_curves_are_made_and_drawn():
    rows = study.pruning(heads=(2,), samples=64)
    assert list(rows[0]) == [column.name for column in PRUNING]
    assert len(rows) == 3 * 2 * 2
    assert {row["heads"] for row in rows} == {2}
    panels = pictures.pruning_figure(rows).axes
    curve = _lines(panels[0])["from H = 2"]
    assert {"as trained", "trained again", "Bayes"} <= set(_lines(panels[1]))
    assert curve[:, 1].tolist() == [row["risk"] for row in rows[:2]]


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory):
    """CSV files of the equations and of two runs of SGD, and the picture that `run` draws."""
    folder = tmp_path_factory.mktemp("runs")
    common = ["--activation", "softmax-1", "--signal", "flipped:nu=6", "--heads", "2", "--time", "1", "--points", "5"]
    common += ["--dimension", "40"]
    for name, more in (
        ("run", ["--rtol", "0.1", "--plot", str(folder / "drawn.png")]),
        ("simulate", ["--seeds", "2"]),
    ):
        result = CliRunner().invoke(heads, [name, *common, *more, "--output", str(folder / f"{name}.csv")])
        assert result.exit_code == 0, result.output
    return folder


def test_run_draws_what_plot_draws_from_its_table(trajectories):
    result = CliRunner().invoke(plot, [str(trajectories / "run.csv")])
    assert result.exit_code == 0, result.output
    assert (trajectories / "run.png").read_bytes() == (trajectories / "drawn.png").read_bytes()
    refused = CliRunner().invoke(heads, ["run", "--signal", "flipped:nu=6", "--plot", str(trajectories / "run.txt")])
    assert isinstance(refused.exception, InvalidProblem)


def test_equations_and_sgd_are_drawn_together_with_the_bayes_line(trajectories):
    tables = [read_csv(trajectories / f"{name}.csv") for name in ("run", "simulate")]
    for frames, curves in ((tables[:1], 1), (tables[1:], 2), (tables, 3)):
        risk, overlaps, thresholds = figure_of(frames).axes
        assert {axes.get_xscale() for axes in (risk, overlaps, thresholds)} == {"log"}
        assert _lines(risk)["Bayes"][0, 1] == tables[0]["bayes_risk"][0]
        assert len([line for line in risk.get_lines() if len(line.get_xdata()) == 4]) == curves
        assert len([line for line in overlaps.get_lines() if len(line.get_xdata()) == 4]) == 2 * curves
    assert risk.get_lines()[-1 - 2].get_ydata().tolist() == tables[0]["risk"][1:].tolist()


def test_tables_that_do_not_go_together_are_refused(trajectories):
    run = read_csv(trajectories / "run.csv")
    with pytest.raises(InvalidProblem, match="differ in heads"):
        figure_of([run, run.assign(heads=3)])
    with pytest.raises(InvalidProblem, match="without x"):
        figure_of([run], x="tau")
    with pytest.raises(InvalidProblem, match="no figure"):
        figure_of([run.drop(columns="m_1_1")])
    with pytest.raises(InvalidProblem, match="two positive times"):
        figure_of([run[:2]])


def test_the_picture_says_where_the_trajectories_start(trajectories):
    run, sgd = (read_csv(trajectories / f"{name}.csv") for name in ("run", "simulate"))
    title = figure_of([run, sgd]).get_suptitle().splitlines()
    assert title[1].endswith("from D = 40, norm 0.1, seed 0")
    assert title[2].endswith("from D = 40, norm 0.1")
    with pytest.warns(UserWarning, match="start differently: norm = 0.1, 1"):
        title = figure_of([run, sgd.assign(norm=1.0)]).get_suptitle().splitlines()
    assert title[2].endswith("norm 1")


def test_emergence_is_tabulated_and_drawn(monkeypatch):
    def made_up(problem, dimensions, rate, tau, seeds, *, far, **_):
        assert tau[0] == 0
        known = [{"feature": 1, "equations": 1.0, "equations_err": 0.1, "predicted": 0.5},
                 {"feature": 2, "predicted": float("inf")}]  # fmt: skip
        return [{"dimension": d, **one} for d in (*dimensions, *far) for one in known]

    monkeypatch.setattr(study, "emergence_rows", made_up)
    rows = study.emergence(dimensions=(10, 20), far=(100,))
    assert list(rows[0]) == [column.name for column in EMERGENCE]
    assert len(rows) == 6
    labels = [line.get_label() for line in figure_of([pd.DataFrame(rows)]).axes[0].get_lines()]
    predicted = [label for label in labels if "predicted" in label]
    assert predicted == ["feature 1: predicted", "feature 2: predicted, never"]


@pytest.mark.parametrize("name", ["trajectory", "specialisation", "emergence", "activations", "pruning"])
def test_other_tables_are_refused(name):
    with pytest.raises(InvalidProblem, match="replica heads"):
        getattr(pictures, f"{name}_figure")([{"a": 1}])


def test_study_writes_into_a_folder_that_exists(tmp_path):
    result = CliRunner().invoke(heads, ["study", "--folder", str(tmp_path / "absent")])
    assert isinstance(result.exception, InvalidProblem)
