"""Cost of one proximal point per activation, in the easy and the hard range, and its growth with L."""

from __future__ import annotations

import numpy as np
import pytest

from replica.kernels.prox import prox_work
from tests.kernels.prox_module import prox_module

NODES = 200


def nodes(length):
    rng = np.random.default_rng(0)
    omega_k, omega_v = rng.normal(size=(2, NODES, length))
    return omega_k, omega_v, omega_v[:, 0] + 0.3 * rng.normal(size=NODES)


@pytest.mark.parametrize("name", ["linear", "linear-centred", "softmax", "softplus", "erf"])
@pytest.mark.parametrize("length", [3, 10, 64, 1000])
@pytest.mark.parametrize("variances", [(0.3, 0.3), (3.0, 0.5), (30.0, 1.0)], ids=str)
def test_prox_block(benchmark, name, length, variances):
    """A block of NODES points; divide by NODES (and by L) for the cost of one (per token)."""
    module = prox_module(name)
    omega_k, omega_v, y = nodes(length)
    arrays = [np.empty(length) for _ in range(3)]
    work = prox_work(length)
    block = module.prox_block
    block(omega_k[:1], omega_v[:1], y, *variances, *arrays, *work)
    proved = benchmark(block, omega_k, omega_v, y, *variances, *arrays, *work)
    benchmark.extra_info["proved global"] = proved / NODES


@pytest.mark.parametrize("length", [3, 64, 1000])
def test_response(benchmark, length):
    module = prox_module("softmax")
    omega_k, omega_v, y = nodes(length)
    chi, sigma, g_k = (np.empty(length) for _ in range(3))
    work = prox_work(length)
    r, *_ = module.prox_point(omega_k[0], omega_v[0], y[0], 0.3, 0.3, chi, sigma, g_k, *work)
    benchmark(module.prox_response, chi, sigma, omega_v[0], r, 0.3, 0.3, *work)
