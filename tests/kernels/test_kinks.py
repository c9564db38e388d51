"""Proximal points at kinks of phi and at zeros of a normalised phi: optimal, with the slopes and responses claimed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.dense_response import dense_response, response_from_dense
from tests.kernels.prox_module import Prox, reduced_energy
from tests.kernels.test_prox import draw, survey

KINKS = {"hard-tanh-centred": (-1.0, 1.0), "kinked-normalised": (0.3,)}


def held(p):
    return np.isin(p.chi, KINKS[p.name])


def random_points(name, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        length = rng.integers(2, 5)
        scales = 10 ** rng.uniform(-0.5, 1.0), 10 ** rng.uniform(-1.0, 0.5)
        yield Prox(name, *draw(rng.integers(2**32), length, 0.2), *scales)


@pytest.mark.parametrize("name", [*KINKS, "square-normalised"])
def test_random_search_beats_fewer_than_one_in_a_hundred(name):
    """Larger surveys, with descents from random starts too: below one in a thousand up to three tokens."""
    proved, wrong, beaten = survey(name, 200, seed=5)
    assert wrong == 0
    assert beaten <= 2
    # only what is bounded, or made of straight pieces, can be proved
    assert (proved > 160) == (name == "hard-tanh-centred")


@pytest.mark.parametrize("name", KINKS)
def test_phi_rises_to_both_sides_of_a_point(name):
    seen = 0
    for p in random_points(name, 300, 0):
        assert p.converged
        scale = 1e-6 * (1.0 + np.abs(p.chi).max())
        for l in range(len(p.chi)):
            sides = p.chi + scale * np.array([[-1.0], [1.0]]) * np.eye(len(p.chi))[l]
            rises = reduced_energy(name, sides, p.omega_k, p.omega_v, p.y, p.V_k, p.V_v) - p.moreau
            assert np.all(rises > -1e-12 * (1.0 + p.moreau))
            if held(p)[l]:
                # first order in the step on both sides, or a tie
                seen += np.all(rises > 1e-4 * scale)
    assert seen > 10


@pytest.mark.parametrize("name", KINKS)
def test_the_slopes_of_the_envelope(name):
    """dM/domega = -g, held tokens included."""
    checked = 0
    for p in random_points(name, 150, 1):
        step = 1e-5
        for field, g in ((p.omega_k, p.g_k), (p.omega_v, p.r * p.sigma)):
            for l in range(len(field)):
                ends = []
                for sign in (1.0, -1.0):
                    moved = field.copy()
                    moved[l] += sign * step
                    fields = (moved, p.omega_v) if field is p.omega_k else (p.omega_k, moved)
                    ends.append(Prox(name, *fields, p.y, p.V_k, p.V_v))
                if np.abs(ends[0].chi - ends[1].chi).max() < 0.1:  # no jump on the way
                    assert (ends[0].moreau - ends[1].moreau) / (2 * step) == pytest.approx(-g[l], abs=1e-4)
                    checked += held(p)[l]
    assert checked > 5


@pytest.mark.parametrize("name", KINKS)
def test_a_held_token_does_not_answer(name):
    checked = 0
    for p in random_points(name, 300, 2):
        problem = (p.omega_k, p.omega_v, p.y, p.V_k, p.V_v)
        near = [Prox(name, p.omega_k + shift, p.omega_v + shift, *problem[2:]) for shift in (-1e-3, 1e-3)]
        same = all(np.array_equal(held(q), held(p)) and np.abs(q.chi - p.chi).max() < 0.05 for q in near)
        if not (held(p).any() and same):
            continue
        dense = dense_response(name, *problem)
        rows = np.flatnonzero(held(p))
        assert dense[rows, rows] == pytest.approx(-1.0 / p.V_k, rel=1e-6)
        assert p.response() == pytest.approx(response_from_dense(dense), rel=1e-5, abs=1e-7)
        checked += 1
    assert checked > 5
