"""Which leaf files make the proximal point of an activation, and what they need.

Every list defines the same two functions (theory.md section 4, "Prox."; arrays have shape (L,), nothing is allocated):

    prox_point(omega_k, omega_v, y, V_k, V_v, chi, sigma, g_k, rows, small) -> (r, moreau, is_global, converged)
        minimises 1/2 (y - sigma . omega_v)^2/(1 + V_v |sigma|^2) + |chi - omega_k|^2/(2 V_k) over chi and fills
        chi, sigma and g_k = (chi - omega_k)/V_k (formed as r J^T z, exact for small V_k); g_v = r sigma,
        z = omega_v + V_v r sigma. `is_global` is True only where that is proved; `converged` refers to stationarity.
    prox_response(chi, sigma, omega_v, r, V_k, V_v, rows, small) -> six sums of d g/d omega (`response_sums`)

The module that includes the texts defines what they leave open:

    elementwise, centred   scalar_terms(x, piece) -> (phi, phi', phi''), CENTRED, PHI_SUP, D1_SUP, D2_SUP: bounds on
                           |phi|, |phi'|, |phi''| (math.inf when there is none), STRAIGHT: whether phi is made of
                           several straight pieces
    normalised             scalar_terms(x, piece) -> the same of log phi, D1_SUP, D2_SUP, RISING: whether phi' > 0
    both                   KINKS, KINKED: where the smooth pieces of phi meet, increasing, and whether there are any;
                           piece 0 ends at the first
    linear                 CENTRED
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROWS = 24
SMALL = (12, 8, 8)


def prox_files(combination: str, affine: bool) -> tuple[Path, ...]:
    """Leaf files for a combination (`elementwise`, `centred`, `normalised`); `affine` if phi is 1 + chi or chi."""
    names = ["prox_response"]
    if combination == "normalised":
        names += ["prox_kinks", "prox_newton", "prox_wells", "prox_normalised"]
    elif affine:
        names += ["prox_linear"]
    else:
        names += ["prox_kinks", "prox_newton", "prox_pieces", "prox_elementwise"]
    return tuple(Path(__file__).with_name(f"{name}.py") for name in names)


def prox_work(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The work arrays `rows` (ROWS, L) and `small` of one thread."""
    return np.empty((ROWS, length)), np.empty(SMALL)
