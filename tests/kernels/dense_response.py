"""d g/d omega by differencing the proximal point itself: knows nothing of the Hessian formulas."""

from __future__ import annotations

import numpy as np

from tests.kernels.prox_module import Prox


def dense_response(name, omega_k, omega_v, y, V_k, V_v, step=1e-4):
    """K, shape (2L, 2L): rows g = (g_k, g_v), columns omega = (omega_k, omega_v); fourth-order differences."""
    length = len(omega_k)
    omega = np.concatenate([omega_k, omega_v])

    def g(shift):
        moved = omega + shift
        p = Prox(name, moved[:length], moved[length:], y, V_k, V_v)
        return np.concatenate([p.g_k, p.r * p.sigma])

    columns = []
    for unit in np.eye(2 * length) * step:
        columns.append((8.0 * (g(unit) - g(-unit)) - (g(2 * unit) - g(-2 * unit))) / (12.0 * step))
    return np.array(columns).T


def response_from_dense(K):
    """The six sums of `response_sums`, spelled out on the dense matrix."""
    half = len(K) // 2
    kk, kv, vk, vv = K[:half, :half], K[:half, half:], K[half:, :half], K[half:, half:]
    return np.array(
        [np.trace(kk), np.trace(vv), (kk**2).sum(), (kv**2).sum(), (vv**2).sum(), (kk * vv + kv * vk).sum()]
    )
