"""Posterior of the position given prior chances, averaged over the label and the values."""

import math

import numpy as np
from numba import njit

from .tables import lagrange_six


@njit(nogil=True, inline="always")
def _add(line, factor, table, start):
    for n in range(line.size):
        line[n] += factor * table[start + n]


@njit(nogil=True, cache=True)
def positions_channel(log_pi, alive, alive_u, calm, peaked, origin, count, y_weight, spacing):
    """Averages over (y, omega_v) of the posterior p of the position, for given prior chances pi.

    Given y the likelihoods n_l = e^{-w_l^2/2} of the wrong positions are independent. With x = e^s, the transforms
    calm = E e^{-xn}, peaked = E x n e^{-xn} of a wrong position and alive = E e^{-xn}, alive_u = E u^2 e^{-xn} of the
    right one (theory.md section 6):

        E p_l p_m              = pi_l int dy ds alive_l peaked_m prod_{j != l,m} calm_j
        E sum_j p_j(1-p_j)u_j^2 = sum_j pi_j int dy ds alive_u_j sum_{m != j} peaked_m prod_{i != j,m} calm_i
        E -log p               = sum_j pi_j int dy ds alive_j (1 - prod_{m != j} calm_m)

    where the index of a transform means s + log pi.

    Parameters
    ----------
    log_pi : float array, shape (n, L)
        -inf for impossible positions.
    alive, alive_u, calm, peaked : float arrays, shape (y, stride, t)
        Tables in s in steps of spacing/stride: step n is at [n % stride, n // stride], so that equal phases are
        contiguous.
    origin : int
        Index of the first s in the tables; log pi reaches down to 3 steps above their start.
    count : int
        Number of values of s.
    y_weight : float array, shape (y,)
    spacing : float
        Distance of the values of s.

    Returns
    -------
    both : float array, shape (n, L, L)
        E p_l p_m for l != m, 0 on the diagonal.
    lost_fit, surprise : float arrays, shape (n,)
    """
    samples, tokens = log_pi.shape
    both = np.zeros((samples, tokens, tokens))
    lost_fit, surprise = np.zeros(samples), np.zeros(samples)
    right, right_u = np.empty((tokens, count)), np.empty((tokens, count))
    wrong, peak = np.empty((tokens, count)), np.empty((tokens, count))
    coefficient, product = np.empty(6), np.empty(count)
    stride = alive.shape[1]
    step = spacing / stride
    for i in range(samples):
        for row in range(y_weight.size):
            for j in range(tokens):
                x = origin + log_pi[i, j] / step
                if x < 3.0:
                    right[j], right_u[j], wrong[j], peak[j] = 0.0, 0.0, 1.0, 0.0
                    continue
                first = math.floor(x)
                lagrange_six(x - first, coefficient)
                right[j], right_u[j], wrong[j], peak[j] = 0.0, 0.0, 0.0, 0.0
                for k in range(6):
                    phase, start = (first - 2 + k) % stride, (first - 2 + k) // stride
                    c = coefficient[k]
                    _add(right[j], c, alive[row, phase], start)
                    _add(right_u[j], c, alive_u[row, phase], start)
                    _add(wrong[j], c, calm[row, phase], start)
                    _add(peak[j], c, peaked[row, phase], start)
            weight = y_weight[row] * spacing
            for j in range(tokens):
                pi = math.exp(log_pi[i, j])
                if pi < 1e-15:
                    continue
                for m in range(tokens):
                    if m == j:
                        continue
                    product[:] = peak[m]
                    for other in range(tokens):
                        if other not in (j, m):
                            product *= wrong[other]
                    both[i, j, m] += weight * pi * np.dot(right[j], product)
                    lost_fit[i] += weight * pi * np.dot(right_u[j], product)
                product[:] = 1.0
                for other in range(tokens):
                    if other != j:
                        product *= wrong[other]
                surprise[i] += weight * pi * (right[j].sum() - np.dot(right[j], product))
    return both, lost_fit, surprise
