"""The tables behind the pictures, made small, and the pictures drawn from them."""

import pandas as pd
import pytest
from click.testing import CliRunner
from replica_cli.heads import heads

from replica.errors import InvalidProblem
from replica.heads import study
from replica.heads.table import OPTIMUM, PRUNING, SPECIALISATION
from replica.plots import heads as pictures


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
    curve = _lines(pictures.pruning_figure(rows).axes[0])["from H = 2"]
    assert curve[:, 1].tolist() == [row["risk"] for row in rows[:2]]


def test_a_run_is_drawn(tmp_path):
    path = tmp_path / "run.png"
    arguments = ["run", "--activation", "softmax-1", "--signal", "flipped:nu=6", "--heads", "2", "--time", "1"]
    result = CliRunner().invoke(heads, [*arguments, "--points", "5", "--rtol", "0.1", "--plot", str(path)])
    assert result.exit_code == 0, result.output
    assert path.read_bytes().startswith(b"\x89PNG")
    refused = CliRunner().invoke(heads, [*arguments, "--plot", str(tmp_path / "run.txt")])
    assert isinstance(refused.exception, InvalidProblem)


@pytest.mark.parametrize("name", ["trajectory", "specialisation", "activations", "pruning"])
def test_other_tables_are_refused(name):
    with pytest.raises(InvalidProblem, match="replica heads"):
        getattr(pictures, f"{name}_figure")([{"a": 1}])


def test_study_writes_into_a_folder_that_exists(tmp_path):
    result = CliRunner().invoke(heads, ["study", "--folder", str(tmp_path / "absent")])
    assert isinstance(result.exception, InvalidProblem)
