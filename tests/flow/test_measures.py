"""Measures of polarisation at states where their values are known."""

import numpy as np
import pytest

from replica.flow import measures

pytestmark = pytest.mark.nojit


def test_uniform_and_one_hot():
    uniform, one_hot = np.full(5, 0.2), np.eye(5)[2]
    assert measures.entropy(uniform) == pytest.approx(np.log(5))
    assert measures.entropy(one_hot) == 0.0
    assert measures.participation_ratio(uniform) == pytest.approx(5.0)
    assert measures.participation_ratio(one_hot) == 1.0


def test_shares_normalise_signed_and_large_weights():
    np.testing.assert_allclose(measures.shares(np.array([3.0, -1.0])), [0.75, 0.25])
    assert np.isnan(measures.shares(np.zeros(2))).all()


def test_rank_one_share():
    assert measures.rank_one_share(np.outer([1.0, 2.0], [3.0, 4.0, 5.0])) == pytest.approx(1.0)
    assert measures.rank_one_share(np.diag([2.0, 1.0])) == pytest.approx(0.8)
    assert np.isnan(measures.rank_one_share(np.zeros((2, 2))))


def test_sink_counts_the_rows_that_agree():
    token, share = measures.sink(np.array([[0.8, 0.2], [0.6, 0.4], [0.45, 0.55]]))
    assert token == 0
    assert share == pytest.approx(2 / 3)
