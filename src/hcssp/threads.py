"""Threads: one for linear algebra while a search runs, several for independent problems that are large.

The matrices of a search are many and small. Shared among threads, each of them takes longer than alone, and
the threads wait for the next one in busy loops: on two cores a search took two to four times as long.
A program that imports the library keeps its own threads before and after.

OpenBLAS takes its working memory at the first call, and never stops trying if there is none, as under
``ulimit -v``.
So it is made to take it before the search begins, after a look at whether it is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from math import inf
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hcssp.deadline import until

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


OF_ALL = "OMP_NUM_THREADS"
OF_ONE = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
"""What libraries of linear algebra read when they are loaded: all of them, and some before that."""

WORKING_MEMORY = 2**26
"""Bytes that NumPy's and SciPy's OpenBLAS take together, 32 MiB each."""


@contextmanager
def single_threaded_algebra() -> Iterator[None]:
    """Linear algebra uses one thread meanwhile, and has its working memory.

    Raises
    ------
    MemoryError
        If there is not enough left for that.

    >>> with single_threaded_algebra():
    ...     {library.num_threads for library in _controller().lib_controllers if library.user_api == "blas"}
    {1}
    """
    _take_working_memory()
    if _is_single_anyway():
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _take_working_memory() -> None:
    """Call each library of linear algebra once: what it takes, it keeps."""
    from scipy.linalg.blas import dtrsv

    try:
        np.empty(WORKING_MEMORY, dtype=np.uint8)
    except MemoryError as error:
        needed = f"linear algebra needs {WORKING_MEMORY / 2**20:.0f} MiB of working memory"
        raise MemoryError(needed) from error
    one = np.ones((1, 1))
    dtrsv(one, one[0])
    np.linalg.solve(one, one)


def _is_single_anyway() -> bool:
    """Whether the environment asks for one thread, as that of the command does, and no code has changed it.

    Threads are changed by threadpoolctl, and importing that and looking for libraries takes as
    long as planning some rooms.
    """
    asked = [os.environ.get(OF_ALL), *(os.environ.get(name, "1") for name in OF_ONE)]
    return "threadpoolctl" not in sys.modules and all(threads == "1" for threads in asked)


@cache
def _controller() -> ThreadpoolController:
    """The libraries for linear algebra that are loaded; looking for them takes a while, once."""
    import scipy.linalg
    import scipy.sparse.linalg  # noqa: F401  with libraries of their own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
    from concurrent.futures import ThreadPoolExecutor

    with until(inf) as deadline, ThreadPoolExecutor(max_workers=_most_threads) as pool:
        contexts = [copy_context() for _ in items]
        try:
            return list(pool.map(lambda context, item: context.run(work, item), contexts, items))
        except BaseException:
            # Ctrl-C is raised here, while threads still work on results that are no longer wanted.
            deadline.give_up()
            raise


def work_in_one_thread() -> None:
    """From now on this process uses one thread: it is one of several that share the cores."""
    global _most_threads
    _most_threads = 1
