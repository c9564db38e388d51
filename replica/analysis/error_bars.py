"""Error bars without solving again: what other node sets would have given, to first order (theory.md section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..solvers.fixed_point import Chart
from .erm_map import Equations, State

# two error bars of this many standard errors hold 95 % of Student's law with 7 degrees of freedom
STUDENT = 2.365 / 2.0


@dataclass(frozen=True)
class Estimate:
    """Errors of the numbers of a state, and where other nodes would have put its point.

    Attributes
    ----------
    errors : dict
        By name; nan if it cannot be told yet.
    moves : list of list of ndarray
        By source of error and its variants, the change of the point in free coordinates.
    """

    errors: dict[str, float]
    moves: list[list[np.ndarray]]


@dataclass(frozen=True)
class Response:
    """First-order response at a fixed point, in the free coordinates z of a chart.

    Attributes
    ----------
    slope : ndarray, shape (n, n)
        dG/dz of the map.
    gradients : dict
        By name, the gradient in z of each number derived from the point, the node set held fixed.
    """

    slope: np.ndarray
    gradients: dict[str, np.ndarray]


def respond(evaluate: Callable[[np.ndarray], State], x: np.ndarray, chart: Chart, step: float = 1e-4) -> Response:
    """Central differences at x of the map and of the numbers."""
    z = chart.to_free(x)
    columns, slopes = [], []
    for index in range(len(z)):
        size = step * (1.0 + abs(z[index]))
        up, down = (evaluate(chart.to_domain(z + sign * size * np.eye(len(z))[index])) for sign in (1.0, -1.0))
        columns.append((chart.to_free(up.value) - chart.to_free(down.value)) / (2.0 * size))
        slopes.append({name: (up.numbers[name] - down.numbers[name]) / (2.0 * size) for name in up.numbers})
    return Response(np.array(columns).T, {name: np.array([entry[name] for entry in slopes]) for name in slopes[0]})


def displacement(response: Response, state: State, other: State, chart: Chart) -> np.ndarray:
    """Where the point would move, in free coordinates, with other nodes, which give `other` at the same point: by
    (I - dG/dz)^{-1} of the change of G."""
    moved = chart.to_free(other.value) - chart.to_free(state.value)
    try:
        return np.linalg.solve(np.eye(len(moved)) - response.slope, moved)
    except np.linalg.LinAlgError:  # exactly at a spinodal the point answers with no bound: the error is unknown
        return np.full_like(moved, np.nan)


def displaced(response: Response, state: State, other: State, move: np.ndarray) -> dict[str, float]:
    """Change of each number with other nodes: at the point itself, and with the point."""
    return {
        name: float(other.numbers[name] - value + response.gradients[name] @ move)
        for name, value in state.numbers.items()
    }


def combined(sources: Sequence[Sequence[dict[str, float]]]) -> dict[str, float]:
    """Error of each number from its changes under the variants of independent sources.

    Several variants: the standard error of their mean, widened for its own uncertainty; a single one, a coarser rule:
    the change itself.
    """
    names = sources[0][0]
    squares = dict.fromkeys(names, 0.0)
    for changes in sources:
        for name in names:
            values = np.array([change[name] for change in changes])
            if len(values) == 1:
                squares[name] += values[0] ** 2
            else:
                squares[name] += STUDENT**2 * values.var(ddof=1) / len(values)
    return {name: math.sqrt(square) for name, square in squares.items()}


def estimate(
    states: Sequence[State],
    equations_at: Callable[[int], Equations],
    level: int,
    chart: Chart,
    floor: float,
    before: dict[str, float] | None = None,
) -> Estimate:
    """Error of each number of the last state: from the variants of its nodes where the channel has them, else from the
    levels; nan if it cannot be told yet.

    Parameters
    ----------
    states : sequence of State
        The fixed point on finer and finer nodes.
    equations_at : callable
        The equations at a level.
    level : int
        Level of the last state.
    floor : float
        Relative error of the iteration itself.
    before : dict, optional
        The errors of the state before.
    """
    last = states[-1]
    equations = equations_at(level)
    sources = equations.channel.variants(equations.parameters(last.x))
    if sources:
        # to first order the fewest nodes are enough for the response
        response = respond(equations_at(0).evaluate, last.x, chart)
        others = [[equations.evaluate(last.x, averages) for averages in source] for source in sources]
        moves = [[displacement(response, last, other, chart) for other in source] for source in others]
        spread = combined(
            [
                [displaced(response, last, other, move) for other, move in zip(*pair, strict=True)]
                for pair in zip(others, moves, strict=True)
            ]
        )
        if before is not None and any(len(source) > 1 for source in sources):
            spread = with_bias(spread, before, states)
    elif len(states) > 1:
        spread = _level_differences(states)
        moves = [[chart.to_free(last.x) - chart.to_free(states[-2].x)]]
    else:
        return Estimate(dict.fromkeys(last.numbers, math.nan), [])
    own = abs(last.sums.norm - 1.0) + floor
    errors = {name: own * (1.0 + abs(value)) + spread[name] for name, value in last.numbers.items()}
    return Estimate(errors, moves)


def with_bias(spread: dict[str, float], before: dict[str, float], states: Sequence[State]) -> dict[str, float]:
    """Add what is left of a bias of order 1/N, which independent scrambles share: the change since the nodes before
    tells it, but for the part of the change that the errors of the two explain."""
    last, old = states[-1], states[-2]
    total = {}
    for name, value in spread.items():
        change = (last.numbers[name] - old.numbers[name]) ** 2 - value**2 - before[name] ** 2
        total[name] = math.hypot(value, math.sqrt(max(change, 0.0)) / (last.nodes / old.nodes - 1.0))
    return total


def _level_differences(states: Sequence[State]) -> dict[str, float]:
    """Differences to the previous level, and a share of the one before: an estimate of the coarser level's error."""

    def change(index: int) -> dict[str, float]:
        new, old = states[index].numbers, states[index - 1].numbers
        return {name: abs(new[name] - old[name]) for name in new}

    steps = [change(-1)]
    if len(states) > 2:
        steps.append({name: 0.02 * value for name, value in change(-2).items()})
    return {name: max(step[name] for step in steps) for name in states[-1].numbers}
