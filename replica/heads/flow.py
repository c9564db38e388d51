"""The closed equations of online SGD and of gradient flow, and their integration (theory-dynamics.md A).

    dm_hf/dtau  = -E sum_l rho_hl chi*_fl
    dr_hh'/dtau = -(g_c c^T + c g_c^T)_hh' + gamma E sum_l rho_hl rho_h'l,    c c^T = r = q - m m^T
    db_h/dtau   = +E sum_l rho_hl

With gamma = 0 this is dc/dtau = -g_c, plain gradient descent of R/2 in (m, c, b), and c is integrated instead of r.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import IntegrationError, InvalidProblem
from ..models.checks import check_solver, number
from .averages import Averages, check_nodes, mean_and_error, replicates
from .problem import LARGEST_NORM, LARGEST_RATE, HeadsProblem

_MOST_POINTS = 10**6
_SMALL = 1e-4  # overlaps at which the linear part of an odd velocity is all of it
_LARGE = 30.0  # overlaps that no feature reaches
_COARSER = 4  # times fewer nodes in the attempt that the first one is compared with
METHODS = ("LSODA", "BDF", "Radau", "RK45")


@dataclass(frozen=True)
class State:
    """Overlaps m (H, F), r = q - m m^T (H, H) and thresholds b (H,)."""

    m: np.ndarray
    r: np.ndarray
    b: np.ndarray

    @property
    def q(self) -> np.ndarray:
        """k_h.k_h'/D."""
        return self.m @ self.m.T + self.r


@dataclass(frozen=True)
class Trajectory:
    """Means over independent node sets at the times `tau`, with twice their standard errors and the bias they share.

    risk (T,), m (T, H, F), q (T, H, H), b (T, H); `accuracy_met` tells whether every risk_err is within the relative
    error that was asked for; `samples` is the number of nodes of each set.
    """

    problem: HeadsProblem
    rate: float
    tau: np.ndarray
    risk: np.ndarray
    m: np.ndarray
    q: np.ndarray
    b: np.ndarray
    risk_err: np.ndarray
    m_err: np.ndarray
    q_err: np.ndarray
    b_err: np.ndarray
    samples: int
    evaluations: int
    accuracy_met: bool


def random_start(problem: HeadsProblem, dimension: float, norm: float, seed: int, threshold: float = 0.0) -> State:
    """Overlaps of keys k_h ~ norm N(0, I_D): m_hf ~ norm N(0, 1)/sqrt(D), r = norm^2 I.

    Raises
    ------
    InvalidProblem
        If D < 1, norm < 0 or a threshold is given to softmax.
    """
    dimension = number("dimension", dimension, minimum=1.0, strict=False)
    norm = number("norm", norm, minimum=0.0, strict=False, maximum=LARGEST_NORM)
    threshold = number("threshold", threshold, minimum=-np.inf, strict=True)
    if threshold and problem.thresholds == "none":
        raise InvalidProblem(f"threshold = {threshold:g} has no meaning for softmax; allowed: threshold = 0")
    heads, features = problem.heads, problem.signal.features
    m = norm * np.random.default_rng(seed).standard_normal((heads, features)) / np.sqrt(dimension)
    return State(m, norm**2 * np.eye(heads), np.full(heads, threshold))


def square_root(r: np.ndarray) -> np.ndarray:
    """Symmetric c with c c^T = r; negative eigenvalues, which only rounding can make, are clipped."""
    values, vectors = np.linalg.eigh((r + r.T) / 2)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def velocity(
    averages: Averages, rate: float, m: np.ndarray, c: np.ndarray, b: np.ndarray, linear: Sequence[int] = ()
) -> tuple[np.ndarray, ...]:
    """dm/dtau, dc/dtau at rate 0 or else dr/dtau, db/dtau; `linear` as in `integrate`."""
    chosen = list(linear)
    size = np.abs(m[:, chosen]).max(axis=0)
    scale = np.ones(m.shape[1])
    scale[chosen] = np.where(size > 0, _SMALL / np.where(size > 0, size, 1.0), 1.0)
    g = averages(m * scale, c, b, noise=rate > 0)
    d_m = -g.m / scale
    d_m[:, chosen] /= 1 + (size / _LARGE) ** 2
    moving = averages.problem.thresholds == "train"
    d_b = -g.b if moving else np.zeros_like(b)
    if rate == 0:
        # the risk is even in c, its average over nodes only about so
        return d_m, -g.c if c.any() else np.zeros_like(c), d_b
    product = g.c @ c.T
    return d_m, -(product + product.T) + rate * g.noise, d_b


def time_grid(time: float, points: int, spacing: str) -> np.ndarray:
    """`points` times from 0 to `time`: evenly, or 0 and then evenly in log tau over four decades.

    Raises
    ------
    InvalidProblem
        If `time` is not positive and finite or there are fewer than three points or more than a million.
    """
    number("time", time, minimum=0.0, strict=True)
    if not 3 <= points <= _MOST_POINTS:
        reason = "few" if points < 3 else "many"
        raise InvalidProblem(f"points = {points} is too {reason}; allowed: points from 3 to {_MOST_POINTS}")
    if spacing == "linear":
        return np.linspace(0.0, time, points)
    return np.concatenate([[0.0], np.geomspace(time * 1e-4, time, points - 1)])


def integrate(
    problem: HeadsProblem,
    start: State,
    tau: np.ndarray,
    rate: float = 0.0,
    *,
    rtol: float = 1e-3,
    samples: int = 256,
    max_samples: int = 32768,
    count: int = 8,
    seed: int = 0,
    method: str = "LSODA",
    threads: int = 1,
    linear: Sequence[int] = (),
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Integrate from `start` over `tau`, raising the nodes until the error of the risk is within `rtol`.

    Parameters
    ----------
    problem, start
    tau : ndarray
        Increasing output times; the start is at tau[0].
    rate : float
        Learning rate gamma; 0 is gradient flow.
    rtol : float
        Relative error asked of the risk at every time.
    samples, max_samples : int
        Nodes of the first and of the last attempt, powers of two.
    count : int
        Independent node sets; each is integrated by itself. The error is their spread and, in quadrature, the change of
        their mean from fewer nodes, as far as a bias of order 1/N would cause it.
    method : str
        A method of scipy's solve_ivp.
    linear : sequence of int
        Features, counted from 0, whose overlaps follow the linear part of their equation, as if infinitesimal, and act
        on nothing else; their growth is damped far above one. The law of theta must allow their sign to be changed.
    progress : callable, optional
        Called with the share of the work that is done, within the current attempt.

    Returns
    -------
    Trajectory

    Raises
    ------
    InvalidProblem
        If a parameter is out of range.
    IntegrationError
        If the integrator gives up.
    """
    _check(problem, start, tau, rate, rtol, samples, max_samples, count, method)
    evaluations, before = 0, None
    level = samples // _COARSER
    while True:
        sets = replicates(problem, level, problem.heads, seed, count, threads, mirrored=True)
        runs = []
        for index, averages in enumerate(sets):
            report = None if progress is None else (lambda share, i=index: progress((i + share) / count))
            runs.append(_one(averages, start, tau, rate, rtol, method, linear, report))
        evaluations += sum(run[-1] for run in runs)
        means, errors = zip(
            *(mean_and_error(np.stack(values)) for values in zip(*(run[:-1] for run in runs), strict=True)),
            strict=True,
        )
        if before is None:
            before, level = (level, means), samples
            continue
        # what all sets share falls as 1/N, since each set follows the path that lowers its own risk: no spread shows it
        ratio = level / before[0]
        errors = [
            np.hypot(error, (mean - coarse) / (ratio - 1))
            for error, mean, coarse in zip(errors, means, before[1], strict=True)
        ]
        errors[0] += sets[0].floor
        excess = float(np.max(errors[0] / (rtol * means[0])))
        met = excess <= 1
        if met or level >= max_samples:
            return Trajectory(problem, rate, tau, *means, *errors, level, evaluations, met)
        # scrambled Sobol errors fall about as 1/N here: go to the level that should do, without those in between
        levels = np.clip(np.rint(np.log2(excess)), 1, np.log2(max_samples // level))
        before, level = (level, means), level * 2 ** int(levels)


def _one(averages, start, tau, rate, rtol, method, linear, report):
    from scipy.integrate import solve_ivp

    heads, features = start.m.shape
    cuts = np.cumsum([heads * features, heads * heads])
    root = square_root(start.r)

    def unpack(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        m, second, b = np.split(y, cuts)
        second = second.reshape(heads, heads)
        return m.reshape(heads, features), second if rate == 0 else square_root(second), b

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        if report is not None:
            report((t - tau[0]) / (tau[-1] - tau[0]))
        return np.concatenate([part.ravel() for part in velocity(averages, rate, *unpack(y), linear)])

    first = np.concatenate([start.m.ravel(), (root if rate == 0 else start.r).ravel(), start.b])
    relative = min(1e-5, rtol / 100)
    # overlaps that start at 1/sqrt(D) grow by as much: their error is small against where they start, if not at zero
    size = np.abs(start.m).max(axis=0)
    absolute = np.full(len(first), 1e-9)
    absolute[: cuts[0]] = np.tile(np.minimum(1e-9, np.where(size > 0, relative * size, 1e-9)), heads)
    steps = {"rtol": relative, "atol": absolute}
    result = solve_ivp(slope, (tau[0], tau[-1]), first, method=method, dense_output=True, **steps)
    if not result.success:
        raise IntegrationError(f"the integrator {method} failed: {result.message}")
    states = [unpack(y) for y in result.sol(tau).T]
    m, c, b = (np.stack(parts) for parts in zip(*states, strict=True))
    risk = _risk(lambda t: averages(*unpack(result.sol(t))).risk, result.t, tau, rtol)
    return risk, m, m @ m.transpose(0, 2, 1) + c @ c.transpose(0, 2, 1), b, result.nfev


def _risk(at: Callable[[float], float], knots: np.ndarray, tau: np.ndarray, rtol: float) -> np.ndarray:
    """The risk at the times tau, from few averages: between the solver's steps it is as smooth as the solution."""
    from scipy.interpolate import CubicSpline

    known: dict[float, float] = {}
    while len(knots) < len(tau):
        known |= {t: at(t) for t in knots if t not in known}
        risk = np.array([known[t] for t in knots])
        coarse = np.append(knots[:-1:2], knots[-1])
        # a spline of fourth order on all knots is about sixteen times better than one on every other
        gap = np.abs(CubicSpline(coarse, [known[t] for t in coarse])(knots) - risk) / 16
        if np.all(gap < 0.01 * rtol * risk):
            return CubicSpline(knots, risk)(tau)
        knots = np.sort(np.concatenate([knots, (knots[1:] + knots[:-1]) / 2]))
    return np.array([at(t) for t in tau])


def _check(problem, start, tau, rate, rtol, samples, max_samples, count, method) -> None:
    number("rate", rate, minimum=0.0, strict=False, maximum=LARGEST_RATE)
    check_solver(rtol)
    check_nodes("samples", samples, problem, problem.heads)
    check_nodes("max_samples", max_samples, problem, problem.heads, samples)
    if count < 2:
        raise InvalidProblem(f"count = {count} gives no error estimate; allowed: count >= 2")
    if method not in METHODS:
        raise InvalidProblem(f"method = {method!r} is unknown; allowed: {', '.join(METHODS)}")
    if len(tau) < 2 or not np.all(np.diff(tau) > 0) or not np.isfinite(tau).all():
        raise InvalidProblem("tau is not an increasing list of at least two finite times")
    shape = (problem.heads, problem.signal.features)
    if start.m.shape != shape or start.r.shape != (problem.heads,) * 2 or start.b.shape != (problem.heads,):
        raise InvalidProblem(f"the start has m of shape {start.m.shape}; allowed: {shape}, r (H, H) and b (H,)")
    if np.linalg.eigvalsh(start.r).min() < -1e-9 * max(1.0, np.abs(start.r).max()):
        raise InvalidProblem("the start has r = q - m m^T with a negative eigenvalue; allowed: q >= m m^T")
