"""Pieces of work done here and by workers: all of them, once, and what goes wrong is raised in the end."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hcssp.contract.progress import Progress
from hcssp.contract.stop import StopCriterion
from hcssp.errors import HcsspError, InvalidProblem
from hcssp.solving.side_by_side import SideBySide
from hcssp.workers import Task, Workers, open_workers
from running_processes import HANG_GUARD


def answer_to(piece: int) -> tuple[int, int]:
    if piece < 0:
        raise InvalidProblem([f"{piece} is negative"])
    return piece, os.getpid()


class Numbers:
    """Each number is a piece; one that is done here takes until all others are done."""

    def __init__(self, workers: Workers, numbers: list[int], patient: bool = False) -> None:
        self.workers = workers
        self.numbers = numbers
        self.patient = patient
        self.learnt: list[int] = []
        self.found: dict[int, int] = {}
        self.after: list[tuple[int | None, int]] = []

    def following(self, done: int | None) -> int | None:
        if not self.numbers:
            return None
        self.after.append((done, self.numbers[0]))
        return self.numbers.pop(0)

    def send(self, piece: int) -> Task:
        return self.workers.submit(answer_to, piece)

    def do(self, piece: int, attend: StopCriterion) -> tuple[int, int]:
        until = time.monotonic() + HANG_GUARD
        while attend(Progress()) is None and self.patient and self.numbers and time.monotonic() < until:
            time.sleep(0.001)
        return answer_to(piece)

    def learn(self, piece: int, answer: Any) -> None:
        self.learnt.append(piece)

    def take(self, piece: int, answer: tuple[int, int]) -> None:
        number, process = answer
        assert number == piece
        assert piece in self.learnt
        assert piece not in self.found
        self.found[piece] = process


def test_this_process_does_its_share_and_gives_out_more_meanwhile() -> None:
    with open_workers(jobs=2) as workers:
        assert (workers.takes_part, workers.helpers) == (True, 1)
        work = Numbers(workers, list(range(6)), patient=True)
        SideBySide(workers, work).run()
        assert len(workers.process_ids) == 1
    assert sorted(work.found) == list(range(6))
    # All but the first were given out while that was being done here, each after what its worker had done.
    assert [piece for piece, process in work.found.items() if process == os.getpid()] == [0]
    assert work.after == [(None, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_one_job_is_this_process() -> None:
    with open_workers(jobs=1) as workers:
        assert (workers.takes_part, workers.helpers) == (True, 0)
        work = Numbers(workers, [3, 1, 2])
        SideBySide(workers, work).run()
    assert [*work.found] == [3, 1, 2]


def test_workers_that_somebody_brings_do_it_alone() -> None:
    with ThreadPoolExecutor(2) as pool:
        workers = open_workers(executor=pool)
        assert (workers.takes_part, workers.helpers) == (False, 2)
        work = Numbers(workers, [3, 1, 2])
        SideBySide(workers, work).run()
    assert sorted(work.found) == [1, 2, 3]


@pytest.mark.parametrize("numbers", [[1, -2, 3, 4, 5], [-1, 2]])
def test_an_error_ends_the_work_and_is_raised_as_it_was(numbers: list[int]) -> None:
    with open_workers(jobs=2) as workers:
        work = Numbers(workers, numbers, patient=True)
        with pytest.raises(HcsspError, match="is negative"):
            SideBySide(workers, work).run()
        assert not any(piece < 0 for piece in work.found)
        assert workers.outstanding == 0
