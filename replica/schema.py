"""The one table schema: every CSV or JSON row of every command has these columns, in this order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ._version import __version__

if TYPE_CHECKING:
    from .types import Solution

BAYES = ("bayes", "experiment-amp")  # estimators that know neither an activation nor penalties
Kind = Literal["text", "integer", "number", "flag"]


@dataclass(frozen=True)
class Column:
    """A column: its name, the kind of its values (null is allowed in all), and what it means with its scaling."""

    name: str
    kind: Kind
    meaning: str


def _columns() -> tuple[Column, ...]:
    text, integer, number, flag = "text", "integer", "number", "flag"
    head = [
        Column("model", text, "data model"),
        Column("estimator", text, "erm, bayes, or the kind of experiment"),
        Column("activation", text, "attention function; null for bayes"),
        Column("erf_offset", number, "offset c of erf attention; null for other activations"),
        Column("alpha", number, "samples per dimension N/D"),
        Column("length", text, "number of tokens L, or its law as L:probability,..."),
        Column("nu", number, "signal strength (spiked) or inverse temperature (max); null for a data model without it"),
        Column("noise", number, "standard deviation Delta of the label noise"),
        Column("reg_k", number, "ridge penalty on k"),
        Column("reg_v", number, "ridge penalty on v"),
        Column("init", text, "starts that reached this fixed point, joined by +"),
        Column("branch", integer, "rank among the distinct fixed points, 0 the best"),
        Column("selected", flag, "whether this row is the prediction"),
        Column("status", text, "converged, max_iter, stalled, nonfinite, out_of_domain, failed"),
        Column("message", text, "what a reader should know about this row"),
    ]
    overlaps = [
        Column(f"{letter}_{key}", number, f"{what}, per D")
        for key in ("k", "v")
        for letter, what in (("m", f"{key}.{key}*"), ("q", f"|{key}|^2"), ("V", f"response of {key}"))
    ]
    conjugates = [
        Column(f"{letter}_hat_{key}", number, f"conjugate of {letter}_{key}")
        for key in ("k", "v")
        for letter in ("m", "q", "V")
    ]
    observables = [
        Column("test_risk", number, "E (y - f)^2 on fresh data, noise included"),
        Column("train_loss", number, "mean of (y - f)^2/2 on the training set"),
        Column("objective", number, "minimum of the ERM objective per sample"),
        Column("free_entropy", number, "Bayes free entropy per D"),
        Column("cos_k", number, "m_k/sqrt(q_k)"),
        Column("cos_v", number, "m_v/sqrt(q_v)"),
        Column("attention_relevant", number, "E sigma_1, mean attention on the hidden token"),
        Column("replicon", number, "spectral radius of the replica-symmetry perturbation; stable below 1"),
        Column("prox_jump", number, "share of V_hat_k due to jumps of the proximal point"),
        Column("off_m", number, "growth of k.v*, v.k*, k.v in one step; returns to 0 below 1; null if k = 0"),
        Column("distance_k", number, "experiment: mean |k - k'|^2/D to the minima from other starts on the same data"),
        Column("minima", number, "experiment: distinct minima of a data set from all starts"),
        Column("rs_stable", flag, "replica-symmetric stability; null if unresolved"),
        Column("prox_global", flag, "every proximal point is guaranteed to be a global minimum"),
        Column("accuracy_met", flag, "the error of test_risk is within rtol"),
    ]
    with_error = [c.name for c in overlaps] + ["test_risk", "train_loss", "objective", "free_entropy"]
    with_error += ["attention_relevant", "replicon", "prox_jump", "off_m", "distance_k", "minima"]
    errors = [Column(f"{name}_err", number, f"absolute error estimate of {name}") for name in with_error]
    tail = [
        Column("optimised", text, "penalties and offset set to those of least test risk, joined by +"),
        Column("rtol", number, "relative error asked of test_risk"),
        Column("residual", number, "undamped max |F(x) - x|/scale; the scale of m is sqrt(q), of q and V themselves"),
        Column("iterations", integer, "evaluations of the fixed-point map"),
        Column("method", text, "iteration and integration used"),
        Column("nodes", integer, "integration nodes of the last level"),
        Column("seed", integer, "seed of random nodes, or of the first data set"),
        Column("d", integer, "dimension D of an experiment; null: its limit, extrapolated in 1/D"),
        Column("seeds", integer, "data sets averaged; the errors of an experiment are standard errors over them"),
        Column("version", text, "version of the package"),
    ]
    return (*head, *overlaps, *conjugates, *observables, *errors, *tail)


COLUMNS = _columns()
NAMES = tuple(column.name for column in COLUMNS)


def row_of(solution: Solution) -> dict[str, Any]:
    """The row of a solution: every column, None where a value does not exist (nan)."""
    problem, is_bayes = solution.problem, solution.estimator in BAYES
    values = {
        "model": problem.data.name,
        "estimator": solution.estimator,
        "activation": None if is_bayes else problem.activation.name,
        "erf_offset": None if is_bayes else _number(getattr(problem.activation, "offset", None)),
        "alpha": problem.alpha,
        "length": str(problem.length),
        "nu": problem.data.nu,
        "noise": problem.noise,
        "reg_k": None if is_bayes else _number(problem.reg_k),
        "reg_v": None if is_bayes else _number(problem.reg_v),
        "init": "+".join(solution.init),
        "optimised": None if is_bayes else "+".join(solution.optimised or problem.unknowns) or None,
        "status": str(solution.status),
        "version": __version__,
        **solution.overlaps._asdict(),
        **solution.conjugates._asdict(),
        **{f"{name}_err": error for name, error in solution.errors.items()},
    }
    row = {name: values[name] if name in values else getattr(solution, name, None) for name in NAMES}
    return {name: _plain(value) for name, value in row.items()}


def _number(value: Any) -> Any:
    """None for an "optimal" that a failed search left."""
    return None if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        value = float(value)  # numpy scalars print differently
        return None if math.isnan(value) else value
    return value
