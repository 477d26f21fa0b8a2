"""The limits of the server: sizes, times and numbers."""

from __future__ import annotations

from dataclasses import dataclass

OUT_OF_MEMORY = 77
"""The exit code of a worker that has taken all of its memory."""


@dataclass(frozen=True)
class ServeParameters:
    """The limits of a server on memory, files and time for each client.

    Attributes
    ----------
    sessions
        How many sessions may be open. One more closes the one that was idle longest, which is saved first.
    connections
        How many connections may be open.
    body_bytes
        The size of a request.
    edited_bytes
        The size of a text that operations can edit; a larger one is replaced as a whole.
    operations
        How many operations an edit may have.
    history, history_bytes
        How many texts can be brought back by undo, and their size together.
    plans
        How many plans a session keeps; the oldest is dropped first.
    worker_bytes
        The memory of a session's worker process, which is killed if it takes more.
    search_bytes
        The memory of a worker at which a search ends with its best plan.
    watch_seconds
        The interval at which a worker looks at its memory.
    address_bytes
        The address space of a worker, where the system limits it; factorisations reserve much more than they
        use.
    answer_bytes
        The size of an answer of a worker.
    files, scanned
        How many files and sessions a list has, and how many names of the folder are looked at.
    grace_seconds
        How long a worker may take to begin with a request, or a message to be sent; then it is killed.
    queue_seconds
        How long a question may wait for others.
    load_seconds
        How long a worker may take for an edit: to read and draw the problem.
    ask_seconds
        The longest time limit of a question, and how long an answer may take beyond it.
    client_seconds
        How long a client may take to send a request, or to take a part of an answer.
    ping_seconds
        The interval of comments in a stream of events, which keep the connection open.
    progress_seconds
        The shortest interval between two reports on a search.
    page_share
        The largest share of a search's time for writing the pages of its incumbents.
    gap, time_limit
        When the search of a new session stops, in seconds of work.
    points, runs, samples
        The points of a curve, the simulated runs that are listed, and those of a distribution.
    most_runs
        The most runs, points or plans that a question can ask for.
    trail
        How many places of an execution are listed.
    """

    sessions: int = 8
    connections: int = 200
    body_bytes: int = 9 * 2**20
    edited_bytes: int = 2**18
    operations: int = 5_000
    history: int = 200
    history_bytes: int = 32 * 2**20
    plans: int = 12
    worker_bytes: int = 2 * 2**30
    search_bytes: int = 3 * 2**29
    watch_seconds: float = 0.1
    address_bytes: int = 32 * 2**30
    answer_bytes: int = 2**28
    files: int = 1000
    scanned: int = 20_000
    grace_seconds: float = 5.0
    queue_seconds: float = 300.0
    load_seconds: float = 60.0
    ask_seconds: float = 60.0
    client_seconds: float = 20.0
    ping_seconds: float = 15.0
    progress_seconds: float = 0.1
    page_share: float = 0.2
    gap: float = 1e-4
    time_limit: float = 30.0
    points: int = 11
    runs: int = 24
    samples: int = 4000
    most_runs: int = 1_000_000
    trail: int = 500
