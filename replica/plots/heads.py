"""Figures of several heads: a trajectory, staged specialisation, activations compared, pruning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from .figure import BLUE, GREEN, GREY, ORANGE, PINK, STYLE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"softmax": ORANGE, "softmax-1": BLUE, "bayes-softmax": GREEN}
_FEATURES = (BLUE, ORANGE, GREEN, PINK)
_PROBLEM = ("activation", "heads", "length", "signal", "weight", "thresholds")
_START = ("dimension", "norm", "threshold")
_TIMES = ("predicted", "equations", "equations_err", "simulated", "simulated_err")
_SGD = {"linewidth": 0.6, "alpha": 0.7, "marker": ".", "markersize": 2.5}


def figure_of(frames: Sequence[Any]) -> Figure:
    """The figure of tables of `replica heads`: trajectories of one problem together, or one table of another kind.

    Parameters
    ----------
    frames : sequence of DataFrames

    Raises
    ------
    InvalidProblem
        If a table is of no kind that can be drawn, or the tables do not go together.
    """
    if all("m_1_1" in frame for frame in frames):
        return trajectory_figure(*frames)
    if len(frames) > 1:
        raise InvalidProblem("only trajectories of replica heads run and simulate are drawn together")
    for column, draw in (
        ("top_1", specialisation_figure),
        ("slope_equations", emergence_figure),
        ("heads_left", pruning_figure),
        ("nu", activations_figure),
    ):
        if column in frames[0]:
            return draw(frames[0])
    raise InvalidProblem("no figure for this table of replica heads; allowed: those of run, simulate, emerge and study")


def trajectory_figure(*tables: Any) -> Figure:
    """Risk with the Bayes line, overlaps m_hf, and thresholds, against log tau.

    Parameters
    ----------
    *tables : DataFrames or lists of dicts
        Trajectories of one problem: of the equations (`replica.heads.table.trajectory_columns`), drawn as lines with
        error bands, and of online SGD (`simulation_columns`), drawn as one thin line with dots for each run.

    Raises
    ------
    InvalidProblem
        If a table is no trajectory with at least two positive times, or the problems differ.
    """
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    frames = [pd.DataFrame(rows) for rows in tables]
    for frame in frames:
        if (
            not {"tau", "risk", "bayes_risk", "m_1_1", *_START} <= set(frame)
            or frame["tau"][frame["tau"] > 0].nunique() < 2
        ):
            raise InvalidProblem("the table is no trajectory with two positive times; make one with replica heads run")
    problems = pd.concat([frame[list(_PROBLEM)].astype(str) for frame in frames]).drop_duplicates()
    if len(problems) > 1:
        varying = [name for name in _PROBLEM if problems[name].nunique() > 1]
        raise InvalidProblem(f"trajectories of one problem are drawn together; these differ in {', '.join(varying)}")
    _warn_of_starts(frames)
    # SGD first, so that the equations lie on top
    frames = sorted((frame[frame["tau"] > 0] for frame in frames), key=lambda frame: "run_seed" not in frame)
    names = [name for name in frames[-1] if not name.endswith("_err")]
    thresholds = [name for name in names if name.startswith("b_")]
    with_thresholds = any(frame[thresholds].to_numpy(float).any() for frame in frames)
    with mpl.rc_context(STYLE):
        panels = 2 + with_thresholds
        figure = Figure(figsize=(3.2 * panels, 2.6), layout="constrained")
        axes = figure.subplots(1, panels)
        for frame in frames:
            for path in _runs(frame):
                style = _SGD if "run_seed" in frame else {}
                _risk(axes[0], path, style)
                for name in (name for name in names if name.startswith("m_")):
                    feature = int(name.split("_")[2])
                    axes[1].semilogx(path["tau"], path[name], color=_FEATURES[(feature - 1) % 4], **style)
                if with_thresholds:
                    axes[2].semilogx(path["tau"], path[thresholds], color=GREY, **style)
        _bayes(axes[0], frames[-1])
        features = sorted({int(name.split("_")[2]) for name in names if name.startswith("m_")})
        for f in features[:4]:
            axes[1].plot([], [], color=_FEATURES[f - 1], label=f"feature {f}")
        axes[1].legend()
        axes[1].set(ylabel="overlap $m_{hf}$")
        if with_thresholds:
            axes[2].set(ylabel="threshold $b_h$")
        for panel in axes:
            panel.set(xlabel=r"time $\tau$")
            panel.tick_params(axis="x", which="minor", labelbottom=False)
        first = frames[-1].iloc[0]
        problem = f"{first['activation']}, H = {first['heads']}, L = {first['length']}, {first['signal']}"
        figure.suptitle("\n".join([problem, *(_title(frame) for frame in reversed(frames))]), fontsize=9)
    return figure


def _warn_of_starts(frames: Sequence[pd.DataFrame]) -> None:
    values = {name: list(dict.fromkeys(f"{frame[name].iloc[0]:g}" for frame in frames)) for name in _START}
    varying = [f"{name} = {', '.join(found)}" for name, found in values.items() if len(found) > 1]
    if varying:
        warnings.warn(f"the trajectories start differently: {'; '.join(varying)}", stacklevel=3)


def _runs(frame: pd.DataFrame) -> list[pd.DataFrame]:
    return [path for _, path in frame.groupby("run_seed")] if "run_seed" in frame else [frame]


def _title(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    start = f"D = {first['dimension']:g}, norm {first['norm']:g}"
    if first["threshold"]:
        start += f", thresholds {first['threshold']:g}"
    if "run_seed" in frame:
        return f"dots: {frame['run_seed'].nunique()} runs of SGD, rate {first['rate']:g}, from {start}"
    kind = f"rate {first['rate']:g}" if first["rate"] else "gradient flow"
    return f"lines: equations, {kind}, from {start}, seed {first['seed']}"


def _risk(axes: Axes, table: pd.DataFrame, style: dict[str, Any]) -> None:
    if "risk_err" in table:
        axes.fill_between(table["tau"], table["risk"] - table["risk_err"], table["risk"] + table["risk_err"],
                          color=BLUE, alpha=0.25, linewidth=0)  # fmt: skip
    axes.semilogx(table["tau"], table["risk"], color=BLUE, **style)


def _bayes(axes: Axes, table: pd.DataFrame, title: str = "") -> None:
    axes.plot([], [], color=BLUE, label="risk")
    axes.axhline(table["bayes_risk"].iloc[0], color=GREY, linestyle="--", label="Bayes")
    axes.set(ylabel="risk", ylim=(0, None))
    axes.set_title(title, loc="left")
    axes.legend()


def specialisation_figure(rows: Any) -> Figure:
    """Risk and the largest overlap with each feature, one column of panels for each number of features."""
    import matplotlib as mpl
    import pandas as pd
    from matplotlib.figure import Figure

    table = _table(rows, {"tau", "top_1", "signal"}, "specialisation")
    signals = list(dict.fromkeys(table["signal"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * len(signals), 4.4), layout="constrained")
        panels = figure.subplots(2, len(signals), sharex=True, squeeze=False)
        for column, signal in enumerate(signals):
            here = table[(table["signal"] == signal) & (table["tau"] > 0)]
            _risk(panels[0, column], here, {})
            _bayes(panels[0, column], here, f"{signal}, H = {here['heads'].iloc[0]}")
            for f, colour in enumerate(_FEATURES, start=1):
                if not pd.isna(here[f"top_{f}"].iloc[0]):
                    panels[1, column].semilogx(here["tau"], here[f"top_{f}"], color=colour, label=f"feature {f}")
            panels[1, column].set(xlabel=r"time $\tau$", ylabel=r"$\max_h |m_{hf}|$")
            panels[1, column].legend()
    return figure


def emergence_figure(rows: Any) -> Figure:
    """Emergence times of every feature against D: prediction, equations and online SGD.

    Times that are infinite or were not seen are left out; the legend says where a feature is predicted never to emerge.
    """
    import matplotlib as mpl
    import numpy as np
    from matplotlib.figure import Figure

    table = _table(rows, {"dimension", "feature", *_TIMES}, "emergence")
    table = table.astype(dict.fromkeys(_TIMES, float))  # times that were not seen are null
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 2.9), layout="constrained")
        axes = figure.subplots()
        for f, here in table.groupby("feature"):
            colour = _FEATURES[(f - 1) % 4]
            style = {"color": colour, "linestyle": "none", "markersize": 4, "capsize": 2}
            axes.errorbar(here["dimension"], here["equations"], here["equations_err"], marker="o",
                          label=f"feature {f}: equations", **style)  # fmt: skip
            axes.errorbar(here["dimension"], here["simulated"], here["simulated_err"], marker="x",
                          label=f"feature {f}: SGD", **style)  # fmt: skip
            finite = here[np.isfinite(here["predicted"])]
            label = f"feature {f}: predicted" + ("" if len(finite) else ", never")
            axes.plot(finite["dimension"], finite["predicted"], color=colour, linewidth=0.8, label=label)
        axes.set(xscale="log", xlabel="D", ylabel=r"emergence time $\tau$", ylim=(0, None))
        axes.legend(fontsize=7)
        first = table.iloc[0]
        figure.suptitle(f"{first['activation']}, H = {first['heads']}, {first['signal']}", fontsize=9)
    return figure


def activations_figure(rows: Any) -> Figure:
    """Least risk against nu, one panel for each number of heads, with the Bayes risk."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    table = _table(rows, {"nu", "risk", "bayes_risk", "heads"}, "activations")
    counts = sorted(set(table["heads"]))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(counts), 2.7), layout="constrained")
        for axes, count in zip(figure.subplots(1, len(counts), sharey=True, squeeze=False)[0], counts, strict=True):
            here = table[table["heads"] == count]
            for name, colour in _COLOURS.items():
                one = here[here["activation"] == name]
                style = {"color": colour, "marker": "o", "markersize": 3}
                axes.errorbar(one["nu"], one["risk"], one["risk_err"], label=name, **style)
            bayes = here.drop_duplicates("nu")
            axes.plot(bayes["nu"], bayes["bayes_risk"], color="black", linestyle="--", label="Bayes")
            axes.set(xscale="log", yscale="log", xlabel=r"strength $\nu$")
            axes.set_xticks(list(bayes["nu"]), [f"{nu:g}" for nu in bayes["nu"]])
            axes.tick_params(axis="x", which="minor", labelbottom=False)
            axes.set_title(f"H = {count}", loc="left")
        figure.axes[0].set_ylabel("least risk")
        figure.axes[0].legend()
    return figure


def pruning_figure(rows: Any) -> Figure:
    """Risk against heads left, one panel for each activation: as trained, and trained again after each removal."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    table = _table(rows, {"heads_left", "retrained", "risk"}, "pruning")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 2.7), layout="constrained")
        for axes, (name, _) in zip(figure.subplots(1, 3, sharey=True), _COLOURS.items(), strict=True):
            here = table[table["activation"] == name]
            for colour, count in zip(_FEATURES, sorted(set(here["heads"])), strict=False):
                for retrained, style in ((False, "-"), (True, "--")):
                    one = here[(here["heads"] == count) & (here["retrained"] == retrained)]
                    label = None if retrained else f"from H = {count}"
                    axes.plot(one["heads_left"], one["risk"], style, color=colour, marker=".", label=label)
            if not here.empty:
                axes.axhline(here["bayes_risk"].iloc[0], color=GREY, linestyle=":")
            axes.set(xscale="log", xlabel="heads left")
            axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
            axes.minorticks_off()
            axes.set_title(name, loc="left")
        for style, label in (("-", "as trained"), ("--", "trained again"), (":", "Bayes")):
            figure.axes[1].plot([], [], color=GREY, linestyle=style, label=label)
        figure.axes[1].legend()
        figure.axes[0].set_ylabel("risk")
        figure.axes[0].legend()
    return figure


def _table(rows: Any, needed: set[str], name: str) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rows)
    if not needed <= set(table):
        raise InvalidProblem(f"the table lacks {', '.join(sorted(needed - set(table)))}; "
                             f"make it with replica heads study --table {name}")  # fmt: skip
    return table
