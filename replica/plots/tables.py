"""From the rows of solves, sweeps and experiments to what a figure draws: predictions, experiments, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidProblem
from ..schema import BAYES as BAYES_ESTIMATORS
from ..schema import COLUMNS
from .labels import BAYES

if TYPE_CHECKING:
    import pandas

ESTIMATE = "estimate"
PARAMETERS = ("alpha", "nu", "noise", "length", "model")
# columns that often follow from the rest, an optimal penalty say: parameters only where rows differ in nothing else
_FOLLOWERS = ("reg", "reg_k", "reg_v", "erf_offset")
_NEEDED = ("model", "estimator", "activation", "alpha", "length", "nu", "noise", "selected", "status")
_CHECKED = ("model", "estimator", "activation", "erf_offset", "alpha", "length", "nu", "noise", "reg_k", "reg_v")
_THRESHOLDS = ("model", "length", "nu", "noise", "kind", "value", "status")
NUMBERS = (*(column.name for column in COLUMNS if column.kind in ("number", "integer")), "reg")


@dataclass(frozen=True)
class Curves:
    """The rows of a figure.

    Attributes
    ----------
    theory, experiments : DataFrame
        One row for each point: selected, converged, with a finite `y`. Column `estimate` names what is estimated.
    varying : tuple of str
        The parameters that vary, alpha first.
    fixed : dict
        The others, with their value.
    left_out : int
        Selected rows that did not converge or have no finite `y`.
    """

    theory: pandas.DataFrame
    experiments: pandas.DataFrame
    varying: tuple[str, ...]
    fixed: dict[str, Any]
    left_out: int

    @property
    def both(self) -> pandas.DataFrame:
        """Predictions and experiments in one table."""
        import pandas

        return pandas.concat([part for part in (self.theory, self.experiments) if not part.empty])


def is_thresholds(frame: pandas.DataFrame) -> bool:
    """Whether this is a table of `replica thresholds`."""
    return set(_THRESHOLDS) <= set(frame.columns)


def is_line(frame: pandas.DataFrame) -> bool:
    """Whether this is a table of `replica stability`."""
    return {"kind", "side", "searched", "low", "high", "resolved"} <= set(frame.columns)


def is_check(frame: pandas.DataFrame) -> bool:
    """Whether this is a table of `replica check`."""
    return {"number", "theory", "experiment", "judged", "verdict"} <= set(frame.columns)


def rows_of_check(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Predictions, and experiments at the limit, of a table of `replica check`: as rows of solves and experiments."""
    import pandas

    place = [column for column in _CHECKED if column in frame]
    rows: list[dict[str, Any]] = []
    for cells, numbers in frame[frame["judged"].fillna(False)].groupby(place, dropna=False, sort=False):
        common = dict(zip(place, cells, strict=True)) | {"selected": True, "rs_stable": numbers["rs_stable"].iloc[0]}
        common["status"] = "undecided" if "undecided" in set(numbers["verdict"]) else "converged"
        measured = "experiment-amp" if common["estimator"] in BAYES_ESTIMATORS else "experiment-erm"
        for side, estimator in (("theory", common["estimator"]), ("experiment", measured)):
            values = dict(zip(numbers["number"], numbers[side], strict=True))
            errors = dict(zip(numbers["number"] + "_err", numbers[f"{side}_err"], strict=True))
            rows.append(common | values | errors | {"estimator": estimator})
    return pandas.DataFrame(rows)


def is_flow(frame: pandas.DataFrame) -> bool:
    """Whether this is a table of `replica flow`."""
    return {"loss_kind", "map", "rank_one_share"} <= set(frame.columns)


def is_heads(frame: pandas.DataFrame) -> bool:
    """Whether this is a table of `replica heads`."""
    return {"heads", "signal", "thresholds"} <= set(frame.columns)


def curves(frame: pandas.DataFrame, y: str = "test_risk") -> Curves:
    """Sort the rows of a table with the schema's columns.

    Raises
    ------
    InvalidProblem
        If columns are missing, `y` is no column of numbers, or no row is left.
    """
    missing = [name for name in _NEEDED if name not in frame]
    if missing:
        raise InvalidProblem(
            f"the table has no column {', '.join(missing)}; allowed: tables of replica solve, sweep, erm, amp, "
            "check, thresholds, stability, flow and heads"
        )
    table = _merge_penalties(frame)
    check_number(table, "y", y)
    chosen = table[table["selected"].fillna(False).astype(bool)].copy()
    finite = chosen[y].notna() & (chosen[y].abs() < float("inf"))
    left_out = int((~(finite & (chosen["status"] == "converged"))).sum())
    chosen = chosen[finite & (chosen["status"] == "converged")]
    if chosen.empty:
        raise InvalidProblem(f"no selected, converged row has a finite {y}; nothing to draw")
    chosen[ESTIMATE] = chosen["activation"].astype(object)
    chosen.loc[chosen["estimator"].isin(BAYES_ESTIMATORS), ESTIMATE] = BAYES
    chosen["length"] = _lengths(chosen["length"])
    experiment = chosen["estimator"].str.startswith("experiment").astype(bool)
    varying = _varying(chosen, experiment)
    place = [ESTIMATE, *varying]
    if f"{y}_err" in chosen:  # of the same point twice the more accurate row
        chosen = chosen.sort_values(f"{y}_err", kind="stable")
    experiment = experiment[chosen.index]
    theory, experiments = (part.drop_duplicates(place) for part in (chosen[~experiment], chosen[experiment]))
    fixed = {
        name: chosen[name].dropna().iloc[0]
        for name in (*PARAMETERS, *_FOLLOWERS)
        if name in chosen and name not in varying and chosen[name].nunique() == 1
    }
    names = [name for name in chosen[ESTIMATE].unique() if name != BAYES]
    if len(names) == 1:
        fixed[ESTIMATE] = names[0]
    return Curves(theory, experiments, varying, fixed, left_out)


def check_number(table: pandas.DataFrame, option: str, name: str) -> None:
    """Refuse a column that is missing or holds no numbers.

    Raises
    ------
    InvalidProblem
    """
    known = [column for column in NUMBERS if column in table and table[column].notna().any()]
    if name not in known:
        raise InvalidProblem(f"{option} = {name!r} is no column of numbers here; known: {', '.join(known)}")


def select(frame: pandas.DataFrame, conditions: Sequence[str]) -> pandas.DataFrame:
    """The rows that satisfy all conditions NAME=VALUE or NAME=VALUE,VALUE; a row without that value satisfies it.

    Raises
    ------
    InvalidProblem
        If a condition is not understood, the column is unknown, or no row is left.
    """
    import numpy as np
    import pandas

    table = frame
    for condition in conditions:
        name, equals, text = condition.partition("=")
        names = ("reg_k", "reg_v") if name == "reg" else (name,)
        if not equals or any(column not in table for column in names):
            raise InvalidProblem(
                f"where = {condition!r} is not understood; allowed: COLUMN=VALUE[,VALUE...] with one of "
                f"{', '.join(column for column in (*_NEEDED, *_FOLLOWERS) if column in frame)}"
            )
        keep = pandas.Series(True, index=table.index)
        for column in names:
            cells = table[column]
            if pandas.api.types.is_numeric_dtype(cells) and not pandas.api.types.is_bool_dtype(cells):
                try:
                    wanted = np.array([float(entry) for entry in text.split(",")])
                except ValueError:
                    raise InvalidProblem(f"where = {condition!r}: {text!r} is not a number; {column} is one") from None
                number = cells.to_numpy(float, na_value=np.nan)
                same = np.isclose(number[:, None], wanted[None], rtol=1e-9, atol=0.0).any(axis=1)
            else:
                # a law of lengths has commas of its own
                same = cells.astype(str).isin([*text.split(","), text]).to_numpy()
            keep &= same | cells.isna().to_numpy()
        table = table[keep]
    if table.empty:
        raise InvalidProblem(f"where = {', '.join(conditions)} leaves no row; nothing to draw")
    return table


def _merge_penalties(frame: pandas.DataFrame) -> pandas.DataFrame:
    """`reg` in place of penalties that agree in every row."""
    if {"reg_k", "reg_v"} <= set(frame.columns) and frame["reg_k"].equals(frame["reg_v"]):
        return frame.drop(columns="reg_v").rename(columns={"reg_k": "reg"})
    return frame.copy()


def _lengths(cells: pandas.Series) -> pandas.Series:
    """Numbers where every length is fixed, else the laws as text."""
    text = cells.astype(str)
    return text.astype(float).astype(int) if text.str.fullmatch(r"\d+").all() else text


def _varying(chosen: pandas.DataFrame, experiment: pandas.Series) -> tuple[str, ...]:
    varying = [name for name in PARAMETERS if chosen[name].nunique() > 1]
    for name in _FOLLOWERS:
        if name not in chosen or chosen[name].nunique() < 2:
            continue
        groups = chosen.groupby([experiment, ESTIMATE, *varying], dropna=False)[name].nunique()
        if groups.max() > 1:
            varying.append(name)
    return tuple(varying)
