"""What is trained: the value-softmax model, its loss, its map and its seeded start."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from ..models.checks import number

if TYPE_CHECKING:
    import numpy as np

LOSSES = ("logistic", "square", "kl")
MAPS = ("softmax", "l1", "sum", "power2", "relu", "sigmoid")
HAS_KINK = ("l1", "relu")
LARGEST = 10**6
MOST = 1e6  # of scales and condition numbers: beyond it squares leave double precision nothing to resolve


def bounded(name: str, value: object, minimum: float, maximum: float) -> float:
    """Return `value` as a float in [minimum, maximum].

    Raises
    ------
    InvalidProblem
        Naming the value, the reason, and what is allowed.
    """
    result = number(name, value, minimum=minimum, strict=False, hint=f" and at most {maximum:g}")
    if result > maximum:
        raise InvalidProblem(f"{name} = {result:g} is too large; allowed: {minimum:g} <= {name} <= {maximum:g}")
    return result


def whole(name: str, value: object, minimum: int, maximum: int = LARGEST) -> int:
    """Return `value` as an int in [minimum, maximum].

    Raises
    ------
    InvalidProblem
        Naming the value, the reason, and what is allowed.
    """
    result = bounded(name, value, minimum, maximum)
    if result != int(result):
        raise InvalidProblem(f"{name} = {result:g} is not whole; allowed: whole numbers from {minimum} to {maximum:g}")
    return int(value)  # type: ignore[call-overload]


@dataclass(frozen=True)
class FlowProblem:
    """Minimise mean_t ell(V map(A_t)) from a seeded start (theory-dynamics.md part B, arXiv 2603.06248).

    V is dim x tokens; A is rows x tokens, one row being the single attention vector a. With |beta*| = `norm`:

    - logistic: ell = log(1 + exp(-<beta*, beta>))
    - square: ell = |beta* - beta|^2/2, or |beta* - X beta|^2/2 with `condition` kappa: X is dim x dim with random
      singular vectors and singular values linspace(1, 1/kappa)
    - kl: ell = KL(y || softmax(beta)), y = softmax(beta*/temperature) over dim classes; temperature 0 makes y the
      one-hot class argmax beta*, so that the infimum 0 lies at infinity as for logistic

    Tied weights: z_t = U A_t and beta_t = U map(z_t) with U square (tokens = dim), A rows x dim.

    Start: V_ij ~ scale_v N(0,1), A_tj ~ mean_a + scale_a N(0,1). Defaults (None): tokens = dim; dim = 20 and
    norm = sqrt(dim) with `condition`, else dim = 8 and norm = 1. Square with softmax or sigmoid starts small
    (scale_v 1e-5, scale_a 1e-3), near the V = 0 of the theory; otherwise V ~ 0.1 N, and a = 0 for softmax and
    sigmoid, a = 1 + 0.1 N for the maps that have no value at 0. Tied: V ~ 0.1 N and a ~ 0.1 N.

    Raises
    ------
    InvalidProblem
        For an unknown name, a number out of range, or options that exclude each other.
    """

    loss: str = "logistic"
    map: str = "softmax"
    dim: int | None = None
    tokens: int | None = None
    rows: int = 1
    tied: bool = False
    condition: float | None = None
    norm: float | None = None
    temperature: float = 1.0
    scale_v: float | None = None
    scale_a: float | None = None
    mean_a: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise InvalidProblem(f"loss = {self.loss!r} is unknown; known: {', '.join(LOSSES)}")
        if self.map not in MAPS:
            raise InvalidProblem(f"map = {self.map!r} is unknown; known: {', '.join(MAPS)}")
        if self.condition is not None and self.loss != "square":
            raise InvalidProblem(f"condition applies to loss = 'square' only, not to {self.loss!r}; drop one of them")
        if self.temperature != 1.0 and self.loss != "kl":
            raise InvalidProblem(f"temperature applies to loss = 'kl' only, not to {self.loss!r}; drop one of them")
        self._fill()
        if self.tied and self.tokens != self.dim:
            raise InvalidProblem(
                f"tokens = {self.tokens} with dim = {self.dim}: tied weights are square; allowed: tokens = dim"
            )
        if self.loss == "kl" and self.dim == 1:
            raise InvalidProblem("dim = 1 with loss = 'kl' has one class and nothing to learn; allowed: dim >= 2")
        if not self.has_value_at_zero and self.scale_a == 0 and self.mean_a == 0:
            raise InvalidProblem(f"a = 0 with map = {self.map!r} is 0/0; allowed: mean_a or scale_a above 0")
        if self.tied and not self.has_value_at_zero and self.scale_v == 0:
            raise InvalidProblem(f"scale_v = 0 with tied map = {self.map!r} is 0/0; allowed: scale_v > 0")

    def _fill(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if self.condition is not None:
            put("condition", bounded("condition", self.condition, 1, MOST))
        default_dim = 8 if self.condition is None else 20
        put("dim", whole("dim", default_dim if self.dim is None else self.dim, 1))
        put("tokens", whole("tokens", self.dim if self.tokens is None else self.tokens, 1))
        put("rows", whole("rows", self.rows, 1))
        put("seed", whole("seed", self.seed, 0, 2**63))
        default_norm = 1.0 if self.condition is None else math.sqrt(self.dim)
        put("norm", default_norm if self.norm is None else bounded("norm", self.norm, 1 / MOST, MOST))
        put("temperature", bounded("temperature", self.temperature, 0, MOST))
        small = self.loss == "square" and self.map in ("softmax", "sigmoid") and not self.tied
        if self.has_value_at_zero:
            mean_a, scale_a = 0.0, (0.1 if self.tied else 1e-3 if small else 0.0)
        else:
            mean_a, scale_a = 1.0, 0.1
        for name, default in (("scale_v", 1e-5 if small else 0.1), ("scale_a", scale_a)):
            value = getattr(self, name)
            put(name, default if value is None else bounded(name, value, 0, MOST))
        value = self.mean_a
        put("mean_a", mean_a if value is None else bounded("mean_a", value, -MOST, MOST))

    @property
    def has_value_at_zero(self) -> bool:
        """Whether the map is defined at z = 0 (the normalised ratios are 0/0 there)."""
        return self.map in ("softmax", "sigmoid")

    @property
    def size(self) -> int:
        """Number of trained parameters, dim x tokens + rows x tokens."""
        return self.dim * self.tokens + self.rows * self.tokens

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (W, A, target, design): W = V^T (tokens, dim), A (rows, tokens), target and design as in `ell`.

        The three random parts come from independent streams of `seed`, so that the target does not depend on the map.
        """
        import numpy as np

        goal, start, matrix = (np.random.default_rng([self.seed, stream]) for stream in range(3))
        target = goal.normal(size=self.dim)
        target *= self.norm / np.linalg.norm(target)
        if self.loss == "kl":
            target = soft_target(target, self.temperature)
        W = self.scale_v * start.normal(size=(self.dim, self.tokens)).T
        A = self.mean_a + self.scale_a * start.normal(size=(self.rows, self.tokens))
        design = np.eye(self.dim)
        if self.condition is not None:
            left, right = (np.linalg.qr(matrix.normal(size=(self.dim, self.dim)))[0] for _ in range(2))
            design = (left * np.linspace(1, 1 / self.condition, self.dim)) @ right.T
        return np.ascontiguousarray(W), A, target, np.ascontiguousarray(design)


def soft_target(target: np.ndarray, temperature: float) -> np.ndarray:
    """Class probabilities softmax(target/temperature); at temperature 0 the one-hot argmax."""
    import numpy as np

    if temperature == 0:
        return np.eye(target.size)[np.argmax(target)]
    weights = np.exp((target - target.max()) / temperature)
    return weights / weights.sum()


def check_memory(needed: float, what: str) -> None:
    """Refuse work that needs more bytes than the machine has free.

    Raises
    ------
    InvalidProblem
        With the bytes needed and available.
    """
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > available:
        raise InvalidProblem(
            f"{what} need {needed / 2**30:.3g} GiB and {available / 2**30:.3g} GiB are free; lower dim, tokens or rows"
        )
