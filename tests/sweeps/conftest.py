"""The sweep that others are compared with."""

from __future__ import annotations

import pytest

from tests.sweeps import command


@pytest.fixture(scope="session")
def serial_csv(tmp_path_factory) -> bytes:
    """Bytes of the CSV of `command.GRID`, solved at once in one process; kernels are compiled afterwards."""
    output = tmp_path_factory.mktemp("serial") / "risk.csv"
    done = command.sweep(output, "--threads", "1")
    assert done.returncode == 0, done.stderr
    return output.read_bytes()
