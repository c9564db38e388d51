"""Safeguarded Newton descent on the reduced proximal energy, O(L) per step.

Leaf text of generated modules; `prox_value` and `prox_curvature` come from `prox_normalised.py` or
`prox_elementwise.py`, what kinks need from `prox_kinks.py`.  Source: theory.md section 4, "Prox".

Everything is scaled by V_k: with F the first term of Phi the gradient is (chi - omega_k) + V_k grad F and the Hessian
I + V_k F'' = diag(D) + U C U^T with at most three columns. A Levenberg shift mu keeps the model positive definite, and
a step is taken only if Phi falls (near round-off, where Phi says nothing: if the gradient falls).

Rows of work: 0, 1 derivatives of phi where evaluated last; 3 gradient; 4 D; 5-7 columns of U; 8 step; 9 trial point;
15 pieces (`prox_kinks.py`).
"""

import math

from numba import njit

DENSE = 6
PULLED = 3
GRADIENT_TOLERANCE = 2e-14


@njit(nogil=True, error_model="numpy")
def small_cholesky(matrix, size, floor):
    """Lower Cholesky factor in place. A pivot <= floor * its diagonal: False if floor = 0, else a zero column."""
    for j in range(size):
        diagonal = matrix[j, j]
        for k in range(j):
            diagonal -= matrix[j, k] * matrix[j, k]
        # written so that NaN fails
        if not diagonal > floor * matrix[j, j]:
            if floor == 0.0:
                return False
            for i in range(j, size):
                matrix[i, j] = 0.0
            continue
        diagonal = math.sqrt(diagonal)
        matrix[j, j] = diagonal
        for i in range(j + 1, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / diagonal
    return True


@njit(nogil=True, error_model="numpy")
def newton_step_dense(length, rank, mu, rows, small):
    """step = -(H + mu)^{-1} gradient by Cholesky, L <= DENSE; False if H + mu is not positive definite."""
    C = small[0]
    H = small[1]
    for i in range(length):
        for j in range(i + 1):
            total = 0.0
            for a in range(rank):
                part = 0.0
                for b in range(rank):
                    part += C[a, b] * rows[5 + b, j]
                total += rows[5 + a, i] * part
            H[i, j] = total
        H[i, i] += rows[4, i] + mu
    if not small_cholesky(H, length, 0.0):
        return False
    for i in range(length):
        total = -rows[3, i]
        for k in range(i):
            total -= H[i, k] * rows[8, k]
        rows[8, i] = total / H[i, i]
    for i in range(length - 1, -1, -1):
        total = rows[8, i]
        for k in range(i + 1, length):
            total -= H[k, i] * rows[8, k]
        rows[8, i] = total / H[i, i]
    return True


@njit(nogil=True, error_model="numpy")
def newton_step_lowrank(length, rank, mu, rows, small):
    """The same in O(L). Up to PULLED tokens whose diagonal is small or negative move into the low-rank part: at a
    minimum there can be as many as C has positive eigenvalues."""
    pulled = small[9, 0]
    size = rank
    for _ in range(PULLED):
        lowest = 0.1
        chosen = -1
        for l in range(length):
            if rows[4, l] + mu < lowest:
                taken = False
                for k in range(rank, size):
                    taken = taken or int(pulled[k]) == l
                if not taken:
                    lowest = rows[4, l] + mu
                    chosen = l
        if chosen < 0:
            break
        pulled[size] = chosen
        size += 1
    C = small[0]
    P = small[1]
    for i in range(size):
        for j in range(rank if i >= rank else size):
            if i >= rank or j >= rank:
                C[i, j] = 0.0
        for j in range(rank, size):
            C[i, j] = 0.0
        for j in range(size):
            P[i, j] = 0.0
    t = small[9, 1]
    for i in range(rank):
        t[i] = 0.0
    for k in range(rank, size):
        l = int(pulled[k])
        C[k, k] = rows[4, l] + mu - 1.0
        P[k, k] = 1.0
        t[k] = rows[3, l]
        for i in range(rank):
            P[i, k] = rows[5 + i, l]
            P[k, i] = P[i, k]
    for l in range(length):
        inverse = rows[4, l] + mu
        for k in range(rank, size):
            if int(pulled[k]) == l:
                inverse = 1.0
        if not inverse > 1e-10:
            return False
        inverse = 1.0 / inverse
        rows[8, l] = inverse
        for i in range(rank):
            weighted = rows[5 + i, l] * inverse
            t[i] += weighted * rows[3, l]
            for j in range(i + 1):
                P[i, j] += weighted * rows[5 + j, l]
    for i in range(rank):
        for j in range(i):
            P[j, i] = P[i, j]
    # positive definite iff I + R^T C R is, P = R R^T
    R = small[2]
    N = small[3]
    CR = small[4]
    for i in range(size):
        for j in range(size):
            R[i, j] = P[i, j]
    small_cholesky(R, size, 1e-15)
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(j, size):
                total += C[i, k] * R[k, j]
            CR[i, j] = total
    for i in range(size):
        for j in range(i + 1):
            total = 1.0 if i == j else 0.0
            for k in range(i, size):
                total += R[k, i] * CR[k, j]
            N[i, j] = total
    if not small_cholesky(N, size, 0.0):
        return False
    matrix = small[5]
    rhs = small[6]
    for i in range(size):
        rhs[i, 0] = 0.0
        for j in range(size):
            rhs[i, 0] += C[i, j] * t[j]
            total = 1.0 if i == j else 0.0
            for k in range(size):
                total += C[i, k] * P[k, j]
            matrix[i, j] = total
    small_solve(matrix, rhs, size, 1)
    for l in range(length):
        total = rows[3, l]
        for i in range(rank):
            total -= rows[5 + i, l] * rhs[i, 0]
        for k in range(rank, size):
            if int(pulled[k]) == l:
                total -= rhs[k, 0]
        rows[8, l] *= -total
    return True


@njit(nogil=True, error_model="numpy")
def newton_descend(omega_k, omega_v, y, V_k, V_v, chi, sigma, rows, small):
    """Descend from chi (overwritten) to a local minimum of Phi.

    Returns (Phi, r, converged); converged means |chi - omega_k - V_k r J^T z|_max <= 1e-12 of the sizes it is made of.
    sigma and rows[0], rows[1] belong to chi on return.
    """
    length = chi.shape[0]
    energy, r = prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows)
    if not energy < math.inf:
        return math.inf, 0.0, False
    rank, residual, scale = prox_curvature(chi, omega_k, omega_v, y, V_k, V_v, sigma, r, rows, small)
    mu = 0.0
    stalled = 0
    current = True
    for _ in range(300):
        if residual <= GRADIENT_TOLERANCE * scale or stalled >= 3:
            break
        if length <= DENSE:
            positive = newton_step_dense(length, rank, mu, rows, small)
        else:
            positive = newton_step_lowrank(length, rank, mu, rows, small)
        if not positive:
            mu = max(4.0 * mu, 0.25)
            if mu > 1e30:
                break
            continue
        predicted = 0.0
        for l in range(length):
            predicted += 0.5 * rows[8, l] * (mu * rows[8, l] - rows[3, l])
            rows[9, l] = chi[l] + rows[8, l]
        if KINKED and cut_at_kinks(chi, rows):
            predicted = model_fall(chi, rank, rows, small)
            if predicted < 0.0:
                mu = max(4.0 * mu, 0.25)
                if mu > 1e30:
                    break
                continue
        trial, trial_r = prox_value(rows[9], omega_k, omega_v, y, V_k, V_v, sigma, rows)
        actual = V_k * (energy - trial)
        noise = predicted <= 1e-12 * V_k * energy
        if actual > 1e-3 * predicted or (noise and trial < math.inf):
            for l in range(length):
                chi[l] = rows[9, l]
            energy = trial
            r = trial_r
            before = residual
            rank, residual, scale = prox_curvature(chi, omega_k, omega_v, y, V_k, V_v, sigma, r, rows, small)
            current = True
            if noise:
                stalled = stalled + 1 if residual > 0.5 * before else 0
                mu = 0.0
            elif actual > 0.7 * predicted:
                mu = 0.1 * mu if mu > 1e-2 else 0.0
            elif actual < 0.2 * predicted:
                mu = max(4.0 * mu, 0.1)
        else:
            current = False
            mu = max(4.0 * mu, 0.25)
            if mu > 1e30:
                break
    if not current:
        energy, r = prox_value(chi, omega_k, omega_v, y, V_k, V_v, sigma, rows)
    return energy, r, residual <= 50.0 * GRADIENT_TOLERANCE * scale
