"""Speed of the equations and of SGD of several heads. Run: python -m pytest tests/benchmarks/bench_heads.py"""

import numpy as np
import pytest

from replica.heads.averages import build_averages
from replica.heads.flow import integrate, random_start
from replica.heads.problem import HeadsProblem
from replica.heads.signals import flipped
from replica.heads.simulation import simulate


@pytest.mark.parametrize("activation", ["softmax", "softmax-1", "bayes-softmax"])
def test_trajectory_of_a_thousand_times(benchmark, activation):
    """Four heads, two features, eight tokens, relative error 1e-3 of the risk at every time."""
    problem = HeadsProblem(flipped(6.0, 2), activation, 4, 8)
    start = random_start(problem, 1e4, 0.1, seed=0)
    tau = np.linspace(0.0, 100.0, 1000)
    found = benchmark.pedantic(integrate, (problem, start, tau), {"rtol": 1e-3}, rounds=1, warmup_rounds=0)
    assert found.accuracy_met


def test_ten_thousand_steps_of_sgd(benchmark):
    """A tenth of 1e5 steps at D = 1000 with four heads and eight tokens."""
    problem = HeadsProblem(flipped(6.0, 2), "softmax-1", 4, 8)
    tau = np.array([0.0, 5.0])
    simulate(problem, 1000, 0.5, np.array([0.0, 0.01]), [0], test=1)
    benchmark.pedantic(simulate, (problem, 1000, 0.5, tau, [0]), {"test": 1}, rounds=3)


@pytest.mark.parametrize(("heads", "length"), [(4, 32), (8, 32), (16, 32), (32, 32), (32, 64), (32, 128), (32, 256)])
def test_cost_of_heads_and_tokens(benchmark, heads, length):
    """One average at a fixed number of noise directions: doubling heads or tokens should double the time."""
    problem = HeadsProblem(flipped(6.0, 2), "softmax-1", heads, length)
    averages = build_averages(problem, 64, 2, seed=0)
    rng = np.random.default_rng(0)
    point = (rng.standard_normal((heads, 2)), rng.standard_normal((heads, 2)), np.zeros(heads))
    averages(*point)
    benchmark.pedantic(averages, point, rounds=5)
