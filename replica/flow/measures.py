"""How polarised an attention vector is, and how low-rank the values are."""

from __future__ import annotations

import numpy as np


def shares(s: np.ndarray) -> np.ndarray:
    """p = |s|/sum|s| along the last axis: a distribution also for maps that are signed or not normalised."""
    size = np.abs(s)
    total = size.sum(-1, keepdims=True)
    return np.divide(size, total, out=np.full_like(size, np.nan), where=total > 0)


def entropy(s: np.ndarray) -> np.ndarray:
    """-sum p log p in nats along the last axis, 0 log 0 = 0; between 0 and log(tokens)."""
    p = shares(s)
    return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), -1)


def participation_ratio(s: np.ndarray) -> np.ndarray:
    """1/sum p^2 along the last axis: the number of tokens that share the attention, from 1 to tokens."""
    return 1.0 / np.sum(shares(s) ** 2, -1)


def rank_one_share(V: np.ndarray) -> np.ndarray:
    """Top singular value squared over |V|_F^2, over the last two axes; nan for V = 0."""
    values = np.linalg.svd(V, compute_uv=False) ** 2
    total = values.sum(-1)
    return np.divide(values[..., 0], total, out=np.full_like(total, np.nan), where=total > 0)


def sink(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(token, share of rows) for s of shape (..., rows, tokens).

    The token has the largest weight averaged over rows; the share counts rows that give their largest weight to it.
    """
    p = shares(s)
    token = np.argmax(p.mean(-2), -1)
    return token, np.mean(np.argmax(p, -1) == token[..., None], -1)
