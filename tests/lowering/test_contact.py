"""Averages over the contact set against brute force: dense global search and integration between jumps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from replica.lowering import pair as lowering
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from tests.erm import brute

NAMES = lowering.OVERLAP_NAMES
# overlaps like those at regularisation 1, .1 and .01
STATES = {
    "1": (0.19, 0.10, 0.89, 0.52, 0.39, 0.59),
    "0.1": (0.84, 1.41, 3.37, 1.06, 1.19, 0.55),
    "0.01": (1.1, 4.0, 40.0, 1.2, 1.7, 1.9),
    "key reversed": (-0.78, 0.61, 0.5, 0.98, 0.97, 0.3),
}
NOISE = 0.2


class Case:
    """One (x_A, x_R) of the channel, in both ways."""

    def __init__(self, data, overlaps, x_A, x_R):
        self.data, self.overlaps = data, dict(zip(NAMES, overlaps, strict=True))
        self.module = lowering.load(Problem(data=data))
        self.par = np.array([*overlaps, NOISE, data.nu, 2.0, 1.0, 1.0])
        self.nodes, self.weights = np.array([[x_A, x_R]]), np.ones(1)

    def sums(self):
        total = np.zeros(len(lowering.CHANNEL_TERMS))
        certain = self.module.pair_block(self.par, self.nodes, self.weights, 0, 1, total)
        return dict(zip(lowering.CHANNEL_TERMS, total, strict=True)), certain

    def stability(self):
        total = np.zeros(len(lowering.STABILITY_TERMS) + 2)
        self.module.pair_stability(self.par, self.nodes, self.weights, 0, 1, total)
        return dict(zip((*lowering.STABILITY_TERMS, "jump", "jump_square"), total, strict=True))

    def potential(self, **changes):
        o = {**self.overlaps, **changes}
        A, b = brute.fields(o, NOISE, *self.nodes[0])
        return brute.Potential(A, b, o["V_k"], o["V_v"])

    def law(self, **changes):
        """Mean, deviation and weight of delta_0."""
        o = {**self.overlaps, **changes}
        deviation = math.sqrt(2 * o["q_k"])
        if isinstance(self.data, SpikedSLR):
            return o["m_k"] * math.sqrt(self.data.nu), deviation, np.ones_like
        slope = o["m_k"] / o["q_k"] / math.sqrt(2 * (1 - o["m_k"] ** 2 / o["q_k"]))
        return 0.0, deviation, lambda delta_0: 2 * special.ndtr(slope * delta_0)

    def averages(self, *integrands, **changes):
        potential = self.potential(**changes)
        return brute.average(potential, *self.law(**changes), [lambda *at, h=h: h(potential, *at) for h in integrands])


def envelope(potential, delta_0, delta):
    return potential.first(delta) + (delta - delta_0) ** 2 / (4 * potential.V_k)


def loss(potential, _, delta):
    return potential.residual(delta) ** 2 / 2


def one(_, delta_0, __):
    return np.ones_like(delta_0)


@pytest.fixture(scope="module", params=[SpikedSLR(2.0), MaxSLR(math.inf)], ids=["spiked", "max"])
def data(request):
    return request.param


POINTS = [(0.3, 0.7), (1.2, -0.8), (-0.6, 2.1), (2.4, 1.0)]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_averages(data, state, point):
    case = Case(data, STATES[state], *point)
    sums, certain = case.sums()
    found = case.averages(envelope, loss, one)
    assert certain
    np.testing.assert_allclose([sums["envelope"], sums["train_loss"], sums["norm"]], found, rtol=3e-8, atol=1e-9)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_derivatives_of_the_average_envelope(data, state, name):
    """Jumps included: the brute-force E M is differentiated by finite differences, no formula at all."""
    case = Case(data, STATES[state], 0.9, -1.1)
    step = 2e-4 * (1 + case.overlaps[name]) * 0.5
    up, down = (case.averages(envelope, **{name: case.overlaps[name] + sign * step})[0] for sign in (1, -1))
    sums, _ = case.sums()
    assert sums[f"d_{name}"] == pytest.approx((up - down) / (2 * step), rel=2e-5, abs=2e-6)


@pytest.mark.parametrize("state", ["0.1", "0.01"])
@pytest.mark.parametrize("point", [(-1.0, -3.0), (1.6, -2.0), (2.5, -3.0)], ids=str)
def test_jumps(data, state, point):
    """Sum of p(delta_0*) times the size of the jump, and times its square."""
    case = Case(data, STATES[state], *point)
    mean, deviation, weight = case.law()
    found = case.stability()
    linear = square = 0.0
    for place, low, high in brute.jumps_of(case.potential(), mean, deviation):
        p = weight(np.array(place)) * math.exp(-0.5 * ((place - mean) / deviation) ** 2)
        p /= deviation * math.sqrt(2 * math.pi)
        linear, square = linear + p * (high - low), square + p * (high - low) ** 2
    assert linear > 1e-6  # these points do jump
    assert found["jump"] == pytest.approx(linear, rel=1e-8, abs=1e-10)
    assert found["jump_square"] == pytest.approx(square, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("state", ["1", "0.1"])
def test_responses(data, state):
    """d g/d omega by finite differences of the brute-force minimiser, averaged away from jumps."""
    case = Case(data, STATES[state], 0.5, 0.4)
    potential, h = case.potential(), 1e-5

    def gradients(delta_0, w_1, w_2):
        """g_k1, g_v1, g_v2 at fields moved by (delta_0, w_1, w_2), y held fixed; g_k2 = -g_k1."""
        moved = brute.Potential(potential.A + w_1 - w_2, potential.b - w_2, potential.V_k, potential.V_v)
        delta = moved.minimiser(delta_0)
        s, t = brute.attention(delta)
        r = moved.residual(delta)
        return np.array([(delta - delta_0) / (2 * moved.V_k), r * s, r * t])

    def responses(delta_0):
        def change(k=0.0, w_1=0.0, w_2=0.0):
            return (gradients(delta_0 + k, w_1, w_2) - gradients(delta_0 - k, -w_1, -w_2)) / (2 * h)

        by_key, by_first, by_second = change(k=h), change(w_1=h), change(w_2=h)
        kk = by_key[0] * np.array([[[1], [-1]], [[-1], [1]]])
        kv = np.array([[by_first[0], by_second[0]], [-by_first[0], -by_second[0]]])
        vv = np.array([[by_first[1], by_second[1]], [by_first[2], by_second[2]]])
        # symmetric, as a second derivative: d g_k/d omega_v is the transpose of d g_v/d omega_k
        np.testing.assert_allclose(kv[0], by_key[1:], rtol=1e-4, atol=1e-6)
        cross = np.sum(kk * vv, axis=(0, 1)) + np.sum(kv * kv.transpose(1, 0, 2), axis=(0, 1))
        return [np.sum(kk**2, axis=(0, 1)), np.sum(kv**2, axis=(0, 1)), np.sum(vv**2, axis=(0, 1)), cross]

    found = case.averages(*[lambda _, delta_0, __, i=i: responses(delta_0)[i] for i in range(4)])
    sums = case.stability()
    np.testing.assert_allclose([sums[name] for name in lowering.STABILITY_TERMS], found, rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(*[st.floats(-2.5, 2.5)] * 2),
    st.floats(-0.95, 0.95),
    st.floats(0.05, 5.0),
    st.floats(0.1, 60.0),
    st.floats(0.0, 0.98),
    st.floats(0.05, 2.0),
    st.floats(0.05, 5.0),
)
def test_random_overlaps(point, cos_k, q_k, V_k, cos_v, q_v, V_v):
    """Where the hull is certain the averages are right; otherwise the result says that it may not be."""
    overlaps = (cos_k * math.sqrt(q_k), q_k, V_k, cos_v * math.sqrt(q_v), q_v, V_v)
    case = Case(SpikedSLR(2.0), overlaps, *point)
    sums, certain = case.sums()
    if certain:
        found = case.averages(envelope, loss, one)
        np.testing.assert_allclose([sums["envelope"], sums["train_loss"], sums["norm"]], found, rtol=1e-6, atol=1e-8)


def test_observables(data):
    """E sigma_1 and E |sigma|^2 under the law of omega_k itself."""
    for overlaps in [*STATES.values(), (30.0, 1000.0, 5.0, 0.5, 0.5, 1.0), (1e-9, 1e-8, 1.0, 0.1, 0.1, 1.0)]:
        if isinstance(data, MaxSLR) and overlaps[0] > 1.2:
            overlaps = (30.0, 1000.0, *overlaps[2:])
        case = Case(data, overlaps, 0.0, 0.0)
        total = np.zeros(2)
        case.module.pair_observables(case.par, total)
        mean, deviation, weight = case.law()
        x = np.linspace(-9, 9, 400_001)
        p = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * (x[1] - x[0]) * weight(mean + deviation * x)
        s, t = brute.attention(mean + deviation * x)
        np.testing.assert_allclose(total, [np.sum(p * s), np.sum(p * (s * s + t * t))], rtol=1e-8)


@pytest.mark.parametrize("point", [(-1.0, -3.0), (0.4, 0.6)], ids=str)
@pytest.mark.parametrize("state", ["0.1", "0.01"])
def test_stein_is_implicit_plus_jump(state, point):
    """d E M/d q_k = -E d g/d omega: the derivative along the branches, plus p(delta_0*) times every jump."""
    case = Case(SpikedSLR(2.0), STATES[state], *point)
    V_k, h = case.overlaps["V_k"], 1e-4

    def response(potential, delta_0, delta):
        slope = (potential.pull(delta + h) - potential.pull(delta - h)) / (2 * h)
        return (1 / slope - 1) / (2 * V_k)

    (regular,) = case.averages(response)
    total = regular + case.stability()["jump"] / (2 * V_k)
    assert case.sums()[0]["d_q_k"] == pytest.approx(-total, rel=2e-6)


def test_no_jump_hides_between_the_points_of_the_scan():
    """Where no jump is reported T increases everywhere: inside of a missed one the responses 1/T' have poles."""
    module = lowering.load(Problem(data=SpikedSLR(2.0)))
    par = np.array([0.82, 1.35, 3.2, 1.05, 1.17, 0.57, 0.0, 2.0, 4.0, 0.1, 0.1])
    rng = np.random.default_rng(5)
    c, jumps = np.empty(module.N_INVARIANTS), np.empty((8, 3))
    grid, shallow = np.linspace(-12, 12, 4801), 0
    for x_A, x_R in rng.uniform(-3, 3, size=(1500, 2)):
        module.outer_terms(par, x_A, x_R, c)
        total = np.zeros(len(lowering.STABILITY_TERMS))
        count, _ = module.contact_average(c, True, total, jumps)
        lowest = min(module.potential(delta, c)[2] for delta in grid)
        if abs(lowest) > 1e-5:
            assert (count == 0) == (lowest > 0), (x_A, x_R, lowest)
        shallow += -0.005 < lowest < -1e-5
    assert shallow > 2
