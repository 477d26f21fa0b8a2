"""Ctrl-C at every instant of a search and its evaluation: the best plan so far comes back.

A trace function raises at a line that is counted, not timed, so that every line is tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from math import inf
from types import FrameType
from typing import Any

import pytest

from hcssp import deadline
from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxRuntime, Progress
from hcssp.contract.proof import Reason
from hcssp.cssp.model import CSSP
from hcssp.deadline import seconds_left
from hcssp.procedure import HCSSP
from hcssp.scenarios import small_building
from hcssp.solving.solve import Findings, solve
from known_optima import knapsack
from small_procedures import fork_in_the_middle

solving = import_module("hcssp.solving.solve")


class Lines:
    """Counts the lines of this library that are executed after an event, and raises at one of them."""

    def __init__(self, interrupted_at: int) -> None:
        self.count = 0
        self.began = False
        self._at = interrupted_at

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if "/hcssp/" not in frame.f_code.co_filename:
            return None
        if self.began and event == "line":
            self.count += 1
            if self.count == self._at:
                raise KeyboardInterrupt
        return self


def interrupted(run: Callable[[Lines], Plan], line: int) -> tuple[Plan | None, int]:
    """The plan of a search that is interrupted at a line, if it comes back, and the lines counted."""
    lines = Lines(line)
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        return run(lines), lines.count
    except KeyboardInterrupt:
        return None, lines.count
    finally:
        sys.settrace(before)


def after_the_first_plan(problem: HCSSP | CSSP) -> Callable[[Lines], Plan]:
    def run(lines: Lines) -> Plan:
        def begin(progress: Progress) -> None:
            lines.began = lines.began or progress.incumbent is not None

        return solve(problem, on_progress=begin)

    return run


@pytest.mark.parametrize("problem", [knapsack(6.0), fork_in_the_middle()], ids=["flat", "procedure"])
def test_ctrl_c_at_any_line_after_the_first_plan_keeps_it(problem: HCSSP | CSSP) -> None:
    run = after_the_first_plan(problem)
    reference, total = interrupted(run, 0)
    assert reference is not None
    assert total > 200
    # The last lines are those of the evaluation and the end: all of them; of the others a sample.
    tried = sorted({*range(1, total, total // 12), *range(total - 20, total + 1)})
    for line in tried:
        plan, counted = interrupted(run, line)
        assert counted == line
        assert plan is not None, line
        assert plan.found
        assert plan.ending.reason is Reason.INTERRUPTED
        assert plan.keeps_bounds()
        assert plan.lower_bound <= reference.upper_bound * (1.0 + 1e-9)


def test_a_second_ctrl_c_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = []

    def evaluated(*_: object) -> Plan:
        pressed.append("Ctrl-C")
        raise KeyboardInterrupt

    monkeypatch.setattr(Findings, "conclude", evaluated)
    with pytest.raises(KeyboardInterrupt):
        solve(small_building(2.0))
    assert len(pressed) == 2


def test_no_deadline_is_left_behind_for_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    original = Findings.conclude

    def conclude(self: Findings, *given: Any) -> Plan:
        left.append(seconds_left())
        return original(self, *given)

    @contextmanager
    def never_left(moment: float) -> Iterator[None]:
        # As if Ctrl-C came just before the deadline was taken back.
        deadline._DEADLINE.set(deadline.Deadline(moment))
        yield

    monkeypatch.setattr(Findings, "conclude", conclude)
    monkeypatch.setattr(solving, "until", never_left)
    solve(knapsack(6.0), stop=[MaxRuntime(60.0)])
    assert left == [inf]
