"""Make the pictures of this folder from its tables, and with --recompute the tables too.

python results/make.py [--recompute] [NAME ...]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import replica
from replica.analysis.thresholds import thresholds
from replica.io.atomic import write_text
from replica.io.rows import to_csv
from replica.plots.figure import save
from replica.plots.plot import figure_of
from replica.registry import ESTIMATORS, load

HERE = Path(__file__).parent
Rows = Iterator[dict[str, Any]]
UP_TO_THREE = "1:1,2:1,3:1"
MODELS = {"spiked-slr": replica.SpikedSLR, "max-slr": replica.MaxSLR}
# per L, up to where the transition ends
NOISES = {
    2: (0.0, 0.005, 0.01, 0.015, 0.02, 0.025),
    5: (0.0, 0.02, 0.04, 0.06, 0.08, 0.1),
    10: (0.0, 0.03, 0.06, 0.09, 0.12, 0.15),
    100: (0.0, 0.05, 0.1, 0.15, 0.2, 0.25),
}
LEARNING = (("spiked-slr", 1.0), ("spiked-slr", 2.0), ("max-slr", math.inf))
# softmax at nu = inf takes minutes a point
ALPHAS = {"spiked-slr": (1.0, 2.0, 4.0), "max-slr": (1.0, 2.0)}
MEASURED = {"spiked-slr": (1.0, 2.0), "max-slr": (2.0,)}


def predictions(problem: replica.Problem, *estimators: str) -> Rows:
    """The rows of `replica solve`."""
    for name in estimators:
        for solution in load(ESTIMATORS, "estimator", name)(problem):
            yield solution.to_row()


def population(points: list[tuple[float, int | str]]) -> Rows:
    """Least population risks at (nu, L) for all activations, the offset of erf attention tuned, and the Bayes risk."""
    for model in MODELS.values():
        for nu, length in points:
            if nu == math.inf and model is replica.SpikedSLR:
                continue
            for sigma in (replica.Softmax(), replica.Linear(), replica.Erf("optimal"), replica.Softplus()):
                problem = replica.Problem(data=model(nu=nu), activation=sigma, length=length, alpha=math.inf)
                yield from predictions(problem, "erm")
            yield from predictions(problem, "bayes")


def population_nu() -> Rows:
    return population([(nu, length) for length in (2, 10, UP_TO_THREE) for nu in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)])


def population_length() -> Rows:
    return population([(nu, length) for nu in (1.0, 4.0) for length in (2, 3, 5, 10, 20, 50, 100)])


def phase_diagram() -> Rows:
    for length, noises in NOISES.items():
        for noise in noises:
            problem = replica.Problem(data=replica.SpikedSLR(nu=1.0), length=length, noise=noise)
            for one in thresholds(problem, tol=3e-3):
                yield one.to_row()


def learning_curves() -> Rows:
    for model, nu in LEARNING:
        for alpha in ALPHAS[model]:
            for sigma in (replica.Softmax(), replica.Linear()):
                yield from predictions(_tuned(model, nu, alpha, sigma), "erm")
            yield from predictions(_tuned(model, nu, alpha, sigma), "bayes")


def learning_curves_lbfgs() -> Rows:
    """L-BFGS at the penalties that the theory found."""
    from replica.simulation.erm import experiments
    from replica.simulation.summary import summarise

    theory = replica.read_csv(HERE / "learning_curves.csv")
    chosen = theory[(theory["estimator"] == "erm") & theory["selected"]]
    for row in chosen.itertuples():
        if row.alpha not in MEASURED[row.model]:
            continue
        sigma = {"softmax": replica.Softmax(), "linear": replica.Linear()}[row.activation]
        problem = _tuned(row.model, row.nu, row.alpha, sigma, reg_k=row.reg_k, reg_v=row.reg_v)
        fits = experiments(problem, 300, range(6), ["informed", "small"], gtol=1e-4)
        for solution in summarise(problem, fits, tolerance=1e-4):
            yield solution.to_row()


def _tuned(model: str, nu: float, alpha: float, sigma: Any, **penalties: float) -> replica.Problem:
    penalties = penalties or {"reg_k": "optimal", "reg_v": "optimal"}
    return replica.Problem(data=MODELS[model](nu=nu), activation=sigma, alpha=alpha, length=3, noise=0.1, **penalties)


TABLES: dict[str, Callable[[], Rows]] = {
    "population_nu": population_nu,
    "population_length": population_length,
    "phase_diagram": phase_diagram,
    "learning_curves": learning_curves,
    "learning_curves_lbfgs": learning_curves_lbfgs,
}
# picture: its tables, and options of `replica plot`
PICTURES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "population_nu": (("population_nu",), {}),
    "population_length": (("population_length",), {"x": "length"}),
    "phase_diagram": (("phase_diagram",), {}),
    "learning_curves": (("learning_curves", "learning_curves_lbfgs"), {}),
}


def recompute(name: str) -> None:
    """Compute a table; its rows are written when all are there."""
    rows = []
    for row in TABLES[name]():
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\r\x1b[K{name}: {len(rows)} rows", end="", file=sys.stderr)
    write_text(HERE / f"{name}.csv", to_csv(rows, list(rows[0])))
    print(f"wrote {name}.csv ({len(rows)} rows)")


def draw(name: str) -> None:
    """Draw a picture from its tables."""
    tables, options = PICTURES[name]
    figure = figure_of([replica.read_csv(HERE / f"{table}.csv") for table in tables], **options)
    save(figure, HERE / f"{name}.png")
    print(f"wrote {name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Pictures: {', '.join(PICTURES)}.  [default: all]")
    parser.add_argument("--recompute", action="store_true", help="Compute the tables first.")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in PICTURES]
    if unknown:
        parser.error(f"{unknown[0]!r} is unknown; known: {', '.join(PICTURES)}")
    for name in options.names or PICTURES:
        for table in PICTURES[name][0] if options.recompute else ():
            recompute(table)
        draw(name)


if __name__ == "__main__":
    main()
