"""How a problem is trained: method, horizon, records, tolerances."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidProblem
from ..models.checks import number
from .problem import HAS_KINK, FlowProblem, bounded, check_memory, whole

METHODS = ("flow", "descent")
MOST_STEPS = 10**10
FINEST, COARSEST = 1e-12, 1e-2
SHORTEST, LONGEST = 1e-6, 1e100


@dataclass(frozen=True)
class Plan:
    """Train by `method` up to `time`, recorded at `records` + 1 times evenly spaced in log(1 + t), 0 included.

    flow: LSODA in tau = log(1 + t) at relative tolerance `rtol` (default 1e-8). descent: round(time/lr) steps of size
    `lr` (default 0.1). Each of the two refuses the option of the other.
    `stop`: residual at which the run ends early as converged; not reaching it is the status time_limit.

    Raises
    ------
    InvalidProblem
        For an unknown method or a number out of range.
    """

    method: str = "flow"
    time: float = 1e6
    lr: float | None = None
    records: int = 200
    rtol: float | None = None
    stop: float | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidProblem(f"method = {self.method!r} is unknown; known: {', '.join(METHODS)}")
        put = object.__setattr__
        put(self, "time", bounded("time", self.time, SHORTEST, LONGEST))
        put(self, "records", whole("records", self.records, 1))
        if self.stop is not None:
            put(self, "stop", number("stop", self.stop, minimum=0, strict=True))
        if self.lr is not None:
            put(self, "lr", number("lr", self.lr, minimum=0, strict=True))
        if self.rtol is not None:
            put(self, "rtol", bounded("rtol", self.rtol, FINEST, COARSEST))
        if self.method == "flow":
            if self.lr is not None:
                raise InvalidProblem(f"lr = {self.lr:g} applies to method = 'descent' only; drop one of them")
            put(self, "rtol", 1e-8 if self.rtol is None else self.rtol)
            return
        if self.rtol is not None:
            raise InvalidProblem(f"rtol = {self.rtol:g} applies to method = 'flow' only; drop one of them")
        put(self, "lr", 0.1 if self.lr is None else self.lr)
        if not 0.5 < self.time / self.lr <= MOST_STEPS:
            raise InvalidProblem(
                f"time/lr = {self.time / self.lr:.3g} steps; allowed: 1 to {MOST_STEPS:.0e} (method flow has no steps)"
            )

    def check(self, problem: FlowProblem) -> None:
        """Refuse a problem that this plan cannot train or hold in memory.

        Raises
        ------
        InvalidProblem
            For a tied map with a kink under flow (its corners have no events in z), or too much memory.
        """
        if self.method == "flow" and problem.tied and problem.map in HAS_KINK:
            raise InvalidProblem(
                f"map = {problem.map!r} with tied weights has no classical flow at its kink; use --method descent"
            )
        numbers = problem.size * (16 * self.records + 20) + problem.dim**2 * 5
        if self.method == "flow":
            numbers += 2 * (problem.size + 1) ** 2  # the dense Jacobian of LSODA and its factors
        check_memory(8.0 * numbers, f"{problem.size} parameters with method = {self.method!r}")
