"""A finished run: the states at the recorded times and every table made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._version import __version__
from . import kernels, measures
from .plan import Plan
from .problem import LOSSES, MAPS, FlowProblem
from .schema import FINAL, trajectory_columns, weight_names

GOOD = ("finished", "converged")


@dataclass(frozen=True)
class Setting:
    """The problem as the kernels take it: start, constants and scratch memory."""

    W: np.ndarray
    A: np.ndarray
    constants: tuple[Any, ...]
    work: np.ndarray

    @classmethod
    def of(cls, problem: FlowProblem) -> Setting:
        """Draw the start and lay out the arrays; `constants` are (target, design, conditioned, axis)."""
        W, A, target, design = problem.arrays()
        axis = np.empty(problem.dim)
        conditioned = problem.condition is not None
        kernels.direction_at_zero(LOSSES.index(problem.loss), target, design, conditioned, axis)
        work = np.zeros((7, max(problem.dim, problem.tokens)))
        return cls(W, A, (target, design, conditioned, axis), work)


@dataclass(frozen=True, eq=False)
class FlowResult:
    """States of one run. Arrays over `records` times: t, values V (records, dim, tokens), logits A, int_gamma.

    `errors` holds the absolute integration errors of loss, max_s and int_gamma at each time (empty for descent).
    """

    problem: FlowProblem
    plan: Plan
    status: str
    message: str
    t: np.ndarray
    steps: np.ndarray | None
    V: np.ndarray
    A: np.ndarray
    int_gamma: np.ndarray
    errors: dict[str, np.ndarray]

    @property
    def ok(self) -> bool:
        """Whether the run did what was asked."""
        return self.status in GOOD

    @cached_property
    def axis(self) -> np.ndarray:
        """w, the fixed direction of u and gamma (beta* for logistic and square)."""
        return Setting.of(self.problem).constants[3]

    @cached_property
    def u(self) -> np.ndarray:
        """u_i = <V_i, w>, shape (records, tokens)."""
        return np.einsum("nij,i->nj", self.V, self.axis)

    @cached_property
    def s(self) -> np.ndarray:
        """Weights, shape (records, rows, tokens)."""
        return self._evaluated[0]

    @cached_property
    def scalars(self) -> dict[str, np.ndarray]:
        """Every column of MEASURES that exists for this run, as arrays over the records."""
        with np.errstate(over="ignore", invalid="ignore"):  # the last states of a run that overflows
            return self._measured()

    def _measured(self) -> dict[str, np.ndarray]:
        s, loss, residual, gamma = self._evaluated
        token, share = measures.sink(s)
        column = np.take_along_axis(self.V, token[:, None, None], 2)[..., 0]
        total = np.sum(self.V**2, (1, 2))
        top = np.divide(np.sum(column**2, 1), total, out=np.full_like(total, np.nan), where=total > 0)
        found = {
            "t": self.t,
            "loss": loss,
            "residual": residual,
            "max_s": measures.shares(s).max(-1).mean(-1),
            "entropy": measures.entropy(s).mean(-1),
            "participation": measures.participation_ratio(s).mean(-1),
            "rank_one_share": measures.rank_one_share(self.V),
            "top_column_share": top,
            "gamma": gamma,
            "int_gamma": self.int_gamma,
            "sum_a": self.A.sum((1, 2)),
            "square_a": np.sum(self.A**2, (1, 2)),
            "sink_token": token,
            "sink_share": share,
            **{f"{name}_err": error for name, error in self.errors.items()},
        }
        return found if self.steps is None else {**found, "steps": self.steps}

    @cached_property
    def _evaluated(self) -> tuple[np.ndarray, ...]:
        problem = self.problem
        setting = Setting.of(problem)
        kinds = LOSSES.index(problem.loss), MAPS.index(problem.map), problem.tied
        s = np.empty((len(self.t), problem.rows, problem.tokens))
        scalars = np.empty((len(self.t), 3))
        dW, dA = np.empty_like(setting.W), np.empty_like(setting.A)
        for n, (V, A) in enumerate(zip(self.V, self.A, strict=True)):
            W = np.ascontiguousarray(V.T)
            scalars[n] = kernels.velocity(*kinds, W, A, *setting.constants, dW, dA, setting.work)
            for row, z in enumerate(A @ W if problem.tied else A):
                kernels.weights(kinds[1], np.ascontiguousarray(z), s[n, row])
        return s, *scalars.T

    def describe(self) -> dict[str, Any]:
        """Values of the PROBLEM columns."""
        problem, plan = self.problem, self.plan
        flow = plan.method == "flow"
        own = {
            "loss_kind": problem.loss,
            "temperature": problem.temperature if problem.loss == "kl" else None,
            "method": plan.method,
            "lr": None if flow else plan.lr,
            "rtol": plan.rtol if flow else None,
            "stop": plan.stop,
            "status": self.status,
            "message": self.message,
            "version": __version__,
        }
        kept = ("map", "dim", "tokens", "rows", "tied", "condition", "norm", "scale_v", "scale_a", "mean_a", "seed")
        return own | {name: getattr(problem, name) for name in kept}

    def row(self, record: int = -1) -> dict[str, Any]:
        """The row of schema FINAL at one record, by default the last; None where a value does not exist."""
        values = self.describe() | {name: _plain(array[record]) for name, array in self.scalars.items()}
        return {column.name: values.get(column.name) for column in FINAL}

    def trajectory(self) -> list[dict[str, Any]]:
        """One row per record with the columns of `trajectory_columns`."""
        problem = self.problem
        names = [column.name for column in trajectory_columns(problem.rows, problem.tokens)]
        labels = weight_names(problem.rows, problem.tokens)
        rows = []
        for record in range(len(self.t)):
            values = self.row(record)
            values |= zip(labels, map(_plain, self.s[record].ravel()), strict=True)
            values |= {f"u_{i}": _plain(value) for i, value in enumerate(self.u[record])}
            rows.append({name: values[name] for name in names})
        return rows


def assemble(
    problem: FlowProblem,
    plan: Plan,
    verdict: tuple[str, str],
    t: np.ndarray,
    steps: np.ndarray | None,
    states: np.ndarray,
) -> FlowResult:
    """The result of flat states (records, dim tokens + rows tokens + 1), ordered (W, A, int gamma)."""
    p, d = problem.tokens, problem.dim
    V = states[:, : p * d].reshape(-1, p, d).transpose(0, 2, 1)
    A = states[:, p * d : -1].reshape(-1, problem.rows, p)
    return FlowResult(problem, plan, *verdict, t, steps, V, A, states[:, -1], {})


def outcome(stop: float | None, reached: bool) -> tuple[str, str]:
    """(status, message) of a run that met no trouble."""
    if reached:
        return "converged", ""
    if stop is None:
        return "finished", ""
    return "time_limit", f"the residual did not fall to {stop:g} within the given time"


def failure(problem: FlowProblem, state: np.ndarray, detail: str) -> tuple[str, str]:
    """(status, message) of a run whose last good flat state is `state`."""
    if not np.isfinite(state).all() or np.abs(state).max() > 1e100:
        return "nonfinite", f"the parameters overflowed: {detail}"
    if problem.map in ("sum", "relu", "l1", "power2"):
        return "out_of_domain", f"the weights of map {problem.map} sum to zero, or come too near to it: {detail}"
    return "stalled", f"the integration could not go on: {detail}"


def _plain(value: Any) -> Any:
    value = value.item()
    return None if value != value else value
