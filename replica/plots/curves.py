"""Curves of a computed number against a parameter: predictions as lines with error bands, experiments as markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import labels, panels
from .figure import GREY, STYLE
from .labels import BAYES
from .layout import Layout
from .tables import ESTIMATE, Curves

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# how a stretch between two points is drawn, by the worse of the two: stable, unresolved, broken
_STABLE, _UNRESOLVED, _BROKEN = 0, 1, 2
_STYLES = {_STABLE: "-", _UNRESOLVED: ":", _BROKEN: "--"}
_NOTES = {_UNRESOLVED: "replica symmetry unresolved", _BROKEN: "replica symmetry broken"}
_WIDTHS = {False: 1.3, True: 2.6}  # the Bayes-optimal line is seen below one that reaches it
_MARKERS = "os^Dvp<>"


def curves_figure(found: Curves, layout: Layout, thresholds: pandas.DataFrame | None = None) -> Figure:
    """One line for each hue in each panel, over one axis for all panels.

    Lines are dashed where replica symmetry is broken and dotted where its stability is unresolved; bands are the error
    estimates of predictions (1 standard error of experiments: bars). Transitions of the Bayes-optimal estimator are
    vertical lines where x is alpha. A parameter as hue runs from dark to light.

    Parameters
    ----------
    found : Curves
    layout : Layout
        Of `replica.plots.layout.choose`.
    thresholds : DataFrame, optional
        A table of `replica thresholds`.
    """
    import matplotlib as mpl

    table = found.both
    parts = list(panels.split(table, layout.panels))
    colours = _colours(table, layout)
    drawn: dict[str, Any] = {}
    with mpl.rc_context(STYLE):
        single = len(parts) == 1
        figure, axes = panels.grid(
            len(parts), *((6.6, 3.4) if single else (2.4, 2.3)), panels.columns(parts, layout.panels)
        )
        for one, (name, place, rows) in zip(axes, parts, strict=True):
            one.set_title(name, loc="left")
            for key, line in _lines(rows, layout):
                _draw(one, key, line, layout, colours, drawn, found.theory)
            transitions = panels.matching(thresholds, {**found.fixed, **place}) if layout.x == "alpha" else None
            if transitions is not None:
                panels.mark_thresholds(one, transitions, layout.x, layout.y)
                for handle in panels.threshold_handles(set(transitions["kind"])):
                    drawn.setdefault(handle.get_label(), handle)
        axes[0].set_xscale(panels.scale(table[layout.x]))
        axes[0].set_yscale("log" if _wide(table[layout.y]) else "linear")
        if layout.y == "test_risk" and axes[0].get_yscale() == "linear":
            axes[0].set_ylim(bottom=min(0.0, axes[0].get_ylim()[0]))
        heading = panels.title({name: cell for name, cell in found.fixed.items() if name != layout.hue})
        handles = [*_ordered(drawn, table, layout), *_notes(drawn)]
        if single:
            figure.legend(handles=handles, loc="outside right upper", fontsize=8)
        panels.finish(figure, axes, layout.x, layout.y, heading, () if single else handles)
    return figure


def _colours(table: pandas.DataFrame, layout: Layout) -> dict[Any, Any]:
    import matplotlib as mpl

    values = sorted(table[layout.hue].dropna().unique())
    if layout.hue == ESTIMATE:
        return labels.colours(values)
    ramp = mpl.colormaps["viridis"]
    return {value: ramp(0.85 * index / max(len(values) - 1, 1)) for index, value in enumerate(values)}


def _lines(rows: pandas.DataFrame, layout: Layout) -> list[tuple[tuple[Any, bool], pandas.DataFrame]]:
    """Rows of each line or set of markers, by (hue, whether it is an experiment), in order of x."""
    hue = rows[layout.hue].astype(object)
    if layout.hue != ESTIMATE:
        hue = hue.where(rows[ESTIMATE] != BAYES, BAYES)
    experiment = rows["estimator"].str.startswith("experiment").astype(bool)
    groups = rows.groupby([hue.rename("_hue"), experiment.rename("_experiment")], sort=True)
    return [(key, group.sort_values(layout.x)) for key, group in groups]


def _draw(
    axes: Axes,
    key: tuple[Any, bool],
    rows: pandas.DataFrame,
    layout: Layout,
    colours: dict[Any, Any],
    drawn: dict[str, Any],
    theory: pandas.DataFrame,
) -> None:
    import numpy as np

    hue, is_experiment = key
    colour = colours.get(hue, "black")
    x, y = (rows[name].to_numpy(float) for name in (layout.x, layout.y))
    error = f"{layout.y}_err"
    spread = np.nan_to_num(rows[error].to_numpy(float)) if error in rows else np.zeros_like(y)
    name = hue if hue == BAYES else labels.value(layout.hue, hue)
    if is_experiment:
        marker = _MARKERS[list(colours).index(hue) % len(_MARKERS)] if hue in colours else "o"
        kind = "AMP" if hue == BAYES else "L-BFGS"
        drawn[f"{name}, {kind}"] = axes.errorbar(
            x, y, spread, fmt=marker, color=colour, markersize=4, markerfacecolor="white", capsize=2, linewidth=1,
            zorder=5, label=f"{name}, {kind}",
        )  # fmt: skip
        return
    width = _WIDTHS[hue == BAYES]
    axes.fill_between(x, y - spread, y + spread, color=colour, alpha=0.25, linewidth=0)
    states = _states(rows)
    for state, style in _STYLES.items():
        stretch = np.maximum(states[1:], states[:-1]) == state
        for first, last in _runs(stretch):
            points = slice(first, last + 1)
            axes.plot(x[points], y[points], color=colour, linestyle=style, linewidth=width, zorder=5 - width)
            drawn.setdefault(f"_{state}", style)
    if len(x) == 1:
        axes.plot(x, y, "_", color=colour, markersize=8)
    from matplotlib.lines import Line2D

    drawn.setdefault(name, Line2D([], [], color=colour, linewidth=width, label=name))


def _states(rows: pandas.DataFrame) -> Any:
    """0 stable, 1 unresolved, 2 broken; replica symmetry is exact for the Bayes-optimal estimator."""
    import numpy as np

    if "rs_stable" not in rows:
        return np.zeros(len(rows), int)
    stable = rows["rs_stable"].astype(object)
    found = np.where(stable.isna(), _UNRESOLVED, np.where(stable.eq(False).fillna(False), _BROKEN, _STABLE))
    return np.where(rows[ESTIMATE] == BAYES, _STABLE, found).astype(int)


def _runs(stretch: Any) -> list[tuple[int, int]]:
    """First and last point of each run of stretches that are true."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate([[False], stretch, [False]]).astype(int)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _wide(values: pandas.Series) -> bool:
    return bool((values > 0).all() and values.max() > 100.0 * values.min())


def _ordered(drawn: dict[str, Any], table: pandas.DataFrame, layout: Layout) -> list[Any]:
    """Lines in the order in which they end on the right, so that the legend can be read without colours."""
    ends = {}
    for (hue, is_experiment), rows in _lines(table, layout):
        name = hue if hue == BAYES else labels.value(layout.hue, hue)
        kind = "AMP" if hue == BAYES else "L-BFGS"
        last = rows[rows[layout.x] == rows[layout.x].max()][layout.y].mean()
        ends[f"{name}, {kind}" if is_experiment else name] = (is_experiment, -last)
    lines = [name for name in drawn if name in ends]
    rest = [handle for name, handle in drawn.items() if name not in ends and not name.startswith("_")]
    return [*(drawn[name] for name in sorted(lines, key=ends.__getitem__)), *rest]


def _notes(drawn: dict[str, Any]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=GREY, linewidth=1.5, linestyle=_STYLES[state], label=text)
        for state, text in _NOTES.items()
        if f"_{state}" in drawn
    ]
