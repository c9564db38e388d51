"""Integration of the order-parameter equations: limits, monotone risk, honest errors, refusals."""

import numpy as np
import pytest

from replica.errors import IntegrationError, InvalidProblem
from replica.heads.averages import build_averages
from replica.heads.flow import State, integrate, random_start, square_root, time_grid, velocity
from replica.heads.problem import ACTIVATIONS, HeadsProblem
from replica.heads.signals import Gaussian, flipped
from replica.heads.stages import emergence_times

TAU = np.linspace(0.0, 10.0, 21)
START = State(np.array([[0.6], [-0.3]]), np.array([[0.2, 0.05], [0.05, 0.1]]), np.zeros(2))


def _problem(activation="softmax"):
    return HeadsProblem(flipped(6.0), activation, 2, 3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_flow_lowers_the_risk_and_agrees_with_the_small_rate_limit(activation):
    problem = _problem(activation)
    options = {"samples": 256, "max_samples": 256, "count": 2}
    flow = integrate(problem, START, TAU, **options)
    assert np.all(np.diff(flow.risk) < 1e-7)
    assert flow.risk[-1] < flow.risk[0] - 0.02
    slow = integrate(problem, START, TAU, rate=1e-5, **options)
    assert np.allclose(slow.m, flow.m, atol=2e-3)
    assert np.allclose(slow.q, flow.q, atol=2e-3)
    fast = integrate(problem, START, TAU, rate=2.0, **options)
    assert np.all(np.diagonal(fast.q - flow.q, axis1=1, axis2=2)[1:] > 0)
    if activation == "softmax":
        assert not flow.b.any()


def test_against_plain_euler_steps_of_the_written_equations():
    """dq/dtau written with chi rather than with c: the same nodes, explicit small steps, no shared code path for q."""
    problem, rate, step = _problem("softmax-1"), 0.5, 0.005
    found = integrate(problem, START, np.array([0.0, 0.5, 1.0]), rate, samples=64, max_samples=64, count=2, seed=1)
    ends = []
    for seed in np.random.SeedSequence(1).generate_state(2):
        nodes = build_averages(problem, 64, 2, int(seed))
        m, q, b = START.m.copy(), START.q.copy(), START.b.copy()
        for _ in range(round(1.0 / step)):
            d_m, d_q, d_b = _euler(nodes, m, q, b, rate)
            m, q, b = m + step * d_m, q + step * d_q, b + step * d_b
        ends.append((m, q, b))
    m, q, b = (np.mean(part, axis=0) for part in zip(*ends, strict=True))
    assert np.allclose(found.m[-1], m, atol=5e-3)
    assert np.allclose(found.q[-1], q, atol=5e-3)
    assert np.allclose(found.b[-1], b, atol=5e-3)


def _euler(nodes, m, q, b, rate):
    c = square_root(q - m @ m.T)
    totals = [np.zeros_like(m), np.zeros_like(q), np.zeros_like(b)]
    for s_zeta in (1, -1):
        for s_xi in (1, -1):
            stars = s_zeta * nodes.zeta.transpose(2, 0, 1)
            stars[:, 0] += s_zeta * nodes.theta[0].T
            chi = np.einsum("hf,nlf->nhl", m, stars) + s_xi * np.einsum("hj,ljn->nhl", c, nodes.xi)
            u = np.exp(chi - b[:, None])
            share = u / (1 + u.sum(axis=2, keepdims=True))
            error = share.sum(axis=1) - np.eye(chi.shape[2])[0]
            rho = share * (error[:, None, :] - np.einsum("nhl,nl->nh", share, error)[:, :, None])
            cross = np.einsum("nhl,nkl->hk", rho, chi)
            totals[0] -= np.einsum("nhl,nlf->hf", rho, stars)
            totals[1] += rate * np.einsum("nhl,nkl->hk", rho, rho) - cross - cross.T
            totals[2] += rho.sum(axis=(0, 2))
    return [total / (4 * nodes.samples) for total in totals]


def test_errors_cover_a_far_better_average():
    problem = _problem()
    best = integrate(problem, START, TAU, samples=2048, max_samples=2048, count=2, seed=77)
    hits = []
    for seed in range(4):
        rough = integrate(problem, START, TAU, samples=64, max_samples=64, seed=seed)
        hits += list(np.abs(rough.risk - best.risk) <= rough.risk_err + best.risk_err)
        hits += list(np.abs(rough.m - best.m).ravel()[2:] <= (rough.m_err + best.m_err).ravel()[2:])
    assert np.mean(hits) > 0.85


def test_errors_cover_the_bias_that_all_node_sets_share():
    """Alone, the spread of these sets is exceeded almost twice."""
    problem = HeadsProblem(flipped(6.0, 2), "bayes-softmax", 4, 8)
    start, tau = random_start(problem, 1e4, 0.1, seed=0), np.linspace(0.0, 60.0, 13)
    best = integrate(problem, start, tau, samples=4096, max_samples=4096, count=2, seed=77)
    deviations = []
    for seed in range(3):
        rough = integrate(problem, start, tau, samples=256, max_samples=256, seed=seed)
        deviations.append((rough.risk - best.risk) / rough.risk_err)
    assert np.abs(np.mean(deviations, axis=0)).max() < 1


def test_nodes_double_until_the_error_is_small_enough():
    problem = _problem()
    fine = integrate(problem, START, TAU, rtol=5e-3, samples=16)
    assert fine.accuracy_met
    assert fine.samples > 16
    assert np.all(fine.risk_err <= 5e-3 * fine.risk)
    rough = integrate(problem, START, TAU, rtol=1e-6, samples=16, max_samples=32)
    assert not rough.accuracy_met
    assert rough.samples == 32


def test_errors_of_the_risk_hold_what_all_node_sets_share():
    found = integrate(_problem("bayes-softmax"), START, TAU[:3], samples=512, max_samples=512, count=2)
    assert found.risk_err.min() >= 1e-9


def test_interpolated_risk_is_the_risk_of_the_state():
    problem = _problem()
    tau = np.linspace(0.0, 10.0, 1001)
    found = integrate(problem, START, tau, samples=64, max_samples=64, count=2, seed=3)
    sets = [build_averages(problem, 64, 2, int(s)) for s in np.random.SeedSequence(3).generate_state(2)]
    direct = integrate(problem, START, tau[::100], samples=64, max_samples=64, count=2, seed=3)
    assert np.allclose(found.risk[::100], direct.risk, rtol=2e-5)
    start = [nodes(START.m, square_root(START.r), START.b).risk for nodes in sets]
    assert found.risk[0] == pytest.approx(np.mean(start), abs=1e-9)


def test_a_later_feature_emerges_when_it_should_on_few_nodes_too():
    """The error of the nodes must not drive it: it would emerge early, and all node sets would agree."""
    problem = HeadsProblem(Gaussian((24.0, 12.0)), "softmax-1", 3, 3)
    start = random_start(problem, 1e8, 0.1, seed=0)
    times = []
    for samples in (64, 256):
        path = integrate(problem, start, np.linspace(0, 80, 161), 0.5, samples=samples, max_samples=samples, count=2)
        times.append(emergence_times(path.tau, path.m, np.array([0.1, 0.1])))
    assert times[1][1] > 3 * times[1][0]
    assert times[0] == pytest.approx(times[1], rel=0.1)


def test_linear_features_grow_as_if_infinitesimal():
    problem = HeadsProblem(Gaussian((24.0, 12.0)), "softmax-1", 3, 3)
    options = {"samples": 64, "max_samples": 64, "count": 2, "linear": [1], "rtol": 0.1}
    small, large = (
        integrate(problem, State(np.array([[0.4, x], [-0.3, 2 * x], [0.0, -x]]), 0.01 * np.eye(3), np.zeros(3)), TAU,
                  0.5, **options)
        for x in (1e-6, 1e-2)
    )  # fmt: skip
    assert np.allclose(large.m[:, :, 1], 1e4 * small.m[:, :, 1], rtol=2e-3, atol=1e-4)
    assert np.allclose(large.m[:, :, 0], small.m[:, :, 0], atol=1e-4)
    full = integrate(problem, State(np.array([[0.4, 1e-6], [-0.3, 2e-6], [0.0, -1e-6]]), 0.01 * np.eye(3), np.zeros(3)),
                     TAU, 0.5, **(options | {"linear": []}))  # fmt: skip
    assert np.allclose(full.m[:, :, 1], small.m[:, :, 1], rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_no_noise_in_the_keys_stays_none(activation):
    nodes = build_averages(HeadsProblem(Gaussian((6.0, 3.0)), activation, 2, 3), 64, 2, seed=0, mirrored=True)
    d_m, d_c, _ = velocity(nodes, 0.0, np.tile(START.m, 2), np.zeros((2, 2)), np.zeros(2))
    assert d_m.any()
    assert not d_c.any()


def test_random_start_has_the_overlaps_of_random_keys():
    problem = HeadsProblem(flipped(6.0, 3), "softmax-1", 4, 4)
    state = random_start(problem, 1e4, 2.0, seed=0, threshold=1.0)
    assert np.abs(state.m).max() < 4 * 2.0 / 100
    assert np.array_equal(state.r, 4.0 * np.eye(4))
    assert state.b.tolist() == [1.0] * 4
    assert np.allclose(time_grid(10.0, 5, "log"), [0.0, 1e-3, 10 ** (-5 / 3), 10 ** (-1 / 3), 10.0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rate": -1.0}, "rate = -1 is negative"),
        ({"rate": float("nan")}, "rate = nan"),
        ({"rtol": 0.0}, "rtol = 0 is out of range"),
        ({"samples": 100}, "power of two"),
        ({"count": 1}, "count = 1"),
        ({"method": "Euler"}, "method = 'Euler'"),
        ({"tau": np.array([0.0, 0.0])}, "increasing"),
        ({"start": State(np.zeros((3, 1)), np.eye(3), np.zeros(3))}, "shape"),
        ({"start": State(np.zeros((2, 1)), -np.eye(2), np.zeros(2))}, "negative eigenvalue"),
    ],
)
def test_bad_settings_are_refused_before_any_work(change, reason):
    settings = {"problem": _problem(), "start": START, "tau": TAU} | change
    with pytest.raises(InvalidProblem, match=reason):
        integrate(**settings)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"activation": "tanh"}, "tanh"),
        ({"heads": 0}, "heads = 0"),
        ({"length": 1}, "length = 1"),
        ({"heads": True}, "heads = True"),
        ({"weight": "sum"}, "weight = 'sum'"),
        ({"thresholds": "train"}, "thresholds = 'train'"),
        ({"activation": "bayes-softmax", "weight": "mean"}, "weight = 'mean'"),
        ({"activation": "softmax-1", "thresholds": "none"}, "thresholds = 'none'"),
    ],
)
def test_bad_problems_are_refused(change, reason):
    with pytest.raises(InvalidProblem, match=reason):
        HeadsProblem(**{"signal": flipped(6.0)} | change)


def test_softmax_has_no_threshold_to_start_from():
    with pytest.raises(InvalidProblem, match="threshold = 1"):
        random_start(_problem(), 100.0, 0.1, seed=0, threshold=1.0)


def test_an_integrator_that_gives_up_is_an_error(gives_up):
    with pytest.raises(IntegrationError, match="LSODA failed: tired"):
        integrate(_problem(), START, TAU, samples=256, max_samples=256, count=2)
