"""Compiled vector field and descent loop of the value-softmax model. All kernels share this one file.

A change in a kernel must also renew the callers in numba's on-disk cache, which looks at one file only.
Arrays: V is kept as W = V^T (tokens x dim) so that both products run along memory; A is rows x tokens
(rows x dim when tied, logits z_t = V^T-column products U A_t); `work` holds six scratch rows.
"""

import math

import numpy as np
from numba import njit

SOFTMAX, L1, SUM, POWER2, RELU, SIGMOID = 0, 1, 2, 3, 4, 5
LOGISTIC, SQUARE, KL = 0, 1, 2
RUNNING, REACHED, NONFINITE = 0, 1, 2


@njit(nogil=True, cache=True)
def weights(kind, z, s):
    """Fill s = map(z), normalised to sum one except for sigmoid; return the sum before normalisation."""
    n = z.shape[0]
    if kind == SOFTMAX:
        top = z[0]
        for i in range(1, n):
            top = max(top, z[i])
    total = 0.0
    for i in range(n):
        if kind == SOFTMAX:
            s[i] = math.exp(z[i] - top)
        elif kind == L1:
            s[i] = abs(z[i])
        elif kind == SUM:
            s[i] = z[i]
        elif kind == POWER2:
            s[i] = z[i] * z[i]
        elif kind == SIGMOID:
            e = math.exp(-abs(z[i]))
            s[i] = 1.0 / (1.0 + e) if z[i] >= 0.0 else e / (1.0 + e)
        else:
            s[i] = max(z[i], 0.0)
        total += s[i]
    if kind != SIGMOID:
        if total == 0.0:
            total = math.nan  # all weights dead (relu) or cancelling (sum): no value, and the caller sees nan
        for i in range(n):
            s[i] /= total
    return total


@njit(nogil=True, cache=True)
def pull_back(kind, z, s, total, h, out):
    """Fill out_i = sum_j (d s_j / d z_i) h_j, the transposed Jacobian of the map applied to h."""
    n = z.shape[0]
    mean = 0.0
    for i in range(n):
        mean += s[i] * h[i]
    for i in range(n):
        centred = h[i] - mean
        if kind == SOFTMAX:
            out[i] = s[i] * centred
        elif kind == L1:
            out[i] = np.sign(z[i]) * centred / total
        elif kind == SUM:
            out[i] = centred / total
        elif kind == POWER2:
            out[i] = 2.0 * z[i] * centred / total
        elif kind == SIGMOID:
            out[i] = s[i] * (1.0 - s[i]) * h[i]
        else:
            out[i] = centred / total if z[i] > 0.0 else 0.0


@njit(nogil=True, cache=True)
def ell(loss, beta, target, design, conditioned, pull, r):
    """Fill pull = -grad ell(beta); return (ell, residual). `residual` is scaled as in `replica.flow.schema`."""
    d = beta.shape[0]
    if loss == LOGISTIC:
        x = 0.0
        for i in range(d):
            x += target[i] * beta[i]
        e = math.exp(-abs(x))
        gamma = e / (1.0 + e) if x >= 0.0 else 1.0 / (1.0 + e)
        for i in range(d):
            pull[i] = gamma * target[i]
        return max(-x, 0.0) + math.log1p(e), gamma
    if loss == KL:
        top = beta[0]
        for i in range(1, d):
            top = max(top, beta[i])
        total = 0.0
        for i in range(d):
            r[i] = math.exp(beta[i] - top)
            total += r[i]
        log_total = math.log(total)
        value = 0.0
        distance = 0.0
        for i in range(d):
            pull[i] = target[i] - r[i] / total
            distance += 0.5 * abs(pull[i])
            if target[i] > 0.0:
                value += target[i] * (math.log(target[i]) - (beta[i] - top - log_total))
        return max(value, 0.0), distance
    value = 0.0
    scale = 0.0
    if conditioned:
        m = target.shape[0]
        for i in range(d):
            pull[i] = 0.0
        for k in range(m):
            gap = target[k]
            for i in range(d):
                gap -= design[k, i] * beta[i]
            for i in range(d):
                pull[i] += design[k, i] * gap
            value += gap * gap
            scale += target[k] * target[k]
    else:
        for i in range(d):
            pull[i] = target[i] - beta[i]
            value += pull[i] * pull[i]
            scale += target[i] * target[i]
    return 0.5 * value, math.sqrt(value / scale)


@njit(nogil=True, cache=True)
def direction_at_zero(loss, target, design, conditioned, w):
    """Fill w, the multiple of -grad ell(0) that serves as axis of u and gamma.

    Logistic and square: w = beta*; conditioned: X^T beta*; kl: y - 1/d.
    """
    d = w.shape[0]
    for i in range(d):
        if loss == KL:
            w[i] = target[i] - 1.0 / d
        elif conditioned:
            w[i] = 0.0
            for k in range(target.shape[0]):
                w[i] += design[k, i] * target[k]
        else:
            w[i] = target[i]


@njit(nogil=True, cache=True)
def velocity(loss, kind, tied, W, A, target, design, conditioned, axis, dW, dA, work):
    """Fill dW, dA with minus the gradient of mean_t ell(V map(z_t)); return (loss, residual, gamma), row means."""
    p, d = W.shape
    rows = A.shape[0]
    z, s, h, back = work[0, :p], work[1, :p], work[2, :p], work[3, :p]
    beta, pull, r = work[4, :d], work[5, :d], work[6, :d]
    dW[:, :] = 0.0
    norm = 0.0
    for i in range(d):
        norm += axis[i] * axis[i]
    mean_loss, mean_residual, mean_gamma = 0.0, 0.0, 0.0
    share = 1.0 / rows
    for t in range(rows):
        for j in range(p):
            z[j] = A[t, j]
        if tied:
            for i in range(p):
                z[i] = 0.0
            for j in range(p):
                for i in range(p):
                    z[i] += W[j, i] * A[t, j]
        total = weights(kind, z, s)
        for i in range(d):
            beta[i] = 0.0
        for j in range(p):
            for i in range(d):
                beta[i] += W[j, i] * s[j]
        value, residual = ell(loss, beta, target, design, conditioned, pull, r)
        along = 0.0
        for i in range(d):
            along += pull[i] * axis[i]
        mean_loss += share * value
        mean_residual += share * residual
        mean_gamma += share * along / norm
        for j in range(p):
            inner = 0.0
            scale = share * s[j]
            for i in range(d):
                inner += W[j, i] * pull[i]
                dW[j, i] += scale * pull[i]
            h[j] = inner
        pull_back(kind, z, s, total, h, back)
        if tied:
            for j in range(p):
                inner = 0.0
                scale = share * A[t, j]
                for i in range(p):
                    inner += W[j, i] * back[i]
                    dW[j, i] += scale * back[i]
                dA[t, j] = share * inner
        else:
            for j in range(p):
                dA[t, j] = share * back[j]
    return mean_loss, mean_residual, mean_gamma


@njit(nogil=True, cache=True)
def flow_field(y, out, loss, kind, tied, p, d, rows, target, design, conditioned, axis, work):
    """Fill out = dy/dt for y = (W, A, int gamma); return the residual."""
    n, k = p * d, rows * p
    _, residual, gamma = velocity(
        loss, kind, tied, y[:n].reshape(p, d), y[n : n + k].reshape(rows, p), target, design, conditioned, axis,
        out[:n].reshape(p, d), out[n : n + k].reshape(rows, p), work,
    )  # fmt: skip
    out[n + k] = gamma
    return residual


@njit(nogil=True, cache=True)
def descend(steps, lr, stop, loss, kind, tied, W, A, target, design, conditioned, axis, dW, dA, work, integral):
    """Make up to `steps` steps in place, adding lr * gamma to integral[0]; return (steps done, status).

    The residual is that of the iterate before its step; `stop` < 0 never stops early.
    """
    for step in range(steps):
        _, residual, gamma = velocity(loss, kind, tied, W, A, target, design, conditioned, axis, dW, dA, work)
        if not math.isfinite(gamma):
            return step, NONFINITE
        if residual <= stop:
            return step, REACHED
        for j in range(W.shape[0]):
            for i in range(W.shape[1]):
                W[j, i] += lr * dW[j, i]
        for t in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[t, j] += lr * dA[t, j]
        integral[0] += lr * gamma
    return steps, RUNNING
