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
        return end.value.code or 0, captured.out, captured.err

    return call
