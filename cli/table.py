"""The readable table of `replica solve`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def solution_table(rows: Sequence[Row]) -> str:
    """One block for each row: the problem with every default, then the numbers with their errors."""
    return "\n".join(_block(row) for row in rows)


def _block(row: Row) -> str:
    lines = [_title(row), "  " + problem_line(row), ""]
    if row["estimator"] == "bayes":
        lines += _numbers(row, ["q_k", "q_v"])
    else:
        lines += _numbers(row, ["m_k", "q_k", "V_k", "m_v", "q_v", "V_v"])
    lines.append("")
    names = ["test_risk", "train_loss", "objective", "free_entropy", "attention_relevant", "replicon", "prox_jump"]
    lines += _numbers(row, [name for name in names if row.get(name) is not None])
    if row["estimator"] != "bayes":
        lines.append(f"  {'replica symmetry':<20} {_stability(row['rs_stable'])}")
    lines += ["", "  " + _trust(row)]
    if row["message"]:
        lines.append(f"  note: {row['message']}")
    return "\n".join(lines) + "\n"


def _title(row: Row) -> str:
    what = row["estimator"] if row["activation"] is None else f"{row['estimator']}, {row['activation']} attention"
    mark = "prediction" if row["selected"] else "another fixed point"
    return f"{row['model']}: {what}, {mark} (branch {row['branch']}, from {row['init'].replace('+', ' and ')})"


def problem_line(row: Row) -> str:
    """The problem's columns, name = value."""
    names = ["alpha", "length", "nu", "noise", "reg_k", "reg_v", "erf_offset"]
    shown = [(name, row[name]) for name in names if row[name] is not None]
    return "  ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in shown
    )


def _numbers(row: Row, names: Sequence[str]) -> list[str]:
    return [f"  {name:<20} {with_error(row[name], row.get(f'{name}_err'))}" for name in names]


def with_error(value: float | None, error: float | None) -> str:
    """The value with as many digits as its error leaves."""
    if value is None:
        return "-"
    if error is None or not (math.isfinite(error) and math.isfinite(value)):
        return f"{value:.6g}"
    # show digits down to the first that the error touches
    digits = 6 if error <= 0 else max(int(-math.floor(math.log10(error))) + 1, 2)
    if digits > 12 and abs(value) < 1e-3:  # tiny, and known well
        figures = math.floor(math.log10(abs(value) or error)) + digits
        return f"{value:.{min(max(figures, 1), 12)}e} +- {error:.1e}"
    digits = min(digits, 12)
    return f"{value:.{digits}f} +- {error:.1e}"


def _stability(stable: bool | None) -> str:
    return {True: "stable", False: "BROKEN: do not trust these numbers", None: "unresolved"}[stable]


def _trust(row: Row) -> str:
    accuracy = {True: "accuracy met", False: "ACCURACY NOT MET", None: "accuracy unknown"}[row["accuracy_met"]]
    residual = "-" if row["residual"] is None else f"{row['residual']:.1e}"
    cost = f"residual {residual}, {row['iterations']} map evaluations, {row['nodes']} nodes"
    return f"{row['status']}, {accuracy} (rtol {row['rtol']:g}); {cost}\n  {row['method']}; seed {row['seed']}"
