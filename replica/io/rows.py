"""Rows of the schema as JSON and CSV text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def to_json(rows: Iterable[Row]) -> str:
    """Strict JSON: a list of flat objects, infinities as the string "inf", missing values null."""
    objects = [{name: json_value(value) for name, value in row.items()} for row in rows]
    return json.dumps(objects, indent=1, allow_nan=False) + "\n"


def to_csv(rows: Iterable[Row], names: Sequence[str]) -> str:
    """CSV with header `names`: true/false, shortest floats that read back exactly, empty for missing values."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_value(row.get(name)) for name in names] for row in rows)
    return stream.getvalue()


def json_value(value: Any) -> Any:
    """A cell as strict JSON: infinities as text, nan as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else _infinity(value)
    return value


def _csv_value(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else _infinity(value)
    return str(value)


def _infinity(value: float) -> str:
    return "inf" if value > 0 else "-inf"
