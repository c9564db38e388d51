"""Data sets: geometry, laws, reproducibility, storage."""

import math

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.models.activations.softmax import Softmax
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.simulation.data import draw


def problem(data=None, **changes):
    return Problem(data or SpikedSLR(2.0), **{"alpha": 3.0, "length": "1:1,2:1,3:2", "noise": 0.3, **changes})


def scores(dataset, direction):
    """X_l.direction/sqrt(D) per group."""
    return [group.tokens @ direction / math.sqrt(dataset.dimension) for group in dataset.groups]


def test_hidden_directions_are_orthogonal_with_norm_sqrt_d():
    data = draw(problem(), 300, 4)
    frame = np.stack([data.key, data.value])
    np.testing.assert_allclose(frame @ frame.T / 300, np.eye(2), atol=1e-12)


def test_labels_are_the_value_at_the_hidden_position_plus_noise():
    for noise, low, high in ((0.0, 0.0, 1e-5), (0.5, 0.4, 0.6)):
        data = draw(problem(noise=noise), 400, 1)
        for group, z in zip(data.groups, scores(data, data.value), strict=True):
            excess = group.label - z[np.arange(len(z)), group.position]
            assert low <= np.sqrt(np.mean(excess**2)) < high


def test_spiked_tokens_are_shifted_along_the_key_at_the_hidden_position_only():
    data = draw(problem(SpikedSLR(5.0), length=3, alpha=8.0), 400, 2)
    (chi,), group = scores(data, data.key), data.groups[0]
    hidden = chi[np.arange(len(chi)), group.position]
    others = (chi.sum() - hidden.sum()) / (2 * len(chi))
    assert hidden.mean() == pytest.approx(math.sqrt(5), abs=4 / math.sqrt(len(chi)))
    assert abs(others) < 4 / math.sqrt(2 * len(chi))
    assert abs(np.var(group.tokens) - 1) < 0.02


def test_max_positions_are_the_argmax_at_infinite_nu():
    data = draw(problem(MaxSLR(math.inf), alpha=6.0), 300, 3)
    for group, chi in zip(data.groups, scores(data, data.key), strict=True):
        assert np.array_equal(group.position, chi.argmax(axis=1))


def test_lengths_follow_their_law_and_every_sample_has_one():
    data = draw(problem(alpha=20.0), 200, 0)
    counts = {group.tokens.shape[1]: len(group.label) for group in data.groups}
    assert data.samples == sum(counts.values()) == 4000
    for length, weight in data.problem.length:
        assert abs(counts[length] - 4000 * weight) < 4 * math.sqrt(4000 * weight)


def test_a_data_set_is_a_function_of_seed_and_dimension():
    def first(dimension, seed):
        data = draw(problem(), dimension, seed)
        return data.key[:40], data.groups[0].tokens.ravel()[:40]

    again = [first(100, 7), first(100, 7)]
    np.testing.assert_array_equal(again[0], again[1])
    for other in (first(100, 8), first(101, 7)):
        for one, two in zip(again[0], other, strict=True):
            assert abs(np.corrcoef(one, two)[0, 1]) < 0.6


def test_the_same_seed_gives_the_same_tokens_whatever_label_noise():
    quiet, loud = draw(problem(noise=0.0), 50, 1), draw(problem(noise=1.0), 50, 1)
    np.testing.assert_array_equal(quiet.groups[0].tokens, loud.groups[0].tokens)


@pytest.mark.parametrize(
    ("changes", "dimension", "needle"),
    [
        ({}, 9, "d = 9 is too small"),
        ({}, 10.5, "d = 10.5"),
        ({"alpha": math.inf}, 100, "alpha = inf"),
        ({"alpha": 1e-4}, 100, "leaves no sample"),
        ({"alpha": 10.0, "length": 100}, 10**6, "GB"),
    ],
)
def test_impossible_data_sets_are_refused_in_one_line(changes, dimension, needle):
    with pytest.raises(InvalidProblem, match=needle) as error:
        draw(problem(activation=Softmax(), **changes), dimension, 0)
    assert "\n" not in str(error.value)
