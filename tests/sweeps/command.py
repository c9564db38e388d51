"""The sweep command in a process of its own, on a grid that takes a few seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GRID = ["--model", "spiked-slr", "--estimator", "erm", "--alpha", "2,1", "--nu", "0.5:4:8", "--rtol", "1e-3"]


def arguments(output: Path, *more: str, grid: list[str] | None = None) -> list[str]:
    grid = GRID if grid is None else grid
    return [sys.executable, "-m", "replica_cli.main", "sweep", *grid, "--output", str(output), *more]


def sweep(output: Path, *more: str, grid: list[str] | None = None, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        arguments(output, *more, grid=grid), capture_output=True, text=True, timeout=300, check=False, **options
    )
