"""Least asymptotic risk of an activation over overlaps m, noise directions c and thresholds b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InvalidProblem
from .averages import Averages, build_averages, check_nodes, mean_and_error, replicates
from .flow import State
from .problem import HeadsProblem
from .signals import Discrete

_RANK = 1  # noise directions that the search may use, if noise in the fields helps at all
_KEPT = 2  # starts that are refined on all nodes, beside the one from fewer heads
_STATIONARY = 1e-4  # largest derivative of R/2 where a search may end, in units of the risk
_SMALLEST = 1e-3  # risk below which searches stop for lack of digits
_OFF = 60.0  # thresholds above those of other heads at which a head of softmax-1 is as good as absent
_CHOOSING = 2  # independent node sets that choose between candidates
_RARE = 3.0  # expected number of an event that is not seen with probability 5 %
_FRESH = 8  # independent node sets that measure the risk of what was found


@dataclass(frozen=True)
class Optimum:
    """The best state found.

    risk is measured on node sets that neither the search nor the choice has seen: unbiased for this state, hence an
    upper bound of the infimum up to risk_err, two standard errors. `slack` is risk minus the least risk on the nodes
    of the search, which is biased low: the infimum is not expected below risk - slack. `spread` is the difference
    between the two best starts on the nodes of the search: whether they agree. `used` is the largest eigenvalue of r.
    `gradient` is the largest derivative of R/2 where the best search ended, on its nodes.
    """

    problem: HeadsProblem
    state: State
    risk: float
    risk_err: float
    slack: float
    spread: float
    used: float
    gradient: float
    starts: int
    samples: int

    @property
    def converged(self) -> bool:
        """Whether the best search ended at a stationary point: no derivative is above 1e-4 of the risk, and 1e-7."""
        return self.gradient <= _STATIONARY * max(self.risk, _SMALLEST)


def optimum(
    problem: HeadsProblem,
    samples: int = 4096,
    starts: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    smaller: Optimum | None = None,
) -> Optimum:
    """Minimise the risk from several starts.

    One start has a head at each point of the law of theta (or at +-sqrt(nu_f) e_f) with the thresholds of the
    posterior; one the heads of the optimum with fewer, repeated or with absent ones added; the others heads at draws of
    theta, stretched by a random factor.

    More heads are never worse than fewer where heads can be added without changing the attention: with thresholds that
    are trained, or, of a mean over heads, to a multiple of as many. With fixed thresholds a sum over more heads may be
    worse, and so may a mean over five heads than one over two.

    Parameters
    ----------
    samples : int
        Nodes of the search, a power of two.
    starts : int
        Number of starts, all tried on a quarter of the nodes; the first, at the points of the law, and the best of the
        others are refined on all.
    smaller : Optimum, optional
        An optimum with fewer heads; by default that with half as many is searched for first.

    Raises
    ------
    InvalidProblem
        If samples is not a power of two or too large for memory, or starts < 2.
    """
    check_nodes("samples", samples, problem, _RANK)
    if starts < _KEPT:
        raise InvalidProblem(f"starts = {starts} cannot be compared; allowed: starts >= {_KEPT}")
    if smaller is None and problem.heads > 1:
        smaller = optimum(with_heads(problem, problem.heads // 2), samples, starts, seed)
    rng = np.random.default_rng([seed, 1])
    screen = build_averages(problem, max(samples // 4, 16), _RANK, seed)
    placed = (*_placed(problem), np.zeros((problem.heads, _RANK)))
    screened = []
    for index in range(starts):
        m, b, c = placed if index == 0 else (*_drawn(problem, rng), placed[2])
        screened.append(descend(screen, m, b, c + 0.1 * rng.standard_normal(c.shape), iterations=60))
        if progress is not None:
            progress((index + 1) / (starts + 8 * _KEPT))
    kept = [screened[0], *sorted(screened[1:], key=lambda result: result[0])[: _KEPT - 1]]
    # the posterior's own parameters, and those of fewer heads, are candidates as they are
    candidates = [placed]
    if smaller is not None:
        candidates.append(_extended(problem, smaller.state, _OFF))
        m, b, c = _extended(problem, smaller.state, 8.0)  # not so far off that nothing pulls a head back
        m, c = (part + 0.1 * rng.standard_normal(part.shape) for part in (m, c))
        kept.append((np.inf, m, b, c))
    nodes = build_averages(problem, samples, _RANK, seed + 1)
    refined = []
    for index, (_, *start) in enumerate(kept):
        refined.append(descend(nodes, *start, iterations=600))
        if progress is not None:
            progress((starts + 8 * (index + 1)) / (starts + 8 * len(kept)))
    refined.sort(key=lambda result: result[0])
    g = nodes(*(refined[0][i] for i in (1, 3, 2)))
    parts = (g.m, g.c, g.b) if problem.thresholds == "train" else (g.m, g.c)
    gradient = max(float(np.abs(part).max()) for part in parts)
    # few rare nodes decide a small risk, and a search can fit them: the choice is made on others
    candidates += [tuple(state) for _, *state in refined]
    m, b, c = min(candidates, key=lambda state: choosing_risk(problem, *state, samples, seed))
    risk, error = fresh_risk(problem, m, b, c, samples, [seed, 3])
    return Optimum(
        problem,
        State(m, c @ c.T, b),
        risk,
        error,
        risk - refined[0][0],
        refined[1][0] - refined[0][0],
        float((c**2).sum()),
        gradient,
        starts,
        samples,
    )


def descend(
    averages: Averages, m: np.ndarray, b: np.ndarray, c: np.ndarray, iterations: int
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """L-BFGS on the nodes of `averages` from (m, b, c); returns the risk and (m, b, c) where it ends.

    It may end at the last iteration, or where rounding hides what is left to gain: look at the gradient there.
    """
    from scipy.optimize import minimize

    problem = averages.problem
    cuts = np.cumsum([m.size, c.size])
    moving = problem.thresholds == "train"

    def unpack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts = np.split(x, cuts)
        return parts[0].reshape(m.shape), parts[1].reshape(c.shape), parts[2] if moving else b

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        g = averages(*unpack(x))
        return g.risk / 2, np.concatenate([g.m.ravel(), g.c.ravel(), g.b if moving else []])

    first = np.concatenate([m.ravel(), c.ravel(), b if moving else []])
    # the risk may be 1e-4 with its digits still to come: stop on tiny relative progress only
    options = {"maxiter": iterations, "ftol": 1e-13, "gtol": 1e-9, "maxcor": 20}
    best = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    new_m, new_c, new_b = unpack(best.x)
    return 2 * float(best.fun), new_m, new_b, new_c


def fresh_risk(
    problem: HeadsProblem,
    m: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    samples: int,
    seed: list[int],
    count: int = _FRESH,
) -> tuple[float, float]:
    """Risk of a state on `count` node sets of their own, and two standard errors.

    Where nodes are random the error is at least 3 over their number: events that are rarer may all have been missed.
    """
    stream = int(np.random.SeedSequence(seed).generate_state(1)[0])
    sets = replicates(problem, samples, c.shape[1], stream, count)
    risk, error = mean_and_error(np.array([nodes(m, c, b).risk for nodes in sets]))
    draws = sum(nodes.draws for nodes in sets)
    return float(risk), max(float(error) + sets[0].floor, _RARE / draws if draws else 0.0)


def choosing_risk(problem: HeadsProblem, m: np.ndarray, b: np.ndarray, c: np.ndarray, samples: int, seed: int) -> float:
    """Risk of a state on the nodes that choose between candidates, apart from those that search and that measure."""
    return fresh_risk(problem, m, b, c, samples, [seed, 2], _CHOOSING)[0]


def _placed(problem: HeadsProblem) -> tuple[np.ndarray, np.ndarray]:
    """Heads at the points of the law in turn; thresholds |m_h|^2/2 - log P of the posterior."""
    signal = problem.signal
    if isinstance(signal, Discrete):
        points, weights = np.array(signal.points), np.array(signal.weights)
    else:
        mean, covariance = signal.moments()
        axes = np.sqrt(np.diag(covariance))[:, None] * np.eye(signal.features)
        points = mean + np.concatenate([axes, -axes])
        weights = np.full(len(points), 1.0 / len(points))
    if problem.activation == "softmax-1" and problem.heads > len(points) and problem.thresholds == "train":
        # heads add up: a second head at a point would attend twice, so spare heads start switched off
        spare = problem.heads - len(points)
        b = (points**2).sum(axis=1) / 2 - np.log(weights)
        return np.pad(points, ((0, spare), (0, 0))), np.pad(b, (0, spare), constant_values=b.max() + 8.0)
    order = np.arange(problem.heads) % len(points)
    shared = np.bincount(order, minlength=len(points))[order]  # heads at one point share its weight
    m = points[order]
    return m, _thresholds(problem, (m**2).sum(axis=1) / 2 - np.log(weights[order] / shared))


def _extended(problem: HeadsProblem, state: State, off: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The heads of `state`, fewer, as those of `problem`: with the same attention where it can be."""
    fewer = len(state.b)
    order = np.arange(problem.heads) % fewer
    m, b, c = state.m[order], state.b[order], leading_direction(state.r)[order]
    if problem.activation == "bayes-softmax":
        return m, _thresholds(problem, b + np.log(np.bincount(order))[order]), c
    if problem.activation == "softmax-1" and problem.weight == "sum":
        b[fewer:] = b[:fewer].max() + off
    return m, _thresholds(problem, b), c


def leading_direction(r: np.ndarray) -> np.ndarray:
    """The leading column of c with c c^T = r; searches use one noise direction, so that r has rank one."""
    values, vectors = np.linalg.eigh((r + r.T) / 2)
    return vectors[:, -1:] * np.sqrt(max(values[-1], 0.0))


def _drawn(problem: HeadsProblem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    m = rng.uniform(0.3, 1.5) * problem.signal.sample(rng, problem.heads)
    m = m + 0.3 * rng.standard_normal(m.shape)
    return m, _thresholds(problem, (m**2).sum(axis=1) / 2 + np.log(problem.heads))


def _thresholds(problem: HeadsProblem, values: np.ndarray) -> np.ndarray:
    return values if problem.thresholds == "train" else np.zeros(problem.heads)


def with_heads(problem: HeadsProblem, heads: int) -> HeadsProblem:
    """The same problem with another number of heads; a mean over heads is over those that are left."""
    return replace(problem, heads=heads)
