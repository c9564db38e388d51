"""Averages of the risk of heads that share one normaliser, by single-token averages on a grid in log s.

Part of a generated module, which defines `entry`, `density`, `slope_inf`, `slope_noise`, `square_inf`, `square_noise`.
A node, x = (chi*_f) and xi with a weight as informative and one as another token, stands for its images, which change
the sign of x or of xi, so that odd averages vanish exactly.

Averages depend on a token only by log w = log sum_h u_h, and smoothly. So weights are handed from the tokens to the
points of a lattice in log w, by Lagrange interpolation, and derivatives back: the cost of the integrals over log s does
not grow with the number of nodes. The interpolation is wrong by 1e-13 in e^{-x} and by 1e-10 in x^4 e^{-x}.
"""

import math

import numpy as np
from numba import njit

MOMENTS = 5
REFINE = 8
FINE = math.log(2.0) / 16  # spacing of the lattice in log w
STEP = REFINE * FINE  # of log s, a multiple of it: s w falls on one lattice
POINTS = 8  # of the interpolation
_INVERSE = np.array([(-1) ** (7 - p) / (math.factorial(p) * math.factorial(7 - p)) for p in range(POINTS)])
_SMALLEST = 40.0  # -log x beyond which x is nothing
_LARGEST = 60.0  # x beyond which x^6 e^{-x} is nothing


@njit(nogil=True, cache=True)
def fields(x, xi, first, last, m, c, b, signs, out):
    """Fill out[images node + image, h] = chi_h - b_h; returns the largest."""
    top = -np.inf
    images = len(signs)
    for node in range(first, last):
        for h in range(len(b)):
            of_x, of_xi = 0.0, 0.0
            for f in range(x.shape[1]):
                of_x += m[h, f] * x[node, f]
            for j in range(xi.shape[1]):
                of_xi += c[h, j] * xi[node, j]
            for image in range(images):
                value = signs[image, 0] * of_x + signs[image, 1] * of_xi - b[h]
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
def interpolation(log_w, start, shares):
    """Fill the shares of POINTS lattice points start + n FINE around log_w; returns the first n."""
    position = (log_w - start) / FINE
    first = int(position) - (POINTS // 2 - 1)
    offset = position - first
    before = 1.0
    for p in range(POINTS):
        shares[p] = before * _INVERSE[p]
        before *= offset - p
    after = 1.0
    for p in range(POINTS - 1, -1, -1):
        shares[p] *= after
        after *= offset - p
    return first


@njit(nogil=True, cache=True)
def spread(total, weights, images, start, out):
    """Add the weights of all tokens to the lattice, out[kind, n]."""
    shares = np.empty(POINTS)
    for i in range(len(total)):
        first = interpolation(total[i], start, shares)
        a, p = weights[0, i // images], weights[1, i // images]
        for n in range(POINTS):
            out[0, first + n] += a * shares[n]
            out[1, first + n] += p * shares[n]


@njit(nogil=True, cache=True)
def powers(low, out):
    """Fill out[j, d] = x^j e^{-x}, x = exp(low + d FINE); returns the d from which on x matters, and e^{-x} no more."""
    size = out.shape[1]
    begin = min(max(int((-_SMALLEST - low) / FINE), 0), size)
    end = min(max(int((math.log(_LARGEST) - low) / FINE) + 1, 0), size)
    for d in range(begin, end):
        x = math.exp(low + d * FINE)
        out[0, d] = math.exp(-x)
        for j in range(1, len(out)):
            out[j, d] = x * out[j - 1, d]
    return begin, end


@njit(nogil=True, cache=True)
def moments(lattice, table, begin, end, count, out):
    """Fill out[kind, j, k], j < count, with the averages of x^j e^{-x} at the k-th s."""
    bins = lattice.shape[1]
    ones = np.zeros((2, bins + 1))
    for n in range(bins):
        ones[0, n + 1] = ones[0, n] + lattice[0, n]
        ones[1, n + 1] = ones[1, n] + lattice[1, n]
    for k in range(out.shape[2]):
        d = REFINE * k
        first, last = min(max(begin - d, 0), bins), min(max(end - d, 0), bins)
        for j in range(count):
            for kind in range(2):
                out[kind, j, k] = np.dot(lattice[kind, first:last], table[j, d + first : d + last])
        out[0, 0, k] += ones[0, first]  # e^{-x} = 1
        out[1, 0, k] += ones[1, first]


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
def integrals(polynomials, table, begin, end, order, out):
    """Fill out[kind, n] with the integral over log s of x^order p_kind(x) e^{-x}, for each lattice point."""
    kinds, degree, size = polynomials.shape
    bins = out.shape[1]
    for kind in range(kinds):
        for k in range(size):
            d = REFINE * k
            first, last = min(max(begin - d, 0), bins), min(max(end - d, 0), bins)
            for j in range(degree):
                factor = STEP * polynomials[kind, j, k]
                for n in range(first, last):
                    out[kind, n] += factor * table[j + order, d + n]


@njit(nogil=True, cache=True)
def accumulate(x, xi, weights, u, total, first, last, signs, start, pulls, weighs, squares, g_m, g_c, g_b, g_noise):
    """Add the tokens first..last to the gradients of R/2 by m, c and b, and to E sum_l rho_hl rho_kl (h >= k)."""
    shares = np.empty(POINTS)
    heads, images = u.shape[1], len(signs)
    for node in range(first, last):
        a, p = weights[0, node], weights[1, node]
        for image in range(images):
            i = images * node + image
            begin = interpolation(total[i], start, shares)
            pull = 0.0
            for n in range(POINTS):
                pull += shares[n] * (a * pulls[0, begin + n] + p * pulls[1, begin + n])
            for h in range(heads):
                g = pull * u[i, h]
                g_b[h] -= g
                for f in range(x.shape[1]):
                    g_m[h, f] += g * signs[image, 0] * x[node, f]
                for j in range(xi.shape[1]):
                    g_c[h, j] += g * signs[image, 1] * xi[node, j]
            if squares:
                weight = 0.0
                for n in range(POINTS):
                    weight += shares[n] * (a * weighs[0, begin + n] + p * weighs[1, begin + n])
                for h in range(heads):
                    for j in range(h + 1):
                        g_noise[h, j] += weight * u[i, h] * u[i, j]
