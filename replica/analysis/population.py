"""The population limit alpha = inf: the least test risk over (k, v), and the Bayes risk (theory.md section 7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bayes.laplace import log_survival, misplaced_spiked, normal_laplace, score_grid
from ..errors import InvalidProblem
from ..models.activations.erf import Erf
from ..models.checks import OPTIMAL
from ..registry import DATA_MODELS
from ..types import NAN, Conjugates, Overlaps, Solution, Status
from .moments import Elementwise, Normalised, Quadratic

if TYPE_CHECKING:
    from ..models.data.base import DataModel
    from ..models.length import LengthLaw
    from ..models.problem import Problem

DEFAULT_RTOL = 1e-6
FLAT = 1e-9  # relative: values closer than this are one
ROUND_OFF = 1e-13
FINER = 1.4
PLACE = 1e-6  # accuracy of the place of a minimum found by its values
MARGIN = 38.0
LONGEST = 60.0  # the longest key that is tried
OFFSETS = np.linspace(-4.0, 1.0, 11)


def misplaced(data: DataModel, law: LengthLaw, refine: float = 1.0) -> float:
    """E(1 - w_1), w the posterior of eps given the scores chi*: the noiseless population Bayes risk.

    Spiked: `misplaced_spiked`. Max: w = softmax(nu chi*), and the sum over tokens of w (1 - w) is
    L (L - 1) int ds (E x A e^{-xA})^2 (E e^{-xA})^{L-2}, A = e^{nu chi}, x = e^s: every term is positive, so that
    nothing cancels.

    Parameters
    ----------
    data : DataModel
    law : LengthLaw
    refine : float
        Factor by which the steps shrink.
    """
    nu = data.nu
    if data.name == "spiked-slr" or nu == 0.0:
        return misplaced_spiked(nu, law, refine)
    if math.isinf(nu):
        return 0.0
    reach = 9.0 * nu + MARGIN
    s = score_grid(-reach - math.log(law.support[-1]), reach, nu, refine)
    absorbed, peaked = normal_laplace(s, nu, refine)
    log_psi = log_survival(absorbed)
    return sum(
        p * length * (length - 1) * float((s[1] - s[0]) * (peaked**2 @ np.exp((length - 2) * log_psi)))
        for length, p in law
        if length > 1
    )


def bayes_population(problem: Problem, rtol: float | None = None) -> Solution:
    """The Bayes risk when k* and v* are known: Delta^2 + E(1 - w_1)."""
    _refuse_unknown(problem)
    values = [misplaced(problem.data, problem.length, refine) for refine in (1.0, FINER)]
    # without a signal in the scores nothing is ever learnt about k*
    blind = problem.data.nu == 0.0 or (problem.data.name == "max-slr" and problem.length.support[-1] == 1)
    key = 0.0 if blind else 1.0
    return _row(
        problem,
        "bayes",
        overlaps=Overlaps(key, key, 1.0 - key, 1.0, 1.0, 0.0),
        excess=values[1],
        error=abs(values[1] - values[0]),
        attention=1.0 - values[1],
        attention_error=abs(values[1] - values[0]),
        method="laplace",
        rtol=rtol,
    )


def _refuse_unknown(problem: Problem) -> None:
    """The averages of this module are written for these two laws of chi*."""
    if problem.data.name not in DATA_MODELS:
        known = ", ".join(DATA_MODELS)
        raise InvalidProblem(f"data = {problem.data.name!r} has no population limit; allowed: {known}, or finite alpha")


def erm_population(problem: Problem, rtol: float | None = None) -> Solution:
    """The least population risk over (k, v) for the problem's activation, whatever the penalties.

    Softmax reaches the Bayes risk at k = c k*, c = sqrt(nu) (spiked) or nu (max). Affine attention has a closed
    optimum; the others are minimised over the length of k, and `Erf("optimal")` over its offset as well.

    Parameters
    ----------
    problem : Problem
    rtol : float, optional
        Relative error asked of the risk.

    Returns
    -------
    Solution
        m_k = inf where the infimum is approached as k grows.

    Raises
    ------
    InvalidProblem
        For a data model or an activation whose moments are not known.
    """
    _refuse_unknown(problem)
    name = problem.activation.name
    if name == "softmax":
        return _softmax(problem, rtol)
    if name in ("linear", "linear-centred"):
        return _affine(problem, rtol)
    if getattr(problem.activation, "offset", None) == OPTIMAL:
        problem, m, message = _best_offset(problem)
        found = _from_moments(problem, m, rtol)
        return replace(found, status=Status.MAX_ITER, message=message) if message else found
    return _from_moments(problem, _least(_excess(_moments(problem))), rtol)


def _softmax(problem: Problem, rtol: float | None) -> Solution:
    values = [misplaced(problem.data, problem.length, refine) for refine in (1.0, FINER)]
    nu = problem.data.nu
    m = nu if problem.data.name == "max-slr" else math.sqrt(nu)
    return _row(
        problem,
        "erm",
        overlaps=Overlaps(m, m * m, 0.0, 1.0, 1.0, 0.0),
        excess=values[1],
        error=abs(values[1] - values[0]),
        attention=1.0 - values[1],
        attention_error=abs(values[1] - values[0]),
        method="closed optimum; laplace",
        rtol=rtol,
        message="the infimum is approached as k grows" if math.isinf(m) else "",
    )


def _affine(problem: Problem, rtol: float | None) -> Solution:
    centred = problem.activation.name == "linear-centred"
    values, firsts = [], []
    for refine in (1.0, FINER):
        form = Quadratic(centred, problem.data, problem.length, refine)
        m = form.best()
        first, rest = form(m)
        values.append(max(rest, 0.0) / (rest + first**2))
        firsts.append(first)
    return _row(
        problem,
        "erm",
        overlaps=_overlaps(m, first, rest),
        excess=values[1],
        error=abs(values[1] - values[0]),
        attention=first,
        attention_error=abs(firsts[1] - firsts[0]),
        method="closed optimum",
        rtol=rtol,
    )


def _moments(problem: Problem) -> Elementwise | Normalised:
    kinds = {"elementwise": Elementwise, "normalised": Normalised}
    combination = problem.activation.combination
    if combination not in kinds:
        raise InvalidProblem(f"activation = {problem.activation.name} ({combination}) has no population limit yet")
    return kinds[combination](problem.activation, problem.data, problem.length)


def _excess(moments: Elementwise | Normalised, refine: float = 1.0) -> Callable[[float], float]:
    """m -> least risk over v without noise, 1 - (E sigma_1)^2/E|sigma|^2."""

    def excess(m: float) -> float:
        first, rest = moments(m, refine)
        # attention that is zero throughout, relu at m = 0, predicts nothing
        return max(rest, 0.0) / (rest + first**2) if rest + first**2 > 0.0 else 1.0

    return excess


def _least(excess: Callable[[float], float]) -> float:
    """Minimum over m: scan both signs, then polish around the best; inf if the risk still falls at the end."""
    from scipy.optimize import minimize_scalar

    scan = np.concatenate([-np.geomspace(10.0, 0.05, 8), [0.0], np.geomspace(0.05, LONGEST, 24)])
    values = np.array([excess(m) for m in scan])
    best = int(values.argmin())
    if values.max() - values.min() <= ROUND_OFF:
        return 0.0
    if best == len(scan) - 1:
        # the risk of a homogeneous activation does not depend on m > 0
        best = int(np.argmax(values <= values[best] * (1.0 + FLAT)))
    if best == len(scan) - 1:
        return math.inf
    low, high = scan[max(best - 1, 0)], scan[best + 1]
    floor = max(values[best], 1e-300)
    found = minimize_scalar(lambda m: excess(m) / floor, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def _best_offset(problem: Problem) -> tuple[Problem, float, str]:
    """Minimum over (offset, m), and what went wrong, if anything: scan the offset, then polish both together."""
    from scipy.optimize import minimize

    moments = _moments(replace(problem, activation=Erf()))

    def excess_at(offset: float) -> Callable[[float], float]:
        moments.activation = Erf(offset=float(offset))
        return _excess(moments)

    starts = [(offset, min(_least(excess_at(offset)), LONGEST)) for offset in OFFSETS]
    values = [excess_at(offset)(m) for offset, m in starts]
    best = int(np.argmin(values))
    floor = max(values[best], 1e-300)
    found = minimize(
        lambda z: excess_at(z[0])(z[1]) / floor,
        starts[best],
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-14, "maxiter": 2000, "initial_simplex": _simplex(starts[best])},
    )
    message = "" if found.success else f"the search for the offset gave up: {found.message}"
    return replace(problem, activation=Erf(offset=float(found.x[0]))), float(found.x[1]), message


def _simplex(start: tuple[float, float]) -> np.ndarray:
    offset, m = start
    return np.array([[offset, m], [offset + 0.2, m * 1.1], [offset - 0.2, m * 1.1]])


def _from_moments(problem: Problem, m: float, rtol: float | None) -> Solution:
    moments = _moments(problem)
    if math.isinf(m):
        return _at_infinity(problem, moments, rtol)
    first, rest = moments(m, FINER)
    value, coarse = _excess(moments, FINER)(m), _excess(moments)(m)
    displaced = [moments(m)[0], moments(m + PLACE * (1.0 + abs(m)), FINER)[0]]
    others = [(_excess(moments, FINER)(c * m), _excess(moments)(c * m)) for c in (0.5, 2.0)]
    noise = FLAT * value + 2.0 * sum(abs(fine - rough) for fine, rough in [*others, (value, coarse)])
    free = m != 0.0 and all(abs(fine - value) <= noise for fine, _ in others)
    return _row(
        problem,
        "erm",
        overlaps=_overlaps(m, first, rest),
        excess=value,
        error=abs(value - coarse) + ROUND_OFF,
        attention=first,
        attention_error=sum(abs(other - first) for other in displaced),
        method="bounded minimisation",
        rtol=rtol,
        message="the risk does not depend on the length of k: one of many optima" if free else "",
        slack=None if free else PLACE,
    )


def _at_infinity(problem: Problem, moments: Elementwise | Normalised, rtol: float | None) -> Solution:
    """The limit of long keys, extrapolated from three lengths in geometric progression (Aitken)."""
    found = [moments(m) for m in (0.25 * LONGEST, 0.5 * LONGEST, LONGEST)]
    first = _aitken([one for one, _ in found])
    rest = _aitken([two for _, two in found])
    value, last = rest / (rest + first**2), found[-1][1] / (found[-1][1] + found[-1][0] ** 2)
    return _row(
        problem,
        "erm",
        overlaps=_overlaps(math.inf, first, rest),
        excess=value,
        error=abs(value - last),
        attention=first,
        attention_error=abs(first - found[-1][0]),
        method="extrapolation to long keys",
        rtol=rtol,
        message="the infimum is approached as k grows",
    )


def _aitken(values: list[float]) -> float:
    one, two, three = values
    curvature = (three - two) - (two - one)
    return three - (three - two) ** 2 / curvature if abs(curvature) > 1e-15 else three


def _overlaps(m: float, first: float, rest: float) -> Overlaps:
    r = first / (rest + first**2)
    return Overlaps(m, m * m, 0.0, r, r * r, 0.0)


def _row(
    problem: Problem,
    estimator: str,
    *,
    overlaps: Overlaps,
    excess: float,
    error: float,
    attention: float,
    attention_error: float,
    method: str,
    rtol: float | None,
    message: str = "",
    slack: float | None = 1e-9,
) -> Solution:
    rtol = DEFAULT_RTOL if rtol is None else rtol
    risk = problem.noise**2 + excess
    error += ROUND_OFF * excess
    is_erm = estimator == "erm"
    errors = {"test_risk": error}
    if slack is not None:
        errors["attention_relevant"] = attention_error + ROUND_OFF
    if is_erm:
        errors |= {"train_loss": 0.5 * error, "objective": 0.5 * error}
    if math.isfinite(overlaps.m_k) and slack is not None:
        for key, m in (("k", overlaps.m_k), ("v", overlaps.m_v)):
            errors |= {f"m_{key}": slack * (1.0 + abs(m)), f"q_{key}": 2.0 * slack * (1.0 + abs(m)) ** 2}
            errors[f"V_{key}"] = 0.0
    return Solution(
        problem=problem,
        estimator=estimator,
        status=Status.CONVERGED,
        message=message,
        overlaps=overlaps,
        conjugates=Conjugates(*(NAN,) * 6),
        test_risk=risk,
        train_loss=0.5 * risk if is_erm else NAN,
        objective=0.5 * risk if is_erm else NAN,
        attention_relevant=attention,
        errors=errors,
        init=("population",),
        accuracy_met=bool(error <= rtol * risk) if risk > 0 else True,
        prox_global=True if is_erm else None,
        rs_stable=True if is_erm else None,
        residual=0.0,
        iterations=0,
        method=method,
        nodes=0,
        rtol=rtol,
    )
