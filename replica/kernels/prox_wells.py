"""Starts for the proximal point of sigma_l = phi(chi_l)/sum phi(chi_l) where phi does not rise throughout.

Leaf text of generated modules; see `prox_normalised.py`. With the others at rest, Phi is a function of one score that
can be walked along in O(1) a step.

Rows of work: 12, 13 the lowest Phi at another minimum of the walk, and its place; 14 where phi is least on it; 16 phi;
17 row 14 of the walk around omega_k; 18 where the round began.
"""

import math

from numba import njit

# tokens up to which every subset is tried
MOST_SILENCED = 4
FLIPS = 4
ROUNDS = 3


@njit(nogil=True, error_model="numpy")
def walk_scores(chi, omega_k, omega_v, y, V_k, V_v, energy, rows):
    """Walk each score over the search ball with the others at `chi` (rows as in the module's text)."""
    length = chi.shape[0]
    top = -math.inf
    moved = 0.0
    for l in range(length):
        rows[16, l], _, _ = scalar_terms(chi[l], piece_of(chi[l]))
        top = max(top, rows[16, l])
        moved += (chi[l] - omega_k[l]) ** 2
    total = 0.0
    squares = 0.0
    dot = 0.0
    for l in range(length):
        rows[16, l] = math.exp(rows[16, l] - top)
        total += rows[16, l]
        squares += rows[16, l] * rows[16, l]
        dot += rows[16, l] * omega_v[l]
    for l in range(length):
        own = rows[16, l]
        rest = moved - (chi[l] - omega_k[l]) ** 2
        radius = math.sqrt(max(0.0, 2.0 * V_k * energy - rest))
        rows[12, l] = math.inf
        rows[13, l] = chi[l]
        rows[14, l] = chi[l]
        least = own
        before = math.inf
        last = math.inf
        last_x = 0.0
        last_step = 0.0
        x = omega_k[l] - radius
        while x <= omega_k[l] + radius:
            log_phi, _, _ = scalar_terms(x, piece_of(x))
            phi = math.exp(log_phi - top)
            sum_phi = total + phi - own
            miss = y - (dot + (phi - own) * omega_v[l]) / sum_phi
            n = 1.0 + V_v * (squares + phi * phi - own * own) / (sum_phi * sum_phi)
            value = 0.5 * miss * miss / n + 0.5 * ((x - omega_k[l]) ** 2 + rest) / V_k
            if last < before and last <= value and last < rows[12, l] and abs(last_x - chi[l]) > 1.5 * last_step:
                rows[12, l] = last
                rows[13, l] = last_x
            if phi < least:
                least = phi
                rows[14, l] = x
            before = last
            last = value
            last_x = x
            # fine around the start and near zero, geometric elsewhere
            last_step = max(0.2, 0.2 * min(abs(x - omega_k[l]), abs(x) - 2.0))
            x += last_step


@njit(nogil=True, error_model="numpy")
def subset_start(subset, scaled, omega_k, chi, rows):
    """The tokens of a subset (bits of a number) almost where phi is least, row 17, the others at omega_k, or farther
    out if `scaled`: where little attention was paid to any of them the well is there."""
    reach = 0.0
    for l in range(chi.shape[0]):
        if (subset >> l) % 2 == 1:
            reach = max(reach, abs(omega_k[l] - rows[17, l]))
    for l in range(chi.shape[0]):
        away = omega_k[l] - rows[17, l]
        if (subset >> l) % 2 == 1:
            chi[l] = rows[17, l] + 1e-3 * away
        else:
            chi[l] = omega_k[l] + math.copysign(0.5 * reach if scaled else 0.0, away)


@njit(nogil=True, error_model="numpy")
def wells_search(omega_k, omega_v, y, V_k, V_v, energy, r, converged, chi, sigma, rows, small):
    """(Phi, r, converged, proved global) at the lowest minimum found from the one in row 11, which it replaces.

    For a few tokens all ways to silence some of them are starts, then the other minima along single scores, in rounds.
    """
    length = omega_k.shape[0]
    best = rows[11]
    subsets = 2 * (2**length - 2) if length <= MOST_SILENCED else 0
    tried = 0
    rounds = 0
    flips = FLIPS
    improved = False
    for _ in range(subsets + ROUNDS * (FLIPS + 1)):
        if tried < subsets:
            if tried == 0:
                walk_scores(omega_k, omega_k, omega_v, y, V_k, V_v, energy, rows)
                for l in range(length):
                    rows[17, l] = rows[14, l]
            subset_start(1 + tried // 2, tried % 2 == 1, omega_k, chi, rows)
            tried += 1
        else:
            if flips == FLIPS:
                if rounds == ROUNDS or (rounds > 0 and not improved):
                    break
                rounds += 1
                flips = 0
                improved = False
                walk_scores(best, omega_k, omega_v, y, V_k, V_v, energy, rows)
                for l in range(length):
                    rows[18, l] = best[l]
            token = 0
            for l in range(length):
                if rows[12, l] < rows[12, token]:
                    token = l
            flips += 1
            if not rows[12, token] < math.inf:
                # nothing left to try from here
                flips = FLIPS
                if not improved:
                    break
                continue
            rows[12, token] = math.inf
            for l in range(length):
                chi[l] = rows[18, l]
            chi[token] = rows[13, token]
        found, found_r, found_converged = newton_descend(omega_k, omega_v, y, V_k, V_v, chi, sigma, rows, small)
        if found < energy * (1.0 - 1e-12):
            energy, r, converged = found, found_r, found_converged
            improved = True
            for l in range(length):
                best[l] = chi[l]
            if normalised_certificate(omega_k, omega_v, r, energy, V_k, V_v):
                return energy, r, converged, True
    return energy, r, converged, False
