"""The readable tables of `replica heads`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .table import with_error

if TYPE_CHECKING:
    from replica.heads.check import Comparison

Row = dict[str, Any]
_SHOWN = 12


def _problem(row: Row) -> str:
    names = ("activation", "heads", "length", "signal", "weight", "thresholds")
    return "  ".join(f"{name} = {row[name]}" for name in names)


def columns(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """A header and one line for each row, values with their errors where the row has them."""
    cells = [[_cell(row, name) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    lines = [names, *cells]
    return ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in lines]


def _cell(row: Row, name: str) -> str:
    value = row[name]
    if isinstance(value, str) or value is None:
        return value or "-"
    if isinstance(value, int):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return with_error(value, row.get(f"{name}_err"))


def trajectory_table(rows: Sequence[Row]) -> str:
    """A dozen times of the trajectory, then the last state with its errors."""
    last = rows[-1]
    step = max(1, (len(rows) - 1) // _SHOWN)
    picked = [*rows[:-1:step], last]
    overlaps = [name for name in last if f"{name}_err" in last and name[:2] in ("m_", "q_", "b_")]
    lines = [*columns(picked, ["tau", "risk"]), "", f"at tau = {last['tau']:g}:"]
    lines += [f"  {name:<12} {with_error(last[name], last[f'{name}_err'])}" for name in ("risk", "bayes_risk")]
    lines += [f"  {name:<12} {with_error(last[name], last[f'{name}_err'])}" for name in overlaps]
    lines += ["", "  " + _problem(last)]
    lines.append("  start: " + "  ".join(f"{name} = {last[name]:g}" for name in ("dimension", "norm", "threshold")))
    lines.append(f"  rate = {last['rate']:g}  seed = {last['seed']}  nodes = {last['nodes']}")
    return "\n".join(lines) + "\n"


def rates_table(rows: Sequence[Row]) -> str:
    """Rates by feature for every norm, then the spectra."""
    lines = [_problem(rows[0])]
    for norm in dict.fromkeys(row["norm"] for row in rows):
        here = [row for row in rows if row["norm"] == norm]
        features = [row for row in here if row["mode"] == "feature"]
        spectrum = [row for row in here if row["mode"] == "spectrum"]
        lines += ["", f"r = {norm:g}^2 I: risk {here[0]['risk']:.6g}, residual {here[0]['residual']:.1e}"]
        lines += columns(features, ["index", "variance", "rate", "escape_time"])
        lines.append(f"spectrum (+- {spectrum[0]['rate_err']:.1e}): " + " ".join(f"{r['rate']:.4g}" for r in spectrum))
    return "\n".join(lines) + "\n"


def listing(names: Sequence[str]) -> Callable[[Sequence[Row]], str]:
    """A table of the columns `names`, under the problem."""

    def table(rows: Sequence[Row]) -> str:
        return "\n".join([_problem(rows[0]), "", *columns(rows, names)]) + "\n"

    return table


def emergence_table(rows: Sequence[Row], sizes: Sequence[int]) -> str:
    """The times at every D, then their growth with log(sqrt(D)), over `sizes`, the D of SGD, and over the others."""
    last = [row for row in rows if row["dimension"] == rows[-1]["dimension"]]
    times = ("dimension", "feature", "predicted", "equations", "simulated", "difference", "seen")
    lines = [_problem(rows[0]), "", *columns(rows, times)]
    simulated = [row for row in rows if row["dimension"] in sizes]
    lines += [
        "",
        f"growth of the time with log(sqrt(D)) over D = {_sizes(sizes)}, and the rate at the saddle it leaves:",
    ]
    near = [
        row | {name: _growth(simulated, row["feature"], name) for name in ("predicted", "equations")} for row in last
    ]
    for row in near:
        row["simulated"], row["simulated_err"] = row["slope_simulated"], row["slope_simulated_err"]
        row["predicted_err"] = row["equations_err"] = None
    lines += columns(near, ("feature", "learned_before", "rate", *times[2:5], "slope_gap", "slope_z"))
    far = [size for size in dict.fromkeys(row["dimension"] for row in rows) if size not in sizes]
    if len(far) > 1:
        lines += ["", f"growth over D = {_sizes(far)}:"]
        lines += columns(last, ("feature", "slope_predicted", "slope_equations"))
    lines += ["", "difference, slope_gap: simulated - predicted, run by run; slope_z: slope_gap in standard errors"]
    return "\n".join(lines) + "\n"


def _sizes(sizes: Sequence[float]) -> str:
    return ", ".join(f"{size:g}" for size in sorted(set(sizes)))


def _growth(rows: Sequence[Row], feature: int, name: str) -> float | None:
    """Least-squares slope of the mean times of a feature with log(sqrt(D)); None if one is not finite."""
    import numpy as np

    here = [(np.log(row["dimension"]) / 2, row[name]) for row in rows if row["feature"] == feature]
    if len(here) < 2 or any(value is None or not np.isfinite(value) for _, value in here):
        return None
    return float(np.polyfit(*np.transpose(here), 1)[0])


def check_table(rows: Sequence[Row], found: Comparison) -> str:
    """The limit line by line, then how the gap shrinks."""
    limit = [row for row in rows if row["dimension"] == float("inf")]
    lines = [_problem(rows[0]), "", "gap extrapolated to D = inf:"]
    lines += columns(limit, ["tau", "quantity", "theory", "gap", "z"])
    lines += ["", "root mean square gap of the overlaps of a run:"]
    lines += [f"  D = {size:<8d} {spread:.5f}" for size, spread in zip(found.dimensions, found.spread, strict=True)]
    lines.append(f"  falls as D^-{found.order:.2f}; largest |z| of the limit {found.worst:.1f}")
    return "\n".join(lines) + "\n"
