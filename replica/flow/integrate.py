"""Gradient flow by LSODA in tau = log(1 + t), so that t = 1e6 is as near as tau = 14."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .field import Field
from .plan import Plan
from .problem import FlowProblem
from .result import FlowResult, Setting, assemble, failure, outcome

CORNERS = 20  # corners per attention entry after which a run counts as stalled
BISECTIONS = 60

Report = Callable[[float], None]
Event = Callable[[np.ndarray], float]


def integrate(problem: FlowProblem, plan: Plan, setting: Setting, times: np.ndarray, report: Report) -> FlowResult:
    """Integrate dV/dt = -grad_V, dA/dt = -grad_A, d(int gamma)/dt = gamma; record at `times`, which start at 0.

    The maps with a corner at 0 are integrated from corner to corner, with the smooth ratio z/sum z over the live
    tokens in between. A relu token that reaches 0 is dead. For l1 the state is |A|, as the weights know no more:
    a token that reaches 0 rests there until its force turns positive (the Filippov solution of the signed flow).
    """
    field = Field(problem, setting, plan.rtol)
    tau = np.log1p(times)
    # each event is a function of the state that falls through 0
    events: dict[str, Event] = {}
    if plan.stop is not None:
        events["stop"] = lambda y: field(y)[1] - plan.stop
    if field.has_kink:
        events["fall"] = field.lowest_live
    if field.revives:
        events["rise"] = lambda y: -field.strongest_frozen(y)
    moment, y = 0.0, field.start
    blocks, t = [y], [0.0]
    corners, message = 0, ""
    reached = plan.stop is not None and events["stop"](y) <= 0
    while len(t) < len(times) and not reached and not message:
        piece = _smooth_piece(field, plan, moment, y, tau[len(t) :], events, report)
        blocks += piece.states
        t += list(times[len(t) : len(t) + len(piece.states)])
        moment, y, message = piece.moment, piece.y, piece.message
        if piece.event == "stop":
            reached = True
            blocks.append(y)
            t.append(math.expm1(moment))
        elif piece.event:
            field.turn(y, falls=piece.event == "fall")
            corners += 1
            if corners > CORNERS * problem.rows * problem.tokens:
                message = f"more than {corners - 1} corners of the map {problem.map}"
    states = field.recorded(np.array(blocks))
    good = np.isfinite(states).all(axis=1)
    verdict = outcome(plan.stop, reached)
    if message or not good.all():
        verdict = failure(problem, states[good][-1], message)
    return assemble(problem, plan, verdict, np.array(t)[good], None, states[good])


class _Piece(NamedTuple):
    states: list[np.ndarray]
    moment: float
    y: np.ndarray
    event: str
    message: str


def _smooth_piece(
    field: Field, plan: Plan, moment: float, y: np.ndarray, later: np.ndarray, events: dict[str, Event], report: Report
) -> _Piece:
    """Integrate to the last of `later`, or to the first event, or to a failure (`message`)."""
    from scipy.integrate import LSODA

    solver = LSODA(
        lambda now, state: field(state)[0] * math.exp(now),
        moment, y, later[-1], rtol=plan.rtol, atol=plan.rtol * field.absolute,
    )  # fmt: skip
    states: list[np.ndarray] = []
    before = {name: event(y) for name, event in events.items()}
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            return _Piece(states, solver.t, solver.y, "", message or "the state is not finite")
        report(solver.t / later[-1])
        after = {name: event(solver.y) for name, event in events.items()}
        crossed = [name for name in events if before[name] > 0 >= after[name]]
        due = later[len(states) :]
        due = due[due <= solver.t]
        if not crossed and not due.size:
            before = after
            continue
        path = solver.dense_output()
        meetings = [(_crossing(events[name], path, solver.t_old, solver.t), name) for name in crossed]
        end, name = min(meetings, default=(solver.t, ""))
        states += [path(now) for now in due[due <= end]]
        if name:
            return _Piece(states, end, path(end), name, "")
        before = after
    return _Piece(states, solver.t, solver.y, "", "")


def _crossing(event: Event, path: Callable[[float], np.ndarray], low: float, high: float) -> float:
    """Where `event` falls through 0 on the interpolant, which meets the step's ends to within tolerance only."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if event(path(middle)) > 0:
            low = middle
        else:
            high = middle
    return high
