"""The table of a sweep as an array with named axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from .frame import pandas_module
from .lines import SWEEP_COLUMNS

if TYPE_CHECKING:
    import pandas
    import xarray

# columns that place a row in a grid, and those that often follow from the place; alpha and sweep are axes in any case
_PLACE = ("model", "estimator", "activation", "erf_offset", "length", "nu", "noise", "reg_k", "reg_v", "alpha", "sweep")
_FOLLOWERS = ("rtol", "seed", "d")
_MEANINGS = {column.name: column.meaning for column in SWEEP_COLUMNS} | {"reg": "ridge penalty on k and v"}


def to_xarray(frame: pandas.DataFrame) -> xarray.Dataset:
    """The table of a sweep as arrays over its axes: alpha, sweep, and every other option that varies.

    Penalties that agree in every row are one axis `reg`. Options that do not vary are attributes of the dataset, the
    meanings of columns attributes of the variables. Of several rows of a point and direction the best branch is taken.
    A row without value on an axis, bayes on activation say, does not depend on it and stands at every place of it.
    Penalties and an offset of least test risk are no axes but the variables optimal_reg_k and so on.
    Where a row or a value is missing, numbers, integers and flags are nan, and text is empty.

    Raises
    ------
    InvalidProblem
        If the table is empty or not one of this package.
    """
    pandas_module()
    try:
        import xarray  # noqa: F401  (pandas needs it)
    except ImportError:
        raise ModuleNotFoundError("to_xarray needs xarray: pip install 'replica-attention[xarray]'") from None
    if frame.empty or not {"alpha", "branch"} <= set(frame.columns):
        raise InvalidProblem("the table is empty, or has no columns alpha and branch; allowed: tables of replica")
    frame, tuned = _without_optimised(frame)
    table, place = frame, [name for name in _PLACE if name in frame.columns]
    if {"reg_k", "reg_v"} <= set(place) and table["reg_k"].equals(table["reg_v"]):
        table = table.drop(columns="reg_v").rename(columns={"reg_k": "reg"})
        place = ["reg" if name == "reg_k" else name for name in place if name != "reg_v"]
    varying = [name for name in (*place, *_FOLLOWERS) if name in table and table[name].nunique(dropna=False) > 1]
    axes = [name for name in place if name in varying or name in ("alpha", "sweep")]
    # the default rtol, say, follows from the problem: an axis only where rows cannot be told apart without it
    for name in _FOLLOWERS:
        if name in varying and table.groupby(axes, dropna=False)[name].nunique(dropna=False).max() > 1:
            axes.append(name)
    fixed = [name for name in (*place, *_FOLLOWERS) if name in table and name not in varying and name not in axes]
    attributes = {name: _plain(table[name].iloc[0]) for name in fixed}
    table = table.drop(columns=fixed).sort_values("branch", kind="stable").drop_duplicates(axes)
    for name in axes:
        table = _spread(table, name)
    whole = len(table) == math.prod(table[name].nunique() for name in axes)
    dataset = table.assign(**{name: _dense(table[name], whole) for name in table}).set_index(axes).to_xarray()
    for name in dataset.variables:
        if dataset[name].dtype == object and name not in axes:
            dataset[name] = dataset[name].fillna("")  # gaps of an incomplete product
        dataset[name].attrs["description"] = _MEANINGS.get(name, "")
    return dataset.assign_attrs(attributes | dict.fromkeys(tuned, "optimal"))


def _without_optimised(frame: pandas.DataFrame) -> tuple[pandas.DataFrame, list[str]]:
    """Penalties and offsets of least test risk are results, not places: as columns optimal_*, and their names.

    Raises
    ------
    InvalidProblem
        If such values stand next to given ones.
    """
    if "optimised" not in frame or frame["optimised"].isna().all():
        return frame, []
    rows = frame[frame["estimator"] == "erm"] if "estimator" in frame else frame
    names = [set(text.split("+")) for text in rows["optimised"].fillna("")]
    if any(one != names[0] for one in names):
        raise InvalidProblem("optimal values stand next to given ones in the table; allowed: one sort, select the rows")
    tuned = sorted(names[0])
    return frame.rename(columns={name: f"optimal_{name}" for name in tuned}), tuned


def _spread(table: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """Repeat the rows that have no value of an axis for each of its values."""
    import pandas

    free = table[name].isna()
    if not free.any():
        return table
    values = table.loc[~free, [name]].drop_duplicates()
    return pandas.concat([table[~free], table[free].drop(columns=name).merge(values, how="cross")[table.columns]])


def _dense(column: pandas.Series, whole: bool) -> pandas.Series:
    """The column in a plain numpy type: gaps in text are empty, numbers and flags are floats where there are gaps."""
    if column.dtype == "string" or column.dtype == object:
        return column.fillna("").astype(object)
    if not whole or column.isna().any() or column.dtype == "float64":
        return column.astype("float64")
    return column.astype(bool if column.dtype == "boolean" else "int64")


def _plain(value: Any) -> Any:
    """A cell as an attribute: text or number; missing is empty text."""
    import pandas

    if pandas.isna(value):
        return ""
    return value.item() if hasattr(value, "item") else value
