"""Averages of the risk of heads that share one normaliser, by single-token averages on a grid in log s.

Part of a generated module, which defines `entry`, `density`, `slope_inf`, `slope_noise`, `square_inf`, `square_noise`.
A node, x = (chi*_f) and xi with a weight as informative and one as another token, stands for its mirror images
xi -> -xi and, where the law of theta is symmetric, x -> -x, so that odd averages vanish exactly.
"""

import math

import numpy as np
from numba import njit

MOMENTS = 5
STEP = 0.5 * math.log(2.0)  # s_{k+2} = 2 s_k: the exponentials follow without calling exp
_NEGLIGIBLE = 40.0  # x beyond which e^{-x} is nothing, and -log x beyond which x is


@njit(nogil=True, cache=True)
def fields(x, xi, first, last, m, c, b, images, out):
    """Fill out[images node + image, h] = chi_h - b_h; returns the largest."""
    top = -np.inf
    for node in range(first, last):
        for h in range(len(b)):
            even, odd = 0.0, 0.0
            for f in range(x.shape[1]):
                even += m[h, f] * x[node, f]
            for j in range(xi.shape[1]):
                odd += c[h, j] * xi[node, j]
            for image in range(images):
                value = (even if image < 2 else -even) + (odd if image % 2 == 0 else -odd) - b[h]
                out[images * node + image, h] = value
                top = max(top, value)
    return top


@njit(nogil=True, cache=True)
def weigh(out, first, last, top, total):
    """Turn fields into shares u_h/w and fill total[i] = log w - top, w = sum_h u_h; returns the least total.

    Fields of a wide law may span more than the exponents of floating-point numbers: logarithms of w keep them apart.
    """
    least = np.inf
    for i in range(first, last):
        largest = out[i].max()
        w = 0.0
        for h in range(out.shape[1]):
            out[i, h] = entry(out[i, h], 0.0, largest)
            w += out[i, h]
        for h in range(out.shape[1]):
            out[i, h] /= w
        total[i] = largest - top + math.log(w)
        least = min(least, total[i])
    return least


@njit(nogil=True)
def decay(log_w, low, values, x):
    """Fill x[k] = s_k w and values[k] = e^{-x[k]} for s_k = exp(low + k STEP); returns up to which k they matter."""
    begin = min(max(int((-_NEGLIGIBLE - low - log_w) / STEP), 0), len(values))  # before, x is nothing
    for k in range(begin):
        x[k] = 0.0
        values[k] = 0.0
    for k in range(begin, min(begin + 2, len(values))):
        x[k] = math.exp(low + k * STEP + log_w)
        values[k] = -math.expm1(-x[k])
    end = len(values)
    for k in range(begin + 2, len(values)):
        if x[k - 2] > _NEGLIGIBLE:
            end = k
            break
        x[k] = 2.0 * x[k - 2]
        # 1 - e^{-2x} from 1 - e^{-x}: squares of e^{-x} itself would double its rounding error each time
        values[k] = values[k - 2] * (2.0 - values[k - 2])
    for k in range(end):
        values[k] = 1.0 - values[k]
    return end


@njit(nogil=True, cache=True)
def moments(total, weights, first, last, images, low, count, out):
    """Add x^j e^{-x} of the tokens, weighted, to out[kind, j, k], j < count."""
    size = out.shape[2]
    values, x = np.empty(size), np.empty(size)
    for i in range(images * first, images * last):
        end = decay(total[i], low, values, x)
        a, p = weights[0, i // images], weights[1, i // images]
        for j in range(count):
            for k in range(end):
                out[0, j, k] += a * values[k]
                out[1, j, k] += p * values[k]
                values[k] *= x[k]


@njit(nogil=True, cache=True)
def coefficients(n, inf, noise, squares, slope, square):
    """Integrate the risk over log s; fill the polynomials in x of its slopes and, if asked, of the squares."""
    risk = 1.0
    power = np.empty(MOMENTS)
    for k in range(inf.shape[1]):
        for j in range(MOMENTS):
            power[j] = noise[0, k] ** max(n - j, 0)
        a, p = inf[:, k], noise[:, k]
        risk += STEP * density(n, a, p, power)
        slope_inf(n, a, p, power, slope[0, :, k])
        slope_noise(n, a, p, power, slope[1, :, k])
        if squares:
            square_inf(n, a, p, power, square[0, :, k])
            square_noise(n, a, p, power, square[1, :, k])
    return risk


@njit(nogil=True, cache=True)
def accumulate(x, xi, weights, u, total, first, last, images, low, slope, square, squares, g_m, g_c, g_b, g_noise):
    """Add the tokens first..last to the gradients of R/2 by m, c and b, and to E sum_l rho_hl rho_kl (h >= k)."""
    size = slope.shape[2]
    values, y = np.empty(size), np.empty(size)
    pulls, weighs = np.empty((3, size)), np.empty((MOMENTS, size))
    heads = u.shape[1]
    for node in range(first, last):
        a, p = weights[0, node], weights[1, node]
        for j in range(3):  # the polynomials of the slopes are of second degree
            for k in range(size):
                pulls[j, k] = a * slope[0, j, k] + p * slope[1, j, k]
        if squares:
            for j in range(MOMENTS):
                for k in range(size):
                    weighs[j, k] = a * square[0, j, k] + p * square[1, j, k]
        for image in range(images):
            i = images * node + image
            end = decay(total[i], low, values, y)
            pull = 0.0
            for k in range(end):
                t = y[k]
                pull += t * values[k] * (pulls[0, k] + t * (pulls[1, k] + t * pulls[2, k]))
            pull *= STEP
            s_x = 1.0 if image < 2 else -1.0
            s_xi = 1.0 if image % 2 == 0 else -1.0
            for h in range(heads):
                g = pull * u[i, h]
                g_b[h] -= g
                for f in range(x.shape[1]):
                    g_m[h, f] += g * s_x * x[node, f]
                for j in range(xi.shape[1]):
                    g_c[h, j] += g * s_xi * xi[node, j]
            if squares:
                weight = 0.0
                for k in range(end):
                    t = y[k]
                    part = weighs[2, k] + t * (weighs[3, k] + t * weighs[4, k])
                    weight += t * t * values[k] * (weighs[0, k] + t * (weighs[1, k] + t * part))
                weight *= STEP
                for h in range(heads):
                    for j in range(h + 1):
                        g_noise[h, j] += weight * u[i, h] * u[i, j]
