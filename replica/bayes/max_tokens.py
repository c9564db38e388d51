"""Max channel with four or more tokens: one quadrature over the race, quasi-random points over the fields."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..kernels.race import race_channel
from ..quadrature.blocks import map_blocks
from ..quadrature.sobol import scrambled_sobol
from .channel import ChannelAverages
from .race import race_table

REPLICAS = 8
EVERY_UP_TO = 8
FIRST_LOG2 = 9
CERTAIN_TAU = 1e-100  # y tells the position for sure


class MaxTokens:
    """Max-SLR, L >= 4, any nu > 0 (theory.md section 6).

    pi_l is the chance that token l wins the race of scores omega_l + sqrt(1 - q_k) xi_l + G_l/nu (G Gumbel, absent at
    nu = inf), one integral over the winning score. The fields are averaged over scrambled Sobol points: the same
    points at every overlap, so that the state evolution is a smooth deterministic map; their replicas give the
    error.

    Up to eight tokens, omega_k is drawn from N(0, q_k I) and every position is summed with its probability
    (2L - 1 dimensions). Beyond, the relevant token is drawn first (3L + 1 dimensions), at a cost linear in L.

    Parameters
    ----------
    nu : float
        Inverse temperature > 0, or inf.
    length : int
    seed : int
    """

    method = "sobol"
    levels = 4

    def __init__(self, nu: float, length: int, seed: int) -> None:
        self.nu, self.length, self.seed = nu, length, seed
        self._every = length <= EVERY_UP_TO
        self.default_rtol = 1e-4 if self._every else 1e-3
        self._points = functools.lru_cache(maxsize=REPLICAS)(self._draw)

    def nodes(self, level: int) -> int:
        return REPLICAS * 2 ** (FIRST_LOG2 + 2 * level)

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        return ChannelAverages(*self.samples(miss_k, miss_v, noise, level).mean(axis=0))

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        info, _, _, log_prior, misplaced = self._rows(miss_k, 1.0, CERTAIN_TAU, level).mean(axis=0)
        return ChannelAverages(info, 1.0, 0.0, log_prior, misplaced)

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self._rows(miss_k, 1.0 - miss_v, math.sqrt(miss_v + noise * noise), level)

    def _rows(self, miss_k: float, q_v: float, tau: float, level: int) -> np.ndarray:
        race = race_table(math.sqrt(miss_k), self.nu, self.length)

        def replica(begin: int, _end: int) -> np.ndarray:
            scores, blur, gaps, u = self._points(level, begin)
            q_k = 1.0 - miss_k
            omega_k = math.sqrt(q_k) * scores if self._every else q_k * scores + math.sqrt(q_k * miss_k) * blur
            sums = race_channel(omega_k, math.sqrt(q_v) * gaps, u, self._every, *race, tau)
            known, lost, lost_fit, *others = sums / len(u)
            return np.array([known - lost, 1.0 - lost_fit, *others])

        return np.array(map_blocks(replica, REPLICAS, size=1))

    def _draw(self, level: int, replica: int) -> tuple[np.ndarray, ...]:
        """chi* (or the direction of omega_k), the noise of omega_k, omega_v/sqrt(q_v), u: one scramble."""
        from scipy.special import ndtri

        length, count = self.length, FIRST_LOG2 + 2 * level
        if self._every:
            normals = ndtri(scrambled_sobol(2 * length - 1, count, (self.seed, replica)))
            frame = _centred_frame(length)
            gaps = normals[:, length - 1 : -1] @ frame
            return normals[:, : length - 1] @ frame, np.empty((0, 0)), gaps, normals[:, -1].copy()
        uniforms = scrambled_sobol(3 * length + 1, count, (self.seed, replica))
        normals = ndtri(uniforms)
        chi = relevant_first(normals[:, :length], uniforms[:, length], self.nu)
        blur = normals[:, length + 1 : 2 * length + 1].copy()
        return chi, blur, normals[:, 2 * length + 1 : -1] @ _centred_frame(length), normals[:, -1].copy()


def _centred_frame(length: int) -> np.ndarray:
    """L - 1 orthonormal rows of R^L orthogonal to (1, ..., 1): omega matters up to a common shift only."""
    rows = np.tril(np.ones((length - 1, length)))
    steps = np.arange(1, length)
    rows[steps - 1, steps] = -steps
    return rows / np.sqrt(steps * (steps + 1.0))[:, None]


def relevant_first(scores: np.ndarray, uniform: np.ndarray, nu: float) -> np.ndarray:
    """Draw the position from softmax(nu scores), argmax at nu = inf, and exchange it with the first token.

    Parameters
    ----------
    scores : ndarray, shape (n, L)
    uniform : ndarray, shape (n,)
        Decides the position by the inverse distribution function.
    nu : float

    Returns
    -------
    ndarray, shape (n, L)
    """
    count, length = scores.shape
    if math.isinf(nu):
        chosen = scores.argmax(axis=1)
    else:
        weight = np.exp(nu * (scores - scores.max(axis=1, keepdims=True)))
        cumulative = np.cumsum(weight, axis=1)
        chosen = (cumulative < uniform[:, None] * cumulative[:, -1:]).sum(axis=1).clip(max=length - 1)
    exchanged, rows = scores.copy(), np.arange(count)
    exchanged[rows, chosen] = scores[:, 0]
    exchanged[:, 0] = scores[rows, chosen]
    return exchanged
