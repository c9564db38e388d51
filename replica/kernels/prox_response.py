"""Response d g/d omega = -H (I + V H)^{-1} of a proximal point, in O(L).

Leaf text of generated modules.  Source: theory.md sections 4 and 8.

H, the Hessian of 1/2 (y - sigma(chi) . z)^2 in (chi, z), is per-token 2x2 blocks (b_kk, b_kv; b_kv, 0) plus a product
U C U^T of at most three columns: with e = y - sigma.z = r and w = grad(sigma.z),

    elementwise   H = blocks + w w^T                     b_kk = -e z phi'',  b_kv = -e phi'
    centred       H = blocks + w w^T + (e/L)(a 1_v^T + 1_v a^T),       a = (phi', 0), z - mean z for z in b_kk
    normalised    H = blocks + w w^T + e (w s^T + s w^T),              s = (u' sigma, 0), u = log phi,
                  b_kk = -e sigma (z - f)(u'^2 + u''),  b_kv = -e u' sigma

A second derivative inf with slope 0 stands for a token held at a kink: its chi does not move.
"""

import math

from numba import njit

# curvature, times V_k, of a token that does not move
STIFF = 1e30


@njit(nogil=True, error_model="numpy")
def small_solve(matrix, rhs, size, columns):
    """Solve matrix X = rhs in place (both overwritten, the answer in rhs): Gauss with partial pivoting."""
    for i in range(size):
        pivot = i
        for j in range(i + 1, size):
            if abs(matrix[j, i]) > abs(matrix[pivot, i]):
                pivot = j
        if pivot != i:
            for j in range(size):
                matrix[i, j], matrix[pivot, j] = matrix[pivot, j], matrix[i, j]
            for j in range(columns):
                rhs[i, j], rhs[pivot, j] = rhs[pivot, j], rhs[i, j]
        for k in range(i + 1, size):
            factor = matrix[k, i] / matrix[i, i]
            for j in range(i + 1, size):
                matrix[k, j] -= factor * matrix[i, j]
            for j in range(columns):
                rhs[k, j] -= factor * rhs[i, j]
    for i in range(size - 1, -1, -1):
        for j in range(columns):
            total = rhs[i, j]
            for k in range(i + 1, size):
                total -= matrix[i, k] * rhs[k, j]
            rhs[i, j] = total / matrix[i, i]


@njit(nogil=True, error_model="numpy")
def response_sums(b_kk, b_kv, u_k, u_v, rank, V_k, V_v, small):
    """Traces and sums of squares of K = d g/d omega for H = blocks + U C U^T.

    Parameters
    ----------
    b_kk, b_kv : (L,) blocks of H.
    u_k, u_v : (>= rank, L) the chi and z components of the columns of U.
    rank : number of columns; C sits in small[0, :rank, :rank].
    small : (>= 9, 8, 8) work.

    Returns
    -------
    tuple of six floats
        tr K_kk, tr K_vv, sum K_kk^2, sum K_kv^2, sum K_vv^2, and
        sum_{l,l'} (K_kk,ll' K_vv,ll' + K_kv,ll' K_vk,ll').
    """
    length = b_kk.shape[0]
    root_k = math.sqrt(V_k)
    root_v = math.sqrt(V_v)
    root_kv = root_k * root_v
    # The token whose own 2x2 block is nearest to singular moves, whole, into the low-rank part: exact, no cancellation.
    pulled = -1
    worst = 0.1
    for l in range(length):
        distance = abs(1.0 + V_k * b_kk[l] - V_k * V_v * b_kv[l] * b_kv[l])
        if distance < worst:
            worst = distance
            pulled = l
    size = rank
    C = small[0]
    if pulled >= 0:
        size = rank + 2
        for i in range(rank):
            for j in range(rank, size):
                C[i, j] = 0.0
                C[j, i] = 0.0
        C[rank, rank] = V_k * b_kk[pulled]
        C[rank, rank + 1] = root_kv * b_kv[pulled]
        C[rank + 1, rank] = C[rank, rank + 1]
        C[rank + 1, rank + 1] = 0.0
    P = small[1]
    P_kk = small[2]
    P_kv = small[3]
    P_vv = small[4]
    for i in range(size):
        for j in range(size):
            P[i, j] = 0.0
            P_kk[i, j] = 0.0
            P_kv[i, j] = 0.0
            P_vv[i, j] = 0.0
    vectors = small[5]
    for l in range(length):
        e_kk, e_kv, e_vv = response_inverse(b_kk[l], b_kv[l], V_k, V_v, root_kv, l == pulled)
        for i in range(size):
            if i < rank:
                k = root_k * u_k[i, l]
                v = root_v * u_v[i, l]
            else:
                k = 1.0 if l == pulled and i == rank else 0.0
                v = 1.0 if l == pulled and i == rank + 1 else 0.0
            vectors[0, i] = k
            vectors[1, i] = v
            vectors[2, i] = e_kk * k + e_kv * v
            vectors[3, i] = e_kv * k + e_vv * v
        for i in range(size):
            for j in range(size):
                P[i, j] += vectors[0, i] * vectors[2, j] + vectors[1, i] * vectors[3, j]
                P_kk[i, j] += vectors[2, i] * vectors[2, j]
                P_kv[i, j] += vectors[2, i] * vectors[3, j]
                P_vv[i, j] += vectors[3, i] * vectors[3, j]
    # for `response_forms`
    small[8, 0, 0] = pulled
    small[8, 0, 1] = rank
    # (I + V^1/2 H V^1/2)^{-1} = E - G S G^T, S = (I + C P)^{-1} C
    S = small[6]
    matrix = small[7]
    for i in range(size):
        for j in range(size):
            S[i, j] = C[i, j]
            total = 1.0 if i == j else 0.0
            for k in range(size):
                total += C[i, k] * P[k, j]
            matrix[i, j] = total
    small_solve(matrix, S, size, size)

    trace_kk = 0.0
    trace_vv = 0.0
    sum_kk = 0.0
    sum_kv = 0.0
    sum_vv = 0.0
    mixed = 0.0
    for l in range(length):
        own = l == pulled
        e_kk, e_kv, e_vv = response_inverse(b_kk[l], b_kv[l], V_k, V_v, root_kv, own)
        kk = 0.0
        kv = 0.0
        vv = 0.0
        for i in range(size):
            if i < rank:
                k = root_k * u_k[i, l]
                v = root_v * u_v[i, l]
            else:
                k = 1.0 if own and i == rank else 0.0
                v = 1.0 if own and i == rank + 1 else 0.0
            vectors[2, i] = e_kk * k + e_kv * v
            vectors[3, i] = e_kv * k + e_vv * v
        for i in range(size):
            for j in range(size):
                kk += vectors[2, i] * S[i, j] * vectors[2, j]
                kv += vectors[2, i] * S[i, j] * vectors[3, j]
                vv += vectors[3, i] * S[i, j] * vectors[3, j]
        # I - E without the cancellation at small V
        n_kk = 0.0
        n_kv = 0.0
        n_vv = 0.0
        if not own:
            off = V_k * V_v * b_kv[l] * b_kv[l]
            det = 1.0 + V_k * b_kk[l] - off
            n_kk = (V_k * b_kk[l] - off) / det
            n_kv = root_kv * b_kv[l] / det
            n_vv = -off / det
        trace_kk += n_kk + kk
        trace_vv += n_vv + vv
        sum_kk += n_kk * (n_kk + 2.0 * kk)
        sum_kv += n_kv * (n_kv + 2.0 * kv)
        sum_vv += n_vv * (n_vv + 2.0 * vv)
        mixed += n_kk * n_vv + n_kk * vv + n_vv * kk + n_kv * (n_kv + 2.0 * kv)
    for i in range(size):
        for j in range(size):
            for k in range(size):
                for m in range(size):
                    pair = S[i, j] * S[k, m]
                    sum_kk += pair * P_kk[j, k] * P_kk[m, i]
                    sum_kv += pair * P_vv[j, k] * P_kk[m, i]
                    sum_vv += pair * P_vv[j, k] * P_vv[m, i]
                    mixed += pair * (P_kv[i, k] * P_kv[j, m] + P_kv[i, m] * P_kv[k, j])
    return (
        -trace_kk / V_k,
        -trace_vv / V_v,
        sum_kk / (V_k * V_k),
        sum_kv / (V_k * V_v),
        sum_vv / (V_v * V_v),
        mixed / (V_k * V_v),
    )


@njit(nogil=True, error_model="numpy")
def response_forms(V_k, V_v, probes, rows, small, forms):
    """forms[a, b] = w_a^T K w_b after `response_sums` with the same rows and small.

    probes[2 a], probes[2 a + 1] are the chi and z components of w_a; there are at most eight.
    """
    count = probes.shape[0] // 2
    root_k = math.sqrt(V_k)
    root_v = math.sqrt(V_v)
    root_kv = root_k * root_v
    pulled = int(small[8, 0, 0])
    rank = int(small[8, 0, 1])
    size = rank + 2 if pulled >= 0 else rank
    S = small[6]
    seen = small[9]
    for a in range(count):
        for b in range(count):
            forms[a, b] = 0.0
        for i in range(size):
            seen[a, i] = 0.0
    for l in range(probes.shape[1]):
        b_kk = rows[3, l]
        b_kv = rows[4, l]
        own = l == pulled
        e_kk, e_kv, e_vv = response_inverse(b_kk, b_kv, V_k, V_v, root_kv, own)
        n_kk = 0.0
        n_kv = 0.0
        n_vv = 0.0
        if not own:
            off = V_k * V_v * b_kv * b_kv
            det = 1.0 + V_k * b_kk - off
            n_kk = (V_k * b_kk - off) / det
            n_kv = root_kv * b_kv / det
            n_vv = -off / det
        for a in range(count):
            w_k = probes[2 * a, l] / root_k
            w_v = probes[2 * a + 1, l] / root_v
            for i in range(size):
                if i < rank:
                    k = root_k * rows[5 + i, l]
                    v = root_v * rows[8 + i, l]
                else:
                    k = 1.0 if own and i == rank else 0.0
                    v = 1.0 if own and i == rank + 1 else 0.0
                seen[a, i] += (e_kk * k + e_kv * v) * w_k + (e_kv * k + e_vv * v) * w_v
            k = n_kk * w_k + n_kv * w_v
            v = n_kv * w_k + n_vv * w_v
            for b in range(count):
                forms[a, b] -= k * probes[2 * b, l] / root_k + v * probes[2 * b + 1, l] / root_v
    for a in range(count):
        for b in range(count):
            for i in range(size):
                for j in range(size):
                    forms[a, b] -= seen[a, i] * S[i, j] * seen[b, j]


@njit(nogil=True, error_model="numpy", inline="always")
def response_inverse(b_kk, b_kv, V_k, V_v, root_kv, own):
    """(I + scaled block)^{-1}, or the identity for the token that moved into the low-rank part."""
    if own:
        return 1.0, 0.0, 1.0
    det = 1.0 + V_k * b_kk - V_k * V_v * b_kv * b_kv
    return 1.0 / det, -root_kv * b_kv / det, (1.0 + V_k * b_kk) / det


@njit(nogil=True, error_model="numpy")
def response_elementwise(centred, sigma, z, r, V_k, V_v, rows, small):
    """`response_sums` for sigma = phi(chi), or 1 + phi - mean phi; rows[0] = phi', rows[1] = phi'' (not rows[3:])."""
    length = sigma.shape[0]
    mean_z = 0.0
    if centred:
        if length == 1:
            return response_fixed(V_v)
        for l in range(length):
            mean_z += z[l] / length
    b_kk = rows[3]
    b_kv = rows[4]
    u_k = rows[5:8]
    u_v = rows[8:11]
    for l in range(length):
        slope = rows[0, l]
        b_kk[l] = -r * (z[l] - mean_z) * rows[1, l]
        b_kv[l] = -r * slope
        u_k[0, l] = slope * (z[l] - mean_z)
        u_v[0, l] = sigma[l]
        u_k[1, l] = slope
        u_v[1, l] = 0.0
        u_k[2, l] = 0.0
        u_v[2, l] = 1.0
        if rows[1, l] == math.inf:
            b_kk[l] = STIFF / V_k
    C = small[0]
    C[:3, :3] = 0.0
    C[0, 0] = 1.0
    rank = 1
    if centred:
        rank = 3
        C[1, 2] = r / length
        C[2, 1] = C[1, 2]
    return response_sums(b_kk, b_kv, u_k, u_v, rank, V_k, V_v, small)


@njit(nogil=True, error_model="numpy")
def response_normalised(sigma, z, r, V_k, V_v, rows, small):
    """`response_sums` for sigma = phi/sum phi; rows[0] = (log phi)', rows[1] = (log phi)''."""
    length = sigma.shape[0]
    if length == 1:
        return response_fixed(V_v)
    f = 0.0
    for l in range(length):
        f += sigma[l] * z[l]
    b_kk = rows[3]
    b_kv = rows[4]
    u_k = rows[5:7]
    u_v = rows[8:10]
    for l in range(length):
        slope = rows[0, l]
        pull = sigma[l] * (z[l] - f)
        b_kk[l] = -r * pull * (slope * slope + rows[1, l])
        b_kv[l] = -r * slope * sigma[l]
        u_k[0, l] = slope * pull
        u_v[0, l] = sigma[l]
        u_k[1, l] = slope * sigma[l]
        u_v[1, l] = 0.0
        if rows[1, l] == math.inf:
            b_kk[l] = STIFF / V_k
    C = small[0]
    C[0, 0] = 1.0
    C[0, 1] = r
    C[1, 0] = r
    C[1, 1] = 0.0
    return response_sums(b_kk, b_kv, u_k, u_v, 2, V_k, V_v, small)


@njit(nogil=True, error_model="numpy")
def response_fixed(V_v):
    """sigma = 1 at L = 1: only d g_v/d omega_v = -1/(1 + V_v)."""
    slope = -1.0 / (1.0 + V_v)
    return 0.0, slope, 0.0, 0.0, slope * slope, 0.0
