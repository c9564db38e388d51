"""Data sets drawn from a problem at finite dimension (theory.md section 1)."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidProblem
from ..models.problem import Problem

MIN_DIMENSION = 10
_BLOCK = 1 << 18  # token entries handled at once: 2 MB in float64, about a core's cache
_STREAMS = ("teacher", "data", "start", "test")


@dataclass(frozen=True)
class Group:
    """The samples of one length L.

    Attributes
    ----------
    tokens : float32 or float64 ndarray, shape (n, L, D)
    position : int ndarray, shape (n,)
        Hidden position eps, counted from 0.
    label : float64 ndarray, shape (n,)
    """

    tokens: np.ndarray
    position: np.ndarray
    label: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """N = round(alpha D) samples and the hidden directions that produced them.

    Attributes
    ----------
    problem : Problem
    seed : int
    key, value : ndarray, shape (D,)
        k* and v*, orthogonal, norm sqrt(D).
    groups : tuple of Group
        Samples by length; the order of samples has no meaning.
    """

    problem: Problem
    seed: int
    key: np.ndarray
    value: np.ndarray
    groups: tuple[Group, ...]

    @property
    def dimension(self) -> int:
        """D."""
        return len(self.key)

    @property
    def samples(self) -> int:
        """N."""
        return sum(len(group.label) for group in self.groups)


def generator(seed: int, dimension: int, stream: str, index: int = 0) -> np.random.Generator:
    """The random generator of one purpose: a function of the arguments alone, independent across them.

    Parameters
    ----------
    seed, dimension : int
    stream : {"teacher", "data", "start", "test"}
    index : int
        Which of several of the same purpose.
    """
    key = (seed, dimension, _STREAMS.index(stream), *([index] if index else []))
    return np.random.default_rng(np.random.SeedSequence(key))


def sample_count(problem: Problem, dimension: int) -> int:
    """N = round(alpha D).

    Raises
    ------
    InvalidProblem
        If D < 10, alpha is infinite, a penalty is "optimal", no sample is left, or the tokens would not fit in this
        machine's memory.
    """
    if not isinstance(dimension, int) or dimension < MIN_DIMENSION:
        raise InvalidProblem(
            f"d = {dimension!r} is too small for an experiment; allowed: an integer >= {MIN_DIMENSION}"
        )
    if problem.is_population:
        raise InvalidProblem("alpha = inf has no finite data set; an experiment needs a finite alpha")
    if problem.unknowns:
        raise InvalidProblem(f"{problem.unknowns[0]} = optimal has no value in an experiment; allowed: a number")
    samples = round(problem.alpha * dimension)
    if samples < 1:
        raise InvalidProblem(f"alpha = {problem.alpha:g} leaves no sample at d = {dimension}; use alpha d >= 1")
    needed = 4 * samples * dimension * math.fsum(length * weight for length, weight in problem.length)
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.8 * installed:
        raise InvalidProblem(
            f"d = {dimension} needs {needed / 2**30:.3g} GB for the tokens and this machine has "
            f"{installed / 2**30:.3g} GB; use a smaller d or alpha"
        )
    return samples


def draw(problem: Problem, dimension: int, seed: int, dtype: type = np.float32) -> Dataset:
    """Draw k*, v* and N = round(alpha D) samples.

    Tokens are drawn as pure noise and shifted along k* at the hidden position, as the data model says. Labels are
    computed in float64 from the tokens as stored: float32 storage (half the memory) adds no label noise, it is a
    data set of normals rounded to 24 bits.

    Parameters
    ----------
    problem : Problem
        With finite alpha.
    dimension : int
        D >= 10.
    seed : int
        The data set is a function of (problem, dimension, seed).
    dtype : float32 or float64
        Storage of the tokens.

    Raises
    ------
    InvalidProblem
        See `sample_count`; also if the data model has no sampler.
    """
    samples = sample_count(problem, dimension)
    teacher = generator(seed, dimension, "teacher").standard_normal((dimension, 2))
    key, value = math.sqrt(dimension) * np.linalg.qr(teacher)[0].T
    rng = generator(seed, dimension, "data")
    counts = rng.multinomial(samples, problem.length.weights)
    groups = tuple(
        _group(problem, np.stack([key, value]), int(count), length, rng, dtype)
        for length, count in zip(problem.length.support, counts, strict=True)
        if count
    )
    return Dataset(problem, seed, key, value, groups)


def _group(
    problem: Problem, directions: np.ndarray, count: int, length: int, rng: np.random.Generator, dtype: type
) -> Group:
    dimension = directions.shape[1]
    tokens = np.empty((count, length, dimension), dtype)
    position, label = np.empty(count, np.intp), np.empty(count)
    scale = 1.0 / math.sqrt(dimension)
    for start, stop in blocks(count, length * dimension):
        block, rows = tokens[start:stop], np.arange(stop - start)
        rng.standard_normal(out=block, dtype=dtype)
        position[start:stop], shift = problem.data.sample_position(rng, (block @ directions[0]) * scale)
        chosen = position[start:stop]
        if shift.any():
            block[rows, chosen] += (shift[:, None] * scale) * directions[0]
        label[start:stop] = (block[rows, chosen] @ directions[1]) * scale
    label += problem.noise * rng.standard_normal(count)
    return Group(tokens, position, label)


def blocks(count: int, row: int) -> list[tuple[int, int]]:
    """Cut `count` rows of `row` entries into ranges of about 2^18 entries, at least one row each."""
    step = max(1, _BLOCK // row)
    return [(start, min(start + step, count)) for start in range(0, count, step)]
