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
