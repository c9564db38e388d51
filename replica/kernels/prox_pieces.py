"""Elementwise phi made of straight pieces: a certificate and starts from the dual of the proximal problem.

Leaf text of generated modules; see `prox_elementwise.py`. With b = omega_v (less its mean if CENTRED) and c the mean of
phi if CENTRED, else 0, for every r

    Phi(chi) >= r y - r^2/2 + sum_l d_l(chi_l)       (CENTRED: r (y - L mean omega_v) - r^2 (1 + L V_v)/2 + ...),
    d_l(x) = (x - omega_k,l)^2/(2 V_k) - r b_l phi(x) - (V_v r^2/2)(phi(x) - c)^2,

with equality where r is the residual of chi; d_l is a parabola on each piece.
"""

import math

from numba import njit

HALVINGS = 24


@njit(nogil=True, error_model="numpy")
def straight_means(chi, omega_v):
    """(c, mean of omega_v) of the module's text."""
    mean = 0.0
    mean_v = 0.0
    if CENTRED:
        for l in range(chi.shape[0]):
            phi, _, _ = scalar_terms(chi[l], piece_of(chi[l]))
            mean += phi / chi.shape[0]
            mean_v += omega_v[l] / chi.shape[0]
    return mean, mean_v


@njit(nogil=True, error_model="numpy")
def straight_minimum(omega, pull, spring, mean, V_k):
    """(x, d(x)) at the minimiser of d; d = -inf where there is none."""
    best = math.inf
    best_x = omega
    for piece in range(KINKS.shape[0] + 1):
        low = KINKS[piece - 1] if piece > 0 else -math.inf
        high = KINKS[piece] if piece < KINKS.shape[0] else math.inf
        at_zero, slope, _ = scalar_terms(0.0, piece)
        bend = 1.0 - V_k * spring * slope * slope
        if bend > 0.0:
            x = (omega + V_k * slope * (pull + spring * (at_zero - mean))) / bend
            low = high = min(max(x, low), high)
        for end in (low, high):
            if abs(end) == math.inf:
                return omega, -math.inf
            phi = at_zero + slope * end
            value = 0.5 * (end - omega) ** 2 / V_k - pull * phi - 0.5 * spring * (phi - mean) ** 2
            if value < best:
                best = value
                best_x = end
    return best_x, best


@njit(nogil=True, error_model="numpy")
def straight_certificate(chi, omega_k, omega_v, r, energy, V_k, V_v):
    """True if chi, stationary with this r, is the global minimum: Phi falls nowhere by more than the sum of d_l can."""
    mean, mean_v = straight_means(chi, omega_v)
    spring = V_v * r * r
    deficit = 0.0
    for l in range(chi.shape[0]):
        pull = r * (omega_v[l] - mean_v)
        phi, _, _ = scalar_terms(chi[l], piece_of(chi[l]))
        here = 0.5 * (chi[l] - omega_k[l]) ** 2 / V_k - pull * phi - 0.5 * spring * (phi - mean) ** 2
        deficit += here - straight_minimum(omega_k[l], pull, spring, mean, V_k)[1]
    return deficit <= 1e-10 * energy


@njit(nogil=True, error_model="numpy")
def straight_start(chi, omega_k, omega_v, y, energy, V_k, V_v, upper, start):
    """Into `start` the minimisers of all d_l at the r where these and r agree, or jump past it: on its lower or `upper`
    side. False if there is no such r in reach."""
    mean, mean_v = straight_means(chi, omega_v)
    low = -math.sqrt(2.0 * energy)
    high = -low
    for _ in range(HALVINGS):
        r = 0.5 * (low + high)
        balance = y - r
        bounded = True
        for l in range(chi.shape[0]):
            x, value = straight_minimum(omega_k[l], r * (omega_v[l] - mean_v), V_v * r * r, mean, V_k)
            bounded = bounded and value > -math.inf
            phi, _, _ = scalar_terms(x, piece_of(x))
            if CENTRED:
                phi += 1.0 - mean
            balance -= phi * (omega_v[l] + V_v * r * phi)
        # past the r at which some d_l has no minimum the dual is -inf: back towards 0
        if balance > 0.0 if bounded else r < 0.0:
            low = r
        else:
            high = r
    r = high if upper else low
    for l in range(chi.shape[0]):
        start[l], value = straight_minimum(omega_k[l], r * (omega_v[l] - mean_v), V_v * r * r, mean, V_k)
        if value == -math.inf:
            return False
    return True
