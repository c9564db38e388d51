"""Max channel with three tokens: deterministic, two dimensions of keys times two of the posterior's transforms."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.positions import positions_channel
from ..kernels.race import race_prior
from ..kernels.tables import shifted_average
from ..quadrature.blocks import map_blocks
from ..quadrature.trapezoid import half_normal_sinh_rule, normal_rule, window_rule
from .channel import ChannelAverages
from .race import race_table

REACH = 9.0
LEAST_LOG_PI = -33.0
LOW, HIGH = -34.0, 46.0  # of s = log x: beyond, the transforms are flat or gone
NEGLIGIBLE = 1e-13


class MaxTriple:
    """Max-SLR, L = 3, any nu (theory.md section 6).

    For given omega_k the posterior of the position is averaged exactly over y and omega_v through Laplace transforms
    (`positions_channel`). What is lost by not knowing eps is, by Nishimori's identities,

        E sum_{l<m} p_l p_m |grad log pi_l - grad log pi_m|^2  for the keys.

    omega_k lies in a plane: a = omega_1 - omega_2 and b = omega_3 - (omega_1 + omega_2)/2. Every average is
    symmetric in the tokens, so that it is three times the part where token 3 is the least likely, cut out by the
    smooth weight pi_1 pi_2/(pi_1 pi_2 + pi_2 pi_3 + pi_3 pi_1): sharp only across a = 0, where nodes crowd.

    Parameters
    ----------
    nu : float
        Inverse temperature > 0, or inf.
    """

    method = "tensor+laplace"
    levels = 4
    default_rtol = 1e-5

    def __init__(self, nu: float) -> None:
        self.nu = nu

    @staticmethod
    def _refine(level: int) -> float:
        return 1.35**level

    def nodes(self, level: int) -> int:
        per_axis = 9 * self._refine(level)
        return round(1.5 * per_axis**2 * 19 * self._refine(level) * (HIGH - LOW) / 0.62 * self._refine(level))

    def averages(self, miss_k: float, miss_v: float, noise: float, level: int) -> ChannelAverages:
        weight, pi, pair = self._prior(miss_k, level)
        known = self._known(weight, pi, pair)
        tables = _transforms(1.0 - miss_v, math.sqrt(miss_v + noise * noise), noise, self._refine(level))
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)
        parts = map_blocks(lambda i, j: positions_channel(log_pi[i:j], *tables), len(weight), size=16)
        both, lost_fit, surprise = (np.concatenate(part) for part in zip(*parts, strict=True))
        slope = _log_slopes(pi, pair)
        distance = ((slope[:, :, None] - slope[:, None]) ** 2).sum(axis=-1)
        lost = 0.5 * (both * distance).sum(axis=(1, 2))
        return ChannelAverages(
            info_k=known.info_k - float(weight @ lost),
            fit=1.0 - float(weight @ lost_fit),
            surprise=float(weight @ surprise),
            log_prior=known.log_prior,
            misplaced=known.misplaced,
        )

    def known_position(self, miss_k: float, level: int) -> ChannelAverages:
        return self._known(*self._prior(miss_k, level))

    def samples(self, miss_k: float, miss_v: float, noise: float, level: int) -> np.ndarray:
        return self.averages(miss_k, miss_v, noise, level + 1).as_array()[None]

    @staticmethod
    def _known(weight: np.ndarray, pi: np.ndarray, pair: np.ndarray) -> ChannelAverages:
        info = (pi * (_log_slopes(pi, pair) ** 2).sum(axis=-1)).sum(axis=1)
        log_prior = (pi * np.log(np.maximum(pi, 1e-300))).sum(axis=1)
        misplaced = (pi * (1.0 - pi)).sum(axis=1)
        return ChannelAverages(float(weight @ info), 1.0, 0.0, float(weight @ log_prior), float(weight @ misplaced))

    def _prior(self, miss_k: float, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes of omega_k as weights, shape (n,), with pi, shape (n, 3), and its slopes, shape (n, 3, 3)."""
        q_k, step = 1.0 - miss_k, 0.36 / self._refine(level)
        width = math.hypot(math.sqrt(2.0 * miss_k), math.pi / (math.sqrt(3.0) * self.nu))
        a, a_weight = half_normal_sinh_rule(math.sqrt(2.0 * q_k) / width, step)
        half, half_weight = half_normal_sinh_rule(math.sqrt(1.5 * q_k) / width, step)
        b = np.concatenate([-half[:0:-1], half])
        b_weight = np.concatenate([0.5 * half_weight[:0:-1], half_weight[:1], 0.5 * half_weight[1:]])
        a, b = (width * axis.ravel() for axis in np.meshgrid(a, b, indexing="ij"))
        weight = np.outer(a_weight, b_weight).ravel()
        scores = np.stack([0.5 * a, -0.5 * a, b], axis=1)
        race = race_table(math.sqrt(miss_k), self.nu, 3, self._refine(level))
        pi, pair = race_prior(scores, *race)
        products = pi * np.roll(pi, 1, axis=1)
        # pi_1 pi_2 is products[:, 1]; where one token is certain nothing is averaged and the cut does not matter
        weight *= 3.0 * products[:, 1] / np.maximum(products.sum(axis=1), 1e-300)
        keep = weight > NEGLIGIBLE
        return weight[keep], pi[keep], pair[keep]


def _log_slopes(pi: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """d log pi_l/d omega_j, shape (n, l, j), from W_jl."""
    slopes = -pair.copy()
    tokens = np.arange(pi.shape[1])
    slopes[:, tokens, tokens] = pair.sum(axis=2)
    return slopes / np.maximum(pi, 1e-150)[:, :, None]


def _transforms(q_v: float, tau: float, noise: float, refine: float) -> tuple:
    """The arguments of `positions_channel` after log_pi: transforms on a table in s for half of the labels y."""
    total = 1.0 + noise * noise
    half, y_weight = normal_rule(0.48 / refine)
    keep = half >= 0.0  # everything is even in y
    y, y_weight = math.sqrt(total) * half[keep], 2.0 * y_weight[keep]
    y_weight[0] *= 0.5
    count_inner = math.ceil(2 * REACH / 0.26 * refine) + 1
    u, u_weight = window_rule(tau * y / total, math.sqrt(q_v / total), REACH, count_inner)
    w, w_weight = window_rule(y / tau, math.sqrt(q_v) / tau, REACH, count_inner)
    spacing = 0.62 / refine
    stride = math.ceil(spacing / (0.13 / refine))
    step = spacing / stride
    count = math.ceil((HIGH - LOW) / spacing)
    origin = math.ceil(-LEAST_LOG_PI / step) + 4
    size = stride * (math.ceil((origin + 8) / stride) + count)
    at_start = math.ceil(0.5 * REACH**2 / step) + 4
    grid = LOW + step * (np.arange(-at_start - origin, size - origin + 4))
    x = np.exp(grid)
    gone, peak = -np.expm1(-x), x * np.exp(-x)
    place = float(at_start)

    def average(table: np.ndarray, node: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return shifted_average(table, place, 1, size, 0.5 * node * node / step, weight)

    def phased(table: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(table.reshape(len(y), -1, stride).transpose(0, 2, 1))

    second = (u_weight * u * u).sum(axis=1, keepdims=True)
    tables = (
        1.0 - average(gone, u, u_weight),
        second - average(gone, u, u_weight * u * u),
        1.0 - average(gone, w, w_weight),
        average(peak, w, w_weight),
    )
    return *map(phased, tables), origin, count, y_weight, spacing
