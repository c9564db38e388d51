"""The Bayes risk 1 - E p_eps by one-dimensional integrals, apart from the averages that the flow uses.

With phi(s) = E_0 exp(-s Lambda), E_0 over a pure-noise token, and psi(s) = E_1 Lambda exp(-s Lambda), E_1 over the
informative token,

    E p_eps = E Lambda_1/(Lambda_1 + .. + Lambda_L) = int_0^inf psi(s) phi(s)^{L-1} ds.

As int_0^inf psi(s) ds = 1 the risk is the integral with 1 - phi^{L-1}, whose digits survive however small it is and
which vanishes for s below the inverse of every noise token's Lambda.
"""

from __future__ import annotations

import numpy as np

from .averages import mean_and_error
from .problem import HeadsProblem
from .signals import Signal

_STEP = 0.25  # of log s: the trapezoidal rule converges geometrically on this smooth, doubly decaying integrand
_SETS = 8


def bayes_risk(problem: HeadsProblem, samples: int = 4096, seed: int = 0) -> tuple[float, float]:
    """Bayes risk of the signal law and the length of `problem`, and an error estimate (two standard errors).

    Parameters
    ----------
    samples : int
        Scrambled Sobol points in the F dimensions of a token, a power of two, for each of eight independent sets.
    """
    signal, length = problem.signal, problem.length
    seeds = np.random.SeedSequence(seed).generate_state(_SETS)
    values = np.array([_miss(signal, length, samples, int(one)) for one in seeds])
    mean, error = mean_and_error(values)
    return float(mean), float(error)


def _miss(signal: Signal, length: int, samples: int, seed: int) -> float:
    from scipy.special import ndtri
    from scipy.stats import qmc

    features = signal.features
    points = qmc.Sobol(2 * features + signal.uniforms, rng=np.random.default_rng(seed)).random(samples)
    np.clip(points, 2.0**-40, 1 - 2.0**-40, out=points)
    noise = ndtri(points[:, :features])
    token = ndtri(points[:, features : 2 * features]) + signal.transform(points[:, 2 * features :])
    log_noise, log_token = signal.log_ratio(noise), signal.log_ratio(token)
    # outside these ends of t = log s the integrand is below e^-30 (L - 1), or below exp(-e^4)
    low, high = -log_noise.max() - 30.0, -log_token.min() + 4.0
    total = 0.0
    for t in np.arange(low, high, _STEP):
        with np.errstate(over="ignore", divide="ignore"):
            reached = -np.expm1(-np.exp(t + log_noise)).mean()
            psi = np.exp(t + log_token - np.exp(t + log_token)).mean()
            total -= psi * np.expm1((length - 1) * np.log1p(-reached))
    return total * _STEP
