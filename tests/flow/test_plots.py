"""Figures: what they draw, where they are written, what they refuse."""

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from replica.errors import InvalidProblem
from replica.flow.plan import Plan
from replica.flow.problem import FlowProblem
from replica.flow.sweep import problems, sweep
from replica.flow.train import train
from replica.plots.figure import check_figure, save
from replica.plots.flow import heat_map, sweep_figure, trajectory_figure


@pytest.fixture(scope="module")
def trajectory():
    return train(FlowProblem(dim=12, rows=2), Plan(time=1e3, records=20)).trajectory()


@pytest.fixture(scope="module")
def final():
    grid = problems(["logistic", "square"], ["softmax", "power2"], [1.0, 5.0], [3, 4], 1)
    return sweep(grid, Plan(time=1e3, records=5))


def test_trajectory_draws_the_row_mean_of_each_token(trajectory):
    axes = trajectory_figure(trajectory).axes
    lines = axes[1].lines
    assert len(axes) == 4
    assert len(lines) == 12
    expected = (trajectory[-1]["s_0_1"] + trajectory[-1]["s_1_1"]) / 2
    assert lines[1].get_ydata()[-1] == pytest.approx(expected)
    assert axes[1].get_xscale() == "log"


def test_heat_map_shows_medians(final):
    axes = heat_map(final, "condition", "loss_kind").axes[0]
    cells = axes.images[0].get_array()
    values = sorted(row["max_s"] for row in final if row["loss_kind"] == "square" and row["condition"] == 5.0)
    assert cells.shape == (2, 3)
    assert cells[1, 2] == pytest.approx((values[1] + values[2]) / 2)


def test_failed_runs_are_not_drawn(final):
    bad = [row | {"status": "nonfinite", "max_s": 100.0} for row in final]
    drawn = heat_map(final + bad, "map", "loss_kind").axes[0].images[0].get_array()
    assert drawn.max() <= 1.0
    with pytest.raises(InvalidProblem, match="no finished run"):
        heat_map(bad, "map", "loss_kind")


def test_files_are_reproducible(trajectory, final, tmp_path):
    for suffix, draw, rows in (("svg", trajectory_figure, trajectory), ("pdf", sweep_figure, final)):
        paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
        for path in paths:
            check_figure(path)
            save(draw(rows), path)
        assert paths[0].stat().st_size > 5000
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_refusals(trajectory, final, tmp_path):
    with pytest.raises(InvalidProblem, match="no trajectory"):
        trajectory_figure(final[:1])
    with pytest.raises(InvalidProblem, match="no column"):
        heat_map(final, "kappa", "map")
    with pytest.raises(InvalidProblem, match="no sweep"):
        sweep_figure([{"a": 1}])
    with pytest.raises(InvalidProblem, match="suffix"):
        check_figure(tmp_path / "a.bmp")
