"""Make the pictures of this folder from its tables, and with --recompute the tables too.

python results/make.py [--recompute] [NAME ...]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import replica
from replica.analysis.thresholds import thresholds
from replica.checks.journaled import make_table
from replica.checks.line import NAMES as LINE_NAMES
from replica.checks.line import LineMap
from replica.errors import ReplicaError
from replica.io.atomic import write_text
from replica.io.rows import to_csv
from replica.plots.figure import save
from replica.plots.plot import figure_of
from replica.registry import ACTIVATIONS, DATA_MODELS, ESTIMATORS, load
from replica.schema import NAMES
from replica.simulation.erm import experiments
from replica.simulation.summary import summarise
from replica.sweeps.grids import numbers
from replica.sweeps.journal import journal_path
from replica.sweeps.plan import Plan, versions

HERE = Path(__file__).parent
TRANSITION_NAMES = ("model", "length", "nu", "noise", "kind", "value", "lo", "hi", "status", "message")
Rows = list[dict[str, Any]]
Point = dict[str, Any]


def problem(*, model: str, nu: float, activation: str = "softmax", erf_offset: Any = None, **rest: Any) -> Any:
    """The problem of these options of `replica solve`."""
    kind = load(ACTIVATIONS, "activation", activation)
    sigma = kind() if erf_offset is None else kind(offset=erf_offset)
    return replica.Problem(data=load(DATA_MODELS, "model", model)(nu=nu), activation=sigma, **rest)


def predict(estimator: str, **options: Any) -> Rows:
    """`replica solve`."""
    return [one.to_row() for one in load(ESTIMATORS, "estimator", estimator)(problem(**options))]


def measure(sizes: Iterable[int], seeds: int, starts: Iterable[str], gtol: float, **options: Any) -> Rows:
    """`replica erm`."""
    asked = problem(**options)
    fits = [one for size in sizes for one in experiments(asked, size, range(seeds), starts, gtol=gtol)]
    return [one.to_row() for one in summarise(asked, fits, tolerance=gtol)]


def transitions(tol: float, **options: Any) -> Rows:
    """`replica thresholds`."""
    return [one.to_row() for one in thresholds(problem(**options), tol=tol)]


def line(tol: float, **grid: Any) -> Rows:
    """`replica stability`."""
    return LineMap.of(grid, tolerance=tol).run()


def population(places: Iterable[tuple[float, int | str]]) -> list[Point]:
    """All activations, the offset of erf attention tuned, and the Bayes risk, at (nu, L)."""
    points = []
    for model in DATA_MODELS:
        for nu, length in places:
            common = {"model": model, "nu": nu, "length": length, "alpha": math.inf}
            for name in ("softmax", "linear", "erf", "softplus"):
                offset = {"erf_offset": "optimal"} if name == "erf" else {}
                points.append({"estimator": "erm", "activation": name, **offset, **common})
            points.append({"estimator": "bayes", **common})
    return points


def population_nu() -> list[Point]:
    return population([(nu, length) for length in (2, 10, "1:1,2:1,3:1") for nu in numbers("nu", "log:0.25:16:13")])


def population_length() -> list[Point]:
    return population([(nu, length) for nu in (1.0, 4.0) for length in (2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100)])


def phase_diagram() -> list[Point]:
    # per L, up to where the transition ends; the lines are steepest at noise 0
    noises = {
        2: (0.0, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035),
        5: (0.0, 0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.11),
        10: (0.0, 0.004, 0.012, 0.03, 0.06, 0.09, 0.11, 0.13),
        100: (0.0, 0.005, 0.02, 0.05, 0.1, 0.15, 0.175),
    }
    common = {"model": "spiked-slr", "nu": 1.0, "tol": 3e-3}
    return [{"length": length, "noise": noise, **common} for length, each in noises.items() for noise in each]


LEARNING = (("spiked-slr", 1.0), ("spiked-slr", 2.0), ("max-slr", math.inf))


def learning_curves() -> list[Point]:
    points = []
    for model, nu in LEARNING:
        for alpha in numbers("alpha", "log:0.5:16:11"):
            common = {"model": model, "nu": nu, "alpha": alpha, "length": 3, "noise": 0.1}
            for name in ("softmax", "linear"):
                if nu == math.inf and name == "softmax" and 3.0 < alpha < 8.0:
                    continue  # the optimum moves to vanishing penalties on keys there, where solves stall
                best = {"reg_k": "optimal", "reg_v": "optimal"}
                points.append({"estimator": "erm", "activation": name, **best, **common})
            points.append({"estimator": "bayes", **common})
    return points


def learning_curves_lbfgs() -> list[Point]:
    """At the penalties that the theory found."""
    theory = replica.read_csv(HERE / "learning_curves.csv")
    chosen = theory[(theory["estimator"] == "erm") & theory["selected"]]
    # at nu = inf penalties become so small that a fit takes minutes
    chosen = chosen[[alpha in ((1.0, 2.0) if nu == math.inf else (1.0, 2.0, 4.0, 8.0))
                     for nu, alpha in zip(chosen["nu"], chosen["alpha"], strict=True)]]  # fmt: skip
    options = ["model", "nu", "activation", "alpha", "length", "noise", "reg_k", "reg_v"]
    how = {"sizes": [100, 200, 400], "seeds": 8, "starts": ["informed", "small"], "gtol": 1e-4}
    return [how | row for row in chosen[options].to_dict("records")]


REGS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def stability_line() -> list[Point]:
    grid = {"model": "spiked-slr", "reg": list(REGS), "tol": 0.1}
    return [{"alpha": alpha, **grid} for alpha in numbers("alpha", "log:0.5:16:11")]


def stability_minima() -> list[Point]:
    how = {"sizes": [300], "seeds": 4, "starts": ["random:8"], "gtol": 1e-4, "model": "spiked-slr", "nu": 2.0}
    return [{"alpha": alpha, "reg_k": reg, "reg_v": reg, **how} for alpha in (1.0, 2.0, 4.0, 8.0) for reg in REGS[:-1]]


class Table(NamedTuple):
    """How a table is made: the points in order, the rows of each, and the columns."""

    points: Callable[[], list[Point]]
    work: Callable[..., Rows]
    columns: tuple[str, ...] = NAMES


TABLES = {
    "population_nu": Table(population_nu, predict),
    "population_length": Table(population_length, predict),
    "learning_curves": Table(learning_curves, predict),
    "learning_curves_lbfgs": Table(learning_curves_lbfgs, measure),
    "phase_diagram": Table(phase_diagram, transitions, TRANSITION_NAMES),
    "stability_line": Table(stability_line, line, LINE_NAMES),
    "stability_minima": Table(stability_minima, measure),
}
# picture: its tables, and options of `replica plot`
PICTURES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "population_nu": (("population_nu",), {}),
    "population_length": (("population_length",), {}),
    "learning_curves": (("learning_curves", "learning_curves_lbfgs"), {}),
    "phase_diagram": (("phase_diagram",), {}),
    "stability": (("stability_line", "stability_minima"), {}),
}


def recompute(name: str) -> None:
    """Compute a table point by point; what is finished is kept in NAME.csv.journal.jsonl until all is there."""
    table, path = TABLES[name], HERE / f"{name}.csv"
    points = table.points()
    journal = journal_path(path)

    def rows(index: int) -> Rows:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{name}: point {index + 1} of {len(points)}", end="", file=sys.stderr)
        return table.work(**points[index])

    record = Plan((), {"axes": {"table": name, "points": repr(points)}, "versions": versions()})
    begun = journal.exists()
    made = make_table(rows, len(points), record, table.columns, path, resume=begun, force=not begun)
    write_text(path, to_csv(made, table.columns))
    journal.unlink()
    print(f"wrote {path.name} ({len(made)} rows)")


def draw(name: str) -> None:
    """Draw a picture from its tables."""
    tables, options = PICTURES[name]
    figure = figure_of([replica.read_csv(HERE / f"{table}.csv") for table in tables], **options)
    save(figure, HERE / f"{name}.png")
    print(f"wrote {name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Pictures: {', '.join(PICTURES)}.  [default: all]")
    parser.add_argument("--recompute", action="store_true", help="Compute the tables first; goes on where it was cut.")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in PICTURES]
    if unknown:
        parser.error(f"{unknown[0]!r} is unknown; known: {', '.join(PICTURES)}")
    try:
        for name in options.names or PICTURES:
            for table in PICTURES[name][0] if options.recompute else ():
                recompute(table)
            draw(name)
    except ReplicaError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
