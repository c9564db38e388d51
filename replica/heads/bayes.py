"""The Bayes risk 1 - E p_eps by importance sampling towards confusions, apart from the averages that the flow uses.

With phi(s) = E_0 exp(-s Lambda), E_0 over a pure-noise token, and E_1 over the informative one,
chi(s) = E_1 exp(-s Lambda) = -phi'(s) and

    E p_eps = E Lambda_1/(Lambda_1 + .. + Lambda_L) = int_0^inf phi''(s) phi(s)^{L-1} ds,

by parts

    R = (L - 1) int_0^inf chi(s)^2 phi(s)^{L-2} ds.

Nothing cancels, so R keeps its digits however small it is. Confusions are rare at strong signals: an informative token
that looks like noise, or the reverse, lies between the two laws. So nodes are drawn from a mixture of laws on the way
from one to the other, and weighted by the ratio of densities.
"""

from __future__ import annotations

import numpy as np

from .averages import mean_and_error
from .problem import HeadsProblem
from .signals import Signal

_STEP = 0.5  # of log s: the trapezoidal rule has an error of exp(-pi^2/step), 3e-9 of the risk
_SETS = 8
_MOST_LAWS = 64
_PER_NODE, _MOST = 64, 2**20
_BUDGET = 2**22  # nodes times features times laws of a set
_CHUNK = 2**14  # nodes at a time, for memory
_FLOOR = 1e-8  # relative: the step and the ends of the integral
_TINIEST = 1e-300  # absolute: below, numbers underflow
_LARGEST = 691.0  # of |log s|: its exponential is 1/_TINIEST
# exp(-exp(u)) is 1 - exp(u) below these ends, and 0 above
_ONE, _ZERO = -20.0, 7.0


def bayes_risk(problem: HeadsProblem, samples: int | None = None, seed: int = 0) -> tuple[float, float]:
    """Bayes risk of the signal law and the length of `problem`, and an error estimate (two standard errors).

    The error holds a relative 1e-8 of the integral over s, and an absolute 1e-300 below which numbers underflow.

    Parameters
    ----------
    samples : int, optional
        Scrambled Sobol points in the F dimensions of a token, a power of two, for each of eight independent sets; by
        default 65536, and down to 4096 with many features and strong signals, where each costs more.
    """
    signal, length = problem.signal, problem.length
    # neighbours are about one standard deviation apart; a power of two of laws shares the nodes evenly
    most = _MOST_LAWS if samples is None else min(_MOST_LAWS, samples // 2)
    count = 2 ** int(np.ceil(np.log2(min(1.0 + signal.distance, most))))
    laws = [signal.partway(share) for share in np.linspace(0.0, 1.0, count)] if count > 1 else [signal]
    if samples is None:
        dear = signal.features * count
        samples = 2 ** int(np.log2(np.clip(_BUDGET / dear, 4096, 65536)))
    seeds = np.random.SeedSequence(seed).generate_state(_SETS)
    values = np.array([_miss(signal, laws, length, samples, int(one)) for one in seeds])
    mean, error = mean_and_error(values)
    return float(mean), float(error + _FLOOR * mean + _TINIEST)


def beside(samples: int) -> int:
    """The points to take beside a search on `samples` nodes: they are cheaper, and the Bayes risk should be sharper."""
    return min(_PER_NODE * samples, _MOST)


def _nodes(signal: Signal, laws: list[Signal], samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log Lambda of every node, increasing; its weights for the informative and for another token, each of sum 1."""
    from scipy.special import logsumexp, ndtri
    from scipy.stats import qmc

    count = len(laws)
    features, rng = signal.features, np.random.default_rng(seed)
    parts = []
    for law in laws:
        points = qmc.Sobol(features + law.uniforms, rng=rng).random(samples // count)
        np.clip(points, 2.0**-40, 1 - 2.0**-40, out=points)
        parts.append(ndtri(points[:, :features]) + law.transform(points[:, features:]))
    nodes = np.concatenate(parts)
    chunks = [nodes[i : i + _CHUNK] for i in range(0, len(nodes), _CHUNK)]
    mixture = np.concatenate([logsumexp([law.log_ratio(x) for law in laws], axis=0) for x in chunks]) - np.log(count)
    log_ratio = np.concatenate([signal.log_ratio(x) for x in chunks])
    order = np.argsort(log_ratio)
    logs = np.stack([log_ratio - mixture, -mixture])[:, order]
    weights = np.exp(logs)
    return log_ratio[order], *(weights / weights.sum(axis=1, keepdims=True))


def _miss(signal: Signal, laws: list[Signal], length: int, samples: int, seed: int) -> float:
    log_ratio, token, noise = _nodes(signal, laws, samples, seed)
    ends = np.concatenate([np.zeros((2, 1)), np.cumsum([token, noise], axis=1)], axis=1)
    total = 0.0
    # outside these ends the integrand in log s is below exp(-30) of what it is there, or below 1/s as chi is
    for t in np.arange(max(-log_ratio[-1] - 30.0, -_LARGEST), min(-log_ratio[0] + _ZERO, _LARGEST), _STEP):
        first, last = np.searchsorted(log_ratio, (_ONE - t, _ZERO - t))
        power = np.exp(t + log_ratio[first:last])
        chi = ends[0, first] + token[first:last] @ np.exp(-power)
        # 1 - phi; a noise token's weight times Lambda is the informative token's
        reached = ends[1, -1] - ends[1, last] - noise[first:last] @ np.expm1(-power) + np.exp(t) * ends[0, first]
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.exp((length - 2) * np.log1p(-min(reached, 1.0))) if length > 2 else 1.0
        total += np.exp(t) * chi**2 * rest
    return (length - 1) * total * _STEP
