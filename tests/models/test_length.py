"""Laws of the number of tokens: what is accepted, how it is normalised, what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import InvalidProblem
from replica.models.length import LengthLaw

pytestmark = pytest.mark.nojit

laws = st.dictionaries(st.integers(1, 10_000), st.floats(1e-6, 1e6), min_size=1, max_size=6)


@pytest.mark.parametrize("value", [3, "3", {3: 0.2}, "3:7", LengthLaw((3,), (5.0,))])
def test_ways_to_say_three_tokens(value):
    law = LengthLaw.of(value)
    assert (law.support, law.weights, law.fixed, str(law)) == ((3,), (1.0,), 3, "3")


def test_numbers_of_numpy_are_numbers():
    law = LengthLaw.of({np.int64(3): np.float32(2.0), np.int32(1): 2})
    assert (law.support, law.weights) == ((1, 3), (0.5, 0.5))
    assert LengthLaw.of(np.int64(3)).fixed == 3
    with pytest.raises(InvalidProblem, match=r"2\.0 is not a number of tokens"):
        LengthLaw.of({np.float64(2.0): 1.0})


def test_weights_are_normalised_and_lengths_sorted():
    law = LengthLaw.of("3:2,1:1,2:1")
    assert list(law) == [(1, 0.25), (2, 0.25), (3, 0.5)]
    assert law.fixed is None
    assert str(law) == "1:0.25,2:0.25,3:0.5"


@given(laws)
def test_text_reads_back_as_the_same_law(weights):
    law = LengthLaw.of(weights)
    assert math.isclose(math.fsum(law.weights), 1.0, rel_tol=1e-14)
    again = LengthLaw.of(str(law))
    assert again.support == law.support == tuple(sorted(weights))
    assert again.weights == pytest.approx(law.weights, rel=1e-15)
    total = sum(weights.values())
    assert law.weights == pytest.approx([weights[length] / total for length in law.support], rel=1e-12)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-2, "-2"),
        (True, "True"),
        ({1: 10**400}, "is not positive"),
        (2.0, "2.0"),
        (None, "None"),
        ("", "''"),
        ("two", "two"),
        ("2.5", "2.5"),
        ("0", "0"),
        ("1:1,", "1:1,"),
        ("1:1:1", "1:1:1"),
        ("1:x", "1:x"),
        ("1:1,2:0", "L=2"),
        ("1:1,2:-3", "-3"),
        ("1:nan", "nan"),
        ("1:inf", "inf"),
        ("1:1,1:2", "twice"),
        ("0:1,2:1", "0"),
        ({}, "empty"),
        ({1: "2"}, "'2'"),
        ({1.5: 1.0}, "1.5"),
        ("1:1e308,2:1e308", "overflow"),
        ("__import__('os').getpid()", "__import__"),
    ],
)
def test_refusals_name_the_value_and_what_is_allowed(value, shown):
    with pytest.raises(InvalidProblem) as refusal:
        LengthLaw.of(value)
    message = str(refusal.value)
    assert shown in message
    assert "expected" in message
    assert "\n" not in message


def test_ragged_law_is_refused():
    with pytest.raises(InvalidProblem, match="ragged"):
        LengthLaw((1, 2), (1.0,))
