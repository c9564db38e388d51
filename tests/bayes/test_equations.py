"""The derived equations against their definition and against the production channel."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from replica.bayes.spiked_pair import SpikedPair
from replica.equations.bayes import ChannelAverage, Partition, bayes_system, fields, q_hat_k, q_hat_v, y
from replica.equations.erm import ALPHA, NOISE, q_k, q_v
from replica.errors import UnsupportedExpression
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.length import LengthLaw


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR(3.0), MaxSLR()])
def test_stationarity_gives_squared_scores_and_the_gaussian_prior(data):
    system = bayes_system(data, LengthLaw.of(3))
    z = system.partition[3]
    assert system.overlaps == {q_k: q_hat_k / (1 + q_hat_k), q_v: q_hat_v / (1 + q_hat_v)}
    for hat, q in ((q_hat_k, q_k), (q_hat_v, q_v)):
        scores = sum(z.diff(omega) ** 2 / (2 * z) for _, omega, overlap in fields(3) if overlap == q)
        [average] = system.conjugates[hat].atoms(ChannelAverage)
        assert sympy.simplify(average.integrand - scores) == 0
        assert system.conjugates[hat] == 2 * ALPHA * average


def test_the_closed_partition_function_solves_the_heat_equation():
    system = bayes_system(SpikedSLR(2.0), LengthLaw.of(2))
    z = system.partition[2].closed(system.density[2])
    values = {y: 0.4, NOISE: 0.6, q_k: 0.3, q_v: 0.55}
    values |= {omega: 0.2 * position - 0.3 for position, (_, omega, _) in enumerate(fields(2))}
    for q in (q_k, q_v):
        flow = z.diff(q) + sum(z.diff(omega, 2) for _, omega, overlap in fields(2) if overlap == q) / 2
        assert abs(float(flow.subs(values))) < 1e-12


def test_derived_conjugates_agree_with_the_production_channel():
    system = bayes_system(SpikedSLR(2.0), LengthLaw.of(2))
    point = {q_k: 0.7, q_v: 0.8, NOISE: 0.4, ALPHA: 1}
    place = [omega for _, omega, _ in fields(2)]
    rng = np.random.default_rng(3)
    count = 100_000
    # base measure of the derivation: omega ~ N(0, q I), y from a wide normal with its density divided out
    sample = rng.standard_normal((4, count)) * np.sqrt([[0.7], [0.7], [0.8], [0.8]])
    label = 1.3 * rng.standard_normal(count)
    density = np.exp(-0.5 * (label / 1.3) ** 2) / (1.3 * math.sqrt(2 * math.pi))
    expected = SpikedPair(2.0).averages(0.3, 0.2, 0.4, level=0)
    tau2 = 0.2 + 0.16
    for hat, wanted in ((q_hat_k, expected.info_k), (q_hat_v, expected.fit / tau2)):
        [average] = system.conjugates[hat].atoms(ChannelAverage)
        closed = average.integrand.replace(lambda e: isinstance(e, Partition), lambda e: e.closed(system.density[2]))
        evaluate = sympy.lambdify((*place, y), 2 * closed.subs(point), "numpy", cse=True)
        values = evaluate(*sample, label) / density
        assert abs(values.mean() - wanted) < 4.5 * values.std() / math.sqrt(count)
        assert values.std() / math.sqrt(count) < 0.02 * wanted


def test_printing_names_the_parts():
    system = bayes_system(SpikedSLR(2.0), LengthLaw.of("1:1,2:1"))
    assert "Z_2*log(Z_2)" in str(system.free_entropy) or "log(Z_2)*Z_2" in str(system.free_entropy)
    assert "D(Z_2, omega_k1)" in str(system.conjugates[q_hat_k])
    assert r"\partial_{\omega_{k1}}" in sympy.latex(system.conjugates[q_hat_k])


def test_long_sequences_are_refused_in_one_line():
    with pytest.raises(UnsupportedExpression, match="at most 6 tokens") as caught:
        bayes_system(SpikedSLR(2.0), LengthLaw.of(7))
    assert "\n" not in str(caught.value)


def test_no_closed_form_is_said():
    system = bayes_system(MaxSLR(3.0), LengthLaw.of(2))
    with pytest.raises(UnsupportedExpression, match="closed form"):
        system.partition[2].closed(system.density[2])
