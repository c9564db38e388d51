"""Proximal point of sigma_l = phi(chi_l)/sum phi: Newton with a diagonal plus rank-three Hessian, several starts.

Where phi does not rise throughout, or is kinked, `prox_wells.py` searches on.

Leaf text of generated modules, which define `scalar_terms`, the bounds and the kinks (see `prox.py`).
Source: theory.md section 4, "Prox".

With u = log phi(chi), A = diag(sigma) - sigma sigma^T, z = omega_v + V_v r sigma, f = sigma . z, q = -r (z - f),
c = omega_v + 2 V_v r sigma and n = 1 + V_v |sigma|^2 the first term F of Phi has

    dF/du = sigma q,   d2F/du2 = diag(d) - d sigma^T - sigma d^T - V_v r^2 |sigma|^2 sigma sigma^T + (A c)(A c)^T/n,
    d = sigma q - V_v r^2 sigma^2.
"""

import math

from numba import njit

STARTS = 4
MARGIN = 2.0


@njit(nogil=True, error_model="numpy")
def prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows):
    """(Phi, r) at chi; fills sigma and the derivatives of log phi in rows[0], rows[1]."""
    length = chi.shape[0]
    top = -math.inf
    for l in range(length):
        sigma[l], rows[0, l], rows[1, l] = scalar_terms(chi[l], piece_of(chi[l]))
        if sigma[l] == -math.inf:
            # a zero of phi, where phi' = 0 too
            rows[0, l], rows[1, l] = 0.0, 0.0
        top = max(top, sigma[l])
    if not abs(top) < math.inf:
        return math.inf, 0.0
    total = 0.0
    for l in range(length):
        sigma[l] = math.exp(sigma[l] - top)
        total += sigma[l]
    dot = 0.0
    squares = 0.0
    moved = 0.0
    for l in range(length):
        sigma[l] /= total
        dot += sigma[l] * omega_v[l]
        squares += sigma[l] * sigma[l]
        moved += (chi[l] - omega_k[l]) ** 2
    n = 1.0 + V_v * squares
    r = (y - dot) / n
    return 0.5 * n * r * r + 0.5 * moved / V_k, r


@njit(nogil=True, error_model="numpy")
def prox_curvature(chi, omega_k, omega_v, y, V_k, V_v, sigma, r, rows, small):
    """Scaled gradient and Hessian after `prox_value`: (rank, largest residual, its natural scale)."""
    length = chi.shape[0]
    squares = 0.0
    size_r = abs(y)
    top = 0
    for l in range(length):
        squares += sigma[l] * sigma[l]
        size_r += sigma[l] * abs(omega_v[l])
        if sigma[l] > sigma[top]:
            top = l
    size_r /= 1.0 + V_v * squares
    # measured from the leading token, z - f keeps its relative precision when the attention is nearly all there
    f = 0.0
    f_twice = 0.0
    for l in range(length):
        rise = V_v * r * (sigma[l] - sigma[top])
        f += sigma[l] * (omega_v[l] - omega_v[top] + rise)
        f_twice += sigma[l] * (omega_v[l] - omega_v[top] + 2.0 * rise)
    weight = V_v * r * r
    residual = 0.0
    scale = 0.0
    for l in range(length):
        rise = V_v * r * (sigma[l] - sigma[top])
        z = omega_v[l] - omega_v[top] + rise
        pull = -r * sigma[l] * (z - f)
        d = pull - weight * sigma[l] * sigma[l]
        slope, curvature, rows[15, l] = falling_side(chi[l], omega_k[l], -V_k * pull, rows[0, l], rows[1, l])
        gradient = chi[l] - omega_k[l] + V_k * slope * pull
        rows[4, l] = 1.0 + V_k * (slope * slope * d + curvature * pull)
        if rows[15, l] < 0.0:
            gradient = 0.0
        rows[3, l] = gradient
        rows[5, l] = slope * d
        rows[6, l] = slope * sigma[l]
        rows[7, l] = slope * sigma[l] * (z + rise - f_twice)
        residual = max(residual, abs(gradient))
        rounding = size_r * abs(z - f) + abs(r) * (abs(z) + abs(f))
        scale = max(scale, abs(chi[l]) + abs(omega_k[l]), V_k * abs(slope) * sigma[l] * rounding)
    C = small[0]
    C[0, 0] = 0.0
    C[0, 1] = -V_k
    C[0, 2] = 0.0
    C[1, 0] = -V_k
    C[1, 1] = -V_k * weight * squares
    C[1, 2] = 0.0
    C[2, 0] = 0.0
    C[2, 1] = 0.0
    C[2, 2] = V_k / (1.0 + V_v * squares)
    return 3, residual, scale


@njit(nogil=True, error_model="numpy")
def prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small):
    """Proximal point (see `prox.py` for the interface)."""
    length = omega_k.shape[0]
    if length == 1:
        # sigma = 1: ridge regression on the value, the key decouples
        r = (y - omega_v[0]) / (1.0 + V_v)
        chi[0] = omega_k[0]
        sigma[0] = 1.0
        g_k[0] = 0.0
        return r, 0.5 * r * r * (1.0 + V_v), True, True
    best = rows[11]
    scores = rows[12]
    energy = math.inf
    r = 0.0
    converged = False
    is_global = False
    r_first = 0.0
    for l in range(length):
        chi[l] = omega_k[l]
    for attempt in range(min(length, STARTS) + 1 if RISING else 1):
        found, found_r, found_converged = newton_descend(omega_k, omega_v, y, V_k, V_v, chi, sigma, rows, small)
        if attempt == 0 or found < energy * (1.0 - 1e-12):
            energy, r, converged = found, found_r, found_converged
            for l in range(length):
                best[l] = chi[l]
            is_global = normalised_certificate(omega_k, omega_v, r, energy, V_k, V_v)
            if is_global:
                break
        if attempt == 0:
            r_first = r
            normalised_scores(omega_k, omega_v, y, V_k, V_v, sigma, scores)
        token = 0
        for l in range(length):
            if scores[l] < scores[token]:
                token = l
        if scores[token] >= energy:
            break
        scores[token] = math.inf
        # where the residual vanishes on the way the well lies near equal weights, else near full attention
        crossing = (y - omega_v[token]) * r_first < 0.0
        normalised_start(omega_k, token, 0.0 if crossing else MARGIN, chi)
    if not is_global and (KINKED or not RISING):
        energy, r, converged, is_global = wells_search(
            omega_k, omega_v, y, V_k, V_v, energy, r, converged, chi, sigma, rows, small
        )
    if not is_global:
        for l in range(length):
            chi[l] = best[l]
        energy, r = prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows)
    normalised_field(omega_v, V_v, sigma, r, rows, g_k)
    for l in range(length):
        if is_kink(chi[l]):
            g_k[l] = (chi[l] - omega_k[l]) / V_k
    return r, energy, is_global, converged


@njit(nogil=True, error_model="numpy")
def normalised_certificate(omega_k, omega_v, r, energy, V_k, V_v):
    """True if a stationary point with this r and Phi is the global minimum: no other chi lies lower.

    Phi(chi) >= r (y - sigma . omega_v) - r^2 (1 + V_v |sigma|^2)/2 + |chi - omega_k|^2/(2 V_k) =: D(chi), with equality
    at the point; if D is convex, the point, where D is stationary too, minimises both. Where all sigma_l <= s the
    Hessians in u of sigma . b and |sigma|^2/2 have eigenvalues at most (max b - min b) min(s, 1/(3 sqrt 3)) and
    min(2 s^2, 1/4). First s = 1; then s in the ball |chi - omega_k|^2 <= 2 V_k Phi, outside of which Phi is higher:
    there (`normalised_largest`).
    """
    if KINKED:
        # across a kink u'' is not bounded
        return False
    low = math.inf
    high = -math.inf
    for l in range(omega_v.shape[0]):
        low = min(low, omega_v[l])
        high = max(high, omega_v[l])
    spread = abs(r) * (high - low)
    spring = V_v * r * r
    if V_k * normalised_bend(1.0, spread, spring) < 1.0:
        return True
    if math.isinf(D1_SUP):
        return False
    s = normalised_largest(omega_k, D1_SUP * math.sqrt(2.0 * V_k * energy))
    return V_k * normalised_bend(s, spread, spring) < 1.0


@njit(nogil=True, error_model="numpy")
def normalised_largest(omega_k, radius):
    """A bound on all sigma_l while u is within a radius of its value at omega_k.

    The log odds of token l are u_l - log sum_{j != l} e^{u_j}. The second term is convex, and falls by no more than its
    slope at omega_k says, so that they rise by at most radius (1 + |slope|^2)^{1/2}.
    """
    length = omega_k.shape[0]
    top = -math.inf
    for l in range(length):
        top = max(top, scalar_terms(omega_k[l], piece_of(omega_k[l]))[0])
    total = 0.0
    squares = 0.0
    for l in range(length):
        weight = math.exp(scalar_terms(omega_k[l], piece_of(omega_k[l]))[0] - top)
        total += weight
        squares += weight * weight
    largest = 0.0
    for l in range(length):
        weight = math.exp(scalar_terms(omega_k[l], piece_of(omega_k[l]))[0] - top)
        rest = total - weight
        if not rest > 1e-9 * total:
            return 1.0
        slope = max(squares - weight * weight, 0.0) / (rest * rest)
        fall = rest * math.exp(-radius * math.sqrt(1.0 + min(slope, 1.0)))
        largest = max(largest, weight / (fall + weight))
    return largest


@njit(nogil=True, error_model="numpy")
def normalised_bend(s, spread, spring):
    """The largest curvature of -r (sigma . omega_v) - r^2 V_v |sigma|^2/2 where sigma_l <= s."""
    bend = D1_SUP * D1_SUP * (min(0.19245008972987526, s) * spread + min(0.25, 2.0 * s * s) * spring)
    if D2_SUP > 0.0:
        bend += D2_SUP * min(0.25, s) * (spread + spring)
    return bend


@njit(nogil=True, error_model="numpy")
def normalised_scores(omega_k, omega_v, y, V_k, V_v, sigma, scores):
    """What Phi might cost with the attention on each token: the loss there plus the price of closing the gap."""
    length = omega_k.shape[0]
    first = -math.inf
    second = -math.inf
    f = 0.0
    for l in range(length):
        f += sigma[l] * omega_v[l]
        if omega_k[l] > first:
            second = first
            first = omega_k[l]
        elif omega_k[l] > second:
            second = omega_k[l]
    for l in range(length):
        gap = (second if omega_k[l] == first else first) - omega_k[l]
        miss = y - omega_v[l]
        scores[l] = 0.5 * miss * miss / (1.0 + V_v) + 0.25 * max(0.0, gap) ** 2 / V_k
        if miss * (y - f) < 0.0:
            # on the way there the residual vanishes
            scores[l] = 0.25 * max(0.0, gap - 2.0) ** 2 / V_k


@njit(nogil=True, error_model="numpy")
def normalised_start(omega_k, token, margin, chi):
    """The chi nearest to omega_k with chi_token >= chi_l + margin for all l: min(omega_l, T - margin), and T."""
    length = omega_k.shape[0]
    top = -math.inf
    for l in range(length):
        if l != token:
            top = max(top, omega_k[l])
    level = max(omega_k[token], top + margin)
    for _ in range(30):
        # T - omega_token = sum (omega_l + margin - T)_+: Newton from above on a convex decreasing remainder
        rest = omega_k[token] - level
        count = 1.0
        for l in range(length):
            if l != token and omega_k[l] + margin > level:
                rest += omega_k[l] + margin - level
                count += 1.0
        level += rest / count
        if abs(rest) <= 1e-3:
            break
    for l in range(length):
        chi[l] = level if l == token else min(omega_k[l], level - margin)


@njit(nogil=True, error_model="numpy")
def normalised_field(omega_v, V_v, sigma, r, rows, g_k):
    """g_k = r J^T z after `prox_value`, with z - f as in `prox_curvature`."""
    length = sigma.shape[0]
    top = 0
    for l in range(length):
        if sigma[l] > sigma[top]:
            top = l
    f = 0.0
    for l in range(length):
        g_k[l] = omega_v[l] - omega_v[top] + V_v * r * (sigma[l] - sigma[top])
        f += sigma[l] * g_k[l]
    for l in range(length):
        g_k[l] = r * rows[0, l] * sigma[l] * (g_k[l] - f)


@njit(nogil=True, error_model="numpy")
def prox_response(chi, sigma, omega_v, r, V_k, V_v, rows, small):
    """Traces and squares of d g/d omega (see `response_sums`)."""
    for l in range(chi.shape[0]):
        _, rows[0, l], rows[1, l] = scalar_terms(chi[l], piece_of(chi[l]))
        if is_kink(chi[l]):
            rows[0, l], rows[1, l] = 0.0, math.inf
        rows[2, l] = omega_v[l] + V_v * r * sigma[l]
    return response_normalised(sigma, rows[2], r, V_k, V_v, rows, small)
