"""What figures call things: axes, estimators, fixed parameters; and the colours of estimators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..models.length import LengthLaw
from .figure import BLUE, GREEN, GREY, ORANGE, PINK, SKY, VERMILLION

BAYES = "Bayes-optimal"
AXES = {
    "alpha": r"samples per dimension $\alpha = N/D$",
    "nu": r"signal strength $\nu$",
    "noise": r"label noise $\Delta$ (standard deviation)",
    "length": "number of tokens $L$",
    "reg": r"ridge penalty $\lambda$",
    "reg_k": r"ridge penalty $\lambda_k$ on keys",
    "reg_v": r"ridge penalty $\lambda_v$ on values",
    "erf_offset": "offset $c$ of erf attention",
    "test_risk": r"test risk $E(y-f)^2$",
    "train_loss": r"training loss, mean of $(y-f)^2/2$",
    "objective": "minimum of the objective per sample",
    "free_entropy": "free entropy per dimension",
    "cos_k": r"key overlap $m_k/\sqrt{q_k}$",
    "cos_v": r"value overlap $m_v/\sqrt{q_v}$",
    "attention_relevant": r"mean attention on the hidden token, $E\,\sigma_1$",
    "replicon": "replicon (stable below 1)",
    "prox_jump": r"share of $\hat V_k$ due to jumps",
    "model": "data model",
    "estimate": "estimator",
}
_SHORT = {"nu": r"\nu", "noise": r"\Delta", "length": "L", "reg": r"\lambda", "reg_k": r"\lambda_k",
          "reg_v": r"\lambda_v", "erf_offset": "c", "alpha": r"\alpha"}  # fmt: skip
_COLOURS = {
    "softmax": BLUE,
    "linear": ORANGE,
    "linear-centred": VERMILLION,
    "erf": GREEN,
    "softplus": PINK,
    BAYES: "black",
}
_SPARE = (SKY, "#8C510A", GREY)


def axis(name: str) -> str:
    """The label of the axis of a column, with symbol and scaling."""
    if name in AXES:
        return AXES[name]
    parts = name.split("_")
    if parts[0] in ("m", "q", "V") and parts[-1] in ("k", "v"):
        letter = rf"\hat {parts[0]}" if "hat" in parts else parts[0]
        return f"overlap ${letter}_{parts[-1]}$" if len(parts) == 2 else f"conjugate ${letter}_{parts[-1]}$"
    return name.replace("_", " ")


def value(name: str, cell: Any) -> str:
    """A parameter with its value, short enough for a legend."""
    if name == "model":
        return str(cell).replace("-slr", "-SLR")
    if name == "length":
        law = LengthLaw.of(str(cell))
        if law.fixed is not None:
            return f"$L = {law.fixed}$"
        first, last = law.support[0], law.support[-1]
        even = max(law.weights) - min(law.weights) < 1e-12 and len(law.support) == last - first + 1
        return f"$L$ uniform on {first}..{last}" if even else f"$L$ random, {first}..{last}"
    if isinstance(cell, float | int) and not isinstance(cell, bool):
        number = r"\infty" if math.isinf(cell) else f"{cell:.4g}"
        return f"${_SHORT.get(name, name)} = {number}$" if name in _SHORT else f"{name} = {cell:.4g}"
    return str(cell)


def colours(estimates: Sequence[str]) -> dict[str, str]:
    """A colour for each estimator: the same one in every figure for those that are built in."""
    others = [name for name in estimates if name not in _COLOURS]
    return _COLOURS | {name: _SPARE[index % len(_SPARE)] for index, name in enumerate(others)}
