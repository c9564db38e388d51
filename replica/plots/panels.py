"""What maps and curves share: panels, scales, titles, threshold lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import labels
from .figure import BLUE, GREEN
from .labels import BAYES
from .tables import ESTIMATE

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_SPREAD = 4.0  # ratio of the largest to the smallest value from which an axis can be logarithmic
# kind of transition: its line, its name
TRANSITIONS = {
    "information-theoretic": ({"color": "black", "linestyle": "-"}, "information-theoretic"),
    "spinodal-uninformed": ({"color": BLUE, "linestyle": (0, (5, 2))}, "end of the uninformed branch (algorithmic)"),
    "spinodal-informed": ({"color": GREEN, "linestyle": (0, (1, 1.5))}, "birth of the informed branch"),
}


def grid(
    count: int, width: float, height: float, columns: int | None = None, share: bool = True
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels of the given size in inches, that `share` their axes or not."""
    from matplotlib.figure import Figure

    if columns is None or columns < 2:
        columns = count if count <= 3 else math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(width * columns, height * rows + (0.5 if count > 1 else 0.0)), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharex=share, sharey=share, squeeze=False).ravel())
    for unused in axes[count:]:
        unused.set_axis_off()
    for index in range(count - columns, count):  # the last panel of each column shows its ticks
        axes[max(index, 0)].tick_params(labelbottom=True)
    return figure, axes[:count]


def split(
    table: pandas.DataFrame, panels: Sequence[str], shared: bool = True
) -> Iterator[tuple[str, dict[str, Any], pandas.DataFrame]]:
    """Title, parameters and rows of each panel.

    Where `shared`, rows that do not know a parameter, of bayes say, are in all panels.
    """
    if not panels:
        yield "", {}, table
        return
    known = table.dropna(subset=[name for name in panels if name != ESTIMATE])
    if shared and ESTIMATE in panels and known[ESTIMATE].nunique() > 1 and BAYES in set(known[ESTIMATE]):
        known = known[known[ESTIMATE] != BAYES]
    places = known[list(panels)].drop_duplicates().itertuples(index=False)
    for cells in sorted(places, key=lambda cells: [_rank(cell) for cell in cells]):
        place = dict(zip(panels, cells, strict=True))
        keep = table[ESTIMATE].notna()
        for name, cell in place.items():
            everywhere = table[ESTIMATE] == BAYES if name == ESTIMATE else table[name].isna()
            keep &= (table[name] == cell) | (everywhere & shared)
        yield ", ".join(labels.value(name, cell) for name, cell in place.items()), place, table[keep]


def finish(figure: Figure, axes: Sequence[Axes], x: str, y: str, heading: str, handles: Sequence[Any]) -> None:
    """Label the outer axes with what the columns x and y are, and add heading and legend."""
    width = axes[0].get_subplotspec().get_gridspec().ncols
    for index, one in enumerate(axes):
        if index + width >= len(axes):
            one.set_xlabel(labels.axis(x))
        if index % width == 0:
            one.set_ylabel(labels.axis(y))
        plain_ticks(one)
        if len(axes) > 1 and one.get_xscale() == "linear":
            one.locator_params(axis="x", nbins=4)
    if len(axes) == 1:
        axes[0].set_title(heading, loc="left")
    else:
        figure.suptitle(heading, fontsize=9)
    if handles:
        figure.legend(handles=handles, loc="outside lower center", fontsize=8, ncols=_legend_columns(figure, handles))


def _legend_columns(figure: Figure, handles: Sequence[Any]) -> int:
    longest = max(len(handle.get_label()) for handle in handles)
    return max(1, min(len(handles), int(figure.get_figwidth() / (0.65 + 0.062 * longest))))


def columns(parts: Sequence[tuple[str, dict[str, Any], Any]], names: Sequence[str]) -> int | None:
    """Columns of a grid that has one row for each value of the first of two parameters; None if it has holes."""
    if len(names) != 2:
        return None
    first, second = (len({place[name] for _, place, _ in parts}) for name in names)
    return second if first * second == len(parts) else None


def _rank(cell: Any) -> tuple[float, str]:
    """Numbers in order, then laws of lengths and names: a fixed length may be text among laws."""
    try:
        return float(cell), ""
    except ValueError:
        return math.inf, str(cell)


def scale(values: Any) -> str:
    """ "log" for positive values that are more even in equal ratios than in equal steps, and spread enough."""
    import numpy as np

    found = np.unique(np.asarray(values, float))
    found = found[np.isfinite(found)]
    if len(found) < 3 or found[0] <= 0.0 or found[-1] < LEAST_SPREAD * found[0]:
        return "linear"
    uneven = [steps.std() / steps.mean() for steps in (np.diff(found), np.diff(np.log(found)))]
    return "log" if uneven[1] < uneven[0] else "linear"


def edges(points: Any, kind: str) -> Any:
    """Edges of the cells of a map around increasing points, half way between them on the scale of the axis."""
    import numpy as np

    place = np.log(points) if kind == "log" else points
    middle = 0.5 * (place[1:] + place[:-1])
    edges = np.concatenate([[2 * place[0] - middle[0]], middle, [2 * place[-1] - middle[-1]]])
    if kind == "log":
        return np.exp(edges)
    edges[0] = max(edges[0], 0.0) if points[0] >= 0.0 else edges[0]  # no parameter is negative
    return edges


def plain_ticks(axes: Axes) -> None:
    """1, 2, 5, 10, or closer, instead of powers on logarithmic axes of less than three decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis, (low, high), kind in (
        (axes.xaxis, axes.get_xlim(), axes.get_xscale()),
        (axes.yaxis, axes.get_ylim(), axes.get_yscale()),
    ):
        if kind == "log" and high < 1e3 * low:
            labelled = (1, 2, 4, 6, 8) if high <= 10 * low else (1, 2, 5) if high < 100 * low else (1,)
            axis.set_major_locator(LogLocator(base=10, subs=labelled))
            axis.set_major_formatter(FuncFormatter(lambda cell, _: f"{cell:g}"))
            axis.set_minor_formatter(NullFormatter())


def title(fixed: dict[str, Any]) -> str:
    """The parameters that all panels share."""
    order = (ESTIMATE, "model", "length", "nu", "alpha", "noise", "reg", "reg_k", "reg_v", "erf_offset")
    population = fixed.get("alpha") == math.inf  # penalties do not matter there
    return ", ".join(
        labels.value(name, fixed[name])
        for name in order
        if name in fixed and not (population and name in ("reg", "reg_k", "reg_v"))
    )


def matching(thresholds: pandas.DataFrame | None, place: dict[str, Any], free: str = "") -> pandas.DataFrame | None:
    """Certified transitions at exactly these parameters, whatever `free` is; None if there are none."""
    if thresholds is None:
        return None
    table = thresholds[thresholds["status"] == "certified"]
    for name in ("model", "length", "nu", "noise"):
        if name == free:
            continue
        if name not in place:  # a parameter that varies within the panel: no line is that of all curves
            return None
        table = table[table[name].astype(str) == str(place[name])] if name in ("model", "length") else table[
            table[name] == float(place[name])
        ]  # fmt: skip
    return None if table.empty else table


def mark_thresholds(axes: Axes, table: pandas.DataFrame, x: str, y: str, **style: Any) -> None:
    """Lines of transitions: at alpha = value along x, or over the plane of alpha and another parameter."""
    for kind, (line, _) in TRANSITIONS.items():
        rows = table[table["kind"] == kind]
        if x == "alpha" and y not in table:
            for value in rows["value"].unique():
                axes.axvline(value, linewidth=1.0, zorder=1, **line)
        elif not rows.empty:
            other = y if x == "alpha" else x
            rows = rows.sort_values(other)
            pair = rows["value"].astype(float), rows[other].astype(float)
            axes.plot(*(pair if x == "alpha" else pair[::-1]), linewidth=1.4, zorder=4, **line, **style)


def threshold_handles(kinds: set[str]) -> list[Any]:
    """Entries of a legend for these kinds of transitions."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], linewidth=1.4, label=text, **line) for kind, (line, text) in TRANSITIONS.items()
            if kind in kinds]  # fmt: skip
