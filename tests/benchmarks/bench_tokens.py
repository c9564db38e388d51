"""Any activation and number of tokens: time to a given accuracy, and growth with L.

Run with `pytest tests/benchmarks/bench_tokens.py`; the first round compiles and is left out.
"""

import time

import numpy as np
import pytest

from replica import Linear, Problem, Softmax, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import SCRAMBLES, NodeChannel
from tests.tokens.problems import POINT, problem

LENGTHS = (4, 16, 64, 256, 1024)
CASES = {
    "softmax, L = 3, reg = .3": (Problem(SpikedSLR(2.0), Softmax(), 4.0, 3, 0.3, 0.3, 0.3), 1e-3),
    "softmax, L = 64": (Problem(SpikedSLR(2.0), Softmax(), 4.0, 64, 0.3), 1e-2),
    "linear, L = 1000": (Problem(SpikedSLR(2.0), Linear(), 4.0, 1000, 0.3), 1e-3),
    "optimal penalties, softmax, L = 2": (
        Problem(SpikedSLR(2.0), Softmax(), 4.0, 2, 0.3, reg_k="optimal", reg_v="optimal"),
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_solve(benchmark, name):
    one, rtol = CASES[name]
    found = benchmark.pedantic(fixed_points, (one,), {"rtol": rtol}, rounds=3, warmup_rounds=1)
    assert found[0].converged
    benchmark.extra_info["relative error"] = found[0].errors["test_risk"] / found[0].test_risk


@pytest.mark.parametrize("activation", [Softmax(), Linear()], ids=["softmax", "linear"])
def test_cost_is_linear_in_the_number_of_tokens(benchmark, activation):
    """Nodes and ten evaluations at growing L: the exponent of the cost, at most one, and what one token costs."""

    def work(length: int) -> float:
        one = problem(activation, SpikedSLR(2.0), length)
        begin = time.process_time()
        channel = NodeChannel(one, length, 7, 0, threads=1)
        par = Equations(one, channel).parameters(POINT)
        for _ in range(10):
            channel._last.clear()
            channel.sums(par)
        return time.process_time() - begin

    work(LENGTHS[0])
    seconds = {length: min(work(length) for _ in range(3)) for length in LENGTHS}
    benchmark.pedantic(work, (LENGTHS[-1],), rounds=1)
    exponent = np.polyfit(np.log(LENGTHS[1:]), np.log([seconds[length] for length in LENGTHS[1:]]), 1)[0]
    evaluations = 10 * SCRAMBLES * 2**7
    benchmark.extra_info["exponent"] = round(float(exponent), 2)
    benchmark.extra_info["microseconds by L, a node and a token"] = {
        length: round(1e6 * value / evaluations / length, 3) for length, value in seconds.items()
    }
    assert exponent < 1.2
