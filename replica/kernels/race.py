"""Posterior of the position in a race: token l wins if its noisy score is the largest."""

import math

import numpy as np
from numba import njit


@njit(nogil=True, inline="always")
def _interpolate(table, x):
    # four-point Lagrange; x in steps from the table's start, already inside
    n = min(max(int(x), 1), table.size - 3)
    t = x - n
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return (
        -table[n - 1] * t * b * c / 6.0
        + table[n] * a * b * c * 0.5
        - table[n + 1] * a * t * c * 0.5
        + table[n + 2] * a * t * b / 6.0
    )


@njit(nogil=True)
def _prior(score, log_cdf, hazard, low, step, grid, h, pi, pair):
    """Fill pi_l = int dr P h_l and W_jl = int dr P h_j h_l (0 on the diagonal) for one sample."""
    tokens, last = score.size, log_cdf.size - 3
    spacing = grid[1] - grid[0]
    top = score.max()
    pi[:] = 0.0
    pair[:] = 0.0
    for k in range(grid.size):
        log_p = 0.0
        for j in range(tokens):
            x = (grid[k] + top - score[j] - low) / step
            h[j] = 0.0
            if x < last:
                log_p += _interpolate(log_cdf, x)
                h[j] = _interpolate(hazard, x)
        weight = spacing * math.exp(log_p)
        for j in range(tokens):
            factor = weight * h[j]
            pi[j] += factor
            line = pair[j]
            for l in range(j):
                line[l] += factor * h[l]
    for j in range(tokens):
        for l in range(j):
            pair[l, j] = pair[j, l]


@njit(nogil=True, cache=True)
def race_prior(scores, log_cdf, hazard, low, step, grid):
    """Winning chances and how they move with the scores, without any label.

    Parameters
    ----------
    scores : float array, shape (n, L)
    log_cdf, hazard, low, step, grid
        As for `race_channel`.

    Returns
    -------
    pi : float array, shape (n, L)
    pair : float array, shape (n, L, L)
        W_jl = -d pi_l/d scores_j for j != l, 0 on the diagonal.
    """
    samples, tokens = scores.shape
    h = np.zeros(tokens)
    pi, pair = np.zeros((samples, tokens)), np.zeros((samples, tokens, tokens))
    for i in range(samples):
        _prior(scores[i], log_cdf, hazard, low, step, grid, h, pi[i], pair[i])
    return pi, pair


@njit(nogil=True, cache=True)
def race_channel(scores, gaps, u, every, log_cdf, hazard, low, step, grid, tau):
    """Sums over samples of the channel averages of max-SLR (theory.md section 6).

    The noisy score of token l is scores[l] plus independent noise of distribution function F and reverse hazard
    h = f/F. With P = prod_j F(r - scores_j), h_l = h(r - scores_l), and W_jl = int dr P h_j h_l,

        pi_l = int dr P h_l,   d pi_l/d scores_j = -W_jl (j != l),   d pi_l/d scores_l = sum_{j != l} W_jl

    By Nishimori's identities what is lost by not knowing the position is a posterior variance, of g_l = grad log pi_l
    for the keys and of u for the values; it fluctuates far less than the information itself.

    Parameters
    ----------
    scores : float array, shape (n, L)
        omega_k.
    gaps : float array, shape (n, L)
        omega_v; only differences matter.
    u : float array, shape (n,)
        Standardised residual of the relevant token.
    every : bool
        Sum over all positions, each with its prior probability; otherwise the relevant token is the first.
    log_cdf, hazard : float arrays
        log F and h at low + step * i.
    grid : float array
        Equally spaced values of r - max scores.
    tau : float
        Standard deviation of y given the values.

    Returns
    -------
    float array, shape (6,)
        Sums of sum_l pi_l |g_l|^2, sum_l p_l |g_l|^2 - |sum_l p_l g_l|^2, sum_l p_l (1 - p_l) u_l^2,
        -sum_l p_l log p_l, sum_l pi_l log pi_l, sum_l pi_l (1 - pi_l).
    """
    samples, tokens = scores.shape
    h, pi, square = np.zeros(tokens), np.zeros(tokens), np.zeros(tokens)
    p, likelihood, residual, row_sum = np.zeros(tokens), np.zeros(tokens), np.zeros(tokens), np.zeros(tokens)
    pair = np.zeros((tokens, tokens))
    out = np.zeros(6)
    for i in range(samples):
        _prior(scores[i], log_cdf, hazard, low, step, grid, h, pi, pair)
        for j in range(tokens):
            norm, row_sum[j] = 0.0, 0.0
            for l in range(tokens):
                row_sum[j] += pair[j, l]
                norm += pair[j, l] ** 2
            square[j] = 0.0
            if pi[j] > 1e-140:  # its square is a divisor
                square[j] = (norm + row_sum[j] ** 2) / pi[j] ** 2
                out[0] += pi[j] * square[j]
                out[4] += pi[j] * math.log(pi[j])
                out[5] += pi[j] * (1.0 - pi[j])
            else:
                pi[j] = 0.0
        for position in range(tokens if every else 1):
            chance = pi[position] if every else 1.0
            if chance < 1e-14:
                continue
            least = math.inf
            for j in range(tokens):
                residual[j] = u[i] + (gaps[i, position] - gaps[i, j]) / tau
                if pi[j] > 0.0:
                    least = min(least, residual[j] ** 2)
            z = 0.0
            for j in range(tokens):
                likelihood[j] = math.exp(0.5 * (least - residual[j] ** 2)) if pi[j] > 0.0 else 0.0
                z += pi[j] * likelihood[j]
            for j in range(tokens):
                p[j] = pi[j] * likelihood[j] / z
                slope = likelihood[j] * row_sum[j]
                for l in range(tokens):
                    slope -= pair[j, l] * likelihood[l]
                out[1] += chance * (p[j] * square[j] - (slope / z) ** 2)
                if p[j] > 0.0:
                    out[2] += chance * p[j] * (1.0 - p[j]) * residual[j] ** 2
                    out[3] -= chance * p[j] * math.log(p[j])
    return out
