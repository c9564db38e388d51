"""Shared fixtures."""

from __future__ import annotations

import functools

import pytest


@pytest.fixture(scope="session")
def solved():
    """fixed_points(problem, **options), remembered for the session."""
    from replica.analysis.erm import fixed_points

    @functools.cache
    def solve(problem, **options):
        return tuple(fixed_points(problem, **options))

    return solve


@pytest.fixture
def gives_up(monkeypatch):
    """scipy.integrate.solve_ivp reports that it failed."""
    import scipy.integrate

    solve_ivp = scipy.integrate.solve_ivp

    def failed(*arguments, **options):
        result = solve_ivp(*arguments, **options)
        result.update(success=False, message="tired")
        return result

    monkeypatch.setattr(scipy.integrate, "solve_ivp", failed)
