"""Speed of the Bayes side. Run: python -m pytest tests/benchmarks/bench_bayes.py

Figures: spiked, two tokens, 1e-6: 0.1 s; 10^4 tokens: 1 s; max, three tokens, 1e-4: 2 s; thresholds of two tokens to
1e-3: 10 s.
"""

import math

import pytest

from replica import MaxSLR, Problem, SpikedSLR
from replica.analysis.bayes import fixed_points
from replica.analysis.thresholds import thresholds

CASES = {
    "spiked-2": (Problem(data=SpikedSLR(2.0), alpha=2.0, length=2, noise=0.3), 1e-6, 0.1),
    "spiked-10000": (Problem(data=SpikedSLR(12.0), alpha=3.0, length=10_000, noise=0.3), 1e-6, 1.0),
    "max-3": (Problem(data=MaxSLR(), alpha=4.0, length=3, noise=0.3), 1e-4, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_fixed_points(benchmark, name):
    problem, rtol, figure = CASES[name]
    fixed_points(problem, rtol=rtol)
    found = benchmark.pedantic(fixed_points, args=(problem,), kwargs={"rtol": rtol}, rounds=5)
    assert all(solution.accuracy_met for solution in found)
    benchmark.extra_info["figure"] = figure


def test_many_max_tokens(benchmark):
    problem = Problem(data=MaxSLR(), alpha=20.0, length=64, noise=0.3)
    found = benchmark.pedantic(fixed_points, args=(problem,), kwargs={"rtol": 0.5, "init": "uninformed"}, rounds=1)
    assert all(math.isfinite(solution.test_risk) for solution in found)


@pytest.mark.parametrize("data", [SpikedSLR(2.0), MaxSLR()])
def test_thresholds(benchmark, data):
    rows = benchmark.pedantic(thresholds, args=(Problem(data=data, length=2, noise=0.0),), rounds=2)
    assert all(row.status == "certified" for row in rows)
    benchmark.extra_info["figure"] = 10.0
