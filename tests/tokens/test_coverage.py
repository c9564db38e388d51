"""Error bars of sampled nodes: two of them cover 95 % of what many more nodes give. The levels up to the accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from replica import Linear, LinearCentred, MaxSLR, Problem, Softmax, SpikedSLR
from replica.analysis.discretise import MAX_STEPS, Ladder
from replica.analysis.erm_map import State
from replica.analysis.error_bars import with_bias
from replica.analysis.node_channel import NodeChannel
from replica.analysis.path import Path, PathOptions, starting_point

from .test_user_ingredients import Spike

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
        # its density ratio says nothing of the law: weighted samples
        (Spike(2.0), Softmax(), 2.0, 2, 0.3, 1.0),
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
    # numbers of one solution are correlated: as if there were one for each problem and seed, 95 % less three deviations
    assert np.mean(np.abs(deviations) < 2.0) > 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / len(deviations))
    # nor are the bars far too wide
    assert 0.5 < np.sqrt(np.mean(deviations**2)) < 1.3


@pytest.mark.slow
def test_two_error_bars_hold_the_replicon():
    """It moves with the point: for linear attention far more than its averages scatter at a given one."""
    deviations = []
    for data, activation, length, reg in (
        (SpikedSLR(2.0), Linear(), 1, 0.5),
        (SpikedSLR(2.0), Linear(), 20, 2.0),
        (MaxSLR(), LinearCentred(), 3, 0.5),
        (SpikedSLR(2.0), Softmax(), 3, 0.5),
    ):
        problem = Problem(data, activation, 4.0, length, 0.3, reg, reg)
        path = solved(problem, FEW, 0, starting_point(problem, "informed"))
        truth = solved(problem, MANY, 99, path.result.x)
        exact = truth.solution(99)
        for seed in SEEDS:
            found = solved(problem, FEW, seed, truth.result.x).solution(seed)
            error = np.hypot(found.errors["replicon"], exact.errors["replicon"])
            deviations.append((found.replicon - exact.replicon) / error)
    assert np.mean(np.abs(deviations) < 2.0) > 0.8
    assert 0.4 < np.sqrt(np.mean(np.square(deviations))) < 1.5


@pytest.mark.nojit
def test_the_next_level_is_the_first_that_should_do():
    levels = Ladder(8, 1e-3, 0, lambda level: None, fall=0.5)
    excesses = {0.5: 1, 1.5: 1, 3.9: 2, 4.1: 3, 1e6: MAX_STEPS, np.nan: 1, np.inf: 1}
    assert {excess: levels.after(0, excess) for excess in excesses} == excesses
    assert levels.after(5, 1e6) == 7
    assert Ladder(8, 1e-3, 0, lambda level: None).after(0, 1e6) == 1


@pytest.mark.nojit
@pytest.mark.parametrize("scatter", [0.0, 1e-3])
def test_a_bias_that_scrambles_share_is_in_the_error(scatter):
    """x + 1/N in every scramble, from 100 to 400 nodes: the change of 3/400 tells that 1/400 is left."""
    nothing = np.zeros(6)
    old, new = (State(nothing, nothing, nothing, None, {"x": 1.0 + 1.0 / nodes}, nodes) for nodes in (100, 400))
    error = with_bias({"x": scatter}, {"x": 2 * scatter}, [old, new])["x"]
    unexplained = np.sqrt((3 / 400) ** 2 - 5 * scatter**2) / 3
    assert error == pytest.approx(np.hypot(scatter, unexplained))
    # a change that the errors explain adds nothing
    assert with_bias({"x": 0.1}, {"x": 0.2}, [old, new])["x"] == pytest.approx(0.1)
