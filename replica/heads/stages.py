"""Specialisation as it is seen in a trajectory: when each feature emerges, and the stages between plateaus."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_PROMINENCE = np.log(3.0)  # a stage is three times faster than the plateaus beside it
_SMALLEST = 1e-3  # of the first risk: less is not a stage


@dataclass(frozen=True)
class Stage:
    """One descent between two plateaus: its fastest moment, its ends, the risk there, the feature that grew most."""

    tau: float
    begin: float
    end: float
    risk_before: float
    risk_after: float
    feature: int


def emergence_times(tau: np.ndarray, m: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
    """First time at which max_h |m_hf| reaches a target, for m of shape (T, H, F).

    By default, and where a target is nan, it is half of the last value, if that is more than twice where the feature
    started. Overlaps go on growing slowly after they emerge: to compare runs of different pace, give targets (F,). The
    time is interpolated between records; it is nan for a feature that does not get there, or starts beyond.
    """
    size = np.abs(m).max(axis=1)
    halves = np.where(size[-1] > 2 * size[0], size[-1] / 2, np.inf)
    goals = halves if targets is None else np.where(np.isnan(targets), halves, targets)
    times = np.full(m.shape[2], np.nan)
    for f, target in enumerate(goals):
        above = np.flatnonzero(size[:, f] >= target)
        if not len(above) or above[0] == 0:
            continue
        i = above[0]
        share = (target - size[i - 1, f]) / (size[i, f] - size[i - 1, f])
        times[f] = tau[i - 1] + share * (tau[i] - tau[i - 1])
    return times


def stages(tau: np.ndarray, risk: np.ndarray, m: np.ndarray) -> list[Stage]:
    """Peaks of -dR/dtau that stand out from the plateaus beside them, with what grew there.

    Parameters
    ----------
    tau, risk : ndarray (T,)
    m : ndarray (T, H, F)
    """
    from scipy.signal import find_peaks

    speed = np.maximum(-np.gradient(risk, tau), 0.0)
    floor = 1e-6 * risk[0] / (tau[-1] - tau[0])
    activity = np.log(speed + floor)
    # a descent that has begun at the first record, or goes on at the last, is a peak too
    padded = np.concatenate([[activity.min()], activity, [activity.min()]])
    peaks = find_peaks(padded, prominence=_PROMINENCE)[0] - 1
    if not len(peaks):
        return []
    valleys = [p + int(np.argmin(activity[p:n])) for p, n in pairwise(peaks)]
    edges = [0, *valleys, len(tau) - 1]
    found = []
    for peak, begin, end in zip(peaks, edges[:-1], edges[1:], strict=True):
        if risk[begin] - risk[end] < _SMALLEST * risk[0]:
            continue
        growth = np.abs(m[end]).max(axis=0) - np.abs(m[begin]).max(axis=0)
        found.append(
            Stage(
                float(tau[peak]),
                float(tau[begin]),
                float(tau[end]),
                float(risk[begin]),
                float(risk[end]),
                int(np.argmax(growth)) + 1,
            )
        )
    return found
