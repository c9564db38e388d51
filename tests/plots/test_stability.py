"""The line of replica symmetry over a plane: cells, located and unresolved stretches, minima of L-BFGS."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from replica.checks.line import NAMES as LINE_NAMES
from replica.errors import ConvergenceWarning, InvalidProblem
from replica.io.rows import to_csv
from replica.plots.plot import figure_of
from replica.schema import NAMES
from replica.sweeps.frame import read_csv

PLACE = {"model": "spiked-slr", "estimator": "erm", "activation": "softmax", "length": "2", "nu": 2.0, "noise": 0.0}
PLACE |= {"selected": True, "status": "converged"}
REGS = (0.01, 0.1, 1.0)


def line_row(alpha, reg, **cells):
    return dict.fromkeys(LINE_NAMES) | PLACE | {"alpha": alpha, "reg_k": reg, "reg_v": reg, "searched": "reg"} | cells


def fit_row(alpha, reg, **cells):
    base = {"alpha": alpha, "reg_k": reg, "reg_v": reg, "estimator": "experiment-erm", "d": 300, "seeds": 2, "q_k": 0.5}
    return dict.fromkeys(NAMES) | PLACE | base | cells


def read(rows, path):
    path.write_text(to_csv(rows, list(rows[0])))
    return read_csv(path)


@pytest.fixture
def line(tmp_path):
    states = {1.0: (False, None, True), 4.0: (True, True, True), 16.0: (False, False, True)}
    rows = [
        line_row(alpha, reg, kind="grid", rs_stable=state)
        for alpha, column in states.items()
        for reg, state in zip(REGS, column, strict=True)
    ]
    rows.append(line_row(1.0, 0.05, kind="line", low=None, high=0.1, resolved=False))
    rows.append(line_row(16.0, 0.5, kind="line", low=0.49, high=0.5, resolved=True))
    return read(rows, tmp_path / "line.csv")


@pytest.fixture
def minima(tmp_path):
    rows = [fit_row(1.0, 0.01, minima=3.0, distance_k=value) for value in (0.1, 0.3)]
    rows += [fit_row(1.0, 1.0, minima=1.0, distance_k=1e-12), fit_row(16.0, 0.01, minima=2.0, distance_k=0.01)]
    rows += [fit_row(4.0, 0.01, minima=9.0, distance_k=9.0, status="stalled"),
             fit_row(4.0, 0.01, minima=9.0, distance_k=9.0, d=100)]  # fmt: skip
    return read(rows, tmp_path / "minima.csv")


def test_cells_are_verdicts_and_the_line_is_where_it_was_located(line):
    axes = figure_of([line]).axes[0]
    columns = axes.collections[:3]
    assert [part.get_array().ravel().tolist() for part in columns] == [[2, 1, 0], [0, 0, 0], [2, 2, 0]]
    # the colour changes where the line was located, else half way
    heights = [sorted(set(part.get_coordinates()[:, 0, 1])) for part in columns]
    assert heights[1][1:3] == pytest.approx([0.01 * 10**0.5, 0.1 * 10**0.5])
    assert heights[2][2] == pytest.approx(0.495, rel=1e-2)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    (located,) = axes.lines
    assert list(located.get_xdata()) == pytest.approx([8.0, 32.0])
    assert list(located.get_ydata()) == pytest.approx([0.495, 0.495], rel=1e-2)
    (interval,) = [part for part in axes.patches if isinstance(part, Rectangle)]
    # below its end the side is unknown, down to the edge of the grid
    assert (interval.get_y(), interval.get_y() + interval.get_height()) == pytest.approx((0.01 / 10**0.5, 0.1))
    assert (interval.get_x(), interval.get_x() + interval.get_width()) == pytest.approx((0.5, 2.0))


def test_markers_are_minima_and_their_distance(line, minima):
    with pytest.warns(ConvergenceWarning, match="1 row not drawn"):
        figure = figure_of([line, minima])
    one, several = figure.axes[0].collections[3:5]
    assert one.get_offsets().tolist() == [[1.0, 1.0]]
    assert tuple(one.get_facecolor()[0]) == to_rgba("white")
    assert several.get_offsets().tolist() == [[1.0, 0.01], [16.0, 0.01]]
    assert several.get_array().tolist() == pytest.approx([0.2 / 0.5, 0.01 / 0.5])
    assert "|k|^2" in figure.axes[1].get_ylabel()


@pytest.mark.filterwarnings("ignore:1 row not drawn")
def test_another_parameter_makes_panels(line, minima):
    import pandas

    both = pandas.concat([line, line.assign(nu=3.0)])
    figure = figure_of([both, minima])
    assert [one.get_title(loc="left") for one in figure.axes[:2]] == [r"$\nu = 2$", r"$\nu = 3$"]
    assert [len(one.collections) for one in figure.axes[:2]] == [5, 4]


def test_tables_that_do_not_go_together(line, minima):
    import pandas

    cases = [
        (([line.assign(alpha=1.0)], {}), "only reg varies"),
        (([line, minima.assign(nu=5.0)], {}), "not at nu = 2"),
        (([line, minima.drop(columns="minima")], {}), "random:8"),
        (([line, minima[["model", "length", "nu", "noise"]]], {}), "random:8"),
        (([pandas.concat([line, line.assign(searched="noise")])], {}), "draw one at a time"),
        (([line], {"x": "alpha"}), "leave out x"),
    ]
    for (frames, options), message in cases:
        with pytest.raises(InvalidProblem, match=message):
            figure_of(frames, **options)
