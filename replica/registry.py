"""Names of the ingredients on the command line and in files, written once; classes are imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import InvalidProblem

DATA_MODELS = {
    "spiked-slr": "replica.models.data.spiked_slr:SpikedSLR",
    "max-slr": "replica.models.data.max_slr:MaxSLR",
}
ACTIVATIONS = {
    "softmax": "replica.models.activations.softmax:Softmax",
    "linear": "replica.models.activations.linear:Linear",
    "linear-centred": "replica.models.activations.linear:LinearCentred",
    "erf": "replica.models.activations.erf:Erf",
    "softplus": "replica.models.activations.softplus:Softplus",
}
ESTIMATORS = {
    "erm": "replica.analysis.erm:fixed_points",
    "bayes": "replica.analysis.bayes:fixed_points",
}


def load(registry: dict[str, str], kind: str, name: str) -> Any:
    """The object registered under `name`.

    Raises
    ------
    InvalidProblem
        If the name is unknown; the message lists the known ones.
    """
    if name not in registry:
        raise InvalidProblem(f"{kind} = {name!r} is unknown; known: {', '.join(registry)}")
    module, attribute = registry[name].split(":")
    return getattr(import_module(module), attribute)
