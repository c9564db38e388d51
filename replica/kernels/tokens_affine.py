"""Linear attention through sufficient statistics: directions in token space instead of tokens, for `tokens.py`.

sigma = u + chi in an orthonormal basis of token space that holds e_1, the vector of ones and the teacher scores; the
rest of the noise enters through its Gram matrix, two more directions (`replica.analysis.token_nodes`). `shift` = u - 1,
because the leaf `prox_linear` has sigma = 1 + chi. CENTRED: the first direction is the vector of ones over
sqrt(L), in which sigma = sqrt(L) whatever chi. Minimising over its value leaves the loss
(y - sigma . z)^2/(2 n), n = 1 + L V_v: the same problem after scaling.
"""

import math

from numba import njit


@njit(nogil=True)
def token_point(omega_k, omega_v, y, V_k, V_v, length, chi, sigma, g_k, rows, small):
    """The proximal point on the directions; always global."""
    if not FIXED_SUM:
        return prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small)
    root = math.sqrt(1.0 + length * V_v)
    scale = math.sqrt(root)
    directions = omega_k.size
    for l in range(1, directions):
        rows[20, l] = (omega_k[l] + 1.0) / scale - 1.0
        rows[21, l] = omega_v[l] / scale
    if directions > 1:
        r, _, sure, converged = prox_point(
            rows[20, 1:directions],
            rows[21, 1:directions],
            y / root,
            V_k / root,
            V_v / root,
            chi[1:],
            sigma[1:],
            g_k[1:],
            rows[:, 1:],
            small,
        )
        r /= root
    else:
        r, sure, converged = y / (root * root), True, True
    squares = length
    moved = 0.0
    for l in range(1, directions):
        sigma[l] *= scale
        chi[l] = sigma[l] - 1.0
        g_k[l] /= scale
        squares += sigma[l] * sigma[l]
        moved += g_k[l] * g_k[l]
    chi[0], sigma[0], g_k[0] = omega_k[0], math.sqrt(length), 0.0
    return r, 0.5 * r * r * (1.0 + V_v * squares) + 0.5 * V_k * moved, sure, converged


@njit(nogil=True)
def token_response(chi, sigma, omega_v, r, V_k, V_v, length, rows, small):
    """Six sums of the response: the directions, and L - size more that see neither field, where the Hessian of the loss
    is (0, -r; -r, 0)."""
    directions = chi.size
    for l in range(directions):
        rows[0, l] = 1.0
        rows[1, l] = 0.0
        rows[2, l] = omega_v[l] + V_v * r * sigma[l]
    if FIXED_SUM:
        rows[0, 0] = 0.0
    trace_kk, trace_vv, kk, kv, vv, mixed = response_elementwise(False, sigma, rows[2], r, V_k, V_v, rows, small)
    more = length - directions
    det = 1.0 - V_k * V_v * r * r
    k_kk, k_kv, k_vv = r * r * V_v / det, r / det, r * r * V_k / det
    return (
        trace_kk + more * k_kk,
        trace_vv + more * k_vv,
        kk + more * k_kk * k_kk,
        kv + more * k_kv * k_kv,
        vv + more * k_vv * k_vv,
        mixed + more * (k_kk * k_vv + k_kv * k_kv),
    )


@njit(nogil=True)
def token_slope(omega_k, omega_v, y, r, V_k, V_v, length, ray, chi, sigma, rows, small):
    """Derivative of chi along `ray` in omega_k, into rows[8], where the key has a single direction: the trace."""
    slope = 1.0 + V_k * token_response(chi, sigma, omega_v, r, V_k, V_v, length, rows, small)[0]
    for l in range(chi.size):
        rows[8, l] = slope * ray[l]
    return slope > 0.0


@njit(nogil=True)
def token_sigma(omega_k, length, sigma, rows):
    """sigma at the key fields."""
    for l in range(omega_k.size):
        sigma[l] = 1.0 + omega_k[l]
    if FIXED_SUM:
        sigma[0] = math.sqrt(length)
