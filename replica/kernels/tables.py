"""Averages of a tabulated function over shifts of its argument."""

import math

import numpy as np
from numba import njit


@njit(nogil=True, inline="always")
def lagrange_six(t, coefficient):
    """Fill the weights of the values at -2..3 for interpolation at t in [0, 1)."""
    a, b, c, d, e = t + 2.0, t + 1.0, t - 1.0, t - 2.0, t - 3.0
    coefficient[0] = -b * t * c * d * e / 120.0
    coefficient[1] = a * t * c * d * e / 24.0
    coefficient[2] = -a * b * c * d * e / 12.0
    coefficient[3] = a * b * t * d * e / 12.0
    coefficient[4] = -a * b * t * c * e / 24.0
    coefficient[5] = a * b * t * c * d / 120.0


@njit(nogil=True, cache=True)
def shifted_average(table, origin, stride, count, shift, weight):
    """sum_j weight[i, j] f(origin + stride n - shift[i, j]) for n = 0..count-1, f tabulated at the integers from 0.

    Arguments are in units of the table's step. The points asked for differ by a whole number of steps, so that the
    six-point Lagrange coefficients (error 5e-3 f^(6)) are the same for all of them and the sum over n is contiguous.

    Parameters
    ----------
    table : float array, shape (t,)
        Zero below its start; must cover every larger argument with three points to spare.
    origin : float
    stride, count : int
    shift, weight : float arrays, shape (i, j)

    Returns
    -------
    float array, shape (i, count)
    """
    rows, terms = shift.shape
    width = (table.size + stride - 1) // stride
    phases = np.zeros((stride, width))
    for n in range(table.size):
        phases[n % stride, n // stride] = table[n]
    out = np.zeros((rows, count))
    coefficient = np.empty(6)
    for i in range(rows):
        line = out[i]
        for j in range(terms):
            x = origin - shift[i, j]
            if x < 2.0:
                continue
            first = math.floor(x)
            lagrange_six(x - first, coefficient)
            for k in range(6):
                at = first - 2 + k
                phase = phases[at % stride]
                start = at // stride
                factor = weight[i, j] * coefficient[k]
                for n in range(count):
                    line[n] += factor * phase[start + n]
    return out
