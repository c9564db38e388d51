"""From a grid of options to lines, the units of work: one line runs along alpha, everything else fixed."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

from .._version import __version__
from ..errors import InvalidProblem
from ..io.rows import json_value
from ..models.checks import check_solver
from ..models.length import LengthLaw
from ..models.problem import Problem
from ..registry import ACTIVATIONS, DATA_MODELS, ESTIMATORS, load
from . import grids

MAX_POINTS = 500_000  # the table is made in memory: about 10 kB a point
INITS = ("informed", "uninformed", "both")
_NUMBERS = ("alpha", "nu", "noise", "reg", "reg_k", "reg_v", "erf_offset", "rtol")
_OPTIMISED = ("reg", "reg_k", "reg_v", "erf_offset")
_DEFAULTS = {"noise": 0.0, "reg": 1.0}
_REGISTRIES = {"model": DATA_MODELS, "activation": ACTIVATIONS, "estimator": ESTIMATORS}
AXES = (*_REGISTRIES, "length", "seed", *_NUMBERS)
# everything that can move the last digit of a result, next to the kind of processor
_LIBRARIES = ("numpy", "scipy", "numba", "llvmlite", "sympy", "mpmath")


@dataclass(frozen=True)
class Line:
    """One alpha line: the same problem at several alpha, solved in one process.

    Attributes
    ----------
    index : int
        Place among the lines of the plan.
    estimator : str
    problem : Problem
        At the first alpha.
    alphas : tuple of float
        In grid order.
    rtol : float or None
    seed : int
    init : {"informed", "uninformed", "both"}
        Start at the ends of the line; "both" walks up from an uninformed and down from an informed start.
    damping, accelerate
        As for `replica.solve`.
    """

    index: int
    estimator: str
    problem: Problem
    alphas: tuple[float, ...]
    rtol: float | None
    seed: int
    init: str
    damping: float
    accelerate: bool

    def at(self, alpha: float) -> Problem:
        """The problem at one alpha."""
        return replace(self.problem, alpha=alpha)


@dataclass(frozen=True)
class Plan:
    """All lines of a grid, in grid order, and what identifies their results.

    Attributes
    ----------
    lines : tuple of Line
    options : dict
        Every value that decides the results, as plain JSON values; versions of the libraries included.
    """

    lines: tuple[Line, ...]
    options: dict[str, Any]

    @property
    def points(self) -> int:
        """Number of grid points."""
        return sum(len(line.alphas) for line in self.lines)

    @property
    def digest(self) -> str:
        """Hash of the options: journals with the same one may be continued."""
        return hashlib.sha256(json.dumps(self.options, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of the package and of the libraries that decide its numbers."""
    found = {"replica": __version__, "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in _LIBRARIES}


def plan(grid: Mapping[str, Any], *, init: str = "both", damping: float = 0.0, accelerate: bool = True) -> Plan:
    """The lines of a grid: the product of all axes, alpha running fastest.

    Parameters
    ----------
    grid : mapping
        Values by axis: model and alpha, and any of length, nu, noise, reg, reg_k, reg_v, activation, erf_offset,
        estimator, rtol and seed. A value is a single one, a list, or text in the format of `replica.sweeps.grids`.
        `reg` sets both penalties; erf_offset multiplies the erf activation only; activation and penalties do not
        multiply bayes. Penalties and erf_offset may be "optimal", of least test risk at each point.
    init, damping, accelerate
        As for `Line`.

    Raises
    ------
    InvalidProblem
        If an axis is unknown or missing, or any point of the grid makes no sense.
    """
    axes = _axes(grid)
    if init not in INITS:
        raise InvalidProblem(f"init = {init!r} is unknown; known: {', '.join(INITS)}")
    if not 0.0 <= damping < 1.0:
        raise InvalidProblem(f"damping = {damping:g} is out of range; allowed: 0 <= damping < 1")
    size = math.prod(len(values) for values in axes.values())
    if size > MAX_POINTS:
        raise InvalidProblem(f"the grid has up to {size} points; allowed: {MAX_POINTS}; cut it into several sweeps")
    solver = {"init": init, "damping": damping, "accelerate": accelerate}
    lines = tuple(
        Line(index, estimator, problem, axes["alpha"], rtol, seed, **solver)
        for index, (estimator, problem, rtol, seed) in enumerate(_combinations(axes))
    )
    for line in (lines[0], *(line for line in lines if line.problem.unknowns)):
        for alpha in axes["alpha"]:
            line.at(alpha)  # refuses a bad alpha before any work
    plain = {name: [_plain(value) for value in values] for name, values in axes.items()}
    return Plan(lines, {"axes": plain, **solver, "versions": versions()})


def _axes(grid: Mapping[str, Any]) -> dict[str, tuple]:
    given = {name: value for name, value in grid.items() if value is not None}
    unknown = [name for name in given if name not in AXES]
    if unknown:
        raise InvalidProblem(f"{unknown[0]!r} is not an axis of a grid; known: {', '.join(AXES)}")
    for name in ("model", "alpha"):
        if name not in given:
            raise InvalidProblem(f"{name} is missing; give it a value or a list")
    axes: dict[str, tuple] = {
        name: grids.names(name, given.get(name, default), registry)
        for (name, registry), default in zip(_REGISTRIES.items(), (None, "softmax", tuple(ESTIMATORS)), strict=True)
    }
    axes["length"] = grids.lengths(given.get("length", 2))
    axes["seed"] = grids.integers("seed", given.get("seed", 0))
    for name in _NUMBERS:
        values = (_DEFAULTS.get(name),)
        if name in given:
            values = grids.numbers(name, given[name], optimal=name in _OPTIMISED)
        axes[name] = values
    _check(axes, given)
    return axes


def _check(axes: dict[str, tuple], given: Mapping[str, Any]) -> None:
    for rtol in axes["rtol"]:
        check_solver(rtol, seed=min(axes["seed"]))
    if "erf_offset" in given and "erf" not in axes["activation"]:
        raise InvalidProblem("erf_offset applies to the erf activation only; leave it out or add erf")
    if all(name in given for name in ("reg", "reg_k", "reg_v")):
        raise InvalidProblem("reg has no effect next to reg_k and reg_v; leave out one of the three")


def _combinations(axes: dict[str, tuple]) -> Iterator[tuple[str, Problem, float | None, int]]:
    """Estimator, problem, rtol and seed of each line, in grid order."""
    penalties = list(
        dict.fromkeys(
            (reg if reg_k is None else reg_k, reg if reg_v is None else reg_v)
            for reg, reg_k, reg_v in itertools.product(axes["reg"], axes["reg_k"], axes["reg_v"])
        )
    )
    for model, estimator in itertools.product(axes["model"], axes["estimator"]):
        kind = load(DATA_MODELS, "model", model)
        models = [kind() if nu is None else kind(nu=nu) for nu in axes["nu"]]
        # the Bayes risk knows no activation and no penalty: one line stands for all
        is_bayes = estimator == "bayes"
        sigmas = [_activation(axes["activation"][0], None)] if is_bayes else list(_activations(axes))
        for sigma, length, data, noise, (reg_k, reg_v), rtol, seed in itertools.product(
            sigmas,
            axes["length"],
            models,
            axes["noise"],
            penalties[:1] if is_bayes else penalties,
            axes["rtol"],
            axes["seed"],
        ):
            problem = Problem(
                data=data,
                activation=sigma,
                alpha=axes["alpha"][0],
                length=length,
                noise=noise,
                reg_k=reg_k,
                reg_v=reg_v,
            )
            yield estimator, problem, rtol, seed


def _activations(axes: dict[str, tuple]) -> Iterator[Any]:
    for name in axes["activation"]:
        for offset in axes["erf_offset"] if name == "erf" else (None,):
            yield _activation(name, offset)


def _activation(name: str, offset: float | str | None) -> Any:
    kind = load(ACTIVATIONS, "activation", name)
    return kind() if offset is None else kind(offset=offset)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, LengthLaw) else json_value(value)
