"""`replica plot`: what is drawn where, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from replica.errors import ConvergenceWarning, InvalidProblem
from replica.io.rows import to_csv
from replica.plots import panels
from replica.plots.plot import figure_of
from replica.schema import NAMES
from replica.sweeps.frame import read_csv

pytestmark = pytest.mark.filterwarnings("ignore:1 selected row not drawn")
KINDS = ("spinodal-uninformed", "spinodal-informed", "information-theoretic")


def row(**cells):
    base = {"model": "spiked-slr", "estimator": "erm", "activation": "softmax", "alpha": 1.0, "length": "2", "nu": 2.0}
    base |= {"noise": 0.0, "reg_k": 1.0, "reg_v": 1.0, "selected": True, "status": "converged", "rs_stable": True}
    merged = {**dict.fromkeys(NAMES), **base, "test_risk": 0.5, "test_risk_err": 0.01, **cells}
    if merged["estimator"] in ("bayes", "experiment-amp"):
        merged |= {"activation": None, "reg_k": None, "reg_v": None, "rs_stable": None}
    return merged


def table(rows, tmp_path, name="table.csv"):
    path = tmp_path / name
    path.write_text(to_csv(rows, list(rows[0])))
    return path


def risk(alpha, reg=1.0):
    return 1.0 / (1.0 + alpha) + 0.01 * reg


ALPHAS = (0.5, 1.0, 2.0, 4.0, 8.0)


@pytest.fixture
def sweep(tmp_path):
    rows = [
        row(alpha=alpha, reg_k=reg, reg_v=reg, test_risk=risk(alpha, reg), rs_stable=stable)
        for reg in (0.1, 1.0)
        for alpha, stable in zip(ALPHAS, (False, False, None, True, True), strict=True)
    ]
    rows += [row(estimator="bayes", alpha=alpha, test_risk=0.5 * risk(alpha)) for alpha in ALPHAS]
    # hysteresis and failures are in a table, but are no predictions
    rows += [row(alpha=2.0, selected=False, test_risk=9.0), row(alpha=16.0, status="max_iter", test_risk=7.0)]
    return read_csv(table(rows, tmp_path))


def lines(axes, style=None):
    return [line for line in axes.lines if style is None or line.get_linestyle() == style]


def test_curves_say_where_replica_symmetry_holds(sweep):
    axes = figure_of([sweep], where=["reg=0.1"]).axes[0]
    drawn = {line.get_linestyle(): line for line in axes.lines if line.get_color() != "black"}
    assert list(drawn["--"].get_xdata()) == [0.5, 1.0, 2.0]  # a stretch is as its worse end
    assert list(drawn[":"].get_xdata()) == [2.0, 4.0]
    assert list(drawn["-"].get_xdata()) == [4.0, 8.0]
    assert drawn["-"].get_ydata() == pytest.approx([risk(4.0, 0.1), risk(8.0, 0.1)])
    assert axes.get_xscale() == "log"
    assert r"\lambda = 0.1" in axes.get_title(loc="left")


def test_bayes_is_one_black_line_under_all_others(sweep):
    axes = figure_of([sweep]).axes[0]
    black = [line for line in axes.lines if line.get_color() == "black"]
    assert len(black) == 1
    assert black[0].get_ydata() == pytest.approx([0.5 * risk(alpha) for alpha in ALPHAS])
    assert black[0].get_zorder() < min(line.get_zorder() for line in axes.lines if line is not black[0])


def test_rows_that_are_no_prediction_are_not_drawn(sweep):
    assert max(line.get_ydata().max() for line in figure_of([sweep]).axes[0].lines) < 1.0


def test_what_is_not_drawn_is_said(run, sweep, tmp_path):
    code, _, err = run("plot", str(tmp_path / "table.csv"))
    assert code == 0
    assert "warning: 1 selected row not drawn: did not converge" in err
    far = sweep.assign(alpha=sweep["alpha"].replace(8.0, math.inf))
    with pytest.warns(ConvergenceWarning, match="3 selected rows not drawn: lie at infinity"):
        figure_of([far[far["status"] == "converged"]])


def test_error_bands_are_the_errors(sweep):
    bands = figure_of([sweep], where=["reg=1", "estimator=erm"]).axes[0].collections
    (vertices,) = [path.vertices for path in bands[0].get_paths()]
    at_one = vertices[vertices[:, 0] == 1.0][:, 1]
    assert (at_one.min(), at_one.max()) == pytest.approx((risk(1.0) - 0.01, risk(1.0) + 0.01))


def test_experiments_are_markers_in_the_colour_of_their_theory(sweep, tmp_path):
    runs = [row(estimator="experiment-erm", alpha=a, d=d, selected=d is None, rs_stable=None, test_risk=0.4)
            for a in (1.0, 2.0) for d in (500, 1000, None)]  # fmt: skip
    runs += [row(estimator="experiment-amp", alpha=1.0, d=500, test_risk=0.2)]
    figure = figure_of([sweep, read_csv(table(runs, tmp_path, "runs.csv"))], where=["reg=1"])
    groups = {group.get_label(): group for group in figure.axes[0].containers}
    lbfgs, amp = groups["softmax, L-BFGS"], groups["Bayes-optimal, AMP"]
    assert list(lbfgs.lines[0].get_xdata()) == [1.0, 2.0]
    assert lbfgs.lines[0].get_linestyle() == "None"
    assert amp.lines[0].get_color() == "black"
    solid = [line for line in figure.axes[0].lines if line.get_linestyle() == "-" and line.get_color() != "black"]
    assert lbfgs.lines[0].get_color() == solid[0].get_color()
    assert len(lbfgs.lines[2]) == 1  # error bars


def test_legend_is_in_the_order_of_the_right_ends(tmp_path):
    height = {"linear": 0.9, "softplus": 0.7, "softmax": 0.3}
    rows = [row(alpha=a, activation=name, test_risk=top / a) for name, top in height.items() for a in (1.0, 2.0)]
    legend = figure_of([read_csv(table(rows, tmp_path))]).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == list(height)


def test_an_activation_of_the_user_has_a_colour_of_its_own(tmp_path):
    rows = [row(alpha=a, activation=name) for a in (1.0, 2.0) for name in ("mine", "softmax", "yours")]
    colours = [line.get_color() for line in figure_of([read_csv(table(rows, tmp_path))]).axes[0].lines]
    assert len(set(colours)) == 3


def test_several_estimators_and_a_parameter_make_panels(tmp_path):
    rows = [
        row(alpha=alpha, activation=name, length=length, test_risk=risk(alpha))
        for name in ("softmax", "linear")
        for length in ("10", "2", "1:0.5,2:0.5")
        for alpha in (1.0, 2.0)
    ]
    axes = figure_of([read_csv(table(rows, tmp_path))]).axes
    titles = [one.get_title(loc="left") for one in axes]
    assert titles == ["$L = 2$", "$L = 10$", "$L$ uniform on 1..2"]
    assert [len(one.lines) for one in axes] == [2, 2, 2]


def test_optimal_penalties_are_no_parameter(tmp_path):
    rows = [row(alpha=alpha, reg_k=alpha / 3, reg_v=alpha / 4, test_risk=risk(alpha)) for alpha in ALPHAS]
    axes = figure_of([read_csv(table(rows, tmp_path))]).axes
    assert len(axes) == 1
    assert list(axes[0].lines[0].get_xdata()) == list(ALPHAS)


def test_the_horizontal_axis_is_alpha_or_what_has_most_values(tmp_path):
    def axis(alphas, noises):
        rows = [row(alpha=a, noise=n, test_risk=risk(a) + n) for a in alphas for n in noises]
        return figure_of([read_csv(table(rows, tmp_path))]).axes[0].get_xlabel()

    assert "alpha" in axis(ALPHAS, (0.0, 0.1))
    assert "alpha" in axis(ALPHAS, np.linspace(0, 1, 7))
    assert "alpha" in axis((1.0, 2.0), (0.0, 0.1))
    assert "noise" in axis((1.0, 2.0), (0.0, 0.1, 0.2))


def test_a_check_is_drawn_as_theory_and_experiment(tmp_path):
    from replica.checks.table import NAMES as CHECK_NAMES

    place = {"model": "spiked-slr", "estimator": "erm", "activation": "softmax", "length": "2", "nu": 2.0, "noise": 0.0,
             "reg_k": 1.0, "reg_v": 1.0, "verdict": "agrees", "rs_stable": True}  # fmt: skip
    rows = [
        dict.fromkeys(CHECK_NAMES) | place
        | {"alpha": alpha, "number": number, "d": d, "judged": d is None, "theory": risk(alpha), "theory_err": 1e-3}
        | {"experiment": (0.9 if d is None else 0.7) * risk(alpha), "experiment_err": 0.02}
        for alpha in ALPHAS for number in ("test_risk", "q_k") for d in (100, None)
    ]  # fmt: skip
    rows += [row | {"alpha": 16.0, "verdict": "undecided"} for row in rows[-2:]]
    with pytest.warns(ConvergenceWarning, match="rows not drawn: did not converge"):
        axes = figure_of([read_csv(table(rows, tmp_path))], y="q_k").axes[0]
    (line,), (markers,) = lines(axes, "-"), axes.containers
    assert list(line.get_ydata()) == pytest.approx([risk(alpha) for alpha in ALPHAS])
    assert list(markers.lines[0].get_ydata()) == pytest.approx([0.9 * risk(alpha) for alpha in ALPHAS])
    assert markers.get_label() == "softmax, L-BFGS"


@pytest.fixture
def plane(tmp_path):
    rows = [
        row(estimator="erm", alpha=a, noise=n, test_risk=risk(a) + n, rs_stable=a > 1)
        for a in ALPHAS
        for n in np.linspace(0, 0.4, 9)
    ]
    return read_csv(table(rows, tmp_path, "plane.csv"))


def transitions(tmp_path, lengths=("2",), status="certified"):
    rows = [
        {"model": "spiked-slr", "length": length, "nu": 2.0, "noise": noise, "kind": kind, "value": value,
         "lo": value, "hi": value, "status": status, "message": ""}
        for length in lengths for noise in (0.0, 0.1, 0.2)
        for kind, value in zip(KINDS, (3.0, 2.0 + 4 * noise, 2.0 + 5 * noise), strict=True)
    ]  # fmt: skip
    return read_csv(table(rows, tmp_path, "thresholds.csv"))


def test_many_values_of_a_second_parameter_make_a_map(plane, tmp_path):
    figure = figure_of([plane, transitions(tmp_path)])
    axes = figure.axes[0]
    cells = axes.collections[0].get_array()
    assert cells.shape == (9, 5)
    assert cells[2, 3] == pytest.approx(risk(4.0) + 0.1)
    hatched = [part for part in axes.collections if part.get_hatch()]
    assert len(hatched[0].get_paths()) == 18
    drawn = {line.get_color(): line for line in axes.lines}
    assert list(drawn["black"].get_xdata()) == pytest.approx([2.0, 2.5, 3.0])
    assert list(drawn["black"].get_ydata()) == pytest.approx([0.0, 0.1, 0.2])


def test_axes_of_a_map_can_be_chosen(sweep):
    axes = figure_of([sweep], x="reg", y="alpha", where=["estimator=erm"]).axes[0]
    assert axes.collections[0].get_array().shape == (5, 2)
    assert axes.get_xlabel() == r"ridge penalty $\lambda$"


def test_cells_of_a_map_are_centred_on_their_points():
    for kind, points in (("linear", np.array([1.0, 2.0, 4.0])), ("log", np.array([0.1, 1.0, 10.0]))):
        edges = panels.edges(points, kind)
        assert (edges[:-1] < points).all()
        assert (points < edges[1:]).all()
    assert panels.edges(np.array([0.1, 1.0, 10.0]), "log")[0] == pytest.approx(0.1 / math.sqrt(10))
    assert panels.edges(np.array([0.0, 1.0]), "linear")[0] == 0.0


def test_transitions_on_curves_are_those_of_the_same_problem(sweep, tmp_path):
    def vertical(**options):
        figure = figure_of([sweep, transitions(tmp_path)], **options)
        return [line.get_xdata()[0] for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]

    assert sorted(vertical()) == [2.0, 2.0, 3.0]
    other = sweep.assign(nu=3.0)
    figure = figure_of([other, transitions(tmp_path)])
    assert all(len(set(line.get_xdata())) > 1 for line in figure.axes[0].lines)


def test_phase_diagram(tmp_path):
    axes = figure_of([transitions(tmp_path, ("10", "2"))]).axes
    assert [one.get_title(loc="left") for one in axes] == ["$L = 2$", "$L = 10$"]
    assert len(axes[0].lines) == 3
    hard, coexistence = axes[0].collections
    assert hard.get_paths()[0].vertices[:, 1].max() == 3.0
    assert coexistence.get_paths()[0].vertices[:, 1].min() == 2.0


def test_scales_follow_the_steps():
    assert panels.scale([0.1, 1, 10, 100]) == "log"
    assert panels.scale([0.1, 1, 2, 3, 4, 5]) == "linear"
    assert panels.scale(range(1, 100)) == "linear"
    assert panels.scale([1, 2, 4]) == "log"
    assert panels.scale([1, 1.5, 2.25]) == "linear"
    assert panels.scale([0, 1, 10, 100]) == "linear"


def test_flow_tables_are_drawn_as_flow_does(tmp_path):
    from replica.flow.plan import Plan
    from replica.flow.problem import FlowProblem
    from replica.flow.train import train

    path = table(train(FlowProblem(dim=3), Plan(time=1e3, records=10)).trajectory(), tmp_path)
    assert len(figure_of([read_csv(path)]).axes) == 4


def test_command_writes_next_to_the_file_and_repeats_its_bytes(run, sweep, tmp_path):
    path = tmp_path / "table.csv"
    assert run("plot", str(path))[0] == 0
    first = (tmp_path / "table.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert run("plot", str(path), "--output", str(tmp_path / "again.png"))[0] == 0
    assert (tmp_path / "again.png").read_bytes() == first


@pytest.mark.parametrize(
    ("options", "mentions"),
    [
        (["--x", "nu"], ["x = 'nu'", "alpha, reg"]),
        (["--y", "blue"], ["y = 'blue'", "test_risk"]),
        (["--y", "free_entropy"], ["free_entropy"]),
        (["--hue", "nu"], ["hue = 'nu'", "estimate, reg"]),
        (["--where", "alpha"], ["where = 'alpha'", "COLUMN=VALUE"]),
        (["--where", "alpha=two"], ["'two' is not a number"]),
        (["--where", "alpha=77"], ["leaves no row"]),
        (["--where", "alpha=1", "--where", "reg=1"], ["no parameter varies"]),
        (["--output", "figure.bmp"], [".bmp", ".png, .svg, .pdf"]),
        (["--output", "missing/a.png"], ["missing", "does not exist"]),
        (["--output", ""], ["output = '.'", ".png, .svg, .pdf"]),
        (["--output", "figure"], ["output = 'figure'", "no known suffix"]),
        ([""], ["'.' is a folder"]),
        (["folder.csv"], ["'folder.csv' cannot be read: Is a directory"]),
    ],
)
def test_options_that_make_no_sense(run, sweep, tmp_path, monkeypatch, options, mentions):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    code, out, err = run("plot", "table.csv", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for text in mentions:
        assert text in err
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (b"", ["not a CSV table: it is empty"]),
        (b"\xff\xfe\x00\x01\n", ["not a CSV table: it is not UTF-8 text"]),
        (b'a,b\n1,2,3\n"', ["not a CSV table"]),
        (b"a,b\n1,2\n", ["no column model", "replica solve"]),
        (b"alpha,nu\nx,y\n", ["not a CSV table"]),
        ((",".join(NAMES) + "\n").encode(), ["'bad.csv' has no rows, only the header 'model,estimator,"]),
        (b"a text\n", ["'bad.csv' has no rows, only the header 'a text'"]),
        (to_csv([row(status="stalled")], NAMES).encode(), ["no selected, converged row"]),
        (None, ["cannot be read", "No such file"]),
    ],
)
def test_files_that_are_no_tables(run, tmp_path, monkeypatch, content, mentions):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "bad.csv").write_bytes(content)
    code, out, err = run("plot", "bad.csv", "--output", "bad.png")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for text in mentions:
        assert text in err
    assert not (tmp_path / "bad.png").exists()


def test_a_table_is_never_replaced_by_its_figure(run, sweep, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").rename("table.png")
    code, _, err = run("plot", "table.png")
    assert (code, err.count("\n")) == (2, 1)
    assert "would replace a table" in err


def test_too_many_panels_are_refused(tmp_path):
    rows = [row(alpha=a, noise=0.1 * n, activation=name) for a in ALPHAS for n in range(13)
            for name in ("softmax", "linear")]  # fmt: skip
    with pytest.raises(InvalidProblem, match="13 panels"):
        figure_of([read_csv(table(rows, tmp_path))], hue="estimate")
