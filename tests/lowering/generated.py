"""Generated text as a module, without the cache."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import sympy

from replica.lowering.cache import kernel_text
from replica.lowering.printer import assignments, function


def lowered(folder: Path, outputs: Mapping[str, sympy.Expr], arguments: Sequence[str]) -> ModuleType:
    """Module with `f(*arguments)`, which returns the outputs in order."""
    text = kernel_text("leaves") + function("f", arguments, assignments(outputs, "t"), list(outputs))
    return imported(folder / "generated.py", text)


def imported(path: Path, text: str) -> ModuleType:
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
