"""`replica cache`: where the compiled kernels are, and how to be rid of them."""

from __future__ import annotations

import click


@click.group()
def cache() -> None:
    """The kernels compiled on this machine."""


@cache.command()
def path() -> None:
    """Print the folder of the compiled kernels, which REPLICA_CACHE_DIR sets."""
    from replica.lowering.cache import cache_directory

    click.echo(cache_directory())


@cache.command()
def clear() -> None:
    """Delete the compiled kernels; the next solve compiles its own again."""
    from replica.lowering.cache import cache_directory, clear

    count, size = clear()
    click.echo(f"deleted {count} file{'s' if count != 1 else ''} ({size / 1e6:.1f} MB) in {cache_directory()}")
