"""Text and Python values to the values of an axis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import InvalidProblem
from replica.models.length import LengthLaw
from replica.sweeps import grids


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,4", (1.0, 2.0, 4.0)),
        ("4, 1", (4.0, 1.0)),
        ("0.5:8:4", (0.5, 3.0, 5.5, 8.0)),
        ("8:0.5:4", (8.0, 5.5, 3.0, 0.5)),
        ("0:1:11", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ("log:0.1:100:4", (0.1, 1.0, 10.0, 100.0)),
        ("1:3:3,inf,2", (1.0, 2.0, 3.0, math.inf)),
        ("1e-3", (1e-3,)),
        (2, (2.0,)),
        ([1, "2:3:2", np.float64(5)], (1.0, 2.0, 3.0, 5.0)),
        (np.array([0.5, 0.25]), (0.5, 0.25)),
    ],
)
def test_numbers(text, values):
    found = grids.numbers("alpha", text)
    assert found == values
    assert all(type(value) is float for value in found)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 60), st.booleans())
def test_range_keeps_its_ends_and_spacing(start, stop, count, logarithmic):
    if abs(start - stop) < 1e-6 * start:
        return
    found = grids.numbers("nu", f"{'log:' if logarithmic else ''}{start!r}:{stop!r}:{count}")
    assert len(found) == count
    assert (found[0], found[-1]) == (start, stop)
    steps = np.diff(np.log(found) if logarithmic else found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6, atol=1e-12 * max(start, stop))


@pytest.mark.parametrize(
    "text",
    ["", "1,,2", "a", "1:2", "1:2:3:4", "log:1:2", "log:1", "1:2:x", "1:2:1", "1:2:99999999", "1:inf:3", "2:2:3",
     "log:0:1:3", "log:-1:1:3", "1e999", "1:1e999:3", "-1e308:1e308:3", True, None, [], [[1]]],
)  # fmt: skip
def test_bad_numbers_are_refused_in_one_line(text):
    with pytest.raises(InvalidProblem) as caught:
        grids.numbers("alpha", text)
    assert "alpha" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lengths():
    assert grids.lengths("2,3") == (LengthLaw.of(2), LengthLaw.of(3))
    assert grids.lengths("2:10:3") == tuple(map(LengthLaw.of, (2, 6, 10)))
    assert grids.lengths("log:2:32:5") == tuple(map(LengthLaw.of, (2, 4, 8, 16, 32)))
    law = LengthLaw.of("1:1,2:1,3:2")
    assert grids.lengths("1:1,2:1,3:2") == (law,)
    assert grids.lengths({1: 1, 2: 1, 3: 2}) == (law,)
    assert grids.lengths(["2,4", "1:1,2:1,3:2", 5]) == (LengthLaw.of(2), LengthLaw.of(4), law, LengthLaw.of(5))


@pytest.mark.parametrize("text", ["2.5", "0", "2,1:1", "inf", "x", "1:0,2:1", [2.5]])
def test_bad_lengths_are_refused(text):
    with pytest.raises(InvalidProblem, match="length"):
        grids.lengths(text)


def test_names():
    assert grids.names("activation", ["softmax, erf", "softmax"], ("softmax", "erf")) == ("softmax", "erf")
    with pytest.raises(InvalidProblem, match="'relu' is unknown; known: softmax, erf"):
        grids.names("activation", "relu", ("softmax", "erf"))
