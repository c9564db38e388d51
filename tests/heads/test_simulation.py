"""The hand-written SGD: its gradient, its start, and its agreement with the equations."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads import simulation
from replica.heads.check import compare
from replica.heads.flow import State
from replica.heads.problem import ACTIVATIONS, HeadsProblem
from replica.heads.signals import flipped, onehot

START = State(np.array([[0.6], [-0.3]]), np.array([[0.5, 0.1], [0.1, 0.3]]), np.zeros(2))


def _loss(keys, b, X, informative, problem):
    logits = keys @ X.T / np.sqrt(X.shape[1]) - b[:, None]
    weights = np.exp(logits)
    extra = 1.0 if problem.activation == "softmax-1" else 0.0
    total = weights.sum() if problem.activation == "bayes-softmax" else weights.sum(axis=1, keepdims=True) + extra
    gap = X[informative] - problem.head_weight * (weights / total).sum(axis=0) @ X
    return gap @ gap / 2


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_one_step_descends_the_loss_of_its_sample(activation):
    problem = HeadsProblem(flipped(6.0), activation, 2, 3)
    dimension, rate = 20, 0.1
    rng = np.random.default_rng(0)
    stars, keys = rng.normal(size=(1, dimension)), rng.normal(size=(2, dimension))
    b = rng.normal(size=2) * (activation != "softmax")
    theta = np.array([[np.sqrt(6.0)]])
    kind, train = list(ACTIVATIONS).index(activation), activation != "softmax"
    moved_keys, moved_b = keys.copy(), b.copy()
    args = (theta, stars, moved_keys, moved_b, 3, rate, kind, problem.head_weight, train)
    simulation._sgd(np.random.default_rng(7), *args)
    X = np.empty((3, dimension))
    informative = simulation._draw(np.random.default_rng(7), theta[0], stars, X)
    for step, start, scale in ((moved_keys - keys, keys, rate), (moved_b - b, b, rate)):
        for index in range(start.size):
            values = []
            for sign in (1, -1):
                shifted = start.copy()
                shifted.flat[index] += sign * 1e-6
                at = (shifted, b) if start is keys else (keys, shifted)
                values.append(_loss(*at, X, informative, problem))
            slope = (values[0] - values[1]) / 2e-6
            # keys move by gamma times the gradient of the loss per D, times D/D; thresholds by gamma/D
            expected = -scale / dimension * slope if start is keys else -scale / dimension**2 * slope
            if start is b and not train:
                expected = 0.0
            assert step.flat[index] == pytest.approx(expected, abs=1e-8)


def test_planted_overlaps_are_exact_and_runs_repeat():
    problem = HeadsProblem(onehot(4.0, 2), "softmax-1", 2, 3)
    m, r = np.array([[0.5, -0.2], [0.1, 0.9]]), np.array([[0.3, 0.1], [0.1, 0.2]])
    options = {"dimension": 50, "rate": 0.5, "tau": np.array([0.0, 1.0]), "planted": (m, r), "test": 10}
    runs = [simulation.simulate(problem, seeds=[3, 4], **options) for _ in range(2)]
    assert np.allclose(runs[0].m[:, 0], m, atol=1e-12)
    assert np.allclose(runs[0].q[:, 0], m @ m.T + r, atol=1e-12)
    assert np.array_equal(runs[0].m, runs[1].m)
    assert np.array_equal(runs[0].risk, runs[1].risk)
    assert not np.allclose(runs[0].m[0, 1], runs[0].m[1, 1])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_equations_follow_sgd(activation):
    problem = HeadsProblem(flipped(6.0), activation, 2, 4)
    found = compare(problem, START, np.array([0.0, 1.0, 3.0]), 0.5, (100, 200, 400), seeds=16, samples=512)
    assert found.worst < 4.5
    assert 0.25 < found.order < 1.25
    assert found.spread[-1] < 0.8 * found.spread[0]


def test_the_comparison_notices_wrong_equations(monkeypatch):
    """The equations with four times the noise term must not pass."""
    problem = HeadsProblem(flipped(6.0), "softmax-1", 2, 4)
    import replica.heads.check as check

    honest = check.integrate
    monkeypatch.setattr(check, "integrate", lambda p, s, tau, rate, **o: honest(p, s, tau, 4 * rate, **o))
    found = compare(problem, START, np.array([0.0, 1.0, 3.0]), 0.5, (100, 200, 400), seeds=16, samples=512)
    assert found.worst > 6


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dimension": 2}, "dimension = 2"),
        ({"rate": 0.0}, "rate = 0 is zero"),
        ({"seeds": []}, "seeds = 0"),
        ({"test": 0}, "test = 0"),
        ({"tau": np.array([1.0, 0.5])}, "increasing"),
        ({"norm": -1.0}, "norm = -1"),
        ({"threshold": 1.0}, "threshold = 1"),
        ({"planted": (np.zeros((2, 1)), -np.eye(2))}, "negative eigenvalue"),
    ],
)
def test_bad_settings_are_refused(change, reason):
    settings = {"dimension": 20, "rate": 0.5, "tau": np.array([0.0, 1.0]), "seeds": [0]} | change
    with pytest.raises(InvalidProblem, match=reason):
        simulation.simulate(HeadsProblem(flipped(6.0), heads=2), **settings)


@pytest.mark.parametrize(("dimensions", "seeds"), [((100,), 8), ((100, 200), 2)])
def test_comparisons_without_trend_or_error_are_refused(dimensions, seeds):
    with pytest.raises(InvalidProblem):
        compare(HeadsProblem(flipped(6.0), heads=2), START, np.array([0.0, 1.0]), 0.5, dimensions, seeds)
