"""The model in plain numpy, written apart from the kernels so that a mistake in one shows against the other."""

import numpy as np


def weights(name, z):
    if name == "softmax":
        e = np.exp(z - z.max())
        return e / e.sum()
    if name == "sigmoid":
        return 1 / (1 + np.exp(-z))
    size = {"l1": np.abs(z), "sum": z, "power2": z**2, "relu": np.maximum(z, 0)}[name]
    return size / size.sum()


def ell(problem, beta, target, design):
    if problem.loss == "logistic":
        return np.logaddexp(0, -target @ beta)
    if problem.loss == "square":
        prediction = beta if problem.condition is None else design @ beta
        return 0.5 * np.sum((target - prediction) ** 2)
    log_model = beta - np.logaddexp.reduce(beta)
    seen = target > 0
    return np.sum(target[seen] * (np.log(target[seen]) - log_model[seen]))


def objective(problem, V, A, target, design):
    total = 0.0
    for a in A:
        z = V @ a if problem.tied else a
        total += ell(problem, V @ weights(problem.map, z), target, design)
    return total / len(A)


def gradient(function, x, step=1e-6):
    out = np.empty_like(x)
    for index in np.ndindex(x.shape):
        shifted = [x.copy(), x.copy()]
        shifted[0][index] += step
        shifted[1][index] -= step
        out[index] = (function(shifted[0]) - function(shifted[1])) / (2 * step)
    return out
