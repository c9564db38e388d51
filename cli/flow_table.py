"""The readable tables of `replica flow`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .table import with_error

Row = dict[str, Any]

_TRACE = ("t", "loss", "residual", "max_s", "entropy", "participation", "rank_one_share", "int_gamma")
_LAST = ("loss", "residual", "max_s", "entropy", "participation", "rank_one_share", "top_column_share", "int_gamma")
_HIDDEN = ("loss_kind", "map", "method", "status", "message", "version")


def trajectory_table(rows: Sequence[Row]) -> str:
    """One line for each decade of t, then the last state with its errors, then the problem with every default."""
    last = rows[-1]
    lines = ["".join(f"{name:>15}" for name in _TRACE)]
    lines += ["".join(f"{row[name]:>15.6g}" if row[name] is not None else f"{'-':>15}" for name in _TRACE)
              for row in _decades(rows)]  # fmt: skip
    weights = [name for name in last if name.startswith("s_")]
    title = f"{last['loss_kind']} loss, {last['map']} map, {last['method']}"
    lines += ["", f"{title}: {last['status']} at t = {last['t']:g}"]
    lines += [f"  {name:<20} {with_error(last[name], last.get(f'{name}_err'))}" for name in _LAST]
    lines.append(f"  {'sink':<20} token {last['sink_token']}, in {last['sink_share']:.0%} of the rows")
    if last["rows"] == 1 and len(weights) <= 20:
        lines.append(f"  {'s':<20} " + " ".join("-" if last[name] is None else f"{last[name]:.4f}" for name in weights))
    lines.append("  " + problem_line(last))
    if last["message"]:
        lines.append(f"  note: {last['message']}")
    return "\n".join(lines) + "\n"


def problem_line(row: Row) -> str:
    """The settings of a run that exist, as name = value."""
    from replica.flow.schema import PROBLEM

    names = [column.name for column in PROBLEM if column.name not in _HIDDEN]
    shown = [(name, row[name]) for name in names if row[name] is not None and row[name] is not False]
    return "  ".join(f"{name} = {value:g}" for name, value in shown)


def _decades(rows: Sequence[Row]) -> list[Row]:
    chosen, decade = [], -math.inf
    for row in rows:
        here = math.floor(math.log10(row["t"]) + 1e-9) if row["t"] > 0 else -math.inf
        if here > decade or row is rows[0] or row is rows[-1]:
            chosen.append(row)
            decade = here
    return chosen


def check_table(rows: Sequence[Row]) -> str:
    """One line for each statement and method: instances passed, the worst violation and its limit."""
    lines = [f"{'':6}{'method':<9}{'passed':>8}{'violation':>12}{'limit':>10}  statement"]
    for row in rows:
        mark, passed = "ok" if row["holds"] else "FAILS", f"{row['passed']}/{row['instances']}"
        numbers = f"{row['worst']:>12.2e}{row['limit']:>10.1e}"
        lines.append(f"{mark:<6}{row['method']:<9}{passed:>8}{numbers}  {row['check']}: {row['statement']}")
    return "\n".join(lines) + "\n"


def sweep_table(rows: Sequence[Row]) -> str:
    """One line for each run."""
    names = ("loss_kind", "map", "condition", "dim", "seed", "residual", "max_s", "max_s_err", "status")
    lines = ["".join(f"{name:>14}" for name in names)]
    lines += ["".join(f"{_short(row[name]):>14}" for name in names) for row in rows]
    return "\n".join(lines) + "\n"


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
