"""The tables behind the pictures: staged specialisation, emergence times, activations compared, pruning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .bayes import bayes_risk
from .emergence import emergence as emergence_rows
from .flow import integrate, random_start, time_grid
from .optimum import optimum
from .problem import ACTIVATIONS, HeadsProblem
from .prune import prune
from .signals import Discrete, Gaussian, flipped
from .table import EMERGENCE, PRUNING, SPECIALISATION, complete, optimum_row

STRENGTHS = (48.0, 30.0, 19.0, 12.0)  # of the spikes along features 1, 2, ..
LENGTH = 4
Rows = list[dict[str, Any]]
Progress = Callable[[float], None] | None


def specialisation(time: float = 300.0, rtol: float = 1e-2, seed: int = 0, progress: Progress = None) -> Rows:
    """Gradient flow of bayes-softmax with 2 F heads on F = 2, 3, 4 flipped spikes: risk and largest overlaps."""
    rows: Rows = []
    counts = (2, 3, 4)
    for index, features in enumerate(counts):
        problem = HeadsProblem(_spikes(STRENGTHS[:features]), "bayes-softmax", 2 * features, LENGTH)
        start = random_start(problem, 1e6, 0.1, seed)
        options = {"rtol": rtol, "samples": 1024, "max_samples": 1024, "count": 4, "seed": seed}
        found = integrate(problem, start, time_grid(time, 200, "log"), **options)
        bayes, bayes_err = bayes_risk(problem)
        for i, tau in enumerate(found.tau):
            row = {"tau": float(tau), "risk": float(found.risk[i]), "risk_err": float(found.risk_err[i])}
            tops = np.abs(found.m[i]).max(axis=0)
            row |= {f"top_{f}": float(top) for f, top in enumerate(tops, start=1)}
            rows += complete([row], SPECIALISATION, problem, bayes_risk=bayes, bayes_risk_err=bayes_err, seed=seed)
        if progress is not None:
            progress((index + 1) / len(counts))
    return rows


def _spikes(strengths: Sequence[float]) -> Discrete:
    """Theta = +-sqrt(nu_f) e_f, feature and sign uniform."""
    points = []
    for f, nu in enumerate(strengths):
        spike = [0.0] * len(strengths)
        spike[f] = nu**0.5
        points += [tuple(spike), tuple(-x for x in spike)]
    label = "flipped, nu = " + ", ".join(f"{nu:g}" for nu in strengths)
    return Discrete((1.0 / len(points),) * len(points), tuple(points), label)


def emergence(
    dimensions: Sequence[int] = (100, 300, 900),
    far: Sequence[int] = (10**4, 10**6, 10**8),
    seeds: int = 12,
    seed: int = 0,
    progress: Progress = None,
) -> Rows:
    """Emergence times of two Gaussian features in four heads of softmax-1, at a learning rate of 1/2."""
    problem, rate, norm = HeadsProblem(Gaussian((24.0, 12.0)), "softmax-1", 4, LENGTH), 0.5, 0.1
    tau = time_grid(60.0, 241, "linear")
    rows = emergence_rows(
        problem, dimensions, rate, tau, seeds, far=far, norm=norm, level=0.2, seed=seed, progress=progress
    )
    return complete(rows, EMERGENCE, problem, sgd_rate=rate, norm=norm, level=0.2, seeds=seeds, seed=seed)


def activations(
    strengths: Sequence[float] = (4.0, 8.0, 16.0, 32.0),
    heads: Sequence[int] = (1, 2, 4),
    samples: int = 2048,
    seed: int = 0,
    progress: Progress = None,
) -> Rows:
    """Least risks of the three activations on one flipped spike, with columns nu and those of an optimum."""
    cells = [(nu, name, count) for nu in strengths for name in ACTIVATIONS for count in heads]
    rows: Rows = []
    found = None
    for index, (nu, name, count) in enumerate(cells):
        problem = HeadsProblem(flipped(nu), name, count, LENGTH)
        # counts ascend within an activation: each search starts from the one before
        found = optimum(problem, samples, starts=4, seed=seed, smaller=found if count > heads[0] else None)
        rows.append({"nu": nu, **optimum_row(found, bayes_risk(problem), seed)})
        if progress is not None:
            progress((index + 1) / len(cells))
    return rows


def pruning(
    heads: Sequence[int] = (2, 4, 8, 16),
    nu: float = 16.0,
    samples: int = 1024,
    seed: int = 0,
    progress: Progress = None,
) -> Rows:
    """Pruning curves of the three activations on two flipped spikes, four points of support."""
    cells = [(name, count) for name in ACTIVATIONS for count in heads]
    rows: Rows = []
    found = None
    for index, (name, count) in enumerate(cells):
        problem = HeadsProblem(flipped(nu, 2), name, count, LENGTH)
        found = optimum(problem, samples, starts=4, seed=seed, smaller=found if count > heads[0] else None)
        bayes = dict(zip(("bayes_risk", "bayes_risk_err"), bayes_risk(problem), strict=True))
        for retrain in (False, True):
            curve = prune(found, retrain=retrain, seed=seed)
            rows += complete(curve, PRUNING, problem, nodes=samples, seed=seed, **bayes)
        if progress is not None:
            progress((index + 1) / len(cells))
    return rows
