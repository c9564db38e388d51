"""Laws P_theta of the signal carried by the informative token: X_eps = Z + sum_f theta_f k*_f/sqrt(D)."""

from __future__ import annotations

import csv
import hashlib
import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InvalidProblem
from ..models.checks import number

if TYPE_CHECKING:
    import numpy as np

LARGEST_NU = 1e3  # of a signal: far beyond, no affordable grid holds both it and the noise
_MOST = 100  # features of a law by name
MIRRORED = 6  # features up to which averages are taken over all changes of sign that keep the law
_SPECIFICATIONS = (
    "flipped:nu=NU[,features=F], onehot:nu=NU[,features=F], gaussian:NU_1,..,NU_F[;mean=MU_1,..,MU_F], discrete:FILE"
)


class Signal(ABC):
    """A law of theta in R^F."""

    features: int
    uniforms: int  # uniform variables that one draw takes

    @abstractmethod
    def keeps(self, signs: tuple[int, ...]) -> bool:
        """Whether (signs_f theta_f) has the same law as theta, for signs +-1."""

    @property
    def symmetric(self) -> bool:
        """Theta and -theta have the same law."""
        return self.keeps((-1,) * self.features)

    @property
    def separable(self) -> bool:
        """The sign of each theta_f may be changed alone: then m_hf = 0 over h is kept by training."""
        axes = range(self.features)
        return all(self.keeps(tuple(-1 if g == f else 1 for g in axes)) for f in axes)

    @property
    def mirrors(self) -> tuple[tuple[int, ...], ...]:
        """The signs that keep the law, one of each pair (signs, -signs) if both do; the first is all +1.

        Of more than MIRRORED features none are looked for, since their number doubles with each.
        """
        if self.features > MIRRORED:
            return ((1,) * self.features,)
        all_signs = itertools.product((1, -1), repeat=self.features)
        return tuple(s for s in all_signs if (s[0] == 1 or not self.symmetric) and self.keeps(s))

    @abstractmethod
    def transform(self, uniform: np.ndarray) -> np.ndarray:
        """Map points of the unit cube, (n, uniforms), to draws of theta, (n, features)."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Independent draws of theta, shape (count, features); used by simulations only."""

    @abstractmethod
    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        """Log Lambda(x), Lambda(x) = E_theta exp(theta.x - |theta|^2/2), for x of shape (..., features)."""

    @property
    @abstractmethod
    def distance(self) -> float:
        """How far the informative token's law lies from N(0, I), about, in standard deviations of the laws between."""

    @abstractmethod
    def partway(self, share: float) -> Signal:
        """The law of theta with which an informative token is that share of the way from N(0, I) to its own law."""

    @abstractmethod
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (F,) and covariance (F, F) of theta."""


@dataclass(frozen=True)
class Discrete(Signal):
    """Finite law: `points[s]` with probability `weights[s]`."""

    weights: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    label: str = "discrete"

    def __post_init__(self) -> None:
        if not self.points or len(self.weights) != len(self.points):
            raise InvalidProblem(
                f"a discrete signal has {len(self.weights)} weights and {len(self.points)} points; "
                "allowed: as many of one as of the other, at least one"
            )
        if len({len(point) for point in self.points}) != 1 or not self.points[0]:
            raise InvalidProblem("the points of a discrete signal differ in length; allowed: F >= 1 numbers each")
        for weight in self.weights:
            number("weight", weight, minimum=0.0, strict=True)
        for value in (value for point in self.points for value in point):
            number("theta", value, minimum=-math.sqrt(LARGEST_NU), strict=False, maximum=math.sqrt(LARGEST_NU))
        total = math.fsum(self.weights)
        if abs(total - 1.0) > 1e-6:
            raise InvalidProblem(f"the weights of a discrete signal sum to {total:g}; allowed: sum 1 within 1e-6")

    @property
    def features(self) -> int:  # type: ignore[override]
        return len(self.points[0])

    def keeps(self, signs: tuple[int, ...]) -> bool:
        law: dict[tuple[float, ...], float] = {}
        for weight, point in zip(self.weights, self.points, strict=True):
            law[point] = law.get(point, 0.0) + weight
        images = ((weight, tuple(s * x for s, x in zip(signs, point, strict=True))) for point, weight in law.items())
        return all(math.isclose(weight, law.get(image, 0.0), rel_tol=1e-9) for weight, image in images)

    uniforms = 1

    def transform(self, uniform: np.ndarray) -> np.ndarray:
        import numpy as np

        weights = np.array(self.weights)
        edges = np.cumsum(weights / weights.sum())
        edges[-1] = 1.0  # rounding must not leave a gap below 1
        return np.array(self.points)[np.searchsorted(edges, uniform[:, 0], side="right")]

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        import numpy as np

        weights = np.array(self.weights)
        return np.array(self.points)[rng.choice(len(weights), size=count, p=weights / weights.sum())]

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        import numpy as np

        points = np.array(self.points)
        exponents = x @ points.T - (points**2).sum(axis=1) / 2 + np.log(self.weights)
        top = exponents.max(axis=-1, keepdims=True)
        return top[..., 0] + np.log(np.exp(exponents - top).sum(axis=-1))

    @property
    def distance(self) -> float:
        return max(math.hypot(*point) for point in self.points)

    def partway(self, share: float) -> Discrete:
        points = tuple(tuple(share * value for value in point) for point in self.points)
        return Discrete(self.weights, points, self.label)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        points, weights = np.array(self.points), np.array(self.weights)
        mean = weights @ points
        return mean, (points * weights[:, None]).T @ points - np.outer(mean, mean)


@dataclass(frozen=True)
class Gaussian(Signal):
    """Independent theta_f ~ N(mu_f, nu_f)."""

    nu: tuple[float, ...]
    mean: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.nu:
            raise InvalidProblem("a Gaussian signal has no variance; allowed: gaussian:NU_1,..,NU_F with F >= 1")
        for value in self.nu:
            number("nu", value, minimum=0.0, strict=False, maximum=LARGEST_NU)
        if self.mean and len(self.mean) != len(self.nu):
            raise InvalidProblem(
                f"a Gaussian signal has {len(self.nu)} variances and {len(self.mean)} means; allowed: as many"
            )
        for value in self.mean:
            number("mean", value, minimum=-math.sqrt(LARGEST_NU), strict=False, maximum=math.sqrt(LARGEST_NU))
        if not self.mean:
            object.__setattr__(self, "mean", (0.0,) * len(self.nu))

    @property
    def features(self) -> int:  # type: ignore[override]
        return len(self.nu)

    def keeps(self, signs: tuple[int, ...]) -> bool:
        return not any(mean for mean, sign in zip(self.mean, signs, strict=True) if sign < 0)

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        return len(self.nu)

    @property
    def label(self) -> str:
        """Canonical text of the law."""
        text = "gaussian:" + ",".join(f"{value:g}" for value in self.nu)
        return text if not any(self.mean) else f"{text};mean=" + ",".join(f"{value:g}" for value in self.mean)

    def transform(self, uniform: np.ndarray) -> np.ndarray:
        import numpy as np
        from scipy.special import ndtri

        return np.array(self.mean) + np.sqrt(self.nu) * ndtri(uniform)

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.normal(self.mean, [math.sqrt(value) for value in self.nu], size=(count, self.features))

    def log_ratio(self, x: np.ndarray) -> np.ndarray:
        import numpy as np

        nu, mean = np.array(self.nu), np.array(self.mean)
        exponents = (nu * x**2 + 2 * mean * x - mean**2) / (2 * (1 + nu)) - np.log1p(nu) / 2
        return exponents.sum(axis=-1)

    @property
    def distance(self) -> float:
        return math.hypot(*self.mean, *(math.log1p(value) / math.sqrt(2) for value in self.nu))

    def partway(self, share: float) -> Gaussian:
        nu = tuple(math.expm1(share * math.log1p(value)) for value in self.nu)
        return Gaussian(nu, tuple(share * value for value in self.mean))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        return np.array(self.mean), np.diag(self.nu)


def _axes(name: str, nu: float, features: int, signs: tuple[float, ...]) -> Discrete:
    nu = number("nu", nu, minimum=0.0, strict=True, maximum=LARGEST_NU)
    if not 1 <= features <= _MOST or features != int(features):
        raise InvalidProblem(f"features = {features:g} is not possible; allowed: whole features from 1 to {_MOST}")
    features = int(features)
    size = math.sqrt(nu)
    points = [tuple(sign * size if g == f else 0.0 for g in range(features)) for f in range(features) for sign in signs]
    label = f"{name}:nu={nu:g}" + (f",features={features}" if features > 1 else "")
    return Discrete((1.0 / len(points),) * len(points), tuple(points), label)


def flipped(nu: float, features: int = 1) -> Discrete:
    """Theta = +-sqrt(nu) e_f, feature and sign uniform."""
    return _axes("flipped", nu, features, (1.0, -1.0))


def onehot(nu: float, features: int = 1) -> Discrete:
    """Theta = sqrt(nu) e_f, feature uniform: the mean is not zero."""
    return _axes("onehot", nu, features, (1.0,))


def parse(text: str) -> Signal:
    """The law written as on the command line.

    Raises
    ------
    InvalidProblem
        If the text is not one of the known forms, or its numbers make no law.
    """
    kind, _, rest = text.partition(":")
    if kind in ("flipped", "onehot"):
        pairs = [part.partition("=")[::2] for part in rest.split(",") if part]
        options = dict(pairs)
        if "nu" not in options or set(options) - {"nu", "features"} or len(pairs) > len(options):
            raise InvalidProblem(f"signal = {text!r} is not understood; allowed: {_SPECIFICATIONS}")
        build = flipped if kind == "flipped" else onehot
        return build(_float(text, options["nu"]), _float(text, options.get("features", "1")))
    if kind == "gaussian":
        variances, with_mean, mean = rest.partition(";mean=")
        read = tuple(_float(text, part) for part in variances.split(","))
        return Gaussian(read, tuple(_float(text, part) for part in mean.split(",")) if with_mean else ())
    if kind == "discrete" and rest:
        return _read_table(Path(rest))
    raise InvalidProblem(f"signal = {text!r} is not understood; allowed: {_SPECIFICATIONS}")


def _float(text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise InvalidProblem(f"signal = {text!r}: {part!r} is not a number; allowed: {_SPECIFICATIONS}") from None


def _read_table(path: Path) -> Discrete:
    try:
        # spreadsheets write a byte order mark
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", error)
        raise InvalidProblem(f"signal file {str(path)!r} cannot be read: {reason}") from None
    first = rows[0][1] if rows else []
    header = ["weight", *(f"theta_{f}" for f in range(1, max(len(first), 2)))]
    if [cell.strip() for cell in first] != header:
        raise InvalidProblem(f"signal file {str(path)!r} has no header weight,theta_1,..,theta_F")
    values = []
    for line, row in rows[1:]:
        try:
            values.append([float(cell) for cell in row])
        except ValueError:
            raise InvalidProblem(f"signal file {str(path)!r}, row {line}: {','.join(row)!r} is not numbers") from None
    # the label tells laws apart that stand in files of one name
    mark = hashlib.sha256(repr(values).encode()).hexdigest()[:8]
    weights, points = tuple(row[0] for row in values), tuple(tuple(row[1:]) for row in values)
    return Discrete(weights, points, f"discrete:{path.name}#{mark}")
