"""Averages over tokens and signals of the risk of several heads and of its gradients.

Part of the generated module of an activation, which defines FLOOR, `entry`, `normaliser` and `slope`. The last axis of
every array is the node: innermost loops run over a few nodes, so that the compiler makes vectors of them. Views of rows
would be counted, which costs more than the loops.
"""

import numpy as np
from numba import njit

WIDTH = 32  # nodes that are worked on together: what they need stays in the fastest memory


@njit(nogil=True, error_model="numpy")
def attend(chi, b, shares):
    """Fill shares[h, l, i] = sigma_hl."""
    heads, length, width = chi.shape
    top, total = np.empty(width), np.empty(width)
    for h in range(heads):
        for i in range(width):
            top[i] = 0.0 if FLOOR else chi[h, 0, i] - b[h]
            total[i] = 0.0
        for l in range(length):
            for i in range(width):
                top[i] = max(top[i], chi[h, l, i] - b[h])
        for l in range(length):
            for i in range(width):
                shares[h, l, i] = entry(chi[h, l, i], b[h], top[i])
                total[i] += shares[h, l, i]
        for i in range(width):
            total[i] = 1.0 / normaliser(total[i], top[i])
        for l in range(length):
            for i in range(width):
                shares[h, l, i] *= total[i]


@njit(nogil=True, error_model="numpy")
def gradient(chi, b, weight, shares, errors, rho, risks):
    """Fill rho[h, l, i] = d rho/d chi_hl for the informative token 0; adds sum_l e_l^2 to risks[i]."""
    heads, length, width = chi.shape
    attend(chi, b, shares)
    for l in range(length):
        for i in range(width):
            errors[l, i] = -1.0 if l == 0 else 0.0
        for h in range(heads):
            for i in range(width):
                errors[l, i] += weight * shares[h, l, i]
        for i in range(width):
            risks[i] += errors[l, i] * errors[l, i]
    error_share = np.empty(width)
    for h in range(heads):
        error_share[:] = 0.0
        for l in range(length):
            for i in range(width):
                error_share[i] += errors[l, i] * shares[h, l, i]
        for l in range(length):
            for i in range(width):
                rho[h, l, i] = slope(shares[h, l, i], errors[l, i], error_share[i], weight)


@njit(nogil=True, error_model="numpy")
def fields(overlaps, coordinates, out):
    """Fill out[h, l, i] = sum_f overlaps[h, f] coordinates[l, f, i]."""
    out[:] = 0.0
    for h in range(out.shape[0]):
        for l in range(out.shape[1]):
            for f in range(overlaps.shape[1]):
                for i in range(out.shape[2]):
                    out[h, l, i] += overlaps[h, f] * coordinates[l, f, i]


@njit(nogil=True, error_model="numpy")
def pull(slopes, coordinates, out):
    """Add sum_l slopes[h, l, i] coordinates[l, f, i] to out[h, f, i]."""
    for h in range(slopes.shape[0]):
        for l in range(slopes.shape[1]):
            for f in range(coordinates.shape[1]):
                for i in range(slopes.shape[2]):
                    out[h, f, i] += slopes[h, l, i] * coordinates[l, f, i]


@njit(nogil=True, error_model="numpy")
def group(zeta, xi, theta, m, c, b, weight, symmetric, images, noise, g_m, g_c, g_b, g_noise, risks):
    """Add what each of a few nodes contributes, the node as last axis. theta is (1, F, nodes), as if of one token."""
    length, _, width = zeta.shape
    shape = len(b), length, width
    from_zeta, from_xi, from_theta = np.empty(shape), np.empty(shape), np.empty((len(b), 1, width))
    fields(m, zeta, from_zeta)
    fields(c, xi, from_xi)
    fields(m, theta, from_theta)
    sum_zeta, sum_xi, sum_theta = np.zeros(shape), np.zeros(shape), np.zeros((len(b), 1, width))
    chi, shares, rho, errors = np.empty(shape), np.empty(shape), np.empty(shape), np.empty((length, width))
    for image in range(images):
        s_zeta = 1.0 if image < images // 2 else -1.0
        s_xi = 1.0 if images == 2 or image % 2 == 0 else -1.0
        s_theta = s_zeta if symmetric else 1.0
        for h in range(len(b)):
            for l in range(length):
                for i in range(width):
                    chi[h, l, i] = s_zeta * from_zeta[h, l, i] + s_xi * from_xi[h, l, i]
            for i in range(width):
                chi[h, 0, i] += s_theta * from_theta[h, 0, i]
        gradient(chi, b, weight, shares, errors, rho, risks)
        for h in range(len(b)):
            for i in range(width):
                sum_theta[h, 0, i] += s_theta * rho[h, 0, i]
            for l in range(length):
                for i in range(width):
                    sum_zeta[h, l, i] += s_zeta * rho[h, l, i]
                    sum_xi[h, l, i] += s_xi * rho[h, l, i]
                    g_b[h, i] -= rho[h, l, i]
        if noise:
            for h in range(len(b)):
                for k in range(h + 1):
                    for l in range(length):
                        for i in range(width):
                            g_noise[h, k, i] += rho[h, l, i] * rho[k, l, i]
    pull(sum_zeta, zeta, g_m)
    pull(sum_theta, theta, g_m)
    pull(sum_xi, xi, g_c)


@njit(nogil=True, cache=True, error_model="numpy")
def accumulate(zeta, xi, theta, first, last, m, c, b, weight, symmetric, images, noise, g_m, g_c, g_b, g_noise):
    """Add nodes first..last, each in mirror images, to the gradients; returns the sum of the risks.

    zeta (L, F, N), xi (L, J, N), theta (1, F, N). Images: zeta -> -zeta (with theta -> -theta where its law is
    symmetric) and, if there are four, xi -> -xi, so that odd averages vanish exactly and the unspecialised point is a
    fixed point of the discretised flow too.
    """
    heads, width = len(b), min(WIDTH, last - first)
    of_m, of_c = np.zeros((heads, m.shape[1], width)), np.zeros((heads, c.shape[1], width))
    of_b, of_noise, risks = np.zeros((heads, width)), np.zeros((heads, heads, width)), np.zeros(width)
    for begin in range(first, last, WIDTH):
        end = min(begin + WIDTH, last)
        few = [np.ascontiguousarray(x[:, :, begin:end]) for x in (zeta, xi, theta)]
        group(few[0], few[1], few[2], m, c, b, weight, symmetric, images, noise, of_m, of_c, of_b, of_noise, risks)
    for h in range(heads):
        for f in range(m.shape[1]):
            g_m[h, f] += of_m[h, f].sum()
        for j in range(c.shape[1]):
            g_c[h, j] += of_c[h, j].sum()
        g_b[h] += of_b[h].sum()
        for k in range(h + 1):
            g_noise[h, k] += of_noise[h, k].sum()
    return risks.sum()
