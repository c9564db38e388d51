"""Jumps of the proximal point on random lines: against the contact set at L = 2, against Stein less the implicit
response, and honest where there are none (theory.md section 8)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replica import LinearCentred, MaxSLR, Problem, Softmax, Softplus, SpikedSLR
from replica.analysis import jump_lines
from replica.analysis.channels import PairChannel
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel
from replica.lowering import tokens as lowering

from .problems import ACTIVATIONS, MODELS

# overlaps of spiked-SLR, nu = 2, no noise, L = 2 at (alpha, reg), and -E jumps/V_hat_k and b of theory.md section 8
PAIR = {
    (4.0, 0.1): ([0.83562, 1.41083, 3.3703, 1.06277, 1.18522, 0.54998], -0.0088, 0.0072),
    (2.0, 0.01): ([0.38224, 1.88617, 50.41098, 1.04745, 2.31729, 18.2546], -0.566, 0.447),
}
# where proximal points jump often
ROUGH = np.array([0.6, 1.0, 6.0, 0.8, 1.2, 3.5])


def channel_at(activation, data, x, *, length=3, log2_count=6, seed=0):
    one = Problem(data, activation, alpha=2.0, length=length)
    channel = NodeChannel(one, length, log2_count, seed, 1)
    return channel, Equations(one, channel).parameters(x)


def spread(values):
    return np.std(values, ddof=1) / math.sqrt(len(values))


@pytest.mark.nojit
def test_steps_are_found_whatever_is_smooth_beside_them():
    places = [np.array([-2.0, 1.234]), np.array([]), np.array([4.5])]
    sizes = [np.array([0.5, 3.0]), np.array([]), np.array([0.05])]

    def points(which, place):
        smooth = np.tanh(4.0 * place) + 2.0 * place
        slope = 2.0 + 4.0 / np.cosh(4.0 * place) ** 2
        jumped = np.array(
            [sizes[i] @ (t > places[i]) if len(places[i]) else 0.0 for i, t in zip(which, place, strict=True)]
        )
        return np.stack([smooth + jumped, np.sin(place)], axis=1), np.stack([slope, np.cos(place)], axis=1)

    found = jump_lines.find_jumps(points, 3, 0.03)
    assert sorted(found.which) == [0, 0, 2]
    order = np.lexsort((found.place, found.which))
    assert found.place[order] == pytest.approx([-2.0, 1.234, 4.5], abs=1e-3)
    assert found.change[order, 0] == pytest.approx([0.5, 3.0, 0.05], abs=6e-3)


@pytest.mark.nojit
@pytest.mark.parametrize("dimension", [1, 2, 3, 50])
def test_mean_projection(dimension):
    rays = np.random.default_rng(0).standard_normal((20_000, dimension))
    expected = np.mean(np.abs(rays[:, 0]) / np.linalg.norm(rays, axis=1))
    assert jump_lines.mean_projection(dimension) == pytest.approx(expected, rel=3e-2)


@pytest.mark.parametrize("where", PAIR, ids=str)
def test_two_tokens_agree_with_the_contact_set(where):
    alpha, reg = where
    x, share, strength = PAIR[where]
    one = Problem(SpikedSLR(2.0), Softmax(), alpha=alpha, reg_k=reg, reg_v=reg)
    exact = Equations(one, PairChannel(one, 4))
    par = exact.parameters(np.array(x))
    known = exact.channel.stability(par)
    V_hat = 1.0 / x[2] - reg
    assert alpha * known.jump / V_hat == pytest.approx(share, rel=0.01)
    assert alpha * known.jump_square / math.sqrt(2.0) == pytest.approx(strength, rel=0.03)
    channel = NodeChannel(one, 2, 6, 0)
    found = channel.stability(par, 1)
    (variants,) = channel.stability_variants(par, 1)
    for name, unseen in (("jump", found.unseen), ("jump_square", found.unseen_square)):
        error = math.hypot(spread([getattr(variant, name) for variant in variants]), unseen)
        assert abs(getattr(found, name) - getattr(known, name)) < 3.0 * error
        assert error < 0.4 * abs(getattr(known, name))


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR()])
@pytest.mark.parametrize(("name", "length"), [("softmax", 3), ("erf", 3), ("linear-centred", 2)])
def test_jumps_are_the_whole_response_less_the_implicit_one(name, length, data):
    """The whole response is 2 dE M/dq_k by Stein's lemma, the implicit one minus the trace."""
    channel, par = channel_at(ACTIVATIONS[name], data, ROUGH, length=length, log2_count=11)
    slope = channel._scrambles(par)[0][:, lowering.CHANNEL_TERMS.index("d_q_k")]
    gaps = 2.0 * slope + channel._responses(par)[:, 0]
    (variants,) = channel.stability_variants(par, 1)
    jumps = [variant.jump for variant in variants]
    error = math.hypot(spread(gaps), spread(jumps))
    assert abs(np.mean(gaps) - np.mean(jumps)) < 4.0 * error
    assert -np.mean(jumps) > 5.0 * error


@pytest.mark.parametrize("name", ["softmax", "softplus", "erf"])
def test_a_continuous_proximal_point_has_no_jumps(name):
    """At so small a V_k every proximal point is proved global and unique."""
    channel, par = channel_at(ACTIVATIONS[name], SpikedSLR(2.0), np.array([0.4, 0.7, 0.05, 0.5, 0.6, 0.3]))
    assert channel.sums(par).certain
    found = channel.stability(par)
    assert (found.jump, found.jump_square) == (0.0, 0.0)
    assert 0.0 < found.unseen_square < 0.05


def test_linear_attention_of_more_directions_is_continuous():
    channel, par = channel_at(ACTIVATIONS["linear"], SpikedSLR(2.0), ROUGH)
    found = channel.stability(par)
    assert (found.jump, found.jump_square, found.unseen, found.unseen_square) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["softmax", "softplus", "erf"])
def test_two_seeds_agree_within_their_errors(name, model):
    means, errors = [], []
    for seed in (0, 1):
        channel, par = channel_at(ACTIVATIONS[name], MODELS[model], ROUGH, seed=seed)
        found, (variants,) = channel.stability(par), channel.stability_variants(par)
        for key, unseen in (("jump", found.unseen), ("jump_square", found.unseen_square)):
            means.append(getattr(found, key))
            errors.append(math.hypot(spread([getattr(variant, key) for variant in variants]), unseen))
    for first, second in ((0, 2), (1, 3)):
        assert abs(means[first] - means[second]) < 3.0 * math.hypot(errors[first], errors[second])


ORDINARY = [("softmax", 3), ("softplus", 3), ("erf", 3), ("linear-centred", 2)]


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR()])
@pytest.mark.parametrize(("name", "length"), ORDINARY)
def test_ordinary_penalties_are_stable(name, length, data, solved):
    one = Problem(data, ACTIVATIONS[name], alpha=4.0, length=length, noise=0.3)
    solution = solved(one, rtol=2e-2, init="informed")[0]
    assert solution.rs_stable is True
    assert abs(solution.prox_jump) < 0.02


@pytest.mark.parametrize("activation", [Softmax(), Softplus(), LinearCentred()])
def test_small_penalties_are_not(activation, solved):
    length = 2 if activation.combination == "centred" else 3
    one = Problem(SpikedSLR(2.0), activation, alpha=2.0, length=length, reg_k=0.01, reg_v=0.01)
    solution = solved(one, rtol=5e-2, init="informed")[0]
    assert solution.rs_stable is False
    assert "broken" in solution.message
