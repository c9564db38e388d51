"""Averages over the proximal point of a scalar potential, by integration over its contact set.

delta_0 ~ N(mean, sd^2) has the proximal point delta, the minimiser of F(delta) + (delta - delta_0)^2/(4 V_k).
Stationarity reads delta_0 = T(delta), explicit; the global minimisers are the contact set of the lower convex hull of
G(delta) = delta^2/(4 V_k) + F(delta), on which T increases (theory.md section 4). So

    E h = integral over the contact set of h(delta) N(T(delta); mean, sd^2) T'(delta) d delta:

no root finding, smooth between the jumps, and the jumps, the edges of the hull, come out with place and size.

This text is part of a generated module, which defines from sympy
    outer_terms(par, x_A, x_R, c)            loop invariants of one (x_A, x_R) into c
    potential(delta, c) -> (F, T, T')
    channel_terms / stability_terms(weight, x_delta, delta, c, total)    weighted sums of the integrands
    observable_terms(weight, x_delta, c, total)                          integrands at the field itself
    pair_weight(x_delta, c)                  density of delta_0 relative to the Gaussian
"""

import math

import numpy as np
from numba import njit

REACH = 6.5  # standard deviations kept: the mass beyond is 8e-11
SCAN_STEP = 0.2
PANEL = 3.0  # widest panel in standard deviations of delta_0
WIDEST = 1.0  # widest panel in delta, where F varies
MAX_JUMPS = 8
ORDER = 8
GAUSS_X, GAUSS_W = np.polynomial.legendre.leggauss(ORDER)


@njit(nogil=True, error_model="numpy")
def _bounds(low, high, force):
    """Interval of delta outside which T leaves [low, high], and the radius beyond which G is convex.

    2 V_k |F'| <= force e^{-|delta|} and 2 V_k |F''| <= 2 force e^{-|delta|}.
    """
    radius = math.log1p(2.0 * force) + 1.0
    reach = math.log1p(force)
    return min(low, -reach) - 1.0, max(high, reach) + 1.0, radius


@njit(nogil=True, error_model="numpy")
def _may_dip(before, at, after):
    """Whether T' may be negative between three neighbours: the parabola through them, with a margin."""
    bend = before + after - 2.0 * at
    return at <= before and at <= after and at - (after - before) ** 2 / (8.0 * bend + 1e-300) < 0.25 * bend


@njit(nogil=True, error_model="numpy")
def _find_jumps(start, stop, radius, c, inv4v, jumps):
    """Hull edges of G on [start, stop] as rows (delta_-, delta_+, delta_0); returns their number, -1 if unsure."""
    left, right = max(start, -radius), min(stop, radius)
    if right <= left:
        return 0
    n = int(np.ceil((right - left) / SCAN_STEP)) + 1
    step = (right - left) / (n - 1)
    convex = True
    previous, lowest, highest = -math.inf, math.inf, -math.inf
    before, at = math.inf, math.inf
    for i in range(n):
        _, T, T1 = potential(left + i * step, c)
        convex = convex and T1 > 0.0 and previous < T and not _may_dip(before, at, T1)
        previous, lowest, highest = T, min(lowest, T), max(highest, T)
        before, at = at, T1
    if convex:
        return 0
    # a jump may end beyond the radius, where T(delta) is close to delta and the scan may widen
    left, right = max(start, min(left, lowest - 1.0)), min(stop, max(right, highest + 1.0))
    place = np.empty(n + 2 * int(np.ceil(math.log1p(max(abs(left), abs(right))) / SCAN_STEP)) + 8)
    n = 0
    x = left
    while x < right and n < place.size - 1:
        place[n] = x
        n += 1
        x += SCAN_STEP * max(1.0, 0.5 * max(-x - radius, x - radius))
    place[n] = right
    n += 1
    height, slope = np.empty(n), np.empty(n)
    hull = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        F, _, slope[i] = potential(place[i], c)
        height[i] = place[i] * place[i] * inv4v + F
        while size >= 2:
            a, b = hull[size - 2], hull[size - 1]
            if (height[b] - height[a]) * (place[i] - place[a]) >= (height[i] - height[a]) * (place[b] - place[a]):
                size -= 1
            else:
                break
        hull[size] = i
        size += 1
    count = 0
    for k in range(size - 1):
        i, j = hull[k], hull[k + 1]
        # a short jump may hide between points that are all on the hull: the responses have poles inside of it
        hidden = j == i + 1 and k > 0 and hull[k - 1] == i - 1 and _may_dip(slope[i - 1], slope[i], slope[j])
        if j == i + 1 and not hidden:
            continue
        if count == MAX_JUMPS:
            return -1
        if hidden:
            low, high = place[i - 1], place[j]
            u, v, centre, ok = _refine(low, high, low, high, low, high, c, inv4v)
        else:
            u_low, v_high = place[max(i - 1, 0)], place[min(j + 1, n - 1)]
            u, v, centre, ok = _refine(place[i], place[j], u_low, place[i + 1], place[j - 1], v_high, c, inv4v)
        if not ok:
            return -1
        if v > u:
            jumps[count, 0], jumps[count, 1], jumps[count, 2] = u, v, centre
            count += 1
    return count


@njit(nogil=True, error_model="numpy")
def _cusp_start(u, v, c):
    """Ends of a short jump from the normal form T = T_0 + a x + b x^3/6 about the minimum a of T' in [u, v].

    Returns u = v if a >= 0: no jump.
    """
    ratio = 0.6180339887498949
    inner, outer = v - ratio * (v - u), u + ratio * (v - u)
    low, high = potential(inner, c)[2], potential(outer, c)[2]
    for _ in range(30):
        if low < high:
            v, outer, high = outer, inner, low
            inner = v - ratio * (v - u)
            low = potential(inner, c)[2]
        else:
            u, inner, low = inner, outer, high
            outer = u + ratio * (v - u)
            high = potential(outer, c)[2]
    centre = 0.5 * (u + v)
    slope = potential(centre, c)[2]
    if slope >= 0.0:
        return centre, centre
    h = 0.25 * SCAN_STEP
    bend = (potential(centre + h, c)[2] + potential(centre - h, c)[2] - 2.0 * slope) / (h * h)
    half = math.sqrt(-6.0 * slope / max(bend, 1e-3))
    return centre - half, centre + half


@njit(nogil=True, error_model="numpy")
def _refine(u, v, u_low, u_high, v_low, v_high, c, inv4v):
    """Double tangent of G near (u, v): the slope of the chord is stationary in both ends, so that stepping each end
    to that slope converges quadratically. Returns u = v if the two contacts merge: there is no jump."""
    if v - u < 4.5 * SCAN_STEP:
        u, v = _cusp_start(u_low, v_high, c)
        if u == v:
            return u, v, 0.0, True
    place = 0.0
    for _ in range(60):
        Fu, Tu, Tu1 = potential(u, c)
        Fv, Tv, Tv1 = potential(v, c)
        place = 0.5 * ((v * v - u * u) * inv4v + Fv - Fu) / (v - u) / inv4v
        du = (place - Tu) / Tu1 if Tu1 > 0.0 else -0.25 * (v - u)
        dv = (place - Tv) / Tv1 if Tv1 > 0.0 else 0.25 * (v - u)
        u_new = min(max(u + du, u_low), u_high)
        v_new = min(max(v + dv, v_low), v_high)
        if v_new - u_new < 1e-4 * SCAN_STEP:
            return u, u, place, True
        moved = max(abs(u_new - u), abs(v_new - v))
        u, v = u_new, v_new
        if moved < 1e-12 * (1.0 + abs(u) + abs(v)):
            break
    # the contact points of a double tangent lie on the convex parts
    return u, v, place, potential(u, c)[2] >= 0.0 and potential(v, c)[2] >= 0.0


@njit(nogil=True, error_model="numpy")
def contact_average(c, stability, total, jumps):
    """Add the averages of one (x_A, x_R) to `total`; returns (number of jumps, whether the hull is certain)."""
    mean, sd, inv4v, force = c[C_MEAN], c[C_SD], c[C_INV4V], c[C_FORCE]
    start, stop, radius = _bounds(mean - REACH * sd, mean + REACH * sd, force)
    count = _find_jumps(start, stop, radius, c, inv4v, jumps) if force > 0.25 else 0
    certain = count >= 0
    count = max(count, 0)
    a = start
    for k in range(count + 1):
        b = jumps[k, 0] if k < count else stop
        _integrate(a, b, radius, c, stability, total)
        if k < count:
            a = jumps[k, 1]
    return count, certain


@njit(nogil=True, error_model="numpy")
def _integrate(left, right, radius, c, stability, total):
    """Gauss-Legendre on panels short in delta (scale 1, where F lives) and in T/sd (the Gaussian and its weight);
    with `stability` also on the scale of T', as the responses go like 1/T'."""
    mean, inv_sd, width = c[C_MEAN], 1.0 / c[C_SD], c[C_WIDTH]
    a = left
    _, T, slope_a = potential(a, c)
    x_a = (T - mean) * inv_sd
    step = WIDEST
    while a < right and x_a < REACH:
        b = min(right, a + min(step, max(WIDEST, (-a if a < 0.0 else a) - radius - WIDEST)))
        _, T, slope_b = potential(b, c)
        x_b = (T - mean) * inv_sd
        if x_b > -REACH:
            nearest = 0.0 if x_a * x_b <= 0.0 else min(abs(x_a), abs(x_b))
            excess = (x_b - x_a) / (PANEL * min(1.0, width + nearest / 6.0))
            if stability:
                _, _, slope_m = potential(0.5 * (a + b), c)
                low = max(min(slope_a, slope_m, slope_b), 1e-12)
                excess = max(excess, 0.4 * max(slope_a, slope_m, slope_b) / low)
            if excess > 1.0 and b - a > 1e-9 * (1.0 + abs(a)):
                step = (b - a) * max(0.25, 0.9 / excess)
                continue
            half, middle = 0.5 * (b - a), 0.5 * (a + b)
            for i in range(ORDER):
                delta = middle + half * GAUSS_X[i]
                _, T, T1 = potential(delta, c)
                x = (T - mean) * inv_sd
                weight = half * GAUSS_W[i] * INV_SQRT_2PI * math.exp(-0.5 * x * x) * T1 * inv_sd
                if stability:
                    stability_terms(weight, x, delta, c, total)
                else:
                    channel_terms(weight, x, delta, c, total)
            step = (b - a) * min(2.0, 1.0 / max(excess, 0.25)) if excess < 1.0 else b - a
        if b <= a:  # overlaps so large that panels fall below round-off: the caller sees a norm far from one
            break
        a, x_a, slope_a = b, x_b, slope_b


@njit(nogil=True, cache=True, error_model="numpy")
def pair_block(par, nodes, weights, begin, end, total):
    """Sums of the channel integrands over the outer nodes [begin, end); returns whether every hull was certain."""
    c = np.empty(N_INVARIANTS)
    jumps = np.empty((MAX_JUMPS, 3))
    part = np.empty(total.size)
    certain = True
    for i in range(begin, end):
        outer_terms(par, nodes[i, 0], nodes[i, 1], c)
        part[:] = 0.0
        _, sure = contact_average(c, False, part, jumps)
        certain = certain and sure
        for j in range(part.size):
            total[j] += weights[i] * part[j]
    return certain


@njit(nogil=True, cache=True, error_model="numpy")
def pair_stability(par, nodes, weights, begin, end, total):
    """Sums of the response integrands over the outer nodes [begin, end); `total` ends with the sums over jumps of
    p(delta_0*) (delta_+ - delta_-) and of p(delta_0*) (delta_+ - delta_-)^2."""
    c = np.empty(N_INVARIANTS)
    jumps = np.empty((MAX_JUMPS, 3))
    n_terms = total.size - 2
    part = np.empty(n_terms)
    for i in range(begin, end):
        outer_terms(par, nodes[i, 0], nodes[i, 1], c)
        part[:] = 0.0
        count, _ = contact_average(c, True, part, jumps)
        for j in range(n_terms):
            total[j] += weights[i] * part[j]
        for k in range(count):
            x = (jumps[k, 2] - c[C_MEAN]) / c[C_SD]
            density = INV_SQRT_2PI * math.exp(-0.5 * x * x) / c[C_SD] * pair_weight(x, c)
            size = jumps[k, 1] - jumps[k, 0]
            total[n_terms] += weights[i] * density * size
            total[n_terms + 1] += weights[i] * density * size * size


@njit(nogil=True, cache=True, error_model="numpy")
def pair_observables(par, total):
    """Averages over the field delta_0 itself (no proximal point) into `total`."""
    c = np.empty(N_INVARIANTS)
    outer_terms(par, 0.0, 0.0, c)
    mean, sd, width = c[C_MEAN], c[C_SD], c[C_WIDTH]
    # panels short on the scale of sigma (1/sd in x) and of the weight
    a = -REACH
    while a < REACH:
        nearest = abs(a) if a > 0.0 else max(0.0, -a - PANEL)
        from_origin = abs(mean + sd * a) if mean + sd * a > 0.0 else max(0.0, -(mean + sd * a) - PANEL * sd)
        b = min(REACH, a + PANEL * min(1.0, min(width + nearest / 6.0, (0.8 + 0.5 * from_origin) / sd)))
        for i in range(ORDER):
            x = 0.5 * (a + b) + 0.5 * (b - a) * GAUSS_X[i]
            weight = 0.5 * (b - a) * GAUSS_W[i] * INV_SQRT_2PI * math.exp(-0.5 * x * x)
            observable_terms(weight, x, c, total)
        a = b
