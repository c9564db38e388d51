"""Stable scalar leaves: what the opaque functions of `replica.equations.functions` are lowered to.

The text of this file is part of every generated module, so a change here gives every kernel a new name.
"""

import math

from numba import njit

SQRT_HALF = 0.7071067811865476
INV_SQRT_2PI = 0.3989422804014327


@njit(nogil=True, error_model="numpy")
def sigmoid(x):
    e = math.exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


@njit(nogil=True, error_model="numpy")
def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(nogil=True, error_model="numpy")
def log_softplus(x):
    # relative error e^2x/8 of the expansion below the switch
    return x - 0.5 * math.exp(x) if x < -18.0 else math.log(softplus(x))


@njit(nogil=True, error_model="numpy")
def softplus_slope(x):
    return 1.0 - 0.5 * math.exp(x) if x < -18.0 else sigmoid(x) / softplus(x)


@njit(nogil=True, error_model="numpy")
def log_add_exp(x, y):
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@njit(nogil=True, error_model="numpy")
def normal_pdf(x):
    return INV_SQRT_2PI * math.exp(-0.5 * x * x)


@njit(nogil=True, error_model="numpy")
def normal_cdf(x):
    return 0.5 * math.erfc(-x * SQRT_HALF)


@njit(nogil=True, error_model="numpy")
def inverse_mills(x):
    if x > -10.0:
        return normal_pdf(x) / normal_cdf(x)
    # continued fraction of the Mills ratio, |x| >= 10: 24 levels reach round-off
    t = -x
    tail = t
    for level in range(24, 0, -1):
        tail = t + level / tail
    return tail


@njit(nogil=True, error_model="numpy")
def log_ndtr(x):
    if x > 0.0:  # Phi is close to one: its distance from one keeps the digits
        return math.log1p(-normal_cdf(-x))
    if x > -10.0:
        return math.log(normal_cdf(x))
    return -0.5 * x * x + math.log(INV_SQRT_2PI) - math.log(inverse_mills(x))
