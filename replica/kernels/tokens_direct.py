"""Token by token: the proximal point of the activation as it stands, for `tokens.py`."""

from numba import njit


@njit(nogil=True)
def token_point(omega_k, omega_v, y, V_k, V_v, length, chi, sigma, g_k, rows, small):
    """`prox_point`; the tokens are all there, so that their number is not needed."""
    return prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small)


@njit(nogil=True)
def token_response(chi, sigma, omega_v, r, V_k, V_v, length, rows, small):
    """`prox_response`."""
    return prox_response(chi, sigma, omega_v, r, V_k, V_v, rows, small)


@njit(nogil=True)
def token_slope(omega_k, omega_v, y, r, V_k, V_v, length, ray, chi, sigma, rows, small):
    """Derivative of chi along `ray` in omega_k after `token_point`, (I + V_k F'')^{-1} ray, into rows[8]; whether the
    Hessian is positive definite."""
    rank, _, _ = prox_curvature(chi, omega_k, omega_v, y, V_k, V_v, sigma, r, rows, small)
    for l in range(chi.size):
        # a token held at a kink does not move
        rows[3, l] = 0.0 if rows[15, l] < 0.0 else -ray[l]
    if chi.size <= DENSE:
        return newton_step_dense(chi.size, rank, 0.0, rows, small)
    return newton_step_lowrank(chi.size, rank, 0.0, rows, small)


@njit(nogil=True)
def token_sigma(omega_k, length, sigma, rows):
    """sigma at the key fields: the value fields do not matter to it."""
    prox_value(omega_k, omega_k, omega_k, 0.0, 1.0, 1.0, sigma, rows)
