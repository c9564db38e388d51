"""Where replica symmetry breaks: verdicts and their line over a plane, and how minima scatter there."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING, Any

from ..errors import ConvergenceWarning, InvalidProblem
from . import labels, panels
from .figure import STYLE
from .layout import MOST_PANELS
from .tables import ESTIMATE

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLACE = ("alpha", "nu", "noise", "reg", "reg_k", "reg_v", "erf_offset", "length", "activation", "model")
_COLOURS = {"stable": "white", "unresolved": "#E3E3E3", "broken": "#F4C98B"}
_SEVERAL = 1.0 + 1e-9  # mean number of minima from which some data set has more than one


def line_figure(lines: pandas.DataFrame, experiments: pandas.DataFrame | None = None) -> Figure:
    """The verdict on replica symmetry in cells, the line where it changes upon them, and minima of L-BFGS as markers.

    The searched parameter is vertical, the first other one that varies horizontal, the rest has panels. In each column
    of cells the line is drawn where it was located, and as a hatched interval where it is not resolved. Markers are
    open where all starts of L-BFGS reach one minimum on every data set; else their colour is the mean squared distance
    between the keys of the minima from different starts, relative to |k|^2.

    Parameters
    ----------
    lines : DataFrame
        A table of `replica stability`.
    experiments : DataFrame, optional
        Rows of `replica erm` with several starts; those at the largest d are drawn.

    Raises
    ------
    InvalidProblem
        If there are several searches, nothing else varies, or the experiments have one start or other parameters.

    Warns
    -----
    ConvergenceWarning
        If experiments are left out.
    """
    import matplotlib as mpl

    y = lines["searched"].iloc[0]
    if lines["searched"].nunique() > 1:
        raise InvalidProblem(f"searched = {', '.join(lines['searched'].unique())}: draw one at a time, with --where")
    table = _penalties(lines, y)
    varying = [name for name in _PLACE if name != y and name in table and table[name].nunique() > 1]
    if table[y].nunique() < 2:
        raise InvalidProblem(f"{y}, which was searched, has one value in the table; allowed: two or more")
    axes_names = [name for name in varying if table[name].dtype.kind in "fi"]
    if not axes_names:
        raise InvalidProblem(f"only {y} varies in the table; the line over a plane needs another parameter that varies")
    x, rest = axes_names[0], [name for name in varying if name != axes_names[0]]
    fixed = {
        name: table[name].iloc[0]
        for name in _PLACE
        if name in table and name not in (*varying, y) and table[name].notna().any()
    }
    found = None if experiments is None else _scatter(experiments, x, y, rest, fixed)
    groups = [((), table)] if not rest else list(table.groupby(rest))
    if len(groups) > MOST_PANELS:
        raise InvalidProblem(
            f"{' and '.join(rest)} would need {len(groups)} panels; allowed: {MOST_PANELS}; use --where"
        )
    with mpl.rc_context({**STYLE, "hatch.linewidth": 0.6}):
        figure, axes = panels.grid(len(groups), *((5.6, 3.9) if len(groups) == 1 else (2.8, 2.8)))
        handles: dict[str, Any] = {}
        image = None
        for one, (cells, rows) in zip(axes, groups, strict=True):
            place = dict(zip(rest, cells, strict=True))
            one.set_title(", ".join(labels.value(name, cell) for name, cell in place.items()), loc="left")
            _draw_line(one, rows, x, y, handles)
            if found is not None:
                here = found[(found[rest] == list(cells)).all(axis=1)]
                image = _draw_minima(one, here, _norm(found), x, y, handles) or image
        if image is not None:
            bar = figure.colorbar(image, ax=axes)
            bar.set_label(r"squared distance of minima, over $|k|^2$")
        fixed[ESTIMATE] = fixed.pop("activation", None)
        panels.finish(figure, axes, x, y, panels.title(fixed), list(handles.values()))
    return figure


def _penalties(frame: pandas.DataFrame, searched: str) -> pandas.DataFrame:
    """`reg` in place of both penalties where it is what moves them."""
    if searched != "reg" and not frame["reg_k"].equals(frame["reg_v"]):
        return frame
    return frame.drop(columns="reg_v").rename(columns={"reg_k": "reg"})


def _draw_line(axes: Axes, rows: pandas.DataFrame, x: str, y: str, handles: dict[str, Any]) -> None:
    import matplotlib as mpl
    import numpy as np
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    grid, crossings = rows[rows["kind"] == "grid"], rows[rows["kind"] == "line"]
    states = grid["rs_stable"].astype(object).map({True: 0, False: 2}).fillna(1).astype(float)
    cells = grid.assign(state=states).pivot(index=y, columns=x, values="state")
    scales = [panels.scale(points) for points in (cells.columns, cells.index)]
    edges = [
        panels.edges(np.asarray(points, float), kind)
        for points, kind in zip((cells.columns, cells.index), scales, strict=True)
    ]
    colours = mpl.colors.ListedColormap(list(_COLOURS.values()))
    bottom, top = edges[1][0], edges[1][-1]
    places = list(cells.columns)
    for column, place in enumerate(places):
        states_here = cells[place].to_numpy()
        between = _borders(cells.index, states_here, edges[1], crossings[crossings[x] == place])
        axes.pcolormesh(
            edges[0][column : column + 2], between, states_here[:, None], cmap=colours, vmin=-0.5, vmax=2.5,
            edgecolors="face", linewidth=0.1,
        )  # fmt: skip
    axes.set(xscale=scales[0], yscale=scales[1])
    for _, row in crossings.iterrows():
        column = places.index(row[x])
        left, right = edges[0][column], edges[0][column + 1]
        low, high = (end if math.isnan(value) else value for value, end in ((row["low"], bottom), (row["high"], top)))
        if row["resolved"]:
            axes.plot([left, right], [math.sqrt(low * high)] * 2, color="black", linewidth=1.6, solid_capstyle="butt")
            handles["line"] = Line2D([], [], color="black", linewidth=1.6, label="replica symmetry breaks")
        else:
            style = {"facecolor": "none", "edgecolor": "black", "linewidth": 0.6, "hatch": "\\\\\\\\"}
            axes.add_patch(Rectangle((left, low), right - left, high - low, **style))
            handles["interval"] = Patch(**style, label="it breaks in here, if anywhere")
    for state, (name, colour) in enumerate(_COLOURS.items()):
        if (states == state).any():
            style = {"facecolor": colour, "edgecolor": "#999999", "linewidth": 0.5}
            handles[name] = Patch(**style, label=f"replica symmetry {name}")


def _borders(points: Any, states: Any, edges: Any, crossings: pandas.DataFrame) -> Any:
    """Edges of the cells of a column: half way between points, or where a crossing says that the state changes."""
    found = edges.copy()
    for index, (low_point, high_point) in enumerate(itertools.pairwise(points)):
        before, after = states[index], states[index + 1]
        if before == after:
            continue
        for low, high in crossings[["low", "high"]].itertuples(index=False):
            border = high if before == 1 else low if after == 1 else math.sqrt(low * high)
            if low_point <= border <= high_point:
                found[index + 1] = border
    return found


def _scatter(frame: pandas.DataFrame, x: str, y: str, rest: list[str], fixed: dict[str, Any]) -> pandas.DataFrame:
    """Number of minima and their distance over |k|^2 at each point, means over the starts."""
    import numpy as np

    if "minima" not in frame or not frame["minima"].notna().any():
        raise InvalidProblem("the second table has no values of minima; make it with replica erm --starts random:8")
    if "reg" in (x, y, *rest, *fixed):
        frame = frame[frame["reg_k"] == frame["reg_v"]].rename(columns={"reg_k": "reg"})
    table = frame[frame["d"].notna() & frame["minima"].notna()]
    table = table[table["d"] == table["d"].max()]
    for name, cell in fixed.items():
        same = table[name] == cell if isinstance(cell, str) else np.isclose(table[name].to_numpy(float), cell)
        if not same.all():
            raise InvalidProblem(f"the experiments are not at {name} = {cell}, where the line is; choose with --where")
    converged = table["status"] == "converged"
    if not converged.all():
        count = int((~converged).sum())
        warnings.warn(f"{count} row{'s' * (count > 1)} not drawn: did not converge", ConvergenceWarning, stacklevel=4)
    groups = table[converged].groupby([x, y, *rest])
    found = groups.agg(minima=("minima", "mean"), distance=("distance_k", "mean"), size=("q_k", "mean")).reset_index()
    return found.assign(share=found["distance"] / found["size"])


def _norm(found: pandas.DataFrame) -> Any:
    import matplotlib as mpl

    several = found.loc[found["minima"] > _SEVERAL, "share"]
    return mpl.colors.LogNorm(several.min(), several.max()) if several.nunique() > 1 else None


def _draw_minima(axes: Axes, found: pandas.DataFrame, norm: Any, x: str, y: str, handles: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    several = found["minima"] > _SEVERAL
    style = {"s": 34, "edgecolors": "black", "linewidths": 0.8, "zorder": 5}
    axes.scatter(found.loc[~several, x], found.loc[~several, y], facecolors="white", **style)
    image = None
    if several.any():
        rows = found[several]
        image = axes.scatter(rows[x], rows[y], c=rows["share"], norm=norm, cmap="viridis", **style)
    marker = {"marker": "o", "linestyle": "none", "markeredgecolor": "black", "markersize": 6}
    if (~several).any():
        handles["one"] = Line2D([], [], **marker, color="white", label="L-BFGS: one minimum")
    if image is not None:
        handles["several"] = Line2D([], [], **marker, color="#21908C", label="L-BFGS: several minima")
    return image
