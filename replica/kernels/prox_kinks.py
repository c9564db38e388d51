"""Kinks of phi in the descent of `prox_newton.py`: tokens held at them, steps cut at them.

Leaf text of generated modules, which define `scalar_terms`, `KINKS` (increasing) and `KINKED` (see `prox.py`).

In coordinate l the derivative of V_k Phi is chi_l - omega_l - push_l phi'(chi_l). At a kink Phi rises to both sides
where it is at most 0 on the left and at least 0 on the right: the token is held there (0 is a subgradient). Elsewhere
it moves within the piece to the side of which Phi falls, up to the next kink.

Row 15 of work: the piece of each token, -1 where it is held.
"""

import math

from numba import njit

MOST_COMBINATIONS = 32


@njit(nogil=True, error_model="numpy")
def piece_of(x):
    """Number of the piece of phi that holds x, the right one at a kink."""
    piece = 0
    if KINKED:
        for kink in KINKS:
            if x >= kink:
                piece += 1
    return piece


@njit(nogil=True, error_model="numpy")
def is_kink(x):
    """Whether x is a kink, to the last bit."""
    if KINKED:
        piece = piece_of(x)
        return piece > 0 and x == KINKS[piece - 1]
    return False


@njit(nogil=True, error_model="numpy")
def falling_side(x, omega, push, slope, curvature):
    """(phi', phi'', piece) on the side of x to which Phi falls, given those on the right; piece -1 if to neither."""
    if not KINKED:
        return slope, curvature, 0
    piece = piece_of(x)
    if not is_kink(x):
        return slope, curvature, piece
    _, left_slope, left_curvature = scalar_terms(x, piece - 1)
    left = x - omega - push * left_slope
    right = x - omega - push * slope
    if left <= 0.0 <= right:
        return 0.0, 0.0, -1
    if left > 0.0 and left >= -right:
        return left_slope, left_curvature, piece - 1
    return slope, curvature, piece


@njit(nogil=True, error_model="numpy")
def cut_at_kinks(chi, rows):
    """Keep the trial point, row 9, in the piece of each token; True if that changes it."""
    cut = False
    for l in range(chi.shape[0]):
        piece = int(rows[15, l])
        if piece < 0:
            continue
        trial = rows[9, l]
        if piece > 0:
            trial = max(trial, KINKS[piece - 1])
        if piece < KINKS.shape[0]:
            trial = min(trial, KINKS[piece])
        if trial != rows[9, l]:
            rows[9, l] = trial
            cut = True
    return cut


@njit(nogil=True, error_model="numpy")
def model_fall(chi, rank, rows, small):
    """By how much the quadratic model of V_k Phi falls from chi to the trial point."""
    fall = 0.0
    along = small[7, 0]
    for i in range(rank):
        along[i] = 0.0
    for l in range(chi.shape[0]):
        step = rows[9, l] - chi[l]
        fall -= step * (rows[3, l] + 0.5 * rows[4, l] * step)
        for i in range(rank):
            along[i] += rows[5 + i, l] * step
    for i in range(rank):
        for j in range(rank):
            fall -= 0.5 * along[i] * small[0, i, j] * along[j]
    return fall


@njit(nogil=True, error_model="numpy")
def piece_combinations(length):
    """Ways to put every token on a piece; 0 if there are too many to try, or one piece."""
    if not KINKED:
        return 0
    ways = 1
    for _ in range(length):
        ways *= KINKS.shape[0] + 1
        if ways > MOST_COMBINATIONS:
            return 0
    return ways


@njit(nogil=True, error_model="numpy")
def piece_start(combination, omega_k, energy, V_k, chi):
    """Each token at the place nearest to omega_k on its piece, a little inside."""
    inside = 0.02 * math.sqrt(2.0 * V_k * energy)
    for l in range(chi.shape[0]):
        piece = combination % (KINKS.shape[0] + 1)
        combination //= KINKS.shape[0] + 1
        low = KINKS[piece - 1] if piece > 0 else -math.inf
        high = KINKS[piece] if piece < KINKS.shape[0] else math.inf
        margin = min(inside, 0.25 * (high - low))
        chi[l] = min(max(omega_k[l], low + margin), high - margin)
