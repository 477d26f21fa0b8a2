"""The options that say who does the work: ``--jobs`` and ``--scheduler``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError, positive_count

if TYPE_CHECKING:
    from hcssp.workers import Workers


def job_count(text: str) -> int:
    """A number of processes that one machine can run."""
    from hcssp.workers.crew import MAX_JOBS

    count = positive_count(text)
    if count > MAX_JOBS:
        raise argparse.ArgumentTypeError(
            f"{text} are more processes than a machine runs; give 1 to {MAX_JOBS}"
        )
    return count


def add_worker_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options; `what` says what is done side by side, such as ``points of the curve``."""
    parser.add_argument(
        "--jobs",
        type=job_count,
        metavar="N",
        help=f"work on {what} in N processes of this machine (default: 1)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"work on {what} with a Dask cluster, such as tcp://localhost:8786 (needs hcssp[dask])",
    )


def workers_of(arguments: argparse.Namespace, gone: float | None = None) -> Workers | None:
    """The workers that were asked for, to be closed by the caller; None if this process does it all.

    Parameters
    ----------
    arguments
        Of the command.
    gone
        How many seconds of its time limit have passed, beyond which a cluster is not waited for; None if the
        limit is one for each piece of the work.

    Raises
    ------
    UsageError
        If processes and a cluster were asked for.
    """
    import time
    from math import inf

    from hcssp.deadline import until
    from hcssp.workers import open_workers

    if arguments.scheduler is not None:
        if arguments.jobs is not None:
            raise UsageError("--jobs and --scheduler: give one of them")
        left = inf if gone is None or arguments.time_limit is None else arguments.time_limit - gone
        with until(time.perf_counter() + left):
            return open_workers(scheduler=arguments.scheduler)
    if arguments.jobs is None or arguments.jobs == 1:
        return None
    return open_workers(jobs=arguments.jobs)
