"""Where lines are solved: in this process, or in worker processes of this machine."""

from __future__ import annotations

import contextlib
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from ..errors import WorkerError
from .lines import solve_line
from .plan import Line

Tick = Callable[[], None]
Finished = Iterator[tuple[int, list[list[Any]]]]
# a line whose worker dies this often is given up: the next try would end the same way
MAX_DEATHS = 3


def serial(lines: Sequence[Line], threads: int | None, tick: Tick) -> Finished:
    """Solve the lines one by one in this process; yields the index and the rows of each."""
    for line in lines:
        yield line.index, solve_line(line, threads, tick)


def processes(lines: Sequence[Line], jobs: int, threads: int | None, tick: Tick) -> Finished:
    """Solve the lines in `jobs` spawned processes; yields the index and the rows of each as it is finished.

    A worker that dies is replaced and its line solved again. Workers end with this process, however it ends.

    Raises
    ------
    WorkerError
        If a line has cost three workers.
    """
    waiting = deque(lines)
    deaths: Counter[int] = Counter()
    ticked: Counter[int] = Counter()
    workers = [_Worker(threads) for _ in range(min(jobs, len(lines)))]
    try:
        for worker in workers:
            worker.give(waiting)
        while busy := [worker for worker in workers if worker.line is not None]:
            ready = wait([worker.connection for worker in busy])
            for worker in (worker for worker in busy if worker.connection in ready):
                line = worker.line
                try:
                    kind, content = worker.connection.recv()
                except (EOFError, OSError):
                    deaths[line.index] += 1
                    if deaths[line.index] >= MAX_DEATHS:
                        raise WorkerError(_death_note(worker)) from None
                    waiting.appendleft(line)
                    worker.restart()
                    worker.give(waiting)
                    continue
                if kind == "tick":
                    worker.ticks += 1
                    if worker.ticks > ticked[line.index]:  # not again for a line that is solved again
                        ticked[line.index] += 1
                        tick()
                elif kind == "error":
                    raise content
                else:
                    worker.give(waiting)  # before the caller writes: the worker need not wait for the disk
                    yield line.index, content
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A worker process, the pipe to it, the line it is at, and the solves it has reported of it."""

    def __init__(self, threads: int | None) -> None:
        self._threads, self.ticks = threads, 0
        self.line: Line | None = None
        self._start()

    def give(self, waiting: deque[Line]) -> None:
        """Send the next waiting line, if there is one."""
        self.line, self.ticks = (waiting.popleft() if waiting else None), 0
        if self.line is not None:
            # a worker that is gone is noticed when its answer is awaited
            with contextlib.suppress(OSError):
                self.connection.send(self.line)

    def restart(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()

    def _start(self) -> None:
        context = get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_work, args=(other, self._threads), daemon=True)
        self.process.start()
        other.close()  # the worker holds the only other end, so that its death ends the pipe


def _work(connection: Connection, threads: int | None) -> None:
    """Solve the lines that arrive until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    with contextlib.suppress(EOFError, OSError):
        while True:
            line = connection.recv()
            try:
                answer = ("rows", solve_line(line, threads, lambda: connection.send(("tick", None))))
            except BrokenPipeError:
                raise
            except Exception as error:
                answer = ("error", error)
            connection.send(answer)


def _death_note(worker: _Worker) -> str:
    worker.process.join()
    line = worker.line
    return (
        f"line {line.index + 1} ({line.estimator}, alpha = {line.alphas[0]:g}...) has cost {MAX_DEATHS} worker "
        f"processes, the last with exit code {worker.process.exitcode}: killed, or out of memory? (a script "
        "that sweeps with jobs needs: if __name__ == '__main__')"
    )
