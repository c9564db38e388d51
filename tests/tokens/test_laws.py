"""Random numbers of tokens: mixtures of channels, and the channel of one token."""

from __future__ import annotations

import numpy as np
import pytest

from replica import LinearCentred, MaxSLR, Problem, Softmax, SpikedSLR
from replica.analysis.discretise import ladder
from replica.analysis.erm_map import Equations
from replica.analysis.mixture import RidgeChannel
from replica.lowering.prior import PARAMETERS

from .problems import POINT


def parameters(noise=0.3):
    return np.array([*POINT, noise, 2.0, 4.0, 0.3, 0.4])


def test_one_token_is_ridge_regression():
    channel = RidgeChannel()
    par = parameters()
    sums = channel.sums(par)
    for index in range(6):
        step = np.zeros_like(par)
        step[index] = 1e-6
        slope = (channel.sums(par + step).envelope - channel.sums(par - step).envelope) / 2e-6
        assert slope == pytest.approx(sums.slopes[index], abs=1e-8)
    # E M by its definition: y - omega_v ~ N(0, 1 - 2 m_v + q_v + noise^2), and 1/2 x^2/(1 + V_v) for each
    V_v = par[PARAMETERS.index("V_v")]
    assert sums.envelope == pytest.approx(0.5 * (1.0 - 2 * 0.5 + 0.6 + 0.09) / (1.0 + V_v))
    assert sums.train_loss == pytest.approx(sums.envelope / (1.0 + V_v))


@pytest.mark.parametrize(("activation", "data"), [(Softmax(), SpikedSLR(2.0)), (LinearCentred(), MaxSLR())])
def test_averages_of_a_law_are_the_mean_over_its_lengths(activation, data):
    lengths = {1: 1.0, 2: 2.0, 3: 1.0}
    law = Problem(data, activation, alpha=4.0, length=lengths, noise=0.3, reg_k=0.3, reg_v=0.4)
    mixed = ladder(law, seed=0, threads=None).channel(4)
    par, total = parameters(), np.zeros(9)
    for length, weight in law.length:
        one = Problem(data, activation, alpha=4.0, length=length, noise=0.3, reg_k=0.3, reg_v=0.4)
        if length == 1:
            channel = RidgeChannel()
        else:
            levels = ladder(one, seed=0, threads=None)
            channel = levels.channel(4 if levels.stability_cap == 0 else 5)
        sums = channel.sums(par)
        total += weight * np.array([sums.envelope, *sums.slopes, *channel.attention(par)])
    found = mixed.sums(par)
    assert np.array([found.envelope, *found.slopes, *mixed.attention(par)]) == pytest.approx(total, rel=1e-12)


def test_error_of_a_law_combines_independent_sources():
    law = Problem(SpikedSLR(2.0), Softmax(), alpha=4.0, length="1:1,2:1,3:1", noise=0.3)
    channel = ladder(law, seed=0, threads=None).channel(1)
    sources = channel.variants(parameters())
    # the coarser contact set at L = 2, the scrambles at L = 3; L = 1 is exact
    assert sorted(map(len, sources)) == [1, 8]
    scrambles = max(sources, key=len)
    mean = np.mean([variant.sums.envelope for variant in scrambles])
    # ratios of averages: equal up to the square of their scatter
    assert mean == pytest.approx(channel.sums(parameters()).envelope, rel=1e-5)


def test_a_law_next_to_a_fixed_length(solved):
    """P(3) -> 0 is L = 2, up to its weight."""
    data = SpikedSLR(2.0)
    (mixed,) = solved(Problem(data, Softmax(), alpha=2.0, length="2:1,3:1e-6"))
    assert mixed.converged
    assert mixed.test_risk == pytest.approx(0.614744344, abs=3e-6)
    assert mixed.overlaps.q_k == pytest.approx(0.098688494, abs=3e-6)


def test_a_law_of_lengths_is_solved_at_a_fixed_point(solved):
    law = Problem(SpikedSLR(2.0), Softmax(), alpha=4.0, length="1:1,2:1,3:2", noise=0.3, reg_k=0.3, reg_v=0.3)
    (solution,) = solved(law, rtol=5e-3)
    assert solution.accuracy_met
    levels = ladder(law, seed=7, threads=None)
    equations = Equations(law, levels.channel(levels.count - 3))
    value = equations(np.array(solution.overlaps))
    # F on other nodes moves the point by no more than the error bars say
    errors = np.array([solution.errors[name] for name in solution.overlaps._fields])
    assert np.all(np.abs(value - np.array(solution.overlaps)) < 5.0 * errors)


@pytest.mark.parametrize("rtol", [1e-2, 1e-4])
def test_a_law_without_sampled_nodes(solved, rtol):
    """L = 1 or 2, softmax: contact sets and closed forms alone, between their two risks."""
    law, one, two = (
        solved(Problem(SpikedSLR(2.0), Softmax(), alpha=2.0, length=length), rtol=rtol)[0]
        for length in ("1:1,2:1", 1, 2)
    )
    assert law.converged
    assert law.accuracy_met
    assert law.rs_stable
    assert one.test_risk < law.test_risk < two.test_risk
    fine = solved(Problem(SpikedSLR(2.0), Softmax(), alpha=2.0, length="1:1,2:1"), rtol=1e-6)[0]
    assert abs(law.test_risk - fine.test_risk) <= 2.0 * (law.errors["test_risk"] + fine.errors["test_risk"])
