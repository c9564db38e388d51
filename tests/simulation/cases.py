"""What several simulation tests share."""

from replica.models.activations.base import Activation
from replica.registry import ACTIVATIONS, load


def activation(name: str) -> Activation:
    """The registered activation, with an offset that is not its default where there is one."""
    made = load(ACTIVATIONS, "activation", name)
    return made(-0.4) if name == "erf" else made()
