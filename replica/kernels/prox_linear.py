"""Proximal point of linear attention, sigma = 1 + chi or 1 + chi - mean(chi): one scalar root, any L, always global.

Leaf text of generated modules, which define `CENTRED` (bool).  Source: theory.md section 4, "Prox".

With a = 1 + omega_k and b = omega_v (both centred if CENTRED), p = V_k V_v and t = sqrt(p) r, stationarity leaves

    n_0 r - y_0 + A/(1 - t)^2 - B/(1 + t)^2 = 0,     |t| < 1,
    A = |sqrt(V_v) a + sqrt(V_k) b|^2 / (4 sqrt p),  B = |sqrt(V_v) a - sqrt(V_k) b|^2 / (4 sqrt p),

increasing in r (n_0 = 1, y_0 = y; centred: n_0 = 1 + L V_v, y_0 = y - L mean(omega_v)). The problem is quadratic
in sigma . z, so there is no duality gap and the root is the global minimum.
"""

import math

from numba import njit


@njit(nogil=True, error_model="numpy")
def linear_edge_root(y0, n0, root_p, a_sum, b_sum):
    """The e = 1 - t in (0, 1] of the root, given that t >= 0 (that is y0 + B >= A).

    Newton on e sqrt(c(e)) - sqrt(A), c(e) = y0 + B/(2-e)^2 - n0 (1-e)/sqrt(p), increasing where c > 0; solved for
    the distance to the edge so that roots next to |t| = 1 keep their relative precision.
    """
    root_a = math.sqrt(a_sum)
    low = math.sqrt(a_sum / (y0 + b_sum)) if y0 + b_sum > 0.0 else 1.0
    low = min(low, 1.0)
    high = 1.0
    e = high
    last = 2.0
    for _ in range(200):
        c = y0 + b_sum / (2.0 - e) ** 2 - n0 * (1.0 - e) / root_p
        value = e * math.sqrt(c) - root_a if c > 0.0 else -1.0
        if value == 0.0:
            break
        if value < 0.0:
            low = e
        else:
            high = e
        new = 0.5 * (low + high)
        if c > 0.0:
            slope = math.sqrt(c) + 0.5 * e * (2.0 * b_sum / (2.0 - e) ** 3 + n0 / root_p) / math.sqrt(c)
            newton = e - value / slope
            # a safeguarded Newton can 2-cycle: its steps must halve
            if low <= newton <= high and abs(newton - e) <= 0.5 * last:
                new = newton
        last = abs(new - e)
        e = new
        if last <= 4e-16 * e:
            break
    return e


@njit(nogil=True, error_model="numpy")
def linear_root(y0, n0, p, s_ab, s_aa_bb, a_sum, b_sum):
    """(t, e): t = sqrt(p) r and e = 1 - |t|, each to relative precision.

    Up to |t| = 1/2 the last steps use the polynomial form (y_0 - n_0 r)(1 - p r^2)^2 = S_ab (1 + p r^2) + r Q, which
    does not cancel for small p.
    """
    root_p = math.sqrt(p)
    if y0 + b_sum >= a_sum:
        e = linear_edge_root(y0, n0, root_p, a_sum, b_sum)
        t = 1.0 - e
    else:
        e = linear_edge_root(-y0, n0, root_p, b_sum, a_sum)
        t = e - 1.0
    if e >= 0.5:
        r = t / root_p
        for _ in range(4):
            u = p * r * r
            rest = (y0 - n0 * r) * (1.0 - u) ** 2 - s_ab * (1.0 + u) - r * s_aa_bb
            slope = n0 * (1.0 - u) ** 2 + 4.0 * (y0 - n0 * r) * (1.0 - u) * p * r + 2.0 * s_ab * p * r + s_aa_bb
            if slope <= 0.0:
                break
            step = rest / slope
            r += step
            if abs(step) <= 2e-16 * abs(r):
                break
        t = root_p * r
        e = 1.0 - abs(t)
    return t, e


@njit(nogil=True, error_model="numpy")
def prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small):
    """Proximal point (see `prox_newton.py` for the common interface); always global."""
    length = omega_k.shape[0]
    mean_k = 0.0
    mean_v = 0.0
    n0 = 1.0
    y0 = y
    shift = 1.0
    if CENTRED:
        for l in range(length):
            mean_k += omega_k[l] / length
            mean_v += omega_v[l] / length
        n0 = 1.0 + length * V_v
        y0 = y - length * mean_v
        shift = -mean_k
        if length == 1:
            # sigma = 1: ridge regression on the value, the key decouples
            r = y0 / n0
            chi[0] = omega_k[0]
            sigma[0] = 1.0
            g_k[0] = 0.0
            return r, 0.5 * r * r * n0, True, True
    p = V_k * V_v
    root_p = math.sqrt(p)
    root_k = math.sqrt(V_k)
    root_v = math.sqrt(V_v)
    s_ab = 0.0
    s_aa_bb = 0.0
    a_sum = 0.0
    b_sum = 0.0
    for l in range(length):
        a = omega_k[l] + shift
        b = omega_v[l] - mean_v
        s_ab += a * b
        s_aa_bb += V_v * a * a + V_k * b * b
        a_sum += (root_v * a + root_k * b) ** 2
        b_sum += (root_v * a - root_k * b) ** 2
    a_sum /= 4.0 * root_p
    b_sum /= 4.0 * root_p
    t, e = linear_root(y0, n0, p, s_ab, s_aa_bb, a_sum, b_sum)
    r = t / root_p
    plus = e if t >= 0.0 else 2.0 - e
    minus = 2.0 - e if t >= 0.0 else e
    # At |t| = 1 with a vanishing edge vector the minimisers form a sphere and any direction serves: only |w| is fixed.
    sphere = 0.0
    if (a_sum if t >= 0.0 else b_sum) <= 1e-290:
        other = b_sum if t >= 0.0 else a_sum
        excess = abs(y0) * (1.0 if y0 * t >= 0.0 else -1.0) + 0.25 * other - n0 * abs(r)
        if e < 1e-12 and excess > 0.0:
            sphere = math.sqrt(4.0 * root_p * excess)
    squares = 0.0
    moved = 0.0
    for l in range(length):
        a = omega_k[l] + shift
        b = omega_v[l] - mean_v
        left = (root_v * a + root_k * b) / plus if plus > 0.0 else 0.0
        right = (root_v * a - root_k * b) / minus if minus > 0.0 else 0.0
        if sphere > 0.0:
            unit = 0.0
            if CENTRED:
                if l < 2:
                    unit = math.sqrt(0.5) * (1.0 - 2.0 * l)
            elif l == 0:
                unit = 1.0
            if t >= 0.0:
                left = sphere * unit
            else:
                right = sphere * unit
        if e >= 0.5:
            centred_sigma = (a + V_k * r * b) / (1.0 - t * t)
            z = (b + V_v * r * a) / (1.0 - t * t)
        else:
            centred_sigma = 0.5 * (left + right) / root_v
            z = 0.5 * (left - right) / root_k
        g_k[l] = r * z
        if CENTRED:
            chi[l] = mean_k + centred_sigma
            sigma[l] = 1.0 + centred_sigma
        else:
            chi[l] = centred_sigma - 1.0
            sigma[l] = centred_sigma
        squares += sigma[l] * sigma[l]
        moved += g_k[l] * g_k[l]
    return r, 0.5 * r * r * (1.0 + V_v * squares) + 0.5 * V_k * moved, True, True


@njit(nogil=True, error_model="numpy")
def prox_response(chi, sigma, omega_v, r, V_k, V_v, rows, small):
    """Traces and squares of d g/d omega (see `response_sums`)."""
    length = chi.shape[0]
    for l in range(length):
        rows[0, l] = 1.0
        rows[1, l] = 0.0
        rows[2, l] = omega_v[l] + V_v * r * sigma[l]
    return response_elementwise(CENTRED, sigma, rows[2], r, V_k, V_v, rows, small)
