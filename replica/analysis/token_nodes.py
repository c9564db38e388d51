"""Nodes of the token channel: fixed fields by token, from scrambled Sobol points (theory.md section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..models.problem import Problem
from ..quadrature.sobol import scrambled_sobol

# log2 of the most teacher scores drawn for one scramble where only their sums matter
MAX_SCORES = 21


@dataclass(frozen=True)
class TokenNodes:
    """Arrays of `replica/kernels/tokens.py`, n nodes and K columns (tokens, or directions in token space).

    Attributes
    ----------
    star, eta, zeta : ndarray, shape (n, K)
        Teacher scores, and standard normal key and value noise.
    scalars : ndarray, shape (n, 3)
        Projection on the teacher's value field, standard normal label noise, weight.
    shift, read : ndarray, shape (K,)
        Added to the key fields; sigma_1 = read . sigma.
    """

    star: np.ndarray
    eta: np.ndarray
    zeta: np.ndarray
    scalars: np.ndarray
    shift: np.ndarray
    read: np.ndarray


def token_nodes(problem: Problem, length: int, log2_count: int, seed: tuple[int, ...], *, affine: bool) -> TokenNodes:
    """One scramble of nodes for `length` tokens."""
    make = _directions if affine else _tokens
    return make(problem, length, log2_count, seed)


def _tokens(problem: Problem, length: int, log2_count: int, seed: tuple[int, ...]) -> TokenNodes:
    """All tokens. Activations of fixed sum see the differences of the value fields only: these are then centred."""
    from scipy.special import ndtri

    fixed_sum = problem.activation.combination != "elementwise"
    n_values = length - 1 if fixed_sum else length
    n_noise = 1 + n_values + length
    points = scrambled_sobol(n_noise + problem.data.score_points(length), log2_count, seed)
    noise = ndtri(points[:, :n_noise])
    star, weight = problem.data.teacher_scores(points[:, n_noise:], length)
    basis = token_basis(length)
    # the first Sobol coordinates are the most even: they go to what matters most, the hidden token against the others
    order = np.argsort(np.concatenate([[0], 1 + 2 * np.arange(n_values), 2 + 2 * np.arange(length)]), kind="stable")
    columns = np.empty_like(noise)
    columns[:, order] = noise
    x_R, values, keys = columns[:, 0], columns[:, 1 : 1 + n_values], columns[:, 1 + n_values :]
    zeta, eta = values @ basis[:n_values], keys @ basis
    return TokenNodes(
        star,
        eta,
        zeta,
        np.column_stack([zeta[:, 0], x_R, weight]),
        shift=np.full(length, problem.activation.location),
        read=np.eye(1, length)[0],
    )


def token_basis(length: int) -> np.ndarray:
    """Orthonormal rows: token 1 against the others, contrasts among the others (Helmert), and last the common mean."""
    basis = np.zeros((length, length))
    for row in range(length - 1):
        below = length - row - 1
        basis[row, row] = math.sqrt(below / (below + 1))
        basis[row, row + 1 :] = -1.0 / math.sqrt(below * (below + 1))
    basis[-1] = 1.0 / math.sqrt(length)
    return basis


def _directions(problem: Problem, length: int, log2_count: int, seed: tuple[int, ...]) -> TokenNodes:
    """Linear attention: a basis of token space whose first vectors span e_1, the ones and the teacher scores, and two
    directions more for the Gram matrix of what is left of (eta, zeta): Bartlett's (chi_p, 0), (normal, chi_{p-1}).

    Centred: ones/sqrt(L) comes first, with no key field and (as fields of fixed sum are centred) no value field.
    """
    from scipy.special import gammaincinv, ndtri

    centred = problem.activation.combination == "centred"
    first = int(centred)
    special = min(length, 3) - first
    left = length - first - special
    points = scrambled_sobol(1 + 2 * special + 3, log2_count, seed)
    normals, u = ndtri(points[:, : 1 + 2 * special]), points[:, 1 + 2 * special :]
    columns = first + special + min(left, 2)
    eta, zeta = np.zeros((len(points), columns)), np.zeros((len(points), columns))
    zeta[:, first : first + special] = normals[:, 1::2]
    eta[:, first : first + special] = normals[:, 2::2]

    def radius(column: int, dimension: int) -> np.ndarray:
        return np.sqrt(2.0 * gammaincinv(dimension / 2.0, u[:, column]))

    if left == 1:
        eta[:, -1], zeta[:, -1] = ndtri(u[:, 0]), ndtri(u[:, 1])
    elif left > 1:
        eta[:, -2], zeta[:, -2], zeta[:, -1] = radius(0, left), ndtri(u[:, 1]), radius(2, left - 1)

    # orthonormal frame: e_1 less its mean (centred) or e_1, then (not centred) the other ones, then the other scores
    own, mean, spread, weight = _score_statistics(problem, length, log2_count, seed, points.shape[1])
    shift, read = np.full(columns, -1.0), np.zeros(columns)
    if centred:
        contrast = math.sqrt((length - 1) / length)
        along = [contrast * (own - mean), spread]
        read[:2] = [1.0 / math.sqrt(length), contrast][:columns]
        teacher = contrast * zeta[:, 1] if special else np.zeros(len(points))
    else:
        root = math.sqrt(length - 1)
        along = [own, root * mean, spread]
        shift[:2] = [0.0, root - 1.0][:columns]
        read[0], teacher = 1.0, zeta[:, 0]
    star = np.zeros((len(points), columns))
    for index in range(special):
        star[:, first + index] = along[index]
    return TokenNodes(star, eta, zeta, np.column_stack([teacher, normals[:, 0], weight]), shift, read)


def _score_statistics(
    problem: Problem, length: int, log2_count: int, seed: tuple[int, ...], used: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Score of the hidden token, mean and root of the summed squared deviations of the others, weight.

    For many tokens a share of the samples, repeated: they matter little beside the other noise, and the scrambles,
    which differ in them too, show how little. The first `used` coordinates of the Sobol sequence belong to other nodes:
    two scrambles of the same coordinate are not independent point by point.
    """
    count = min(log2_count, max(0, MAX_SCORES - math.ceil(math.log2(length))))
    dimension = problem.data.score_points(length)
    points = scrambled_sobol(used + dimension, count, (*seed, 1))[:, used:] if dimension else np.empty((2**count, 0))
    scores, weight = problem.data.teacher_scores(points, length)
    others = scores[:, 1:]
    mean = others.mean(axis=1) if length > 1 else np.zeros(len(scores))
    spread = np.sqrt(((others - mean[:, None]) ** 2).sum(axis=1))
    return tuple(np.tile(column, 2 ** (log2_count - count)) for column in (scores[:, 0], mean, spread, weight))
