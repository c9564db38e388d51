"""`replica heads`: specialisation of several attention heads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replica.errors import InvalidProblem

from .options import NUMBER
from .output import check_output, emit, output_options

if TYPE_CHECKING:
    from replica.heads.problem import HeadsProblem


@click.group()
def heads() -> None:
    """Several heads on the single-location model: how they specialise, what they reach, what can be pruned."""


def _problem_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the problem; the command receives it as `problem`."""

    @functools.wraps(function)
    def call(activation: str, n_heads: int, length: int, signal: str, weight: str, thresholds: str, **rest: Any) -> Any:
        from replica.heads.problem import HeadsProblem
        from replica.heads.signals import parse

        return function(
            problem=HeadsProblem(parse(signal), activation, n_heads, length, weight or "", thresholds or ""), **rest
        )

    options = (
        click.option("--activation", default="softmax", show_default=True, help="softmax, softmax-1, bayes-softmax."),
        click.option("--heads", "n_heads", type=int, default=4, show_default=True, help="Number of heads H."),
        click.option("--length", type=int, default=4, show_default=True, help="Number of tokens L."),
        click.option(
            "--signal",
            required=True,
            help="flipped:nu=6[,features=2], onehot:nu=6[,features=2], gaussian:8,3[;mean=1,0] or discrete:FILE "
            "(CSV with header weight,theta_1,..,theta_F).",
        ),
        click.option("--weight", help="Head weight: mean (1/H) or sum (1).  [default: mean for softmax, else sum]"),
        click.option("--thresholds", help="train or fixed.  [default: train; softmax has none]"),
    )
    return functools.reduce(lambda inner, option: option(inner), reversed(options), call)


_seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed.")
_dimension_option = click.option(
    "--dimension", type=NUMBER, default=1e4, show_default=True, help="D of the start, m ~ 1/sqrt(D)."
)
_norm_option = click.option("--norm", type=NUMBER, default=0.1, show_default=True, help="Keys start at norm N(0, I_D).")
_start_options = (
    _dimension_option,
    _norm_option,
    click.option("--threshold", type=NUMBER, default=0.0, show_default=True, help="All b_h at the start."),
)


def _starts(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.reduce(lambda inner, option: option(inner), reversed(_start_options), function)


def _progress(what: str) -> Callable[[float], None] | None:
    """A percentage on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return None
    return lambda share: click.echo(f"\r{what}: {100 * share:3.0f} %", nl=False, err=True)


@heads.command()
@_problem_options
@click.option("--rate", type=NUMBER, default=0.0, show_default=True, help="Learning rate gamma; 0: gradient flow.")
@click.option("--time", type=NUMBER, default=50.0, show_default=True, help="Last time tau = gamma n/D.")
@click.option("--points", type=click.IntRange(min=2), default=200, show_default=True, help="Times in the output.")
@click.option("--spacing", type=click.Choice(["linear", "log"]), default="linear", show_default=True)
@_starts
@_seed_option
@click.option("--rtol", type=NUMBER, default=1e-3, show_default=True, help="Relative error asked of the risk.")
@click.option("--max-samples", type=int, default=32768, show_default=True, help="Most nodes in a set.")
@click.option("--method", default="LSODA", show_default=True, help="LSODA, BDF, Radau or RK45.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@output_options
def run(
    problem: HeadsProblem,
    rate: float,
    time: float,
    points: int,
    spacing: str,
    dimension: float,
    norm: float,
    threshold: float,
    seed: int,
    rtol: float,
    max_samples: int,
    method: str,
    threads: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Integrate the order-parameter equations of online SGD, or of gradient flow.

    Exit code 3 if the risk is less accurate than --rtol.

    Example: replica heads run --heads 4 --length 4 --signal flipped:nu=6 --rate 0.5 --time 50 --output run.csv
    """
    from replica.heads.bayes import bayes_risk
    from replica.heads.flow import integrate, random_start, time_grid
    from replica.heads.table import trajectory_rows

    from .heads_table import trajectory_table

    format_ = check_output(output, format_)
    tau = time_grid(time, points, spacing)
    start = random_start(problem, dimension, norm, seed, threshold)
    progress = _progress("integrating")
    found = integrate(
        problem,
        start,
        tau,
        rate,
        rtol=rtol,
        samples=min(256, max_samples),
        max_samples=max_samples,
        seed=seed,
        method=method,
        threads=threads,
        progress=progress,
    )
    if progress:
        click.echo("", err=True)
    emit(trajectory_rows(found, bayes_risk(problem), rtol, seed), output, format_, trajectory_table)
    if not found.accuracy_met:
        click.echo(f"warning: the risk is less accurate than rtol = {rtol:g}; raise --max-samples", err=True)
        sys.exit(3)


@heads.command()
@_problem_options
@_dimension_option
@_norm_option
@click.option("--samples", type=int, default=4096, show_default=True, help="Nodes in a set, a power of two.")
@_seed_option
@output_options
def rates(
    problem: HeadsProblem,
    dimension: float,
    norm: float,
    samples: int,
    seed: int,
    output: Path | None,
    format_: str | None,
) -> None:
    """Escape rates of every feature from the unspecialised fixed point, and the Hessian's spectrum there.

    The rates are taken at the fixed point (r = 0) and with r = norm^2 I, where a run starts. Gradient flow.

    Example: replica heads rates --activation bayes-softmax --signal "gaussian:8,3" --dimension 1000
    """
    import numpy as np

    from replica.heads.escape import escape, unspecialised
    from replica.heads.flow import State
    from replica.heads.table import escape_rows

    from .heads_table import rates_table

    format_ = check_output(output, format_)
    if norm < 0:
        raise InvalidProblem(f"norm = {norm:g} is negative; allowed: norm >= 0")
    fixed = unspecialised(problem, samples, seed)
    rows = []
    for size in dict.fromkeys((0.0, norm)):
        state = State(fixed.m, fixed.r + size**2 * np.eye(problem.heads), fixed.b)
        rows += escape_rows(problem, escape(problem, state, dimension, samples, seed=seed), dimension, size)
    emit(rows, output, format_, rates_table)
