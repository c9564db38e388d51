"""Error bars of sampled nodes: two of them cover 95 % of what many more nodes give."""

from __future__ import annotations

import numpy as np
import pytest

from replica import Linear, LinearCentred, MaxSLR, Problem, Softmax, SpikedSLR
from replica.analysis.discretise import Ladder
from replica.analysis.node_channel import NodeChannel
from replica.analysis.path import Path, PathOptions, starting_point

CATALOGUE = [
    Problem(data, activation, alpha, length, noise, reg, reg)
    for data, activation, alpha, length, noise, reg in (
        (SpikedSLR(2.0), Softmax(), 4.0, 3, 0.3, 0.5),
        (SpikedSLR(4.0), Softmax(), 2.0, 3, 0.0, 1.0),
        (MaxSLR(), Softmax(), 4.0, 3, 0.3, 1.0),
        (SpikedSLR(2.0), Softmax(), 6.0, 5, 0.5, 0.5),
        (SpikedSLR(2.0), Linear(), 4.0, 3, 0.3, 1.0),
        (MaxSLR(3.0), Linear(), 2.0, 10, 0.3, 1.0),
        (SpikedSLR(4.0), Linear(), 4.0, 50, 0.0, 2.0),
        (SpikedSLR(2.0), LinearCentred(), 4.0, 4, 0.3, 1.0),
        (MaxSLR(), LinearCentred(), 3.0, 8, 0.5, 1.0),
        (SpikedSLR(6.0), Softmax(), 1.5, 2, 0.3, 1.0),
    )
]
SEEDS = range(1, 5)
FEW, MANY = 6, 11  # log2 of the nodes in a scramble
NUMBERS = ("test_risk", "train_loss", "objective", "attention_relevant", "q_v")


def solved(problem: Problem, log2_count: int, seed: int, x: np.ndarray) -> Path:
    channel = NodeChannel(problem, problem.length.fixed, log2_count, seed)
    path = Path(problem, Ladder(1, 1.0, 0, lambda level: channel), PathOptions(1.0), ("given",), x)
    path.begin()
    assert path.converged
    return path


@pytest.mark.slow
def test_two_error_bars_hold_the_truth():
    deviations = []
    for problem in CATALOGUE:
        path = solved(problem, FEW, 0, starting_point(problem, "informed"))
        truth = solved(problem, MANY, 99, path.result.x)
        for seed in SEEDS:
            path = solved(problem, FEW, seed, truth.result.x)
            for name in NUMBERS:
                error = np.hypot(path.errors()[name], truth.errors()[name])
                deviations.append((path.states[-1].numbers[name] - truth.states[-1].numbers[name]) / error)
    deviations = np.array(deviations).reshape(-1, len(NUMBERS))
    # numbers of one solution are correlated: as if there were 40 independent ones, 95 % less three deviations
    assert np.mean(np.abs(deviations) < 2.0) > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / len(deviations))
    # nor are the bars far too wide
    assert 0.5 < np.sqrt(np.mean(deviations**2)) < 1.3
