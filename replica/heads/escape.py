"""The unspecialised fixed point, the Hessian there, and the rates at which features escape from it.

Heads that are equal stay equal, so a least risk among states with equal heads is a fixed point of the whole flow: at
m = 0 if E theta = 0, aligned with E theta otherwise. Near it every mode grows as exp(rate tau), and a mode that
starts at 1/sqrt(D) is of order one after log(sqrt(D))/rate (theory-dynamics.md A).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import IntegrationError, InvalidProblem
from ..models.checks import number
from .averages import Averages, build_averages, check_nodes, replicates
from .flow import State, square_root
from .problem import HeadsProblem

_RESIDUAL = 1e-6
_STEP = 1e-4  # central differences of smooth averages: truncation and rounding are both near 1e-8


@dataclass(frozen=True)
class Escape:
    """Rates at one state, each with an error bound of two standard errors over independent node sets.

    feature_rates (F,): the largest growth rate of the overlaps with feature f, m_hf over h, at the r and b given;
    variances (F,): Var theta_f; times (F,): log(sqrt(D))/rate_f, inf where the rate is not positive within its error;
    spectrum: all growth rates (minus the eigenvalues of the Hessian of R/2) over (m, c, b), largest first;
    residual: largest |velocity| at the state.
    """

    state: State
    risk: float
    feature_rates: np.ndarray
    feature_rates_err: np.ndarray
    variances: np.ndarray
    times: np.ndarray
    spectrum: np.ndarray
    spectrum_err: float
    residual: float


def unspecialised(problem: HeadsProblem, samples: int = 4096, seed: int = 0) -> State:
    """The fixed point of gradient flow where all heads are equal and r = 0, reached downhill from m = 0, b = 0.

    Raises
    ------
    IntegrationError
        If the search ends elsewhere than at a fixed point.
    InvalidProblem
        If samples is not a power of two, or too large for memory.
    """
    from scipy.optimize import minimize

    check_nodes("samples", samples, problem, problem.heads)

    heads, features = problem.heads, problem.signal.features
    averages = build_averages(problem, samples, 1, seed)
    moving = problem.thresholds == "train"

    def unpack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        b = np.full(heads, x[-1] if moving else 0.0)
        return np.tile(x[:features], (heads, 1)), np.full((heads, 1), x[features]), b

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        g = averages(*unpack(x))
        parts = [g.m.sum(axis=0), [g.c.sum()], [g.b.sum()] if moving else []]
        return g.risk / 2, np.concatenate(parts)

    # the risk is even in c: from c = 0 it never moves; a mode of c that grows would show in the spectrum
    first = np.zeros(features + 1 + moving)
    best = minimize(objective, first, jac=True, method="BFGS", options={"gtol": 1e-9})
    left = np.abs(best.jac).max()
    if not best.success and left > _RESIDUAL:  # rounding may stop it just above its own tolerance
        raise IntegrationError(f"no unspecialised fixed point: a velocity of {left:.1e} is left ({best.message})")
    m, c, b = unpack(best.x)
    return State(m, c @ c.T, b)


def escape(
    problem: HeadsProblem,
    state: State,
    dimension: float = 1e4,
    samples: int = 4096,
    count: int = 8,
    seed: int = 0,
) -> Escape:
    """Growth rates of gradient flow at `state`, and the escape time of each feature at dimension D.

    Raises
    ------
    InvalidProblem
        If D <= 1, samples is not a power of two or too large for memory, or the state does not fit the problem.
    """
    check_nodes("samples", samples, problem, problem.heads)
    number("dimension", dimension, minimum=1.0, strict=True)
    heads, features = problem.heads, problem.signal.features
    if state.m.shape != (heads, features) or state.b.shape != (heads,):
        raise InvalidProblem(f"the state has m of shape {state.m.shape}; allowed: {(heads, features)} and b ({heads},)")
    sets = replicates(problem, samples, heads, seed, count)
    size = heads * (features + heads) + (heads if problem.thresholds == "train" else 0)
    hessians = np.stack([_hessian(averages, state, np.arange(size)) for averages in sets])
    blocks = [_block(heads, features, f) for f in range(features)]
    found = [_rates(hessians[:, block[:, None], block]) for block in blocks]
    rates, errors = np.array([(values[0], error) for values, error in found]).T
    spectrum, spectrum_err = _rates(hessians)
    growing = rates > errors
    times = np.where(growing, np.log(np.sqrt(dimension)) / np.where(growing, rates, 1.0), np.inf)
    root = square_root(state.r)
    gradients = [averages(state.m, root, state.b) for averages in sets]
    largest = max(np.abs(np.mean([getattr(g, name) for g in gradients], axis=0)).max() for name in "mc")
    return Escape(
        state,
        float(np.mean([g.risk for g in gradients])),
        rates,
        errors,
        np.diag(problem.signal.moments()[1]),
        times,
        spectrum,
        spectrum_err,
        float(largest),
    )


def feature_rate(
    problem: HeadsProblem, state: State, feature: int, samples: int = 4096, count: int = 8, seed: int = 0
) -> tuple[float, float]:
    """Largest growth rate of the overlaps with one feature, counted from 0, and its error bound."""
    block = _block(*state.m.shape, feature)
    sets = replicates(problem, samples, problem.heads, seed, count)
    values, error = _rates(np.stack([_hessian(averages, state, block) for averages in sets]))
    return float(values[0]), error


def _block(heads: int, features: int, feature: int) -> np.ndarray:
    return np.arange(heads) * features + feature


def _rates(parts: np.ndarray) -> tuple[np.ndarray, float]:
    """Minus the eigenvalues of the mean of Hessians, or of blocks of them, and a bound on their error.

    Sorted eigenvalues of noisy matrices repel each other, so their own spread says little; by Weyl's inequality none
    moves by more than the norm of the perturbation, whose size the spread of the matrices over node sets gives.
    """
    mean = parts.mean(axis=0)
    values = -np.linalg.eigvalsh(mean)
    norms = np.linalg.norm(parts - mean, ord=2, axis=(1, 2))
    error = 2 * np.sqrt((norms**2).sum() / (len(parts) * (len(parts) - 1)))
    return values, float(error)


def _hessian(averages: Averages, state: State, chosen: np.ndarray) -> np.ndarray:
    """Second derivatives of R/2 over the chosen entries of (m, c, b), by central differences of the gradients."""
    heads, features = state.m.shape
    first = np.concatenate([state.m.ravel(), square_root(state.r).ravel(), state.b])
    cuts = np.cumsum([heads * features, heads * heads])

    def gradient(x: np.ndarray) -> np.ndarray:
        m, c, b = np.split(x, cuts)
        g = averages(m.reshape(heads, features), c.reshape(heads, heads), b)
        return np.concatenate([g.m.ravel(), g.c.ravel(), g.b])

    columns = []
    for index in chosen:
        shift = np.zeros(len(first))
        shift[index] = _STEP
        columns.append((gradient(first + shift) - gradient(first - shift))[chosen] / (2 * _STEP))
    matrix = np.array(columns)
    return (matrix + matrix.T) / 2
