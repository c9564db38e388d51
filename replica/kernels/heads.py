"""Averages over tokens and signals of the risk of several heads and of its gradients.

Part of the generated module of an activation, which defines FLOOR, `entry`, `normaliser` and `slope`.
"""

import numpy as np
from numba import njit


@njit(nogil=True)
def attend(chi, b, shares):
    """Fill shares[h, l] = sigma_hl."""
    heads, length = chi.shape
    for h in range(heads):
        top = 0.0 if FLOOR else chi[h, 0] - b[h]
        for l in range(length):
            top = max(top, chi[h, l] - b[h])
        total = 0.0
        for l in range(length):
            shares[h, l] = entry(chi[h, l], b[h], top)
            total += shares[h, l]
        size = normaliser(total, top)
        for l in range(length):
            shares[h, l] /= size


@njit(nogil=True)
def gradient(chi, b, weight, shares, errors, rho):
    """Fill rho[h, l] = d rho/d chi_hl for the informative token 0; returns sum_l e_l^2."""
    heads, length = chi.shape
    attend(chi, b, shares)
    risk = 0.0
    for l in range(length):
        attention = 0.0
        for h in range(heads):
            attention += shares[h, l]
        errors[l] = weight * attention - (1.0 if l == 0 else 0.0)
        risk += errors[l] * errors[l]
    for h in range(heads):
        error_share = 0.0
        for l in range(length):
            error_share += errors[l] * shares[h, l]
        for l in range(length):
            rho[h, l] = slope(shares[h, l], errors[l], error_share, weight)
    return risk


@njit(nogil=True, cache=True)
def accumulate(zeta, xi, theta, first, last, m, c, b, weight, symmetric, images, noise, g_m, g_c, g_b, g_noise):
    """Add nodes first..last, each in mirror images, to the gradients; returns the sum of the risks.

    Images: zeta -> -zeta (with theta -> -theta where its law is symmetric) and, if there are four, xi -> -xi, so that
    odd averages vanish exactly and the unspecialised point is a fixed point of the discretised flow too.
    """
    length, features = zeta.shape[1:]
    rank = xi.shape[2]
    heads = m.shape[0]
    from_zeta = np.empty((heads, length))
    from_xi = np.empty((heads, length))
    from_theta = np.empty(heads)
    chi = np.empty((heads, length))
    shares = np.empty((heads, length))
    errors = np.empty(length)
    rho = np.empty((heads, length))
    sum_zeta = np.empty((heads, length))
    sum_xi = np.empty((heads, length))
    sum_theta = np.empty(heads)
    risk = 0.0
    for node in range(first, last):
        for h in range(heads):
            signal = 0.0
            for f in range(features):
                signal += m[h, f] * theta[node, f]
            from_theta[h] = signal
            sum_theta[h] = 0.0
            for l in range(length):
                part = 0.0
                for f in range(features):
                    part += m[h, f] * zeta[node, l, f]
                from_zeta[h, l] = part
                part = 0.0
                for j in range(rank):
                    part += c[h, j] * xi[node, l, j]
                from_xi[h, l] = part
                sum_zeta[h, l] = 0.0
                sum_xi[h, l] = 0.0
        for image in range(images):
            s_zeta = 1.0 if image < images // 2 else -1.0
            s_xi = 1.0 if images == 2 or image % 2 == 0 else -1.0
            s_theta = s_zeta if symmetric else 1.0
            for h in range(heads):
                for l in range(length):
                    chi[h, l] = s_zeta * from_zeta[h, l] + s_xi * from_xi[h, l]
                chi[h, 0] += s_theta * from_theta[h]
            risk += gradient(chi, b, weight, shares, errors, rho)
            for h in range(heads):
                sum_theta[h] += s_theta * rho[h, 0]
                for l in range(length):
                    sum_zeta[h, l] += s_zeta * rho[h, l]
                    sum_xi[h, l] += s_xi * rho[h, l]
                    g_b[h] -= rho[h, l]
            if noise:
                for h in range(heads):
                    for k in range(h + 1):
                        product = 0.0
                        for l in range(length):
                            product += rho[h, l] * rho[k, l]
                        g_noise[h, k] += product
        for h in range(heads):
            for f in range(features):
                part = sum_theta[h] * theta[node, f]
                for l in range(length):
                    part += sum_zeta[h, l] * zeta[node, l, f]
                g_m[h, f] += part
            for l in range(length):
                for j in range(rank):
                    g_c[h, j] += sum_xi[h, l] * xi[node, l, j]
    return risk
