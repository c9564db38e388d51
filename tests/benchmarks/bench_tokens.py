"""Any activation and number of tokens: time to a given accuracy, and growth with L.

Run with `pytest tests/benchmarks/bench_tokens.py`; the first round compiles and is left out.
"""

import pytest

from replica import Linear, Problem, Softmax, SpikedSLR
from replica.analysis.erm import fixed_points
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel
from tests.tokens.problems import POINT, problem

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


@pytest.mark.parametrize("length", [4, 16, 64, 256])
def test_one_evaluation_grows_like_the_number_of_tokens(benchmark, length):
    one = problem(Softmax(), SpikedSLR(2.0), length)
    channel = NodeChannel(one, length, 7, 0)
    par = Equations(one, channel).parameters(POINT)

    def evaluate():
        channel._last = None
        return channel.sums(par)

    benchmark(evaluate)
