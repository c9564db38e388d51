"""Figures of the value-softmax flow: a trajectory in log time, and final polarisation as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from .figure import BLUE, GREEN, ORANGE, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FINISHED = ("finished", "converged")


def trajectory_figure(rows: Any) -> Figure:
    """Four panels against log t: loss and residual, weights, measures of polarisation, and u with int gamma.

    Parameters
    ----------
    rows : DataFrame or list of dicts
        A trajectory, with the columns of `replica.flow.schema.trajectory_columns`. Of an attention map the weights
        are averaged over rows.

    Raises
    ------
    InvalidProblem
        If the table is no trajectory with at least two positive times.
    """
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    table = pd.DataFrame(rows)
    if "t" not in table or (table["t"] > 0).sum() < 2:
        raise InvalidProblem("the table is no trajectory with two positive times; make one with replica flow run")
    start, table = table.iloc[0], table[table["t"] > 0]
    tokens = int(start["tokens"])
    s = [table[[name for name in table if _is_weight(name, token)]].mean(axis=1) for token in range(tokens)]
    u = [table[f"u_{token}"] for token in range(tokens)]
    # the winner dark and on top, the others lighter the less they end with
    rank = pd.Series([values.iloc[-1] for values in s]).rank(ascending=False, method="first").to_numpy() - 1
    colours = [mpl.colormaps["cividis"](0.15 + 0.8 * place / tokens) if place else "black" for place in rank]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 5.0), layout="constrained")
        (loss, weights), (measures, logits) = figure.subplots(2, 2, sharex=True)
        loss.loglog(table["t"], table["loss"], color=BLUE, label="loss")
        loss.loglog(table["t"], table["residual"], color=ORANGE, linestyle="--", label="residual")
        loss.legend()
        for values, colour, place in zip(s, colours, rank, strict=True):
            weights.semilogx(table["t"], values, color=colour, zorder=3 - place / tokens)
        weights.set(ylabel="attention $s_i$", ylim=(min(0.0, weights.get_ylim()[0]), max(1.0, weights.get_ylim()[1])))
        measures.semilogx(table["t"], table["max_s"], color=BLUE, label="max $s$")
        measures.semilogx(table["t"], table["rank_one_share"], color=GREEN, linestyle=":", label="rank-one share of V")
        measures.semilogx(
            table["t"], table["participation"] / tokens, color=ORANGE, linestyle="--", label="participation / tokens"
        )
        measures.set(ylim=(0, 1.02), xlabel="time t")
        measures.legend()
        for values, colour, place in zip(u, colours, rank, strict=True):
            logits.semilogx(table["t"], values, color=colour, zorder=3 - place / tokens)
        logits.set(ylabel="value projection $u_i$", xlabel="time t")
        for axes, letter in zip((loss, weights, measures, logits), "abcd", strict=True):
            axes.set_title(f"({letter})", loc="left")
        map_name, kappa = start["map"], start["condition"]
        design = "" if pd.isna(kappa) else f", condition {kappa:g}"
        figure.suptitle(
            f"{start['loss_kind']} loss, {map_name} map, {start['method']}, dim {start['dim']}, {tokens} tokens"
            f"{design}, seed {start['seed']}; black: the token that wins",
            fontsize=9,
        )
    return figure


def heat_map(rows: Any, x: str, y: str, value: str = "max_s", axes: Axes | None = None, title: str = "") -> Figure:
    """Median of `value` over all rows with the same (x, y), as labelled cells; failed runs are left out.

    Parameters
    ----------
    rows : DataFrame or list of dicts
        Final states, with the columns of `replica.flow.schema.FINAL`; select before to fix the other settings.
    x, y, value : str
        Names of columns. A missing condition is shown as "none".
    axes : Axes, optional
        Where to draw; by default a new figure.

    Raises
    ------
    InvalidProblem
        If a column is missing or no row is left.
    """
    import matplotlib as mpl
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    table = pd.DataFrame(rows)
    missing = [name for name in (x, y, value, "status") if name not in table]
    if missing:
        raise InvalidProblem(f"the table has no column {', '.join(missing)}; make one with replica flow sweep")
    table = table[table["status"].isin(_FINISHED)]
    if table.empty:
        raise InvalidProblem("the table has no finished run to draw")
    table = table.assign(**{name: table[name].map(_label) for name in (x, y)})
    order = {name: list(dict.fromkeys(table[name])) for name in (x, y)}
    cells = table.pivot_table(value, y, x, "median", sort=False).reindex(index=order[y], columns=order[x])
    with mpl.rc_context(STYLE):
        if axes is None:
            figure = Figure(figsize=(1.6 + 0.62 * len(order[x]), 1.3 + 0.42 * len(order[y])), layout="constrained")
            axes = figure.subplots()
        image = axes.imshow(cells.to_numpy(float), cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(order[x])), order[x])
        axes.set_yticks(range(len(order[y])), order[y])
        axes.set(xlabel=x.replace("_kind", ""), ylabel=y.replace("_kind", ""))
        axes.set_title(title or f"median {value}", loc="left")
        for (i, j), cell in np.ndenumerate(cells.to_numpy(float)):
            if cell == cell:
                axes.text(j, i, f"{cell:.2f}", ha="center", va="center", fontsize=8,
                          color="black" if cell > 0.55 else "white")  # fmt: skip
        axes.figure.colorbar(image, ax=axes, label=value)
    return axes.figure


def sweep_figure(rows: Any) -> Figure:
    """Two heat maps of final max s: loss and conditioning against map, and conditioning against dimension (square).

    Raises
    ------
    InvalidProblem
        If the table is no sweep with a finished run.
    """
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    table = pd.DataFrame(rows)
    if not {"loss_kind", "condition", "status"} <= set(table):
        raise InvalidProblem("the table is no sweep of flows; make one with replica flow sweep")
    design = table["condition"].map(lambda value: "" if pd.isna(value) else f" $\\kappa$={value:g}")
    table["task"] = table["loss_kind"] + design
    finished = table["status"].isin(_FINISHED)
    square = table[finished & (table["loss_kind"] == "square") & table["condition"].notna()]
    if not square.empty and "softmax" in set(square["map"]):
        square = square[square["map"] == "softmax"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 1.4 + 0.4 * table["task"].nunique()), layout="constrained")
        if square.empty:
            heat_map(table, "map", "task", axes=figure.subplots(), title="final max s, median")
        else:
            left, right = figure.subplots(1, 2, width_ratios=(3, 2))
            heat_map(table, "map", "task", axes=left, title="(a) final max s, median over dim and seed")
            name = "/".join(dict.fromkeys(square["map"]))
            heat_map(square, "condition", "dim", axes=right, title=f"(b) square, {name}, median over seed")
    return figure


def _is_weight(name: str, token: int) -> bool:
    parts = name.split("_")
    return parts[0] == "s" and len(parts) in (2, 3) and parts[-1] == str(token)


def _label(value: Any) -> str:
    if value is None or value != value:
        return "none"
    return value if isinstance(value, str) else f"{value:g}"
