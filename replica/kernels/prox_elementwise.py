"""Proximal point of sigma_l = phi(chi_l), or 1 + phi(chi_l) - mean phi if CENTRED: Newton from several starts.

Leaf text of generated modules, which define `scalar_terms`, `CENTRED`, the bounds and the kinks (see `prox.py`).
Source: theory.md section 4, "Prox".

With z = omega_v + V_v r sigma, c = omega_v + 2 V_v r sigma, n = 1 + V_v |sigma|^2 (z and c less their means if CENTRED)
the first term F of Phi has

    dF/dchi = -r phi' z,   d2F/dchi2 = diag(-r z phi'' - V_v r^2 phi'^2) + (phi' c)(phi' c)^T/n
                                       + (V_v r^2/L) phi' phi'^T  if CENTRED.
"""

import math

from numba import njit

FLIPS = 4
ROUNDS = 4


@njit(nogil=True, error_model="numpy")
def prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows):
    """(Phi, r) at chi; fills sigma and the derivatives of phi in rows[0], rows[1]."""
    length = chi.shape[0]
    mean = 0.0
    for l in range(length):
        sigma[l], rows[0, l], rows[1, l] = scalar_terms(chi[l], piece_of(chi[l]))
        mean += sigma[l] / length
    dot = 0.0
    squares = 0.0
    moved = 0.0
    for l in range(length):
        if CENTRED:
            sigma[l] += 1.0 - mean
        dot += sigma[l] * omega_v[l]
        squares += sigma[l] * sigma[l]
        moved += (chi[l] - omega_k[l]) ** 2
    n = 1.0 + V_v * squares
    r = (y - dot) / n
    return 0.5 * n * r * r + 0.5 * moved / V_k, r


@njit(nogil=True, error_model="numpy")
def elementwise_means(omega_v, V_v, sigma, r):
    """Means of z and of V_v r sigma if CENTRED, else 0: what the Jacobian takes off."""
    mean_z = 0.0
    mean_rise = 0.0
    if CENTRED:
        length = sigma.shape[0]
        for l in range(length):
            mean_rise += V_v * r * sigma[l] / length
            mean_z += omega_v[l] / length
        mean_z += mean_rise
    return mean_z, mean_rise


@njit(nogil=True, error_model="numpy")
def prox_curvature(chi, omega_k, omega_v, y, V_k, V_v, sigma, r, rows, small):
    """Scaled gradient and Hessian after `prox_value`: (rank, largest residual, its natural scale)."""
    length = chi.shape[0]
    mean_z, mean_rise = elementwise_means(omega_v, V_v, sigma, r)
    squares = 0.0
    size_r = abs(y)
    for l in range(length):
        squares += sigma[l] * sigma[l]
        size_r += abs(sigma[l] * omega_v[l])
    size_r /= 1.0 + V_v * squares
    weight = V_v * r * r
    residual = 0.0
    scale = 0.0
    for l in range(length):
        rise = V_v * r * sigma[l]
        z = omega_v[l] + rise - mean_z
        slope, curvature, rows[15, l] = falling_side(chi[l], omega_k[l], V_k * r * z, rows[0, l], rows[1, l])
        gradient = chi[l] - omega_k[l] - V_k * r * slope * z
        rows[4, l] = 1.0 - V_k * (r * z * curvature + weight * slope * slope)
        if rows[15, l] < 0.0:
            gradient = 0.0
        rows[3, l] = gradient
        rows[5, l] = slope * (z + rise - mean_rise)
        rows[6, l] = slope
        residual = max(residual, abs(gradient))
        rounding = size_r * abs(z) + abs(r) * (abs(omega_v[l]) + abs(rise) + abs(mean_z))
        scale = max(scale, abs(chi[l]) + abs(omega_k[l]), V_k * abs(slope) * rounding)
    C = small[0]
    C[0, 0] = V_k / (1.0 + V_v * squares)
    C[0, 1] = 0.0
    C[1, 0] = 0.0
    C[1, 1] = V_k * weight / length
    return 2 if CENTRED else 1, residual, scale


@njit(nogil=True, error_model="numpy")
def elementwise_certificate(chi, omega_k, omega_v, r, energy, V_k, V_v):
    """True if a stationary point with this r is the global minimum (see `normalised_certificate`).

    Here D(chi) is a sum over tokens (CENTRED: that plus a convex term), convex if every one of them is.
    """
    length = omega_v.shape[0]
    if STRAIGHT:
        return straight_certificate(chi, omega_k, omega_v, r, energy, V_k, V_v)
    if KINKED:
        return False
    mean = 0.0
    reach = PHI_SUP
    if CENTRED:
        reach = 2.0 * PHI_SUP
        for l in range(length):
            mean += omega_v[l] / length
    largest = 0.0
    for l in range(length):
        largest = max(largest, abs(omega_v[l] - mean))
    # NaN, 0 times an infinite bound, compares as False
    return V_k * (abs(r) * (largest + V_v * abs(r) * reach) * D2_SUP + V_v * r * r * D1_SUP * D1_SUP) < 1.0


@njit(nogil=True, error_model="numpy")
def elementwise_scan(omega_k, omega_v, y, V_k, V_v, chi, sigma, energy, r, rows):
    """Walk each token over the search ball with the others at rest.

    rows[12], rows[13]: the lowest Phi at a local minimum other than the token's own well, and its place;
    rows[14]: the token's minimiser of D(chi) at this r, the start that moves every token at once.
    """
    length = chi.shape[0]
    mean_v = 0.0
    first = 0.0
    second = 0.0
    moved = 0.0
    s = y
    for l in range(length):
        phi, _, _ = scalar_terms(chi[l], piece_of(chi[l]))
        if CENTRED:
            mean_v += omega_v[l] / length
        first += phi
        second += phi * phi
        moved += (chi[l] - omega_k[l]) ** 2
        s -= sigma[l] * omega_v[l]
    mean = first / length if CENTRED else 0.0
    for l in range(length):
        own, _, _ = scalar_terms(chi[l], piece_of(chi[l]))
        b = omega_v[l] - mean_v
        rest = moved - (chi[l] - omega_k[l]) ** 2
        radius = math.sqrt(max(0.0, 2.0 * V_k * energy - rest))
        rows[12, l] = math.inf
        rows[13, l] = chi[l]
        rows[14, l] = chi[l]
        lowest = -r * b * own - 0.5 * V_v * r * r * (own - mean) ** 2 + 0.5 * (chi[l] - omega_k[l]) ** 2 / V_k
        x = omega_k[l] - radius
        end = omega_k[l] + radius
        before = math.inf
        last = math.inf
        last_x = x
        last_step = 0.0
        while x <= end:
            phi, _, _ = scalar_terms(x, piece_of(x))
            change = phi - own
            squares = second + phi * phi - own * own
            if CENTRED:
                squares += length - (first + change) ** 2 / length
            price = 0.5 * (x - omega_k[l]) ** 2 / V_k
            value = 0.5 * (s - b * change) ** 2 / (1.0 + V_v * squares) + price + 0.5 * rest / V_k
            if last < before and last <= value and last < rows[12, l] and abs(last_x - chi[l]) > 1.5 * last_step:
                rows[12, l] = last
                rows[13, l] = last_x
            token = price - r * b * phi - 0.5 * V_v * r * r * (phi - mean) ** 2
            if token < lowest:
                lowest = token
                rows[14, l] = x
            before = last
            last = value
            last_x = x
            # fine where phi bends and around the start, geometric elsewhere
            if KINKED:
                bend = abs(x - omega_k[l])
                for kink in KINKS:
                    bend = min(bend, abs(x - kink))
                last_step = max(min(0.35, 0.02 * radius), 0.25 * bend)
            else:
                last_step = max(0.35, 0.25 * min(abs(x - omega_k[l]), abs(x) - 3.0))
            x += last_step


@njit(nogil=True, error_model="numpy")
def prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small):
    """Proximal point (see `prox.py` for the interface)."""
    length = omega_k.shape[0]
    best = rows[11]
    base = rows[10]
    energy = math.inf
    r = 0.0
    converged = False
    is_global = False
    rounds = 0
    flips = 0
    improved = False
    for l in range(length):
        chi[l] = omega_k[l]
    combinations = piece_combinations(length)
    tried = 0
    duals = 0 if STRAIGHT else 2
    for attempt in range(1 + combinations + 2 + ROUNDS * (FLIPS + 1)):
        found, found_r, found_converged = newton_descend(omega_k, omega_v, y, V_k, V_v, chi, sigma, rows, small)
        if attempt == 0 or found < energy * (1.0 - 1e-12):
            energy, r, converged = found, found_r, found_converged
            improved = True
            for l in range(length):
                best[l] = chi[l]
            is_global = elementwise_certificate(chi, omega_k, omega_v, r, energy, V_k, V_v) or (CENTRED and length == 1)
            if is_global:
                break
        started = False
        while duals < 2 and not started:
            started = straight_start(best, omega_k, omega_v, y, energy, V_k, V_v, duals == 1, chi)
            duals += 1
        if started:
            continue
        if tried < combinations:
            piece_start(tried, omega_k, energy, V_k, chi)
            tried += 1
            continue
        if rounds == 0 or flips == FLIPS:
            if rounds == ROUNDS or (rounds > 0 and not improved):
                break
            rounds += 1
            flips = 0
            improved = False
            for l in range(length):
                chi[l] = best[l]
                base[l] = best[l]
            energy, r = prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows)
            elementwise_scan(omega_k, omega_v, y, V_k, V_v, chi, sigma, energy, r, rows)
            changed = False
            for l in range(length):
                changed = changed or rows[14, l] != chi[l]
                chi[l] = rows[14, l]
            if changed:
                continue
        flips += 1
        token = 0
        for l in range(length):
            if rows[12, l] < rows[12, token]:
                token = l
        if not rows[12, token] < math.inf:
            if not improved:
                break
            # nothing left to try from here: the next round starts from the best point
            flips = FLIPS
            for l in range(length):
                chi[l] = best[l]
            continue
        rows[12, token] = math.inf
        for l in range(length):
            chi[l] = base[l]
        chi[token] = rows[13, token]
    if not is_global:
        for l in range(length):
            chi[l] = best[l]
        energy, r = prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows)
    mean_z, _ = elementwise_means(omega_v, V_v, sigma, r)
    for l in range(length):
        if is_kink(chi[l]):
            g_k[l] = (chi[l] - omega_k[l]) / V_k
        else:
            g_k[l] = r * rows[0, l] * (omega_v[l] + V_v * r * sigma[l] - mean_z)
    return r, energy, is_global, converged


@njit(nogil=True, error_model="numpy")
def prox_response(chi, sigma, omega_v, r, V_k, V_v, rows, small):
    """Traces and squares of d g/d omega (see `response_sums`)."""
    for l in range(chi.shape[0]):
        _, rows[0, l], rows[1, l] = scalar_terms(chi[l], piece_of(chi[l]))
        if is_kink(chi[l]):
            rows[0, l], rows[1, l] = 0.0, math.inf
        rows[2, l] = omega_v[l] + V_v * r * sigma[l]
    return response_elementwise(CENTRED, sigma, rows[2], r, V_k, V_v, rows, small)
