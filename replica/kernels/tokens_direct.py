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
def token_sigma(omega_k, length, sigma, rows):
    """sigma at the key fields: the value fields do not matter to it."""
    prox_value(omega_k, omega_k, omega_k, 0.0, 1.0, 1.0, sigma, rows)
