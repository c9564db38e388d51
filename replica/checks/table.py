"""Columns of `replica check`: one row for each number of a problem, at each size and at the limit."""

from __future__ import annotations

from ..schema import COLUMNS, Column

PROBLEM = ("model", "estimator", "activation", "erf_offset", "alpha", "length", "nu", "noise", "reg_k", "reg_v")


def _columns() -> tuple[Column, ...]:
    text, integer, number, flag = "text", "integer", "number", "flag"
    return (
        *(column for column in COLUMNS if column.name in PROBLEM),
        Column("number", text, "what is compared: an overlap, a risk, a loss, the objective, the attention"),
        Column("d", integer, "dimension D of the experiment; null: the limit, extrapolated in 1/D"),
        Column("theory", number, "prediction at D = inf"),
        Column("theory_err", number, "its absolute error estimate"),
        Column("experiment", number, "mean over data sets, or intercept of the regression in 1/D"),
        Column("experiment_err", number, "standard error of the mean, or of the intercept"),
        Column("z", number, "experiment minus theory in joint errors, as the normal deviate of equal probability"),
        Column("judged", flag, "whether the verdict rests on this z: at the limit only, where there is no bias in 1/D"),
        Column("misfit", number, "limit: chi^2 per degree of freedom of the regression in 1/D"),
        Column("spread", number, "erm: mean over data sets of max - min over the starts; limit: at the largest D"),
        Column("minima", number, "erm: mean number of distinct minima of a data set; limit: at the largest D"),
        Column("verdict", text, "of the problem: agrees, disagrees, replica symmetry broken, undecided"),
        Column("message", text, "what the verdict rests on"),
        Column("replicon", number, "erm: of the theory, see `replica.schema`"),
        Column("rs_stable", flag, "erm: of the theory, see `replica.schema`"),
        Column("seeds", integer, "data sets for each D"),
        Column("seed", integer, "seed of the first"),
        Column("version", text, "version of the package"),
    )


CHECK_COLUMNS = _columns()
NAMES = tuple(column.name for column in CHECK_COLUMNS)
