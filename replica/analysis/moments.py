"""First and second moments of attention in the population limit, k = m k* (theory.md section 7).

With v = r v*, the risk 1 + Delta^2 - 2 r E sigma_1 + r^2 E|sigma|^2 is least at r = E sigma_1/E|sigma|^2. Every class
returns (E sigma_1, E|sigma|^2 - (E sigma_1)^2), the second computed so that its relative precision survives where
attention is almost perfect.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from ..bayes.laplace import log_laplace, log_survival, normal_laplace, score_step, uniform_grid
from ..models.activations.base import Activation
from ..models.data.base import DataModel
from ..models.length import LengthLaw
from ..quadrature.trapezoid import normal_rule

LEAST_LOG = -700.0
MARGIN = 38.0
REACH = 9.0
SHARPEST = 0.15  # step that resolves the largest of many normals


class Moments(ABC):
    """Moments of one activation on one data model, as functions of the length m of the key vector."""

    @abstractmethod
    def __call__(self, m: float, refine: float = 1.0) -> tuple[float, float]:
        """E sigma_1 and E|sigma|^2 - (E sigma_1)^2 at k = m k*; all steps are divided by `refine`."""


def chance_of_winning(score: np.ndarray, law: LengthLaw, nu: float, refine: float = 1.0) -> np.ndarray:
    """E_L[L P(eps = 1 | chi*_1)] of max-SLR at chi*_1 = `score`; nu = inf: E_L[L Phi(score)^{L-1}].

    P = int dg k(g) Psi(g - nu chi)^{L-1}, k(g) = e^{g - e^g}, Psi(s) = E exp(-e^{s + nu chi}).
    """
    from scipy.special import log_ndtr

    if math.isinf(nu):
        log_psi, kernel = log_ndtr(score)[:, None], np.ones(1)
    else:
        step = 0.33 / refine
        g = np.arange(-MARGIN, 4.0, step)
        kernel = step * np.exp(g - np.exp(g))
        at = g - nu * score[:, None]
        log_psi = log_survival(normal_laplace(at.ravel(), nu, refine)[0]).reshape(at.shape)
    return sum(p * length * (np.exp((length - 1) * log_psi) @ kernel) for length, p in law)


def mean_winning_score(law: LengthLaw, nu: float, refine: float = 1.0) -> float:
    """E_L E chi*_eps of max-SLR; at nu = inf the mean maximum of L normals."""
    xi, weight = normal_rule(SHARPEST / refine)
    return float(weight @ (xi * chance_of_winning(xi, law, nu, refine)))


class Elementwise(Moments):
    """sigma_l = phi(chi_l): one-dimensional averages; the numerator is Var sigma_1 + sum_{l>1} E sigma_l^2."""

    def __init__(self, activation: Activation, data: DataModel, law: LengthLaw) -> None:
        self.activation, self.data, self.law = activation, data, law
        self._length = sum(p * length for length, p in law)
        self._chances: dict[float, np.ndarray] = {}

    def _chance(self, xi: np.ndarray, step: float, refine: float) -> np.ndarray:
        """`chance_of_winning` on the nodes of one step, which do not depend on m."""
        if step not in self._chances:
            self._chances[step] = chance_of_winning(xi, self.law, self.data.nu, refine)
        return self._chances[step]

    def _phi(self, chi: np.ndarray) -> np.ndarray:
        return self.activation.sigma(chi[:, None])[:, 0]

    def __call__(self, m: float, refine: float = 1.0) -> tuple[float, float]:
        nu, step = self.data.nu, min(0.4, 0.4 / max(abs(m), 1e-9)) / refine
        if self.data.name == "max-slr":
            # halved until small enough, so that many m share their nodes
            step = SHARPEST / refine * 0.5 ** max(0, math.ceil(math.log2(SHARPEST / refine / step)))
            xi, weight = normal_rule(step)
            values = self._phi(m * xi)
            first = float(weight @ (values * self._chance(xi, step, refine)))
            return first, self._length * float(weight @ values**2) - first**2
        # errors of attention lie where a score deviates by sqrt(nu)/2: keep those tails
        xi, weight = normal_rule(step, REACH + 0.5 * math.sqrt(nu))
        right, wrong = self._phi(m * (math.sqrt(nu) + xi)), self._phi(m * xi)
        first = float(weight @ right)
        spread = float(weight @ (right - first) ** 2)
        return first, spread + (self._length - 1.0) * float(weight @ wrong**2)


class Normalised(Moments):
    """sigma_l = phi(chi_l)/sum phi(chi): Laplace transforms, at a cost that does not grow with L.

    1/S^n = int ds x^n e^{-xS}/(n - 1)!, x = e^s, factorises over tokens.
    """

    def __init__(self, activation: Activation, data: DataModel, law: LengthLaw) -> None:
        self.activation, self.data, self.law = activation, data, law

    def _log_phi(self, chi: np.ndarray) -> np.ndarray:
        """log(phi(chi)/phi(0)), from the ratio of two attentions."""
        pair = self.activation.sigma(np.stack([chi, np.zeros_like(chi)], axis=-1))
        with np.errstate(divide="ignore"):
            one, two = np.maximum(np.log(pair), LEAST_LOG).transpose(-1, *range(chi.ndim))
        return one - two

    def __call__(self, m: float, refine: float = 1.0) -> tuple[float, float]:
        if self.data.name == "max-slr":
            return self._maximum(m, refine)
        shift = math.sqrt(self.data.nu)
        xi, weight = normal_rule(score_step(abs(m)) / refine, REACH + 0.5 * shift)
        right, wrong = self._log_phi(m * (shift + xi)), self._log_phi(m * xi)
        s = self._grid(np.concatenate([right, wrong]), refine)
        spacing = s[1] - s[0]
        absorbed_a, peak_a, _ = _transforms(s, right, weight)
        absorbed_b, peak_b, square_b = _transforms(s, wrong, weight)
        alive = 1.0 - absorbed_a
        log_psi = log_survival(absorbed_b)
        missing, missing_square, others = 0.0, 0.0, 0.0
        for length, p in self.law:
            if length == 1:
                continue
            wrong_square = (length - 1) * spacing * float((square_b * alive) @ np.exp((length - 2) * log_psi))
            missing -= p * spacing * float(peak_a @ np.expm1((length - 1) * log_psi))
            others += p * wrong_square
            missing_square += p * wrong_square
            if length > 2:
                pairs = (length - 1) * (length - 2) * spacing
                missing_square += p * pairs * float((peak_b**2 * alive) @ np.exp((length - 3) * log_psi))
        return 1.0 - missing, missing_square - missing**2 + others

    def _grid(self, scores: np.ndarray, refine: float) -> np.ndarray:
        longest = math.log(self.law.support[-1])
        return uniform_grid(-scores.max() - MARGIN - longest, -scores.min() + MARGIN, 0.45 / refine)

    def _maximum(self, m: float, refine: float) -> tuple[float, float]:
        nu = self.data.nu
        step = 0.4 / max(1.0, abs(m), 0.0 if math.isinf(nu) else nu) / refine
        xi, weight = normal_rule(min(0.4, step))
        score = self._log_phi(m * xi)
        s = self._grid(score, refine)
        spacing = s[1] - s[0]
        absorbed, _, square = _transforms(s, score, weight)
        log_psi = log_survival(absorbed)
        second = sum(p * length * spacing * float(square @ np.exp((length - 1) * log_psi)) for length, p in self.law)
        joint = self._joint_argmax if math.isinf(nu) else self._joint_softmax
        first = joint(m, s, refine)
        return first, second - first**2

    def _joint_softmax(self, m: float, s: np.ndarray, refine: float) -> float:
        """E sigma_eps: both the position and the attention are ratios, and each has its transform variable."""
        nu = self.data.nu
        xi, weight = normal_rule(0.4 / max(1.0, abs(m), nu) / refine)
        r = uniform_grid(-REACH * nu - MARGIN - math.log(self.law.support[-1]), REACH * nu + MARGIN, 0.45 / refine)
        race = np.exp(np.minimum(r[:, None] + nu * xi, 50.0))
        attention = np.exp(np.minimum(s[:, None] + self._log_phi(m * xi), 50.0))
        calm = (np.exp(-race) * weight) @ np.exp(-attention).T
        peak = (race * np.exp(-race) * weight) @ (attention * np.exp(-attention)).T
        return self._over_lengths(calm, peak, (r[1] - r[0]) * (s[1] - s[0]))

    def _joint_argmax(self, m: float, s: np.ndarray, refine: float) -> float:
        """E sigma_argmax: given the largest score the others are normals cut at it."""
        at, density, below = _cumulative_rule(math.ceil(24 * max(1.0, 0.25 * abs(m)) * refine))
        attention = np.exp(np.minimum(s + self._log_phi(m * at)[:, None], 50.0))
        calm = below(density[:, None] * np.exp(-attention))
        peak = density[:, None] * attention * np.exp(-attention)
        weights = below.weights[:, None]
        return self._over_lengths(calm, peak * weights, s[1] - s[0])

    def _over_lengths(self, calm: np.ndarray, peak: np.ndarray, spacing: float) -> float:
        log_calm = np.log(np.maximum(calm, 1e-300))
        return sum(
            p * length * spacing * float((peak * np.exp((length - 1) * log_calm)).sum()) for length, p in self.law
        )


def _transforms(s: np.ndarray, score: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1 - E e^{-xB}, E x B e^{-xB} and E (x B)^2 e^{-xB} for log B = score."""
    absorbed, peaked = log_laplace(s, score, weight)
    square = np.empty_like(s)
    block = max(1, 1_000_000 // score.size)
    for start in range(0, s.size, block):
        part = slice(start, start + block)
        x = np.exp(np.minimum(s[part, None] + score, 50.0))
        square[part] = (x * x * np.exp(-x)) @ weight
    return absorbed, peaked, square


class _Below:
    """Running integrals from -9 to each node of a composite Gauss-Legendre rule."""

    def __init__(self, panels: int, order: int = 8) -> None:
        nodes, weights = np.polynomial.legendre.leggauss(order)
        self._half = REACH / panels
        self.at = (-REACH + self._half * (2 * np.arange(panels)[:, None] + 1 + nodes)).ravel()
        self.weights = np.tile(self._half * weights, panels)
        self._shape = (panels, order)
        # integrals of the Lagrange polynomials from -1 to each node
        power = np.arange(order)
        vandermonde = nodes[:, None] ** power
        integrals = (nodes[:, None] ** (power + 1) - (-1.0) ** (power + 1)) / (power + 1)
        self._inside = self._half * integrals @ np.linalg.inv(vandermonde)
        self._whole = self._half * weights

    def __call__(self, values: np.ndarray) -> np.ndarray:
        cut = values.reshape(*self._shape, -1)
        inside = np.einsum("ij,pjs->pis", self._inside, cut)
        whole = np.einsum("j,pjs->ps", self._whole, cut)
        before = np.cumsum(whole, axis=0) - whole
        return (inside + before[:, None]).reshape(values.shape)


def _cumulative_rule(panels: int) -> tuple[np.ndarray, np.ndarray, _Below]:
    below = _Below(panels)
    return below.at, np.exp(-0.5 * below.at**2) / math.sqrt(2.0 * math.pi), below


class Quadratic:
    """Affine attention: E sigma_1 = 1 + s m, E|sigma|^2 = A + 2 C m + B m^2, so the best m is closed.

    d/dm of E|sigma|^2/(E sigma_1)^2 vanishes at m = (s A - C)/(B - s C).

    Attributes
    ----------
    s, a, b, c : float
    """

    def __init__(self, centred: bool, data: DataModel, law: LengthLaw, refine: float = 1.0) -> None:
        nu = data.nu
        self.a = sum(p * length for length, p in law)
        inner = sum(p * (1.0 - 1.0 / length) for length, p in law)
        if data.name == "max-slr":
            self.s, self.c = mean_winning_score(law, nu, refine), 0.0
            self.b = self.a - 1.0 if centred else self.a
        elif centred:
            self.s, self.c = math.sqrt(nu) * inner, 0.0
            self.b = self.a - 1.0 + nu * inner
        else:
            self.s = self.c = math.sqrt(nu)
            self.b = self.a + nu

    def best(self) -> float:
        """The m of least risk."""
        slope = self.b - self.s * self.c
        return (self.s * self.a - self.c) / slope if slope > 0.0 else 0.0

    def __call__(self, m: float) -> tuple[float, float]:
        first = 1.0 + self.s * m
        rest = (self.a - 1.0) + 2.0 * (self.c - self.s) * m + (self.b - self.s**2) * m * m
        return first, rest
