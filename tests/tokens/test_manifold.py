"""Growth off the manifold M on sampled nodes: proximal points and their responses token by token, and the column."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replica import LengthLaw, Problem, Softmax, SpikedSLR
from replica.analysis.manifold_nodes import _forms

from .problems import ACTIVATIONS, problem

V_K, V_V = 0.5, 0.4


@pytest.mark.parametrize("length", [2, 7])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_responses_are_derivatives_of_the_proximal_point(name, length):
    """g = r (J^T z, sigma) at chi = omega_k + V_k g_k, z = omega_v + V_v g_v; w^T K w by central differences."""
    activation, count, step = ACTIVATIONS[name], 8, 1e-5
    one = problem(activation, SpikedSLR(2.0), length)
    rng = np.random.default_rng(1)
    omega_k, omega_v = 0.7 * rng.standard_normal((2, count, length))
    label, w = rng.standard_normal(count), rng.standard_normal((count, 8, length))

    def forms(move=0.0):
        moved_k, moved_v = omega_k + move * w[:, 2 * i], omega_v + move * w[:, 2 * i + 1]
        return _forms(one, length, moved_k, moved_v, label, V_K, V_V, w.copy())

    i = 0
    g_k, g_v, found = forms()
    chi, z = omega_k + V_K * g_k, omega_v + V_V * g_v
    sigma = activation.sigma(chi)
    r = (label - np.sum(sigma * z, axis=1))[:, None]
    np.testing.assert_allclose(g_v, r * sigma, atol=1e-10)
    np.testing.assert_allclose(g_k, r * activation.vjp(chi, z), atol=1e-10)
    last = np.stack([g_v, g_k], axis=1)
    for i in range(3):
        (up_k, up_v, _), (down_k, down_v, _) = forms(step), forms(-step)
        slope = np.stack([up_k - down_k, up_v - down_v], axis=1) / (2.0 * step)
        for j in range(4):
            other = w[:, 2 * j : 2 * j + 2] if j < 3 else last
            np.testing.assert_allclose(found[:, i, j], np.sum(slope * other, axis=(1, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-10)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_has_the_column(name, solved):
    one = Problem(SpikedSLR(2.0), ACTIVATIONS[name], alpha=4.0, length=3, noise=0.3)
    row = solved(one, rtol=2e-2, init="informed")[0].to_row()
    assert row["off_m"] + 2 * row["off_m_err"] < 1
    assert row["off_m_err"] < 0.2


def test_a_law_of_lengths_has_it(solved):
    one = Problem(SpikedSLR(2.0), Softmax(), alpha=4.0, length=LengthLaw.of({1: 0.2, 2: 0.5, 4: 0.3}), noise=0.3)
    solution = solved(one, rtol=5e-2, init="informed")[0]
    assert math.isfinite(solution.off_m)
    assert solution.off_m + 2 * solution.errors["off_m"] < 1
