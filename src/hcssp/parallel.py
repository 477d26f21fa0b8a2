"""Work on several problems at once, where they are large enough for that to pay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from math import inf
from typing import TypeVar

from hcssp.deadline import until

MIN_STATES_FOR_THREADS = 100_000
"""Problems with more states than this, together, are worked on by several threads."""

_most_threads = os.cpu_count()

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def parallel_map(work: Callable[[Item], Answer], items: Iterable[Item], num_states: int) -> list[Answer]:
    """``[work(item) for item in items]``, by a thread for each core if `num_states` is large.

    Array operations, sparse products and factorisations release the interpreter. Each thread also has
    memory of its own, which it need not give back and ask for again with every large array.

    >>> parallel_map(abs, [1, -2], num_states=3)
    [1, 2]
    """
    items = list(items)
    if num_states <= MIN_STATES_FOR_THREADS or len(items) < 2 or _most_threads == 1:
        return [work(item) for item in items]
    with until(inf) as deadline, ThreadPoolExecutor(max_workers=_most_threads) as pool:
        contexts = [copy_context() for _ in items]
        try:
            return list(pool.map(lambda context, item: context.run(work, item), contexts, items))
        except BaseException:
            # Ctrl-C is heard here, while threads are at work that nobody waits for any more.
            deadline.give_up()
            raise


def work_in_one_thread() -> None:
    """From now on this process uses one thread: it is one of several that share the cores."""
    global _most_threads
    _most_threads = 1


@contextmanager
def one_of_several_processes() -> Iterator[None]:
    """Meanwhile this process uses one thread."""
    global _most_threads
    before = _most_threads
    _most_threads = 1
    try:
        yield
    finally:
        _most_threads = before
