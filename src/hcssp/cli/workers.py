"""The options that say who does the work: ``--jobs`` and ``--scheduler``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError, positive_count

if TYPE_CHECKING:
    from hcssp.workers import Workers


def add_worker_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options; `what` says what is done side by side, such as ``points of the curve``."""
    parser.add_argument(
        "--jobs",
        type=positive_count,
        metavar="N",
        help=f"work on {what} in N processes of this machine (default: 1)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"work on {what} with a Dask cluster, such as tcp://localhost:8786 (needs hcssp[dask])",
    )


def workers_of(arguments: argparse.Namespace) -> Workers | None:
    """The workers that were asked for, to be closed by the caller; None if this process does it all.

    Raises
    ------
    UsageError
        If processes and a cluster were asked for.
    """
    from hcssp.workers import open_workers

    if arguments.scheduler is not None:
        if arguments.jobs is not None:
            raise UsageError("--jobs and --scheduler: give one of them")
        return open_workers(scheduler=arguments.scheduler)
    if arguments.jobs is None or arguments.jobs == 1:
        return None
    return open_workers(jobs=arguments.jobs)
