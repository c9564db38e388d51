"""Sweeps from Python and their tables."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

import replica
from replica.errors import ConvergenceWarning, InvalidProblem, ReplicaError
from replica.io.rows import to_csv
from replica.registry import ESTIMATORS
from replica.sweeps.lines import NAMES, SWEEP_COLUMNS
from tests.sweeps import fold

pandas = pytest.importorskip("pandas")
GRID = {"model": "spiked-slr", "estimator": "erm", "alpha": "1:3:5", "noise": [0, 0.5]}


@pytest.fixture(autouse=True)
def _known_answers(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "erm", "tests.sweeps.fold:fixed_points")


def test_frame_is_the_file(tmp_path):
    output = tmp_path / "risk.csv"
    frame = replica.sweep(GRID, output=output)
    pandas.testing.assert_frame_equal(frame, replica.read_csv(output))
    pandas.testing.assert_frame_equal(frame, replica.sweep(GRID))
    assert tuple(frame.columns) == NAMES
    assert len(frame) == 20
    assert frame["selected"].sum() == 10
    assert frame["alpha"].tolist() == [a for a in np.linspace(1, 3, 5) for _ in range(2)] * 2
    with pytest.raises(InvalidProblem, match="exists"):
        replica.sweep(GRID, output=output)
    pandas.testing.assert_frame_equal(frame, replica.sweep(GRID, output=str(output), resume=True))


def test_types_and_values_survive(tmp_path):
    values = {
        "text": ["", "null", 'a, "b"\n', "NA"],
        "integer": [3, None, -(2**53) - 1, 0],
        "number": [math.inf, None, 0.1 + 0.2, 5e-324],
        "flag": [True, None, False, True],
    }
    rows = [{column.name: values[column.kind][index] for column in SWEEP_COLUMNS} for index in range(4)]
    path = tmp_path / "table.csv"
    path.write_text(to_csv(rows, NAMES), newline="")
    frame = replica.read_csv(path)
    kinds = {"text": "string", "integer": "Int64", "number": "float64", "flag": "boolean"}
    for column in SWEEP_COLUMNS:
        read = frame[column.name]
        assert read.dtype == kinds[column.kind]
        expected = [None if value == "" else value for value in values[column.kind]]
        assert [None if pandas.isna(value) else value for value in read] == expected


def test_numbers_are_read_back_exactly():
    bits = np.random.default_rng(1).integers(0, 2**63, 20_000, dtype=np.uint64)
    values = np.append(bits.view(np.float64), np.random.default_rng(2).standard_normal(20_000))
    values = values[np.isfinite(values)]
    text = to_csv(({"alpha": float(value)} for value in values), ["alpha"])
    assert np.array_equal(replica.read_csv(io.StringIO(text))["alpha"].to_numpy(), values)


def test_other_columns_are_kept():
    frame = replica.read_csv(io.StringIO("alpha,mine,status\n1,2.5,converged\n"))
    assert frame["mine"].tolist() == [2.5]
    assert frame["alpha"].dtype == "float64"


def test_failures_warn(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "erm", "tests.sweeps.fold:breaks_at_two")
    with pytest.warns(ConvergenceWarning, match="2 of 10 points: failed: ZeroDivisionError"):
        frame = replica.sweep(GRID)
    assert (frame["status"] == "failed").sum() == 4


def test_bad_input_is_refused():
    with pytest.raises(InvalidProblem, match="jobs"):
        replica.sweep(GRID, jobs=0)
    with pytest.raises(InvalidProblem, match="exclude each other"):
        replica.sweep(GRID, jobs=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InvalidProblem, match="resume or force need an output"):
        replica.sweep(GRID, resume=True)


class TestArrays:
    @pytest.fixture(autouse=True)
    def _needs_xarray(self):
        pytest.importorskip("xarray")

    def test_axes_and_values(self):
        data = replica.to_xarray(replica.sweep(GRID))
        assert dict(data.sizes) == {"noise": 2, "alpha": 5, "sweep": 2}
        assert data.attrs["model"] == "spiked-slr"
        assert data.attrs["reg"] == 1.0
        assert data["test_risk"].attrs["description"] == "E (y - f)^2 on fresh data, noise included"
        for alpha in data["alpha"].values:
            minima = fold.roots(alpha)
            assert data["m_k"].sel(alpha=alpha, noise=0.5, sweep="up") == pytest.approx(minima[0])
            assert data["m_k"].sel(alpha=alpha, noise=0.5, sweep="down") == pytest.approx(minima[-1])
        assert data["selected"].sum() == 10
        assert data["selected"].dtype == bool

    def test_options_that_do_not_apply(self):
        grid = GRID | {"activation": "erf,softmax", "erf_offset": "0,1", "reg_k": "1,2"}
        data = replica.to_xarray(replica.sweep(grid))
        assert dict(data.sizes)["activation"] == 2
        assert {"reg_k", "erf_offset"} <= set(data.sizes)
        assert data.attrs["reg_v"] == 1.0
        risk, frame = data["test_risk"], replica.sweep(grid)
        assert risk.notnull().all()
        assert risk.sel(activation="erf").size == (frame["activation"] == "erf").sum()
        assert risk.sel(activation="softmax", erf_offset=1.0).size == (frame["activation"] == "softmax").sum()

    def test_missing_rows_are_gaps(self):
        frame = replica.sweep(GRID)
        data = replica.to_xarray(frame[(frame["alpha"] != 2.0) | (frame["noise"] == 0.0)])
        gap = data.sel(alpha=2.0, noise=0.5)
        assert gap["test_risk"].isnull().all()
        assert gap["selected"].isnull().all()
        assert (gap["status"] == "").all()
        assert data["test_risk"].isnull().sum() == 2

    def test_bayes_stands_at_every_activation_and_penalty(self, monkeypatch):
        monkeypatch.setitem(ESTIMATORS, "bayes", "tests.sweeps.fold:bayes")
        data = replica.to_xarray(
            replica.sweep(GRID | {"estimator": "erm,bayes", "activation": "softmax,linear", "reg": "1,2"})
        )
        assert dict(data.sizes) == {"estimator": 2, "activation": 2, "noise": 2, "reg": 2, "alpha": 5, "sweep": 2}
        assert (data["free_entropy"].sel(estimator="bayes") == data["alpha"]).all()
        assert data["free_entropy"].sel(estimator="erm").isnull().all()

    def test_axis_only_where_rows_need_it(self):
        frame = replica.sweep(GRID | {"length": "2,3"})
        frame.loc[frame["length"] == "3", "rtol"] = 1e-3
        assert set(replica.to_xarray(frame).sizes) == {"length", "noise", "alpha", "sweep"}
        assert dict(replica.to_xarray(replica.sweep(GRID | {"seed": "0,1"})).sizes)["seed"] == 2

    def test_other_tables_are_refused(self):
        with pytest.raises(InvalidProblem, match="the table is empty"):
            replica.to_xarray(pandas.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (None, "cannot be read: No such file"),
        (b"", "it is empty"),
        (b"\x89PNG\r\n\x1a\n\x00", "it is not UTF-8 text"),
        (b'alpha\n1\n"2\n', "not a CSV table"),
        (b"alpha,nu\n1,2\n1,2,3\n", "not a CSV table"),
        (b"alpha\nx\n", "not a CSV table of replica: could not convert string to float: 'x'"),
        (b"selected\nperhaps\n", "not a CSV table"),
    ],
)
def test_files_that_are_no_tables_are_an_error_of_this_package(tmp_path, content, mentions):
    path = tmp_path / "bad.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReplicaError, match=mentions) as raised:
        replica.read_csv(path)
    assert "\n" not in str(raised.value)


def test_optimal_penalties_are_results_and_not_axes(monkeypatch):
    """One token is ridge regression, whose best penalty is noise^2 at every alpha."""
    pytest.importorskip("xarray")
    monkeypatch.setitem(ESTIMATORS, "erm", "replica.analysis.erm:fixed_points")
    grid = {"model": "spiked-slr", "estimator": "erm", "length": 1, "alpha": "2,3", "noise": 0.5, "reg_v": "optimal"}
    frame = replica.sweep(grid)
    assert set(frame["optimised"]) == {"reg_v"}
    assert frame["reg_v"].tolist() == pytest.approx([0.25] * len(frame), rel=0.02)
    assert frame["message"].str.startswith("optimal reg_v = ").all()
    dataset = replica.to_xarray(frame)
    assert set(dataset.sizes) == {"alpha", "sweep"}
    assert dataset.attrs["reg_v"] == "optimal"
    assert dataset["optimal_reg_v"].values == pytest.approx(np.full((2, 2), 0.25), rel=0.02)
    mixed = pandas.concat([frame, replica.sweep(grid | {"reg_v": 1})])
    with pytest.raises(InvalidProblem, match="optimal values stand next to given ones"):
        replica.to_xarray(mixed)
