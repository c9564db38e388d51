"""The projected test risk: against full-dimensional sampling, closed forms, and the honesty of its error."""

import math

import numpy as np
import pytest

from replica.models.activations.linear import Linear, LinearCentred
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.registry import ACTIVATIONS
from replica.simulation.data import draw
from replica.simulation.risk import fresh_risk, gram_matrix
from tests.simulation.cases import activation


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR(math.inf)], ids=str)
def test_projection_agrees_with_fresh_tokens_in_full_dimension(name, data):
    """With (k, v) off the manifold M: every pair of the four vectors has an overlap."""
    dimension = 20
    problem = Problem(data, activation(name), 2000.0, "1:1,2:2,3:1", noise=0.4)
    fresh, rng = draw(problem, dimension, 11), np.random.default_rng(12)
    k = 0.8 * fresh.key + 0.5 * fresh.value + 0.3 * rng.standard_normal(dimension)
    v = 0.9 * fresh.value - 0.3 * fresh.key + 0.2 * k
    losses, attention = [], []
    for group in fresh.groups:
        sigma = problem.activation.sigma(group.tokens @ k / math.sqrt(dimension))
        losses.append((group.label - np.sum(sigma * (group.tokens @ v) / math.sqrt(dimension), axis=1)) ** 2)
        attention.append(sigma[np.arange(len(sigma)), group.position])
    found = fresh_risk(problem, problem.activation.sigma, gram_matrix(fresh, np.stack([k, v])), rng, 40_000)
    for values, mean, error in (
        (np.concatenate(losses), found.test_risk, found.test_risk_err),
        (np.concatenate(attention), found.attention, found.attention_err),
    ):
        assert abs(values.mean() - mean) < 4.5 * math.hypot(values.std() / math.sqrt(len(values)), error)


@pytest.mark.parametrize("length", [2, 3])
def test_linear_attention_at_its_population_optimum(length):
    """1/(L/(L-1) + nu/L) for 1 + chi and (L-1)/(nu + L) centred: the lowest risks over (k, v) = (a k*, b v*)."""
    nu = 3.0
    optima = {Linear(): 1 / (length / (length - 1) + nu / length), LinearCentred(): (length - 1) / (nu + length)}
    for made, best in optima.items():
        problem = Problem(SpikedSLR(nu), made, 1.0, length)
        risks = []
        for a in np.linspace(0.2, 2.5, 12):
            for b in np.linspace(0.1, 1.0, 10):
                gram = np.diag([1.0, a * a, 1.0, b * b])
                gram[0, 1] = gram[1, 0] = a
                gram[2, 3] = gram[3, 2] = b
                risks.append(fresh_risk(problem, problem.activation.sigma, gram, np.random.default_rng(1), 20_000))
        lowest = min(risks)
        assert best - 5 * lowest.test_risk_err < lowest.test_risk < 1.1 * best


def test_sampling_errors_are_honest():
    problem = Problem(SpikedSLR(2.0), activation("softmax"), 1.0, "1:1,3:2", noise=0.2)
    gram = np.eye(4) + 0.3 * (np.ones((4, 4)) - np.eye(4))
    runs = [
        fresh_risk(problem, problem.activation.sigma, gram, np.random.default_rng(seed), 2000) for seed in range(150)
    ]
    for value, error in ((0, 1), (2, 3)):
        spread = np.std([run[value] for run in runs], ddof=1)
        assert 0.8 < spread / np.mean([run[error] for run in runs]) < 1.25


def test_a_key_along_the_hidden_one_is_not_singular():
    problem = Problem(SpikedSLR(2.0), activation("softmax"), 1.0, 2)
    gram = np.kron(np.eye(2), np.ones((2, 2)))
    found = fresh_risk(problem, problem.activation.sigma, gram, np.random.default_rng(0))
    assert 0 < found.test_risk < 1
