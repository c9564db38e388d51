"""Speed of the equations and of SGD of several heads. Run: python -m pytest tests/benchmarks/bench_heads.py"""

import time
import timeit

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


@pytest.mark.parametrize("activation", ["softmax-1", "bayes-softmax"])
@pytest.mark.parametrize("rank", ["two", "full"])
def test_cost_of_heads_and_tokens(benchmark, activation, rank):
    """One average up to H = 32, L = 256; `heads` and `tokens` in extra_info are the exponents of its time.

    With a fixed number J of noise directions, as in searches, it is linear in heads and in tokens. A flow needs J = H:
    chi = c xi then takes H^2 products a token, which the exponentials outweigh at small H only. The joint normaliser of
    bayes-softmax does not see L at all.
    """

    def average(heads, length):
        problem = HeadsProblem(flipped(6.0, 2), activation, heads, length)
        directions = 2 if rank == "two" else heads
        nodes = build_averages(problem, 64, directions, seed=0)
        rng = np.random.default_rng(0)
        point = (rng.standard_normal((heads, 2)), 0.3 * rng.standard_normal((heads, directions)), np.zeros(heads))
        nodes(*point)
        return lambda: nodes(*point)

    def exponent(sizes, calls):
        times = [min(timeit.repeat(call, timer=time.process_time, number=3, repeat=5)) for call in calls]
        return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])

    counts, lengths = [4, 8, 16, 32], [32, 64, 128, 256]
    benchmark.extra_info["heads"] = exponent(counts, [average(heads, 64) for heads in counts])
    benchmark.extra_info["tokens"] = exponent(lengths, [average(16, length) for length in lengths])
    benchmark.pedantic(average(32, 256), rounds=3)
