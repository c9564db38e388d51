"""Problems with known answers: replica-symmetric ERM of softmax attention at L = 2, from dense Gauss-Hermite grids with a
brute-force proximal point."""

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


def _reference(problem, m_k, q_k, V_k, m_v, q_v, V_v, test_risk, train_loss, relative_error):
    numbers = {"m_k": m_k, "q_k": q_k, "V_k": V_k, "m_v": m_v, "q_v": q_v, "V_v": V_v}
    return Reference(problem, {**numbers, "test_risk": test_risk, "train_loss": train_loss}, relative_error)


SPIKED = Problem(data=SpikedSLR(2.0), alpha=2.0)
NOISY_SPIKED = Problem(data=SpikedSLR(2.0), alpha=6.0, noise=0.3, reg_k=0.5, reg_v=0.5)
MAX = Problem(data=MaxSLR(math.inf), alpha=2.0)
NOISY_MAX = Problem(data=MaxSLR(math.inf), alpha=6.0, noise=0.3, reg_k=0.5, reg_v=0.5)
SOFT_MAX = Problem(data=MaxSLR(3.0), alpha=2.0)

REFERENCES = {
    "spiked": _reference(
        SPIKED, 0.189644206, 0.098688494, 0.887824652, 0.52319462, 0.386036047, 0.58773333, 0.614744344, 0.146354616, 1e-6
    ),
    "noisy spiked": _reference(
        NOISY_SPIKED,
        *(0.612741406, 0.636341272, 0.881436117, 0.980094451, 1.027580633, 0.291897481, 0.442781262, 0.106442563, 2.03e-4),
    ),
    "max": _reference(
        MAX, 0.166903945, 0.094407925, 0.891828189, 0.515923562, 0.383539933, 0.595200378, 0.637468799, 0.151337251, 1e-6
    ),
    "noisy max": _reference(
        NOISY_MAX,
        *(0.759343864, 0.776457953, 0.790996506, 1.002551461, 1.067699924, 0.297029405, 0.398427637, 0.097757924, 6.9e-6),
    ),
    "soft max": _reference(
        SOFT_MAX,
        *(0.153097627, 0.091501002, 0.89542736, 0.51204065, 0.381797383, 0.597300098, 0.647682189, 0.153654788, 5.1e-6),
    ),
}

LOW = {
    (alpha, reg): Problem(data=SpikedSLR(2.0), alpha=alpha, reg_k=reg, reg_v=reg)
    for reg, alphas in ((1.0, (4.0,)), (0.1, (2.0, 4.0, 8.0)), (0.01, (2.0, 4.0)))
    for alpha in alphas
}


def numbers_of(solution) -> dict[str, float]:
    """Every number with an error bar, by name."""
    names = ("test_risk", "train_loss", "objective")
    return {**solution.overlaps._asdict(), **{name: getattr(solution, name) for name in names}}
