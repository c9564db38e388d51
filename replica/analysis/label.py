"""Sampled averages of the channel relative to the second moment of the label, which is known (theory.md section 4).

For any nodes E y^2 = c_t^2 E x_t^2 + c_R^2 is known, so the ratio of averages

    A^ = A B_0/B,    A = average of M,    B = average of y^2 over the nodes,    B_0 = E y^2,

is as good an estimate of E M, and better where M follows y^2: what the attention does not explain is free of the
scatter of the labels. Without attention, f = 0, it is exact. The derivatives in the overlaps are those of A^.
"""

from __future__ import annotations

import numpy as np

from ..lowering.prior import OVERLAP_NAMES

# places of m_v and q_v behind the envelope in CHANNEL_TERMS
_PLACES = tuple(1 + OVERLAP_NAMES.index(name) for name in ("m_v", "q_v"))


def relative_to_label(
    averages: np.ndarray, coefficients: tuple[float, ...], moments: np.ndarray, variance: float
) -> np.ndarray:
    """CHANNEL_TERMS for A^ from those for A.

    Parameters
    ----------
    averages : ndarray
        E of CHANNEL_TERMS over the nodes.
    coefficients : tuple
        `TokenChannel.label_coefficients`, in order.
    moments : ndarray, shape (3,)
        Averages of x_t^2, x_t x_R and x_R^2 over the nodes.
    variance : float
        E x_t^2; that of x_R is one.
    """
    c, slopes = np.array(coefficients[:2]), np.array(coefficients[2:]).reshape(2, 2)

    def square(first: np.ndarray, second: np.ndarray, over: np.ndarray) -> float:
        """E of the product of two labels with these coefficients."""
        return over[0] * first[0] * second[0] + over[1] * (first @ second[::-1]) + over[2] * first[1] * second[1]

    exact = np.array([variance, 0.0, 1.0])
    known, found = square(c, c, exact), square(c, c, moments)
    ratio = known / found
    relative = averages * ratio
    for place, slope in zip(_PLACES, slopes, strict=True):
        relative[place] += averages[0] * 2.0 * (square(c, slope, exact) - ratio * square(c, slope, moments)) / found
    return relative


def label_moments(scalars: np.ndarray) -> np.ndarray:
    """Averages of x_t^2, x_t x_R and x_R^2 from `TokenNodes.scalars`."""
    x_t, x_R, weight = scalars.T
    return np.array([np.mean(weight * x_t**2), np.mean(weight * x_t * x_R), np.mean(weight * x_R**2)])
