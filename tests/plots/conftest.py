"""The console entry, as in the tests of the commands."""

from tests.cli.conftest import run

__all__ = ["run"]
