"""Heat maps over two parameters, with transitions as lines, and phase diagrams from transitions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from . import labels, panels
from .figure import STYLE, VERMILLION
from .layout import Layout
from .tables import Curves

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCH = VERMILLION  # seen on both ends of the colour map
HARD, COEXISTENCE = "#F4C98B", "#E3E3E3"
_PHASE_NAMES = {
    HARD: "hard: Bayes-optimal is better than AMP reaches",
    COEXISTENCE: "an informed branch exists, not yet the best",
}


def map_figure(found: Curves, layout: Layout, thresholds: pandas.DataFrame | None = None) -> Figure:
    """`layout.hue` as colour over (x, y), on one colour scale for all panels.

    Cells are centred on their points; missing ones stay blank, those where replica symmetry is broken are hatched.
    Transitions of the Bayes-optimal estimator are lines where one axis is alpha.

    Raises
    ------
    InvalidProblem
        If a panel has fewer than two finite values on an axis.
    """
    import matplotlib as mpl
    import numpy as np
    from matplotlib.patches import Patch

    table = found.theory.dropna(subset=[layout.x, layout.y])
    parts = list(panels.split(table, layout.panels, shared=False))
    low, high = table[layout.hue].min(), table[layout.hue].max()
    log = bool(low > 0 and high > 100.0 * low)
    norm = mpl.colors.LogNorm(low, high) if log else mpl.colors.Normalize(low, high)
    kinds: set[str] = set()
    hatched = False
    with mpl.rc_context({**STYLE, "hatch.linewidth": 0.4}):
        figure, axes = panels.grid(
            len(parts), *((5.2, 3.8) if len(parts) == 1 else (2.8, 2.6)), panels.columns(parts, layout.panels)
        )
        for one, (name, place, rows) in zip(axes, parts, strict=True):
            cells = rows.pivot_table(layout.hue, layout.y, layout.x)
            cells = cells[np.isfinite(cells.index)].loc[:, lambda part: np.isfinite(part.columns)]
            if min(cells.shape) < 2:
                raise InvalidProblem(f"a map needs two finite values of {layout.x} and of {layout.y} in each panel")
            steps = [(panels.scale(points), np.asarray(points, float)) for points in (cells.columns, cells.index)]
            edges = [panels.edges(points, kind) for kind, points in steps]
            image = one.pcolormesh(*edges, cells.to_numpy(float), cmap="cividis", norm=norm, rasterized=True)
            one.set(xscale=steps[0][0], yscale=steps[1][0])
            one.set_title(name, loc="left")
            broken = rows[rows["rs_stable"].astype(object).eq(False).fillna(False)] if "rs_stable" in rows else rows[:0]
            if not broken.empty:
                mask = broken.pivot_table(layout.hue, layout.y, layout.x).reindex_like(cells).notna().to_numpy()
                _hatch(one, edges, mask)
                hatched = True
            kinds |= _transitions(one, found, place, layout, thresholds, edges)
        figure.colorbar(image, ax=axes, label=labels.axis(layout.hue))
        handles = panels.threshold_handles(kinds)
        if hatched:
            handles.append(Patch(facecolor="white", edgecolor=_HATCH, hatch="////", label="replica symmetry broken"))
        panels.finish(figure, axes, layout.x, layout.y, panels.title(found.fixed), handles)
    return figure


def _transitions(
    axes: Axes,
    found: Curves,
    place: dict[str, Any],
    layout: Layout,
    thresholds: pandas.DataFrame | None,
    edges: list[Any],
) -> set[str]:
    from matplotlib.patheffects import Normal, Stroke

    if "alpha" not in (layout.x, layout.y):
        return set()
    other = layout.y if layout.x == "alpha" else layout.x
    table = panels.matching(thresholds, {**found.fixed, **place}, free=other)
    if table is None:
        return set()
    cased = {"path_effects": [Stroke(linewidth=3.0, foreground="white"), Normal()]}  # seen on every colour
    if other not in table:  # a penalty: the Bayes-optimal estimator does not know it
        lines = axes.axvline if layout.x == "alpha" else axes.axhline
        for kind, value in zip(table["kind"], table["value"], strict=True):
            lines(value, linewidth=1.4, **panels.TRANSITIONS[kind][0], **cased)
    else:
        panels.mark_thresholds(axes, table, layout.x, layout.y, **cased)
    axes.set(xlim=(edges[0][0], edges[0][-1]), ylim=(edges[1][0], edges[1][-1]))
    return set(table["kind"])


def _hatch(axes: Axes, edges: list[Any], mask: Any) -> None:
    import numpy as np
    from matplotlib.collections import PolyCollection

    x, y = edges
    corners = [[(x[j], y[i]), (x[j + 1], y[i]), (x[j + 1], y[i + 1]), (x[j], y[i + 1])] for i, j in np.argwhere(mask)]
    axes.add_collection(PolyCollection(corners, facecolor="none", edgecolor=_HATCH, linewidth=0, hatch="////"))


def phase_figure(thresholds: pandas.DataFrame) -> Figure:
    """The phase diagram from a table of `replica thresholds`: alpha against what varies, one panel for the rest.

    Between the information-theoretic line and the end of the uninformed branch is the hard phase. The lines meet where
    the transition ends; beyond, alpha only improves the estimator gradually.

    Raises
    ------
    InvalidProblem
        If there is no certified transition, nothing varies, or there would be too many panels.
    """
    import matplotlib as mpl
    from matplotlib.patches import Patch

    certified = thresholds[thresholds["status"] == "certified"].copy()
    if certified.empty:
        raise InvalidProblem("the table has no certified transition; nothing to draw")
    if certified["length"].astype(str).str.fullmatch(r"\d+").all():
        certified["length"] = certified["length"].astype(int)
    varying = [name for name in ("noise", "nu", "length", "model") if certified[name].nunique() > 1]
    axes_names = [name for name in varying if certified[name].dtype.kind in "fi"]
    if not axes_names:
        raise InvalidProblem(
            "no parameter varies in the table; a phase diagram needs two values of noise, nu or length"
        )
    x, rest = axes_names[0], [name for name in varying if name != axes_names[0]]
    fixed = {name: certified[name].iloc[0] for name in ("model", "nu", "length", "noise") if name not in varying}
    groups = [((), certified)] if not rest else list(certified.groupby(rest))
    if len(groups) > 12:
        raise InvalidProblem(f"{' and '.join(rest)} would need {len(groups)} panels; allowed: 12; use --where")
    with mpl.rc_context(STYLE):
        figure, axes = panels.grid(len(groups), *((5.2, 3.9) if len(groups) == 1 else (2.6, 2.8)), share=False)
        shown: set[str] = set()
        for one, (cells, rows) in zip(axes, groups, strict=True):
            one.set_title(
                ", ".join(labels.value(name, cell) for name, cell in zip(rest, cells, strict=True)), loc="left"
            )
            shown |= _shade(one, rows, x)
            panels.mark_thresholds(one, rows, x, "alpha")
            one.set_xscale(panels.scale(rows[x]))
            one.set_yscale("log" if rows["value"].max() > 10 * rows["value"].min() else "linear")
            one.margins(x=0.02)
        handles = panels.threshold_handles(set(certified["kind"]))
        handles += [Patch(color=colour, label=text) for colour, text in _PHASE_NAMES.items() if colour in shown]
        panels.finish(figure, axes, x, "alpha", panels.title(fixed), handles)
    return figure


def _shade(axes: Axes, rows: pandas.DataFrame, x: str) -> set[str]:
    wide = rows.pivot_table("value", x, "kind")
    shown = set()
    for low, high, colour in (
        ("information-theoretic", "spinodal-uninformed", HARD),
        ("spinodal-informed", "information-theoretic", COEXISTENCE),
    ):
        if low in wide and high in wide:
            axes.fill_between(wide.index.to_numpy(float), wide[low], wide[high], color=colour, linewidth=0)
            shown.add(colour)
    return shown
