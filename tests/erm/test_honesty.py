"""Error bars against a much finer solution: two of them cover the truth in at least 95 % of all numbers."""

import math

import numpy as np

from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from tests.erm.problems import LOW, MAX, NOISY_MAX, NOISY_SPIKED, SPIKED, numbers_of

CATALOGUE = [
    SPIKED,
    MAX,
    NOISY_SPIKED,
    NOISY_MAX,
    LOW[4.0, 1.0],
    LOW[2.0, 0.1],
    LOW[4.0, 0.1],
    LOW[8.0, 0.1],
    Problem(data=SpikedSLR(0.5), alpha=1.0, noise=0.5, reg_k=0.2, reg_v=0.4),
    Problem(data=SpikedSLR(8.0), alpha=1.5, reg_k=0.5, reg_v=0.3),
    Problem(data=MaxSLR(math.inf), alpha=1.0, reg_k=0.2, reg_v=0.2),
    Problem(data=MaxSLR(math.inf), alpha=20.0, noise=1.0),
]


def test_two_error_bars_cover_the_truth(solved):
    ratios = []
    for problem in CATALOGUE:
        fine = solved(problem, rtol=3e-6)[0]
        truth = numbers_of(fine)
        for rtol in (1e-2, 1e-3, 1e-4):
            coarse = solved(problem, rtol=rtol)[0]
            if coarse.nodes >= fine.nodes:
                continue
            found = numbers_of(coarse)
            ratios += [abs(found[name] - value) / coarse.errors[name] for name, value in truth.items()]
    ratios = np.array(ratios)
    assert len(ratios) > 100
    assert np.mean(ratios <= 2) >= 0.95
    assert ratios.max() < 6
    # nor are they so wide that they say nothing
    assert np.median(ratios) > 1e-3
