"""Replica-method predictions for the theory of attention.

Asymptotic risks of regularised empirical risk minimisation for attention layers on single-location regression
(arXiv 2509.21936). Names are imported on first use, so `import replica` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api import solve
    from .models.activations.base import Activation
    from .models.activations.erf import Erf
    from .models.activations.linear import Linear, LinearCentred
    from .models.activations.softmax import Softmax
    from .models.activations.softplus import Softplus
    from .models.data.base import DataModel
    from .models.data.max_slr import MaxSLR
    from .models.data.spiked_slr import SpikedSLR
    from .models.length import LengthLaw
    from .models.problem import Problem
    from .sweeps.arrays import to_xarray
    from .sweeps.frame import read_csv, sweep
    from .types import Conjugates, Overlaps, Solution, Status

_HOMES = {
    "Activation": "models.activations.base",
    "Conjugates": "types",
    "DataModel": "models.data.base",
    "Erf": "models.activations.erf",
    "LengthLaw": "models.length",
    "Linear": "models.activations.linear",
    "LinearCentred": "models.activations.linear",
    "MaxSLR": "models.data.max_slr",
    "Overlaps": "types",
    "Problem": "models.problem",
    "Softmax": "models.activations.softmax",
    "Softplus": "models.activations.softplus",
    "Solution": "types",
    "SpikedSLR": "models.data.spiked_slr",
    "Status": "types",
    "read_csv": "sweeps.frame",
    "solve": "api",
    "sweep": "sweeps.frame",
    "to_xarray": "sweeps.arrays",
}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'replica' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
