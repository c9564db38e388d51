"""`replica derive`: the equations that the solver uses."""

from __future__ import annotations

import click

from replica.errors import InvalidProblem
from replica.registry import ACTIVATIONS, ESTIMATORS, load

from .options import data_model, length_option, model_option, nu_option


@click.command()
@model_option
@click.option("--activation", type=click.Choice(list(ACTIVATIONS)), help="Of the estimator erm.  [default: softmax]")
@click.option("--estimator", type=click.Choice(list(ESTIMATORS)), default="erm", show_default=True)
@length_option
@nu_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "latex", "source"]),
    default="text",
    show_default=True,
    help="Readable text, LaTeX, or the generated numba source.",
)
def derive(model: str, activation: str | None, estimator: str, length: str, nu: float | None, format_: str) -> None:
    """Print the self-consistency equations, derived from the energy by sympy.

    Example: replica derive --model spiked-slr --activation softmax
    """
    from replica.models.problem import Problem

    if estimator == "bayes":
        if activation is not None:
            raise InvalidProblem("activation belongs to the estimator erm; bayes has none")
        _derive_bayes(model, length, nu, format_)
        return
    problem = Problem(
        data=data_model(model, nu), activation=load(ACTIVATIONS, "activation", activation or "softmax")(), length=length
    )
    if problem.length.fixed is None:
        raise InvalidProblem(f"length = {problem.length} is a law: its equations average those of each L; give one L")
    if format_ == "source":
        from replica.lowering import pair, tokens

        lowered = pair if problem.length.fixed == 2 and pair.applies(problem) else tokens
        click.echo(lowered.source(problem), nl=False)
        return
    from replica.equations.describe import describe, to_latex, to_text

    click.echo((to_text if format_ == "text" else to_latex)(describe(problem)), nl=False)


def _derive_bayes(model: str, length: str, nu: float | None, format_: str) -> None:
    from replica.equations.bayes import bayes_system, to_latex, to_text
    from replica.models.length import LengthLaw

    if format_ == "source":
        raise InvalidProblem(
            "format = source: the posterior averages of bayes are reduced by hand, not generated; allowed: text, latex"
        )
    system = bayes_system(data_model(model, nu), LengthLaw.of(length))
    click.echo((to_text if format_ == "text" else to_latex)(system), nl=False)
