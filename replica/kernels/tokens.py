"""Averages over the proximal point of L tokens on fixed nodes (theory.md section 4).

This text is part of a generated module, which defines from sympy
    token_fields(par, star, eta, zeta, x_t, x_R, omega_k, omega_v) -> y       fields of one node into the arrays
    token_terms(par, star, eta, zeta, x_t, x_R, weight, sigma, g_k, r, total) weighted sums of the integrands
and the proximal point `token_point`, `token_response`, `token_slope` and the attention `token_sigma` from
`tokens_direct.py` or `tokens_affine.py`. `shift` is added to the key fields before the proximal point, and
`read` . sigma is sigma_1.
"""

import numpy as np
from numba import njit

TERMS, RESPONSES, LINES, FORMS = 0, 1, 2, 3


@njit(nogil=True, cache=True)
def token_block(par, shift, star, eta, zeta, scalars, begin, end, mode, line, rows, small, total):
    """Proximal points of the nodes [begin, end), and by `mode` add to total[0]

        TERMS       the channel integrands
        RESPONSES   the six sums of d g/d omega

    or for LINES, points eta[i] + place ray[i] with (i, place, ray) of `line` = (which, places, rays), write chi and
    d chi/d(ray . omega_k) of point p into the halves of total[p]; nan where the Hessian is not positive definite. For
    FORMS total[p] gets g_k, g_v and the matrix w^T (dg/domega) w of four vectors: the key and value parts of w_0 to w_2
    are rows of `rays`, eight for each node, and w_3 = (g_v, g_k).

    One function for all: each would compile the whole proximal point again.

    Returns the number of proximal points not proved global, and of those that did not converge.
    """
    tokens = shift.size
    omega_k, omega_v, moved = np.empty(tokens), np.empty(tokens), np.empty(tokens)
    chi, sigma, g_k = np.empty(tokens), np.empty(tokens), np.empty(tokens)
    forms = np.empty((4, 4))
    V_k, V_v, length = par[P_V_k], par[P_V_v], par[P_length]
    which, places, rays = line
    unproved = 0
    failed = 0
    for p in range(begin, end):
        i = which[p] if mode == LINES else p
        x_t, x_R, weight = scalars[i, 0], scalars[i, 1], scalars[i, 2]
        if weight == 0.0 and mode != LINES:
            continue
        for l in range(tokens):
            moved[l] = eta[i, l]
            if mode == LINES:
                moved[l] += places[p] * rays[i, l]
        y = token_fields(par, star[i], moved, zeta[i], x_t, x_R, omega_k, omega_v)
        for l in range(tokens):
            omega_k[l] += shift[l]
        r, _, is_global, converged = token_point(omega_k, omega_v, y, V_k, V_v, length, chi, sigma, g_k, rows, small)
        if not is_global:
            unproved += 1
        if not converged:
            failed += 1
        if mode == TERMS:
            token_terms(par, star[i], eta[i], zeta[i], x_t, x_R, weight, sigma, g_k, r, total[0])
        elif mode == RESPONSES:
            sums = token_response(chi, sigma, omega_v, r, V_k, V_v, length, rows, small)
            for j in range(6):
                total[0, j] += weight * sums[j]
        elif mode == FORMS:
            token_response(chi, sigma, omega_v, r, V_k, V_v, length, rows, small)
            for l in range(tokens):
                total[p, l], total[p, tokens + l] = g_k[l], r * sigma[l]
                rays[8 * p + 6, l], rays[8 * p + 7, l] = r * sigma[l], g_k[l]
            response_forms(V_k, V_v, rays[8 * p : 8 * p + 8], rows, small, forms)
            for j in range(16):
                total[p, 2 * tokens + j] = forms[j // 4, j % 4]
        else:
            steady = token_slope(omega_k, omega_v, y, r, V_k, V_v, length, rays[i], chi, sigma, rows, small)
            for l in range(tokens):
                total[p, l] = chi[l]
                total[p, tokens + l] = rows[8, l] if steady else np.nan
    return unproved, failed


@njit(nogil=True, cache=True)
def token_attention(par, shift, star, eta, zeta, scalars, read, begin, end, rows, total):
    """Add sigma_1 and |sigma|^2 at the key fields themselves of nodes [begin, end) to `total`."""
    tokens = shift.size
    omega_k, omega_v, sigma = np.empty(tokens), np.empty(tokens), np.empty(tokens)
    for i in range(begin, end):
        weight = scalars[i, 2]
        token_fields(par, star[i], eta[i], zeta[i], scalars[i, 0], scalars[i, 1], omega_k, omega_v)
        for l in range(tokens):
            omega_k[l] += shift[l]
        token_sigma(omega_k, par[P_length], sigma, rows)
        first = 0.0
        square = 0.0
        for l in range(tokens):
            first += read[l] * sigma[l]
            square += sigma[l] * sigma[l]
        total[0] += weight * first
        total[1] += weight * square
