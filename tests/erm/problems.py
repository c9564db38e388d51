"""Problems with known answers: ERM of softmax attention at L = 2, from dense Gauss-Hermite grids with a brute-force
proximal point."""

from __future__ import annotations

import math
from typing import NamedTuple

from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem


class Reference(NamedTuple):
    """A problem, its numbers, and a bound on their relative error."""

    problem: Problem
    numbers: dict[str, float]
    relative_error: float


SPIKED = Problem(data=SpikedSLR(2.0), alpha=2.0)
NOISY_SPIKED = Problem(data=SpikedSLR(2.0), alpha=6.0, noise=0.3, reg_k=0.5, reg_v=0.5)
MAX = Problem(data=MaxSLR(math.inf), alpha=2.0)
NOISY_MAX = Problem(data=MaxSLR(math.inf), alpha=6.0, noise=0.3, reg_k=0.5, reg_v=0.5)
SOFT_MAX = Problem(data=MaxSLR(3.0), alpha=2.0)

_TABLE = """
#            m_k         q_k         V_k         m_v         q_v         V_v         test_risk   train_loss  err
spiked       0.189644206 0.098688494 0.887824652 0.523194620 0.386036047 0.587733330 0.614744344 0.146354616 1e-6
noisy-spiked 0.612741406 0.636341272 0.881436117 0.980094451 1.027580633 0.291897481 0.442781262 0.106442563 2.1e-4
max          0.166903945 0.094407925 0.891828189 0.515923562 0.383539933 0.595200378 0.637468799 0.151337251 1e-6
noisy-max    0.759343864 0.776457953 0.790996506 1.002551461 1.067699924 0.297029405 0.398427637 0.097757924 7e-6
soft-max     0.153097627 0.091501002 0.895427360 0.512040650 0.381797383 0.597300098 0.647682189 0.153654788 5.1e-6
"""


def _references(problems: dict[str, Problem]) -> dict[str, Reference]:
    header, *lines = _TABLE.strip().splitlines()
    found = {}
    for line in lines:
        name, *values = line.split()
        *numbers, relative_error = map(float, values)
        found[name] = Reference(problems[name], dict(zip(header.split()[1:-1], numbers, strict=True)), relative_error)
    return found


REFERENCES = _references(
    {"spiked": SPIKED, "noisy-spiked": NOISY_SPIKED, "max": MAX, "noisy-max": NOISY_MAX, "soft-max": SOFT_MAX}
)

LOW = {
    (alpha, reg): Problem(data=SpikedSLR(2.0), alpha=alpha, reg_k=reg, reg_v=reg)
    for reg, alphas in ((1.0, (4.0,)), (0.1, (2.0, 4.0, 8.0)), (0.01, (2.0, 4.0)))
    for alpha in alphas
}


def numbers_of(solution) -> dict[str, float]:
    """Every number with an error bar, by name."""
    names = ("test_risk", "train_loss", "objective")
    return {**solution.overlaps._asdict(), **{name: getattr(solution, name) for name in names}}
