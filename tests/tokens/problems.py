"""Problems and points shared by the tests of the token channel."""

from __future__ import annotations

import functools

import numpy as np

from replica import Erf, Linear, LinearCentred, MaxSLR, Problem, Softmax, Softplus, SpikedSLR
from replica.analysis.erm_map import Equations
from replica.analysis.node_channel import NodeChannel

ACTIVATIONS = {
    "softmax": Softmax(),
    "softplus": Softplus(),
    "linear": Linear(),
    "linear-centred": LinearCentred(),
    "erf": Erf(-0.5),
}
MODELS = {"spiked": SpikedSLR(2.0), "max": MaxSLR(), "max, nu = 3": MaxSLR(3.0)}
POINT = np.array([0.4, 0.7, 0.6, 0.5, 0.6, 0.35])


def problem(activation, data, length=3, **options):
    """A problem with noise and unequal penalties."""
    defaults = {"alpha": 4.0, "length": length, "noise": 0.3, "reg_k": 0.3, "reg_v": 0.4}
    return Problem(data, activation, **{**defaults, **options})


@functools.cache
def equations(activation, data, length=3, log2_count=8, seed=0):
    """The map on nodes of a small channel."""
    one = problem(activation, data, length)
    return Equations(one, NodeChannel(one, length, log2_count, seed))
