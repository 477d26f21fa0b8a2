"""One process and its workers, side by side: whoever is done with a piece of work is given the next.

Workers that are processes of this machine are started by the one that has the work, which then would have
nothing to do: with two jobs there are this process and another, and what was learnt here is used here.
Between two steps of its own search it looks whether a worker is done, takes the answer, and gives out the
next piece. With workers elsewhere this process only does that.
"""

from __future__ import annotations

from contextlib import nullcontext
from contextvars import copy_context
from typing import Any, Generic, Protocol, TypeVar

from hcssp.contract.ending import Ending, Reason
from hcssp.contract.progress import Progress
from hcssp.contract.stop import StopCriterion
from hcssp.parallel import one_of_several_processes
from hcssp.workers import Task, Workers

Piece = TypeVar("Piece")


class Work(Protocol[Piece]):
    """Something to do in pieces."""

    def following(self, done: Piece | None) -> Piece | None:
        """What is next for one who has done a piece, or none yet; None if nothing is left."""

    def send(self, piece: Piece) -> Task:
        """Have a piece done by a worker."""

    def do(self, piece: Piece, attend: StopCriterion) -> Any:
        """The answer to a piece, found here; `attend` is one of the criteria by which searches stop."""

    def learn(self, piece: Piece, answer: Any) -> None:
        """Keep of an answer, found here or by a worker, what helps with pieces that are sent out now."""

    def take(self, piece: Piece, answer: Any) -> None:
        """Do all that is to be done with an answer."""


class SideBySide(Generic[Piece]):
    """Does some work.

    Parameters
    ----------
    workers
        Who does it beside this process.
    work
        What is done.
    """

    def __init__(self, workers: Workers, work: Work[Piece]) -> None:
        self._workers = workers
        self._work = work
        self._out: dict[Task, Piece] = {}
        self._fault: Exception | None = None
        # What comes back is looked at as if it had come here, and not within the time of another search.
        self._context = copy_context()

    def run(self) -> None:
        """Do all of it; an error of any piece is raised here, and the others are given up."""
        alone = self._workers.helpers == 0
        try:
            with nullcontext() if alone else one_of_several_processes():
                self._run()
        finally:
            for task in self._out:
                self._workers.abandon(task)

    def _run(self) -> None:
        mine = self._work.following(None) if self._workers.takes_part else None
        self._give_out()
        while mine is not None:
            answer = self._work.do(mine, self._attend)
            self._raise_fault()
            self._work.learn(mine, answer)
            self._work.take(mine, answer)
            mine = self._work.following(mine)
        while self._out:
            self._collect(None)
            self._raise_fault()

    def _attend(self, progress: Progress) -> Ending | None:
        """Look after the others between two steps of a search here, which is given up if one has failed."""
        if self._out:
            self._context.run(self._collect, 0.0)
        return None if self._fault is None else Ending(Reason.CRITERION, "another piece of the work failed")

    def _collect(self, timeout: float | None) -> None:
        """Take what is done, and give out as much; wait for the first so long, or until there is one."""
        while self._fault is None and (task := self._workers.next_done(timeout)) is not None:
            piece = self._out.pop(task)
            try:
                answer = task.result()
                self._work.learn(piece, answer)
                # Nobody waits while the answer is looked at.
                self._give_out(piece)
                self._work.take(piece, answer)
            except Exception as error:  # noqa: BLE001, raised where it is no error of another piece
                self._fault = error
            timeout = 0.0

    def _give_out(self, done: Piece | None = None) -> None:
        """Let every worker have something to do, the one that has done a piece what follows it."""
        while len(self._out) < self._workers.helpers:
            piece = self._work.following(done)
            if piece is None:
                return
            self._out[self._work.send(piece)] = piece
            done = None

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault
