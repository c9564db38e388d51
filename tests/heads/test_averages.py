"""The generated averages against a brute-force sympy loss, finite differences and symmetry."""

import itertools

import numpy as np
import pytest
import sympy

from replica.heads.averages import build_averages, mean_and_error, replicates
from replica.heads.problem import ACTIVATIONS, HeadsProblem
from replica.heads.signals import Gaussian, flipped, onehot
from replica.lowering import heads as lowering

H, L = 2, 3
SEPARATE = ("softmax", "softmax-1")


def _explicit(activation, weight):
    """rho = 1/2 sum_l (s_l - delta_l0)^2 written out for two heads and three tokens, and all its derivatives."""
    chi = [[sympy.Symbol(f"chi_{h}_{l}") for l in range(L)] for h in range(H)]
    b = [sympy.Symbol(f"b_{h}") for h in range(H)]
    u = [[sympy.exp(chi[h][l] - b[h]) for l in range(L)] for h in range(H)]
    sizes = [sum(row) + int(activation == "softmax-1") for row in u]
    s = [weight * sum(u[h][l] / sizes[h] for h in range(H)) for l in range(L)]
    rho = sum((s[l] - int(l == 0)) ** 2 for l in range(L)) / 2
    fields = [x for row in chi for x in row]
    return sympy.lambdify([fields, b], [rho, *(rho.diff(x) for x in fields), *(rho.diff(x) for x in b)], cse=True)


@pytest.mark.parametrize("activation", SEPARATE)
def test_generated_gradient_is_that_of_the_written_out_loss(activation):
    weight = 0.5 if activation == "softmax" else 1.0
    exact = _explicit(activation, weight)
    module = lowering.load(activation)
    rng = np.random.default_rng(0)
    for size in (1.0, 10.0):
        chi, b = size * rng.normal(size=(H, L)), rng.normal(size=H) * (activation != "softmax")
        shares, errors, rho, risk = np.empty((H, L, 2)), np.empty((L, 2)), np.empty((H, L, 2)), np.zeros(2)
        module.gradient(np.stack([chi, -chi], axis=-1), b, weight, shares, errors, rho, risk)
        for node, sign in enumerate((1, -1)):
            values = np.array(exact(sign * chi.ravel(), b), dtype=float)
            assert risk[node] / 2 == pytest.approx(values[0], abs=1e-13)
            assert np.allclose(rho[:, :, node].ravel(), values[1 : 1 + H * L], atol=1e-12)
            if activation != "softmax":
                assert np.allclose(-rho[:, :, node].sum(axis=1), values[1 + H * L :], atol=1e-12)


@pytest.mark.parametrize("activation", SEPARATE)
def test_extreme_fields_stay_finite(activation):
    module = lowering.load(activation)
    chi = np.array([[800.0, -800.0, 0.0], [-900.0, -900.0, -900.0]])[:, :, None]
    shares, errors, rho, risk = np.empty((2, 3, 1)), np.empty((3, 1)), np.empty((2, 3, 1)), np.zeros(1)
    module.gradient(chi, np.zeros(2), 0.5, shares, errors, rho, risk)
    assert np.isfinite(risk).all()
    assert np.isfinite(rho).all()
    assert shares[0, :, 0].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("signal", [flipped(5.0, 2), onehot(3.0, 2)], ids=["symmetric", "biased"])
def test_gradients_are_derivatives_of_the_discretised_risk(activation, signal):
    problem = HeadsProblem(signal, activation, 3, 4)
    averages = build_averages(problem, 64, 2, seed=3)
    rng = np.random.default_rng(5)
    point = {"m": rng.normal(size=(3, 2)), "c": rng.normal(size=(3, 2)), "b": rng.normal(size=3)}
    if activation == "softmax":
        point["b"][:] = 0.0
    exact = averages(**point)
    for name, value in point.items():
        for index in range(value.size):
            moved = []
            for sign in (1, -1):
                shifted = value.copy()
                shifted.flat[index] += sign * 1e-5
                moved.append(averages(**{**point, name: shifted}).risk / 2)
            assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(getattr(exact, name).flat[index], abs=1e-9)


def test_noise_matrix_is_the_mean_of_outer_products():
    problem = HeadsProblem(Gaussian((3.0,)), "softmax-1", 2, 3)
    averages = build_averages(problem, 32, 1, seed=0)
    m, c, b = np.array([[1.0], [-0.5]]), np.array([[0.3], [0.7]]), np.array([0.2, 1.0])
    total, risk = np.zeros((2, 2)), 0.0
    exact = _numpy_rho(b)
    nodes = [np.moveaxis(x, -1, 0) for x in (averages.zeta, averages.xi, averages.theta[0])]
    for zeta, xi, theta in zip(*nodes, strict=True):
        for s_zeta in (1, -1):
            for s_xi in (1, -1):
                chi = s_zeta * m @ zeta.T + s_xi * c @ xi.T
                chi[:, 0] += s_zeta * m @ theta
                one, rho = exact(chi)
                risk += one
                total += rho @ rho.T
    found = averages(m, c, b, noise=True)
    assert found.risk == pytest.approx(risk / 128, rel=1e-12)
    assert np.allclose(found.noise, total / 128, rtol=1e-12)


@pytest.mark.parametrize("activation", SEPARATE)
def test_averages_do_not_depend_on_which_nodes_are_worked_on_together(activation):
    nodes = build_averages(HeadsProblem(flipped(5.0, 2), activation, 2, 3), 64, 2, seed=0)
    point = np.array([[1.0, 0.2], [-0.5, 2.0]]), np.array([[0.3, 0.1], [0.7, 0.0]]), np.array([0.2, 1.0])
    found = []
    for edges in ([0, 45], [0, 20, 21, 45]):
        sums = [np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2))]
        risk = sum(
            lowering.load(activation).accumulate(
                nodes.zeta, nodes.xi, nodes.theta, first, last, *point, 1.0, True, 4, True, *sums
            )
            for first, last in itertools.pairwise(edges)
        )
        found.append(np.concatenate([[risk], *(part.ravel() for part in sums)]))
    assert np.allclose(*found, rtol=1e-12, atol=1e-14)


def _numpy_rho(b):
    def rho(chi):
        u = np.exp(chi - b[:, None])
        shares = u / (1 + u.sum(axis=1, keepdims=True))
        errors = shares.sum(axis=0) - np.eye(chi.shape[1])[0]
        return (errors**2).sum(), shares * (errors - (shares * errors).sum(axis=1, keepdims=True))

    return rho


def test_extreme_fields_of_a_joint_normaliser_stay_finite():
    averages = build_averages(HeadsProblem(flipped(5.0, 2), "bayes-softmax", 2, 3), 64, 1, seed=0)
    found = averages(
        np.array([[90.0, 0.0], [0.0, -90.0]]), np.full((2, 1), 20.0), np.array([300.0, -300.0]), noise=True
    )
    assert 0 <= found.risk <= 2
    assert all(np.isfinite(part).all() for part in (found.m, found.c, found.b, found.noise))


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("signal", [flipped(4.0, 2), onehot(3.0), Gaussian((4.0, 2.0, 1.0), (0.5, 0.0, 0.0))])
def test_joint_normaliser_against_sampled_tokens(signal, length):
    """The single-token averages, integrated over log s, are those of the attention over all tokens together."""
    rng = np.random.default_rng(0)
    count, heads, rank = 40000, 3, 2
    m, c = rng.normal(size=(heads, signal.features)), 0.4 * rng.normal(size=(heads, rank))
    b = rng.normal(size=heads)
    stars, xi = rng.normal(size=(count, length, signal.features)), rng.normal(size=(count, length, rank))
    stars[:, 0] += signal.sample(rng, count)
    u = np.exp(np.einsum("hf,nlf->nhl", m, stars) + np.einsum("hj,nlj->nhl", c, xi) - b[:, None])
    shares = u / u.sum(axis=(1, 2), keepdims=True)
    errors = shares.sum(axis=1) - np.eye(length)[0]
    rho = shares * (errors - (shares.sum(axis=1) * errors).sum(axis=1, keepdims=True))[:, None]
    sampled = {
        "risk": (errors**2).sum(axis=1),
        "m": np.einsum("nhl,nlf->nhf", rho, stars),
        "c": np.einsum("nhl,nlj->nhj", rho, xi),
        "b": -rho.sum(axis=2),
        "noise": np.einsum("nhl,nkl->nhk", rho, rho),
    }
    sets = [one(m, c, b, noise=True) for one in replicates(HeadsProblem(signal, "bayes-softmax", heads, length),
                                                           512, rank, 1, 6)]  # fmt: skip
    for name, values in sampled.items():
        mean, error = mean_and_error(np.array([getattr(one, name) for one in sets]))
        deviation = np.sqrt((error / 2) ** 2 + values.var(axis=0) / count)
        assert np.all(np.abs(mean - values.mean(axis=0)) < 4.5 * deviation), name


def test_averages_over_a_lattice_of_log_w_are_those_over_the_tokens():
    module = lowering.load("bayes-softmax")
    rng = np.random.default_rng(0)
    log_w, weights = rng.uniform(-9.0, 0.0, size=200), rng.dirichlet(np.ones(200), size=2)
    start, low = -9.0 - module.POINTS * module.FINE, -5.0
    lattice, size = np.zeros((2, int(-start / module.FINE) + module.POINTS)), 50
    module.spread(log_w, weights, 1, start, lattice)
    table = np.zeros((7, module.REFINE * (size - 1) + lattice.shape[1]))
    ends = module.powers(low + start, table)
    found = np.zeros((2, module.MOMENTS, size))
    module.moments(lattice, table, *ends, module.MOMENTS, found)
    x = np.exp(low + module.STEP * np.arange(size)[:, None] + log_w)
    for j in range(module.MOMENTS):
        exact = weights @ (x**j * np.exp(-x)).T
        assert np.abs(found[:, j] - exact).max() < 1e-12 * 8**j


@pytest.mark.parametrize("signal", [flipped(1e3), Gaussian((1e3,))], ids=["flipped", "gaussian"])
def test_few_nodes_do_not_miss_the_tokens_of_a_strong_signal(signal):
    """Heads at a standard deviation of the law tell nearly all tokens apart, though fields span e^7000."""
    m, b = np.sqrt(1e3) * np.array([[1.0], [-1.0]]), np.full(2, 500.0)
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(4000, 4))
    tokens[:, 0] += signal.sample(rng, 4000)[:, 0]
    fields = np.sqrt(1e3) * np.abs(tokens)  # the other head adds nothing
    shares = np.exp(fields - fields.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    risks = ((shares - np.eye(4)[0]) ** 2).sum(axis=1)
    found = np.mean([nodes(m, np.zeros((2, 1)), b).risk
                     for nodes in replicates(HeadsProblem(signal, "bayes-softmax", 2, 4), 64, 1, 0, 8)])  # fmt: skip
    assert found == pytest.approx(risks.mean(), abs=5 * risks.std() / np.sqrt(4000) + 1e-3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_unspecialised_point_is_fixed_to_the_last_bit(activation):
    problem = HeadsProblem(flipped(6.0, 2), activation, 3, 4)
    found = build_averages(problem, 32, 3, seed=0)(np.zeros((3, 2)), 0.3 * np.eye(3), np.zeros(3))
    assert np.abs(found.m).max() < 1e-17
    assert np.abs(found.c).max() > 1e-3


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("signal", [Gaussian((6.0, 3.0)), flipped(6.0, 3)], ids=["gaussian", "flipped"])
def test_an_unlearned_feature_has_no_gradient_beside_a_learned_one(activation, signal):
    m = np.zeros((3, signal.features))
    m[:, 0] = 1.0, -0.5, 0.2
    problem = HeadsProblem(signal, activation, 3, 4)
    plain, mirrored = (
        build_averages(problem, 64, 3, seed=0, mirrored=mirrored)(m, 0.3 * np.eye(3), np.zeros(3), noise=True)
        for mirrored in (False, True)
    )
    assert np.abs(mirrored.m[:, 1:]).max() < 1e-16
    assert np.abs(plain.m[:, 1:]).max() > 1e-6
    assert mirrored.risk == pytest.approx(plain.risk, rel=0.05)
    assert np.allclose(mirrored.m[:, 0], plain.m[:, 0], atol=0.02)
    assert np.allclose(mirrored.noise, plain.noise, atol=0.02)


def test_result_does_not_depend_on_threads():
    problem = HeadsProblem(Gaussian((3.0,)), "bayes-softmax", 2, 3)
    point = (np.array([[1.0], [-0.5]]), np.eye(2), np.zeros(2))
    one, four = (build_averages(problem, 64, 2, seed=0, threads=threads)(*point) for threads in (1, 4))
    assert one.risk == four.risk
    assert np.array_equal(one.m, four.m)
