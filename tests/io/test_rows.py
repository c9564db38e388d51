"""Rows as JSON and CSV: strict, and read back as they were."""

import csv
import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.io.rows import json_value, to_csv, to_json

pytestmark = pytest.mark.nojit


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_values():
    row = {"a": math.inf, "b": -math.inf, "c": math.nan, "d": 0.1, "e": True, "f": None, "g": 3, "h": 'x,"y"\n'}
    assert strict(to_json([row])) == [
        {"a": "inf", "b": "-inf", "c": None, "d": 0.1, "e": True, "f": None, "g": 3, "h": 'x,"y"\n'}
    ]
    assert to_json([]).strip() == "[]"
    assert json_value(math.inf) == "inf"


def test_csv_values():
    row = {
        "a": math.inf,
        "b": -math.inf,
        "c": math.nan,
        "d": 0.1,
        "e": True,
        "f": False,
        "g": None,
        "h": 3,
        "i": 'x,"y"',
    }
    header, line, end = to_csv([row], list(row)).split("\n")
    assert header == "a,b,c,d,e,f,g,h,i"
    assert line == 'inf,-inf,,0.1,true,false,,3,"x,""y"""'
    assert end == ""


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=8))
def test_floats_read_back_exactly(values):
    names = [f"n{index}" for index in range(len(values))]
    row = dict(zip(names, values, strict=True))
    (read,) = csv.DictReader(io.StringIO(to_csv([row], names)))
    assert [float(read[name]) for name in names] == values
    (read,) = strict(to_json([row]))
    assert [float(read[name]) for name in names] == values


@settings(max_examples=40)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=30))
def test_text_reads_back_exactly(text):
    (read,) = csv.DictReader(io.StringIO(to_csv([{"t": text, "u": "end"}], ["t", "u"]), newline=""))
    assert (read["t"], read["u"]) == (text, "end")
    assert strict(to_json([{"t": text}])) == [{"t": text}]


def test_columns_are_those_asked_for():
    assert to_csv([{"b": 1.0, "a": 2.0}], ["a", "missing"]) == "a,missing\n2.0,\n"


def test_every_number_with_an_error_estimate_has_a_column_for_it():
    from replica import MaxSLR, Problem, solve
    from replica.schema import NAMES as columns

    for estimator in ("erm", "bayes"):
        found = solve(Problem(MaxSLR(), alpha=1.0, length=1, noise=0.5), estimator=estimator)
        missing = [name for name in found.errors if f"{name}_err" not in columns]
        assert found.errors
        assert not missing
