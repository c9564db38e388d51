"""Generated modules in miniature: hand-written scalar functions in front of the prox leaf texts."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType

import numpy as np
from scipy.special import erf

from replica.kernels.prox import prox_files, prox_work

HEAD = "import math\nimport numpy as np\nfrom numba import njit\n\nKINKED, KINKS = False, np.empty(0)\n"
BLOCK = """
@njit(nogil=True)
def prox_block(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small):
    proved = 0
    for i in range(omega_k.shape[0]):
        r, moreau, is_global, converged = prox_point(
            omega_k[i], omega_v[i], y[i], V_k, V_v, chi, sigma, g_k, rows, small
        )
        proved += is_global
    return proved
"""
SCALAR = {
    "linear": ("elementwise", True, "CENTRED = False\n"),
    "linear-centred": ("centred", True, "CENTRED = True\n"),
    "erf": (
        "elementwise",
        False,
        """
CENTRED, STRAIGHT = False, False
PHI_SUP, D1_SUP, D2_SUP = 2.0, 1.1283791670955126, 0.9678828980765734
@njit(nogil=True)
def scalar_terms(x, piece):
    u = x + 0.3
    d = 1.1283791670955126 * math.exp(-u * u)
    return 1.0 + math.erf(u), d, -2.0 * u * d
""",
    ),
    "tanh-centred": (
        "centred",
        False,
        """
CENTRED, STRAIGHT = True, False
PHI_SUP, D1_SUP, D2_SUP = 1.0, 1.0, 0.7698003589195011
@njit(nogil=True)
def scalar_terms(x, piece):
    t = math.tanh(x)
    return t, 1.0 - t * t, -2.0 * t * (1.0 - t * t)
""",
    ),
    "square": (
        "elementwise",
        False,
        """
CENTRED, STRAIGHT = False, False
PHI_SUP, D1_SUP, D2_SUP = math.inf, math.inf, 2.0
@njit(nogil=True)
def scalar_terms(x, piece):
    return x * x, 2.0 * x, 2.0
""",
    ),
    "relu": (
        "elementwise",
        False,
        """
KINKED, KINKS = True, np.array([0.0])
STRAIGHT = True
CENTRED = False
PHI_SUP, D1_SUP, D2_SUP = math.inf, math.inf, math.inf
@njit(nogil=True)
def scalar_terms(x, piece):
    return (x, 1.0, 0.0) if piece == 1 else (0.0, 0.0, 0.0)
""",
    ),
    "hard-tanh-centred": (
        "centred",
        False,
        """
KINKED, KINKS = True, np.array([-1.0, 1.0])
STRAIGHT = True
CENTRED = True
PHI_SUP, D1_SUP, D2_SUP = 1.0, 1.0, math.inf
@njit(nogil=True)
def scalar_terms(x, piece):
    return (x, 1.0, 0.0) if piece == 1 else (piece - 1.0, 0.0, 0.0)
""",
    ),
    "kinked": (
        "elementwise",
        False,
        """
KINKED, KINKS = True, np.array([-1.0, 0.5])
STRAIGHT = False
CENTRED = False
PHI_SUP, D1_SUP, D2_SUP = math.inf, math.inf, math.inf
@njit(nogil=True)
def scalar_terms(x, piece):
    if piece == 0:
        return math.exp(x + 1.0), math.exp(x + 1.0), math.exp(x + 1.0)
    if piece == 1:
        return 1.0 - 0.5 * (x + 1.0), -0.5, 0.0
    t = math.tanh(x - 0.5)
    return 0.25 + t, 1.0 - t * t, -2.0 * t * (1.0 - t * t)
""",
    ),
    "kinked-normalised": (
        "normalised",
        False,
        """
KINKED, KINKS = True, np.array([0.3])
D1_SUP, D2_SUP, RISING = 1.2, 0.0, True
@njit(nogil=True)
def scalar_terms(x, piece):
    slope = 0.4 if piece == 0 else 1.2
    return slope * (x - 0.3), slope, 0.0
""",
    ),
    "softmax": (
        "normalised",
        False,
        """
D1_SUP, D2_SUP, RISING = 1.0, 0.0, True
@njit(nogil=True)
def scalar_terms(x, piece):
    return x, 1.0, 0.0
""",
    ),
    "softplus": (
        "normalised",
        False,
        """
D1_SUP, D2_SUP, RISING = 1.0, 0.25, True
@njit(nogil=True)
def scalar_terms(x, piece):
    if x < -30.0:
        return x - 0.5 * math.exp(x), 1.0 - 0.5 * math.exp(x), -0.5 * math.exp(x)
    e = math.exp(-abs(x))
    s = 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)
    p = max(x, 0.0) + math.log1p(e)
    h = s / p
    return math.log(p), h, h * (1.0 - s) - h * h
""",
    ),
    "square-normalised": (
        "normalised",
        False,
        """
D1_SUP, D2_SUP, RISING = math.inf, math.inf, False
@njit(nogil=True)
def scalar_terms(x, piece):
    if x == 0.0:
        return -math.inf, 0.0, 0.0
    return 2.0 * math.log(abs(x)), 2.0 / x, -2.0 / (x * x)
""",
    ),
}
_ELEMENTWISE = {
    "linear": lambda x: 1.0 + x,
    "erf": lambda x: 1.0 + erf(x + 0.3),
    "square": lambda x: x * x,
    "relu": lambda x: np.maximum(x, 0.0),
    "kinked": lambda x: np.select(
        [x < -1.0, x < 0.5], [np.exp(np.minimum(x, 0.0) + 1.0), 0.5 - 0.5 * x], 0.25 + np.tanh(x - 0.5)
    ),
}
_CENTRED = {
    "linear-centred": lambda x: x,
    "tanh-centred": np.tanh,
    "hard-tanh-centred": lambda x: np.clip(x, -1.0, 1.0),
}
_LOG_PHI = {
    "softmax": lambda x: x,
    "softplus": lambda x: np.where(x < -30.0, x, np.log(np.logaddexp(0.0, np.maximum(x, -30.0)))),
    "kinked-normalised": lambda x: np.where(x < 0.3, 0.4, 1.2) * (x - 0.3),
    "square-normalised": lambda x: 2.0 * np.log(np.abs(x) + 1e-300),
}


@functools.cache
def prox_module(name: str) -> ModuleType:
    """The compiled module of one activation."""
    combination, affine, scalar = SCALAR[name]
    text = HEAD + scalar + "\n".join(path.read_text() for path in prox_files(combination, affine)) + BLOCK
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / f"prox_{name.replace('-', '_')}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.folder = folder
    return module


class Prox:
    """One proximal point with its arrays."""

    def __init__(self, name, omega_k, omega_v, y, V_k, V_v):
        self.name, self.omega_k, self.omega_v = name, np.array(omega_k, float), np.array(omega_v, float)
        self.y, self.V_k, self.V_v = float(y), float(V_k), float(V_v)
        self.chi, self.sigma, self.g_k = (np.empty_like(self.omega_k) for _ in range(3))
        self.work = prox_work(len(self.omega_k))
        self.r, self.moreau, self.is_global, self.converged = prox_module(name).prox_point(
            self.omega_k, self.omega_v, self.y, self.V_k, self.V_v, self.chi, self.sigma, self.g_k, *self.work
        )

    def response(self):
        return prox_module(self.name).prox_response(
            self.chi, self.sigma, self.omega_v, self.r, self.V_k, self.V_v, *self.work
        )


def sigma(name: str, chi: np.ndarray) -> np.ndarray:
    """sigma(chi) in numpy along the last axis, written apart from the leaves."""
    if name in _ELEMENTWISE:
        return _ELEMENTWISE[name](chi)
    if name in _CENTRED:
        phi = _CENTRED[name](chi)
        return 1.0 + phi - phi.mean(axis=-1, keepdims=True)
    logs = _LOG_PHI[name](chi)
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def reduced_energy(name, chi, omega_k, omega_v, y, V_k, V_v):
    """Phi(chi) along the last axis."""
    s = sigma(name, chi)
    loss = 0.5 * (y - s @ omega_v) ** 2 / (1.0 + V_v * (s * s).sum(axis=-1))
    return loss + ((chi - omega_k) ** 2).sum(axis=-1) / (2.0 * V_k)
