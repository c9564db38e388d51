"""Online SGD of several heads at finite D: the evidence, which shares no formula with the equations it tests.

Tokens are drawn in full, the loss is |X_eps - X^T s|^2/(2 D) of the finite sample, and its gradient is written by hand:
d loss/d s_l = -X_l.(X_eps - X^T s)/D, then through the activation,
    k_h <- k_h - gamma sum_l (d loss/d chi_hl) X_l/sqrt(D),   b_h <- b_h + (gamma/D) sum_l d loss/d chi_hl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from ..errors import InvalidProblem
from ..models.checks import number
from .problem import ACTIVATIONS, LARGEST_NORM, LARGEST_RATE, HeadsProblem

_MOST = 10**12  # steps of a run
_CHUNK = 1000  # steps between two looks at the keyboard


@dataclass(frozen=True)
class Runs:
    """Independent runs: tau (T,), and over seeds S: m (S, T, H, F), q (S, T, H, H), b (S, T, H), risk (S, T).

    risk is the mean of |X_eps - X^T s|^2/D over fresh samples.
    """

    problem: HeadsProblem
    dimension: int
    rate: float
    tau: np.ndarray
    m: np.ndarray
    q: np.ndarray
    b: np.ndarray
    risk: np.ndarray


def simulate(
    problem: HeadsProblem,
    dimension: int,
    rate: float,
    tau: np.ndarray,
    seeds: Sequence[int],
    *,
    norm: float = 0.1,
    threshold: float = 0.0,
    planted: tuple[np.ndarray, np.ndarray] | None = None,
    test: int = 1000,
    progress: Callable[[float], None] | None = None,
) -> Runs:
    """Train by online SGD, one fresh sample a step, once for each seed.

    Parameters
    ----------
    dimension : int
        D, at least H + F.
    rate : float
        Learning rate gamma > 0; a unit of tau is D/gamma steps.
    tau : ndarray
        Increasing times to record, rounded to whole steps; the first may be 0.
    norm : float
        Keys start as norm N(0, I_D).
    threshold : float
        Thresholds b_h at the start.
    planted : (m, r), optional
        Start at exactly these overlaps, m (H, F) and r (H, H), in random directions, instead of at random keys.
    test : int
        Fresh samples for each recorded risk.

    Raises
    ------
    InvalidProblem
        If a parameter is out of range.
    """
    rate = number("rate", rate, minimum=0.0, strict=True, maximum=LARGEST_RATE)
    norm = number("norm", norm, minimum=0.0, strict=False, maximum=LARGEST_NORM)
    threshold = number("threshold", threshold, minimum=-np.inf, strict=True)
    heads, features = problem.heads, problem.signal.features
    if dimension != int(dimension) or dimension < heads + features:
        raise InvalidProblem(f"dimension = {dimension:g} is not possible; allowed: whole dimension >= heads + features")
    if test < 1:
        raise InvalidProblem(f"test = {test} is not possible; allowed: test >= 1")
    if not len(seeds):
        raise InvalidProblem("seeds = 0 leaves nothing to run; allowed: seeds >= 1")
    if threshold and problem.thresholds == "none":
        raise InvalidProblem(f"threshold = {threshold:g} has no meaning for softmax; allowed: threshold = 0")
    dimension = int(dimension)
    tau = np.asarray(tau, dtype=float)
    if not len(tau) or not np.isfinite(tau).all() or tau[0] < 0 or np.any(np.diff(tau) <= 0):
        raise InvalidProblem("tau is not an increasing list of finite times >= 0")
    steps = np.rint(tau * dimension / rate)
    if np.any(np.diff(steps) < 1) or steps[-1] > _MOST:
        raise InvalidProblem(
            f"a step of SGD takes tau = rate/dimension = {rate / dimension:g}; allowed: times (fewer points) at least "
            f"a step apart, up to {_MOST:.0e} steps"
        )
    marks = steps.astype(np.int64)
    records = []
    for index, seed in enumerate(seeds):
        report = None if progress is None else (lambda share, i=index: progress((i + share) / len(seeds)))
        start = _start(problem, dimension, norm, planted, int(seed))
        records.append(_train(problem, start, rate, threshold, marks, test, int(seed), report))
    m, q, b, risk = (np.stack(part) for part in zip(*records, strict=True))
    return Runs(problem, dimension, rate, marks * rate / dimension, m, q, b, risk)


def _start(problem, dimension, norm, planted, seed) -> tuple[np.ndarray, np.ndarray]:
    """Features k* (F, D) and keys (H, D)."""
    heads, features = problem.heads, problem.signal.features
    rng = np.random.default_rng([seed, 0])
    basis = np.linalg.qr(rng.standard_normal((dimension, features + heads)))[0].T * np.sqrt(dimension)
    stars, rest = np.ascontiguousarray(basis[:features]), basis[features:]
    if planted is None:
        return stars, norm * rng.standard_normal((heads, dimension))
    m, r = planted
    values, vectors = np.linalg.eigh(r)
    if values.min() < -1e-9:
        raise InvalidProblem("the planted r has a negative eigenvalue; allowed: r positive semidefinite")
    return stars, m @ stars + (vectors * np.sqrt(np.maximum(values, 0.0))) @ rest


def _train(problem, start, rate, threshold, marks, test, seed, report):
    stars, keys = start
    heads, dimension = keys.shape
    kind, weight = list(ACTIVATIONS).index(problem.activation), problem.head_weight
    train_b = problem.thresholds == "train"
    laws, tokens, fresh_laws, fresh_tokens = (np.random.default_rng([seed, stream]) for stream in range(1, 5))
    b = np.full(heads, threshold)
    records = []
    done = 0
    for mark in marks:
        while done < mark:
            steps = int(min(_CHUNK, mark - done))
            theta = problem.signal.sample(laws, steps)
            _sgd(tokens, theta, stars, keys, b, problem.length, rate, kind, weight, train_b)
            done += steps
            if report is not None:
                report(done / marks[-1])
        theta = problem.signal.sample(fresh_laws, test)
        risk = _risk(fresh_tokens, theta, stars, keys, b, problem.length, kind, weight)
        records.append((keys @ stars.T / dimension, keys @ keys.T / dimension, b.copy(), risk))
    return [np.array(part) for part in zip(*records, strict=True)]


@njit(nogil=True, cache=True)
def _draw(rng, theta, stars, X):
    """Fill the tokens X (L, D); returns the position of the informative one."""
    length, dimension = X.shape
    for l in range(length):
        for i in range(dimension):
            X[l, i] = rng.standard_normal()
    informative = int(rng.random() * length)
    for f in range(len(theta)):
        X[informative] += theta[f] / np.sqrt(dimension) * stars[f]
    return informative


@njit(nogil=True, cache=True)
def _attention(chi, b, kind):
    """Attention of every head (H, L): softmax, softmax with one more unit entry, or softmax over heads and tokens."""
    heads, length = chi.shape
    logits = chi - b.reshape(heads, 1)
    if kind == 2:
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()
    out = np.empty((heads, length))
    for h in range(heads):
        top = logits[h].max()
        if kind == 1:
            top = max(top, 0.0)
        weights = np.exp(logits[h] - top)
        out[h] = weights / (weights.sum() + (np.exp(-top) if kind == 1 else 0.0))
    return out


@njit(nogil=True, cache=True)
def _sgd(rng, theta, stars, keys, b, length, rate, kind, weight, train_b):
    heads, dimension = keys.shape
    X = np.empty((length, dimension))
    slope = np.empty((heads, length))
    root = np.sqrt(dimension)
    for step in range(len(theta)):
        informative = _draw(rng, theta[step], stars, X)
        attention = _attention(np.dot(keys, X.T) / root, b, kind)
        s = weight * attention.sum(axis=0)
        pull = -np.dot(X, X[informative] - np.dot(s, X)) / dimension
        total = (s * pull).sum()
        for h in range(heads):
            if kind != 2:
                total = (attention[h] * pull).sum()
            slope[h] = weight * attention[h] * (pull - total)
        keys -= (rate / root) * np.dot(slope, X)
        if train_b:
            b += (rate / dimension) * slope.sum(axis=1)


@njit(nogil=True, cache=True)
def _risk(rng, theta, stars, keys, b, length, kind, weight):
    dimension = keys.shape[1]
    X = np.empty((length, dimension))
    total = 0.0
    for sample in range(len(theta)):
        informative = _draw(rng, theta[sample], stars, X)
        s = weight * _attention(np.dot(keys, X.T) / np.sqrt(dimension), b, kind).sum(axis=0)
        gap = X[informative] - np.dot(s, X)
        total += np.dot(gap, gap) / dimension
    return total / len(theta)
