"""Lines solved by the workers of a Dask cluster, on this machine or many; only this process writes files."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InvalidProblem, ReplicaError, WorkerError
from .lines import solve_line
from .plan import Line, versions
from .workers import Finished, Tick

CONNECT_SECONDS = 20


def cluster(lines: Sequence[Line], address: str, threads: int | None, tick: Tick) -> Finished:
    """Solve the lines on the workers of the scheduler at `address`; yields the index and the rows of each.

    Lines of a worker that dies are solved again by another; workers may come and go. Each line uses one thread unless
    `threads` says otherwise, since Dask runs as many lines at once as a worker has threads.

    Raises
    ------
    InvalidProblem
        If the extra `dask` is not installed.
    WorkerError
        If the scheduler cannot be reached or goes away, a line costs several workers, or a worker has other versions.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise InvalidProblem("scheduler needs Dask: pip install 'replica-attention[dask]'") from None
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise WorkerError(f"scheduler = {address!r} cannot be reached: {text or type(error).__name__}") from None
    sizes = {line.index: len(line.alphas) for line in lines}
    with _quiet(), client:
        futures = client.map(_remote, lines, expected=versions(), threads=threads or 1, pure=False)
        for future in as_completed(futures, loop=client.loop):
            index, rows = _result(future)
            future.release()  # the scheduler need not keep what the journal has
            for _ in range(2 * sizes[index]):
                tick()
            yield index, rows


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging tracebacks when workers or the scheduler go away: the caller is told in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _remote(line: Line, expected: dict[str, str], threads: int) -> tuple[int, list[list[Any]]]:
    """Runs on a worker: other versions would give other digits, so they are refused."""
    here = versions()
    for name, version in expected.items():
        if here[name] != version:
            raise WorkerError(f"a worker has {name} {here[name]}, this process {version}; make them the same")
    return line.index, solve_line(line, threads)


def _result(future: Any) -> tuple[int, list[list[Any]]]:
    from concurrent.futures import CancelledError

    try:
        return future.result()
    except ReplicaError:
        raise
    except CancelledError:
        raise WorkerError("the scheduler went away; finished lines are kept, continue with resume") from None
    except Exception as error:
        text = " ".join(str(error).split())
        raise WorkerError(f"a worker failed: {type(error).__name__}: {text}; finished lines are kept") from error
