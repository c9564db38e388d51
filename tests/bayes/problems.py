"""Reference solutions, computed once by independent brute force (theory.md section 6)."""

from __future__ import annotations

import math

from replica import MaxSLR, Problem, SpikedSLR

# nu, L, alpha, noise, q_k, q_v, test risk, relative error of the reference
SPIKED = [
    (2.0, "2", 2.0, 0.3, 0.77635987, 0.89048175, 0.43450794, 1e-6),
    (2.0, "3", 3.0, 0.3, 0.827553, 0.93165, 0.523409, 2e-4),
]


def spiked(alpha: float, length: object = 2, nu: float = 2.0, noise: float = 0.3) -> Problem:
    """A spiked problem."""
    return Problem(data=SpikedSLR(nu), alpha=alpha, length=length, noise=noise)


# length, alpha, noise, q_k, q_v, test risk, relative error of the reference; nu = inf
MAXIMUM = [
    ("2", 2.0, 0.3, 0.480156, 0.877842, 0.511105, 1e-3),
    ("3", 4.0, 0.3, 0.868691, 0.964065, 0.356836, 1.2e-3),
]


def maximum(alpha: float, length: object = 2, nu: float = math.inf, noise: float = 0.3) -> Problem:
    """A max problem."""
    return Problem(data=MaxSLR(nu), alpha=alpha, length=length, noise=noise)
