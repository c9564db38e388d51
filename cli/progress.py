"""Progress of one piece of work, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import click


@contextlib.contextmanager
def progress_on(what: str) -> Iterator[Callable[[float], None] | None]:
    """A percentage on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    yield lambda share: click.echo(f"\r{what}: {100 * share:3.0f} %", nl=False, err=True)
    click.echo("", err=True)
