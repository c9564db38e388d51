"""The token channel on fixed nodes: exact derivatives, two ways to V_hat, directions instead of tokens, L = 2."""

from __future__ import annotations

import numpy as np
import pytest

from replica import Linear, LinearCentred, Problem, Softmax, SpikedSLR
from replica.analysis.channels import PairChannel
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel
from replica.analysis.token_nodes import token_basis, token_nodes
from replica.lowering import tokens as lowering

from .problems import ACTIVATIONS, MODELS, POINT, equations, problem


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes_are_the_derivatives_of_the_average_envelope(name, model):
    one = equations(ACTIVATIONS[name], MODELS[model])
    slopes = one.channel.sums(one.parameters(POINT)).slopes
    step = 1e-5
    for index in range(6):
        ends = []
        for sign in (1.0, -1.0):
            moved = POINT.copy()
            moved[index] += sign * step
            ends.append(one.channel.sums(one.parameters(moved)).envelope)
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slopes[index], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["linear", "linear-centred"])
def test_the_response_and_stein_give_one_V_hat_where_nothing_jumps(name, model):
    # E sum_l d g_l/d omega_l = E g . x / sd for standard normal x: -2 dE M/dq
    activation, data = ACTIVATIONS[name], MODELS[model]
    channel = equations(activation, data, length=6, log2_count=11).channel
    par = equations(activation, data, length=6, log2_count=11).parameters(POINT)
    responses, slopes = channel._responses(par), channel._scrambles(par)[0]
    for trace, slope in ((0, 2), (1, 5)):
        gap = responses[:, trace] + 2.0 * slopes[:, slope]
        assert abs(gap.mean()) < 4.0 * gap.std(ddof=1) / np.sqrt(len(gap)) + 1e-9
        assert gap.std(ddof=1) < 0.2 * abs(responses[:, trace].mean())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("activation", [Linear(), LinearCentred()])
def test_directions_stand_for_all_the_tokens(activation, model):
    """Sums over tokens that the proximal point of linear attention needs have the same law in both forms."""
    length, data = 7, MODELS[model]
    m_k, q_k, _, _, q_v, _ = POINT
    one = problem(activation, data, length)
    statistics = []
    for affine in (False, True):
        nodes = token_nodes(one, length, 14, (5,), affine=affine)
        keys = m_k * nodes.star + np.sqrt(q_k - data.explained * m_k**2) * nodes.eta
        values = np.sqrt(q_v) * nodes.zeta
        if affine:
            sigma = 1.0 + keys + nodes.shift
            if activation.combination == "centred":
                sigma[:, 0] = np.sqrt(length)
        else:
            sigma = activation.sigma(keys)
        first = sigma @ nodes.read
        square, cross = (sigma**2).sum(axis=1), (sigma * values).sum(axis=1)
        teacher = nodes.scalars[:, 0]
        moments = [first, first**2, square, cross**2, first * cross * teacher, square * cross**2, teacher**2]
        if activation.combination == "elementwise":
            moments += [(values**2).sum(axis=1), teacher * values[:, 0]]
        statistics.append(np.array(moments))
    tokens, directions = statistics
    error = np.hypot(tokens.std(axis=1), directions.std(axis=1)) / np.sqrt(tokens.shape[1])
    # the points are more even than random ones
    assert np.all(np.abs(tokens.mean(axis=1) - directions.mean(axis=1)) < 3.0 * error)


def test_two_tokens_agree_with_the_contact_set():
    data = SpikedSLR(2.0)
    one = Problem(data, Softmax(), alpha=6.0, noise=0.3, reg_k=0.5, reg_v=0.5)
    exact = Equations(one, PairChannel(one, 5))
    x = np.array([0.612741406, 0.636341272, 0.881436117, 0.980094451, 1.027580633, 0.291897481])
    channel = NodeChannel(one, 2, 12, 0)
    par = exact.parameters(x)

    def numbers(sums):
        return np.array([sums.envelope, *sums.slopes, sums.train_loss])

    spread = np.array([numbers(variant.sums) for variant in channel.variants(par)[0]])
    error = spread.std(axis=0, ddof=1) / np.sqrt(len(spread))
    gap = numbers(channel.sums(par)) - numbers(exact.channel.sums(par))
    assert np.all(np.abs(gap) < 4.0 * error)
    assert np.all(error < 0.02 * np.abs(spread.mean(axis=0)))
    assert channel.attention(par) == pytest.approx(exact.channel.attention(par), rel=1e-3)
    responses, exact_responses = channel.stability(par), exact.channel.stability(par)
    for name in ("kk", "kv", "vv", "cross"):
        assert getattr(responses, name) == pytest.approx(getattr(exact_responses, name), rel=0.05)


def test_threads_do_not_change_a_bit():
    one = problem(Softmax(), SpikedSLR(2.0))
    serial, threaded = (NodeChannel(one, 3, 9, 0, threads) for threads in (1, 2))
    par = equations(Softmax(), SpikedSLR(2.0)).parameters(POINT)
    assert np.array_equal(serial.sums(par).slopes, threaded.sums(par).slopes)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_token_basis_is_orthonormal_and_ends_with_the_mean(length):
    basis = token_basis(length)
    assert basis @ basis.T == pytest.approx(np.eye(length), abs=1e-14)
    assert basis[-1] == pytest.approx(np.full(length, length**-0.5))


def test_one_module_serves_all_offsets_lengths_and_models():
    module = lowering.load(problem(ACTIVATIONS["erf"], MODELS["spiked"]))
    assert lowering.load(problem(type(ACTIVATIONS["erf"])(1.25), MODELS["max"], length=9)) is module
    assert lowering.load(problem(ACTIVATIONS["softmax"], MODELS["max"])) is not module


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["softplus", "linear", "linear-centred"])
def test_points_are_more_even_than_random_ones(name, model):
    channel = equations(ACTIVATIONS[name], MODELS[model], length=3, log2_count=12).channel
    one = equations(ACTIVATIONS[name], MODELS[model], length=3, log2_count=12)
    envelopes = [variant.sums.envelope for variant in channel.variants(one.parameters(POINT))[0]]
    # a positive heavy-tailed variable has a standard deviation of its mean or more
    random = np.mean(envelopes) / np.sqrt(2**12)
    assert np.std(envelopes, ddof=1) < 0.5 * random
