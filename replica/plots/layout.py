"""Which column goes where: x, y, hue and panels, chosen from what varies in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InvalidProblem
from .labels import BAYES
from .tables import ESTIMATE, NUMBERS, PARAMETERS, Curves, curves

if TYPE_CHECKING:
    import pandas

MOST_HUES = 8  # more values of a second parameter than lines can show make a map
MOST_PANELS = 12
MANY = 5  # values of alpha that make it the horizontal axis whatever else varies
RISK = "test_risk"


@dataclass(frozen=True)
class Layout:
    """The columns of a figure.

    Attributes
    ----------
    x, y : str
        The axes. In a map both are parameters, else `y` is a number that was computed.
    hue : str
        What colour shows: in a map a number, else a parameter or the estimator.
    panels : tuple of str
        Columns with one panel for each combination of values.
    is_map : bool
    """

    x: str
    y: str
    hue: str
    panels: tuple[str, ...]
    is_map: bool


def choose(
    frame: pandas.DataFrame, x: str | None = None, y: str | None = None, hue: str | None = None
) -> tuple[Curves, Layout]:
    """Rows and columns of a figure; what is not given is chosen from what varies.

    x is alpha if it has 5 values or more, else what has most values of alpha, nu, noise, length, penalties. A second
    parameter is shown by colour if there is one estimator, in panels if there are several, and as the other axis of a
    map if it has more than 8 values.

    Raises
    ------
    InvalidProblem
        If a column is unknown or does not vary, nothing varies, or there would be too many panels.
    """
    computed = set(NUMBERS) - set(PARAMETERS) - {"reg", "reg_k", "reg_v", "erf_offset"}
    shown = next((name for name in (y, hue) if name in computed), RISK)
    found = curves(frame, shown)
    table = found.both
    axes = [name for name in found.varying if _numeric(table, name)]
    if not axes:
        raise InvalidProblem("no parameter varies in the table; a curve needs at least two values of alpha, nu, ...")
    _known("x", x, axes)
    x = _horizontal(table, axes) if x is None else x
    others = [name for name in found.varying if name != x]
    types = [name for name in table[ESTIMATE].unique() if name != BAYES]
    if y is not None and y not in computed:
        _known("y", y, [*(name for name in axes if name != x), *sorted(name for name in computed if name in table)])
    crowded = y is None and hue is None and bool(others) and others[0] in axes and _crowded(table, others[0])
    if (y is not None and y not in computed) or hue in computed or crowded:
        return found, _map_layout(x, y, shown, [name for name in axes if name != x], others, table)
    if hue is None:
        hue = ESTIMATE if len(types) > 1 or not others else others[0]
    _known("hue", hue, [ESTIMATE, *others])
    panels = sorted((name for name in others if name != hue), key=lambda name: name != "model")  # the row of a grid
    if hue != ESTIMATE and len(types) > 1:
        panels.append(ESTIMATE)
    _check_panels(table, panels)
    return found, Layout(x, shown, hue, tuple(panels), False)


def _map_layout(
    x: str, y: str | None, shown: str, axes: list[str], others: list[str], table: pandas.DataFrame
) -> Layout:
    if not axes:
        raise InvalidProblem(f"only {x} varies in the table; a map needs two parameters that vary")
    y = axes[0] if y is None or y == shown else y
    panels = sorted((name for name in others if name != y), key=lambda name: name != "model")
    if table.dropna(subset=[x, y])[ESTIMATE].nunique() > 1:
        panels.append(ESTIMATE)
    _check_panels(table, panels)
    return Layout(x, y, shown, tuple(panels), True)


def _horizontal(table: pandas.DataFrame, axes: list[str]) -> str:
    count = table[axes].nunique()
    return "alpha" if count.get("alpha", 0) >= MANY else max(axes, key=count.__getitem__)


def _numeric(table: pandas.DataFrame, name: str) -> bool:
    cells = table[name]
    return cells.dtype.kind in "fi" and cells[cells.abs() < float("inf")].nunique() > 1


def _crowded(table: pandas.DataFrame, name: str) -> bool:
    return table[name].nunique() > MOST_HUES


def _known(option: str, name: str | None, known: list[str]) -> None:
    if name is not None and name not in known:
        raise InvalidProblem(f"{option} = {name!r} cannot be drawn here; allowed: {', '.join(known) or 'nothing'}")


def _check_panels(table: pandas.DataFrame, panels: list[str]) -> None:
    count = len(table[panels].drop_duplicates()) if panels else 1
    if count > MOST_PANELS:
        raise InvalidProblem(
            f"{' and '.join(panels)} would need {count} panels; allowed: {MOST_PANELS}; choose values with "
            f"--where {panels[0]}=VALUE"
        )
