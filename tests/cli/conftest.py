"""The console entry, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Call the console entry with arguments; returns (exit code, stdout, stderr)."""
    from replica_cli.main import run as entry

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["replica", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            entry()
        captured = capsys.readouterr()
        # the first use of a kernel says so on stderr; whether it is the first depends on the tests before
        lines = captured.err.splitlines(keepends=True)
        err = "".join(line for line in lines if not line.startswith("replica: compiling kernels"))
        return end.value.code or 0, captured.out, err

    return call
