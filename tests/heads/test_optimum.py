"""Least risks against recorded figures, the Bayes risk and brute force; pruning."""

from dataclasses import replace

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.averages import build_averages
from replica.heads.bayes import bayes_risk
from replica.heads.optimum import descend, fresh_risk, optimum
from replica.heads.problem import ACTIVATIONS, HeadsProblem
from replica.heads.prune import prune
from replica.heads.signals import Discrete, flipped, onehot


@pytest.mark.parametrize(
    ("activation", "nu", "figure"),
    [
        ("bayes-softmax", 4.0, 0.384),
        ("softmax-1", 4.0, 0.443),
        ("softmax", 4.0, 0.587),
        ("bayes-softmax", 16.0, 0.0188),
        ("softmax-1", 16.0, 0.0625),
        ("softmax", 16.0, 0.42),
        ("softmax", 36.0, 0.38),
    ],
)
def test_recorded_figures(activation, nu, figure):
    """Trained by sampled gradients in the record: a little above the least risk."""
    found = optimum(HeadsProblem(flipped(nu), activation, 2, 4), samples=1024, starts=3)
    assert found.risk == pytest.approx(figure, rel=0.02 if nu == 4 or activation == "softmax" else 0.06)
    assert found.risk_err < 0.1 * found.risk
    bayes, error = bayes_risk(found.problem)
    assert found.risk + 2 * (found.risk_err + error) > bayes


def test_softmax_one_needs_its_threshold_and_its_weight():
    signal = flipped(16.0)
    best, fixed, mean = (
        optimum(HeadsProblem(signal, "softmax-1", 2, 4, **options), samples=1024, starts=3).risk
        for options in ({}, {"thresholds": "fixed"}, {"weight": "mean"})
    )
    assert best < 0.5 * min(fixed, mean)


@pytest.mark.parametrize(
    "signal",
    [flipped(4.0), Discrete((0.5, 0.2, 0.3), ((2.0, 0.0), (0.0, 1.5), (-1.0, -2.0)))],
    ids=["flipped", "discrete"],
)
def test_bayes_softmax_is_bayes_with_a_head_at_each_point(signal):
    problem = HeadsProblem(signal, "bayes-softmax", len(signal.points), 4)
    points = np.array(signal.points)
    b = (points**2).sum(axis=1) / 2 - np.log(signal.weights)
    risk, error = fresh_risk(problem, points, b, np.zeros((len(points), 1)), 8192, [0])
    bayes, bayes_error = bayes_risk(problem, samples=16384)
    assert abs(risk - bayes) < 1e-4
    assert abs(risk - bayes) < 2 * (error + bayes_error)
    # and no gradient is left there
    averages = build_averages(problem, 8192, 1, 0)
    left = averages(points, np.zeros((len(points), 1)), b)
    assert np.abs(left.m).max() < 1e-3
    assert np.abs(left.b).max() < 1e-3


@pytest.mark.parametrize(("signal", "length"), [(flipped(36.0), 4), (flipped(64.0), 8), (onehot(32.0, 2), 3)])
def test_bayes_softmax_finds_small_bayes_risks_too(signal, length):
    """Rare tokens decide such risks: to agree within a few per cent of 1e-4 the average must not be sampled."""
    found = optimum(HeadsProblem(signal, "bayes-softmax", 2, length), samples=2048, starts=2)
    bayes, error = bayes_risk(found.problem, samples=8192)
    assert found.converged
    assert abs(found.risk - bayes) < 2 * (error + found.risk_err) < 1e-4
    assert found.risk < bayes * 1.05 + 2 * error


def test_the_error_admits_what_random_nodes_may_all_miss():
    problem = HeadsProblem(flipped(900.0), "softmax-1", 2, 4)
    risk, error = fresh_risk(problem, np.array([[30.0], [-30.0]]), np.full(2, 450.0), np.zeros((2, 1)), 64, [0])
    assert risk < 1e-9
    assert error == 3 / (8 * 64 * 4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_more_heads_are_never_worse(activation):
    signal, found, risks = flipped(16.0, 2), None, []
    for heads in (1, 2, 4, 8):
        found = optimum(HeadsProblem(signal, activation, heads, 4), samples=64, starts=2, smaller=found)
        risks.append(found.risk)
        assert found.converged
    assert np.all(np.diff(risks) < 1e-6)
    # doubled once more and compared on the same nodes, without a search
    doubled = optimum(HeadsProblem(signal, activation, 16, 4), samples=64, starts=2, smaller=found).risk
    assert doubled < risks[-1] + 1e-6


def test_a_search_that_is_cut_short_is_not_called_converged(monkeypatch):
    from replica.heads import optimum as module

    full = module.descend
    monkeypatch.setattr(module, "descend", lambda *args, iterations: full(*args, iterations=2))
    assert not optimum(HeadsProblem(flipped(6.0), "softmax-1", 2, 4), samples=64, starts=2).converged


def test_a_small_risk_needs_a_small_derivative():
    found = optimum(HeadsProblem(flipped(48.0), "bayes-softmax", 2, 4), samples=64, starts=2)
    assert found.converged
    assert found.risk < 1e-4
    assert not replace(found, gradient=1e-6).converged


def test_the_search_ends_where_nothing_is_left_to_gain():
    problem = HeadsProblem(flipped(6.0), "softmax", 2, 3)
    averages = build_averages(problem, 256, 1, 0)
    risk, m, b, c = descend(averages, np.array([[1.0], [-0.5]]), np.zeros(2), np.full((2, 1), 0.3), 300)
    rng = np.random.default_rng(0)
    for _ in range(20):
        shift = 0.3 * rng.standard_normal((2, 2))
        assert averages(m + shift[:, :1], c + shift[:, 1:], b).risk > risk - 1e-12


@pytest.mark.parametrize(("samples", "starts", "reason"), [(100, 4, "power of two"), (64, 1, "starts = 1")])
def test_bad_settings_are_refused(samples, starts, reason):
    with pytest.raises(InvalidProblem, match=reason):
        optimum(HeadsProblem(flipped(6.0)), samples, starts)


@pytest.mark.parametrize("activation", ["softmax-1", "bayes-softmax"])
def test_spare_heads_are_pruned_for_nothing_and_needed_ones_are_not(activation):
    found = optimum(HeadsProblem(flipped(16.0), activation, 4, 4), samples=512, starts=2)
    plain, again = (prune(found, retrain=retrain) for retrain in (False, True))
    assert [row["heads_left"] for row in plain] == [4, 3, 2, 1]
    assert plain[0]["risk"] == pytest.approx(found.risk, rel=1e-12)
    assert plain[2]["risk"] < found.risk + 0.02
    assert plain[3]["risk"] > found.risk + 0.2
    assert again[3]["risk"] < plain[3]["risk"] + again[3]["risk_err"]


def test_softmax_loses_little_at_a_time():
    found = optimum(HeadsProblem(flipped(16.0), "softmax", 4, 4), samples=512, starts=3)
    rows = prune(found, retrain=False)
    assert rows[2]["risk"] < found.risk + 0.1
