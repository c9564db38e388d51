"""Two hypotheses told apart by a Gaussian log-likelihood ratio."""

import math

import numpy as np
from numba import njit

INV_SQRT_2PI = 0.3989422804014327
TAIL = 64.0  # e^{-64/2} is 1e-14
REACH = 9.5


@njit(nogil=True, cache=True)
def binary_channel(prior, a, weight, step):
    """Averages over T ~ N(0, a^2) e^{-a^2/8} and a, for S = prior + T, the posterior log-odds.

    Parameters
    ----------
    prior : float array, shape (n,)
        Prior log-odds.
    a, weight : float arrays, shape (m,)
        Nodes a >= 0 and weights.
    step : float
        Largest spacing of S, also in units of a.

    Returns
    -------
    float array, shape (n, 3)
        E of sech(S/2), of (T^2/a^2 + a^2/4) sech(S/2), and of e^{S/2} log(1 + e^{-S}) + e^{-S/2} log(1 + e^S).
    """
    out = np.zeros((prior.size, 3))
    for i in range(prior.size):
        for j in range(a.size):
            width = max(a[j], 1e-12)
            low = max(-REACH, (-TAIL - prior[i]) / width)
            high = min(REACH, (TAIL - prior[i]) / width)
            if high <= low:
                continue
            count = math.ceil((high - low) / step * max(1.0, width))
            spacing = (high - low) / count
            scale = weight[j] * spacing * INV_SQRT_2PI * math.exp(-0.125 * width * width)
            for n in range(count + 1):
                t = low + n * spacing
                s = prior[i] + width * t
                half = math.exp(-0.5 * abs(s))
                small = half * half
                density = scale * math.exp(-0.5 * t * t)
                sech = density * 2.0 * half / (1.0 + small)
                soft = math.log1p(small)
                out[i, 0] += sech
                out[i, 1] += sech * (t * t + 0.25 * width * width)
                out[i, 2] += density * (soft / half + half * (abs(s) + soft))
    return out
