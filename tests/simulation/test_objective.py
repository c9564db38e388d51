"""The empirical risk and its gradient: against the definition, finite differences, other block sizes and threads."""

import math

import numpy as np
import pytest

from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.registry import ACTIVATIONS
from replica.simulation import data as data_module
from replica.simulation import tokens as tokens_module
from replica.simulation.data import draw
from replica.simulation.objective import Objective
from replica.simulation.tokens import Tokens
from tests.simulation.cases import activation

CASES = [(name, data) for name in sorted(ACTIVATIONS) for data in (SpikedSLR(2.0), MaxSLR(math.inf))]


def dataset(name, data, dimension=40, dtype=np.float32):
    problem = Problem(data, activation(name), 2.0, "1:1,2:2,4:1", 0.3, reg_k=0.2, reg_v=0.7)
    return draw(problem, dimension, 5, dtype)


def point(dimension):
    return np.random.default_rng(6).standard_normal(2 * dimension)


@pytest.mark.parametrize(("name", "data"), CASES, ids=str)
def test_the_gradient_is_the_derivative_of_the_value(name, data):
    sample = dataset(name, data)
    objective, x = Objective(sample), point(40)
    _, gradient = objective(x)
    directions = np.random.default_rng(7).standard_normal((6, x.size))
    step = 1e-5
    slopes = [(objective(x + step * u)[0] - objective(x - step * u)[0]) / (2 * step) for u in directions]
    np.testing.assert_allclose(directions @ gradient, slopes, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(("name", "data"), CASES, ids=str)
def test_the_value_is_the_definition(name, data):
    sample = dataset(name, data)
    k, v = point(40).reshape(2, 40)
    expected = 0.1 * k @ k + 0.35 * v @ v
    for group in sample.groups:
        for tokens, label in zip(group.tokens.astype(float), group.label, strict=True):
            attention = sample.problem.activation.sigma(tokens @ k / math.sqrt(40))
            expected += 0.5 * (label - attention @ (tokens @ v) / math.sqrt(40)) ** 2
    assert Objective(sample)(point(40))[0] == pytest.approx(expected, rel=1e-12)


def test_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(tokens_module, "_SERIAL", 0)
    monkeypatch.setattr(data_module, "_BLOCK", 1 << 10)
    sample, x = dataset("softmax", SpikedSLR(2.0), 60), point(60)
    results = []
    for threads in (1, 2, 3):
        objective = Objective(sample, threads)
        with objective.tokens.running():
            assert objective.tokens.threads == threads
            results.append(objective(x))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_blocks_only_change_round_off(monkeypatch):
    sample, x = dataset("erf", MaxSLR(3.0), 60), point(60)
    whole = Objective(sample)(x)
    monkeypatch.setattr(data_module, "_BLOCK", 200)
    cut = Objective(sample)(x)
    assert cut[0] == pytest.approx(whole[0], rel=1e-13)
    np.testing.assert_allclose(cut[1], whole[1], rtol=1e-9, atol=1e-11)


def test_forward_and_backward_are_the_products_of_their_definition():
    sample = dataset("softmax", SpikedSLR(2.0), 50)
    tokens, weights = Tokens(sample), point(50).reshape(2, 50)
    scores = tokens.forward(weights)
    expected = np.zeros((2, 50))
    for group, found in zip(sample.groups, scores, strict=True):
        product = np.moveaxis(group.tokens.astype(float) @ weights.T, 2, 0) / math.sqrt(50)
        np.testing.assert_allclose(found, product, rtol=1e-10, atol=1e-12)
        expected += np.einsum("anl,nld->ad", found, group.tokens.astype(float)) / math.sqrt(50)
    np.testing.assert_allclose(tokens.backward(scores), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(tokens.sweep(weights, lambda number, span, found: found), tokens.backward(scores))
