"""Nodes cut into blocks by their number alone: sums do not depend on the number of threads, to the last bit."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

BLOCK = 512


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="replica-block")


def default_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_blocks(function: Callable[[int, int], Any], count: int, threads: int | None = None, size: int = BLOCK) -> list:
    """Results of function(begin, end) over consecutive blocks of `size` nodes, in order.

    The function must release the GIL to profit from threads. One block, or one thread, runs in the caller.
    """
    spans = [(begin, min(begin + size, count)) for begin in range(0, count, size)]
    threads = default_threads() if threads is None else threads
    if threads == 1 or len(spans) == 1:
        return [function(*span) for span in spans]
    return list(_pool(threads).map(lambda span: function(*span), spans))
