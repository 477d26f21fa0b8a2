from __future__ import annotations

import sys
import threading
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcssp.contract.progress import (
    FirstPlan,
    Gap,
    Interrupter,
    MaxIterations,
    MaxMemory,
    MaxRuntime,
    NoImprovement,
    Progress,
    StopCriterion,
    Target,
    criteria_of,
    first_ending,
    resident_memory,
    time_limit_of,
)
from hcssp.contract.proof import Ending, Reason
from hcssp.errors import InvalidOption, InvalidProblem
from hcssp.numerics import relative_gap

NOTHING_KNOWN = Progress()
HALFWAY = Progress(seconds=2.0, iterations=10, lower_bound=90.0, upper_bound=100.0, improved=0.5)


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        (Gap(0.1), "gap"),
        (Gap(0.0999), None),
        (MaxRuntime(2.0), "time limit"),
        (MaxRuntime(2.1), None),
        (MaxIterations(10), "iterations"),
        (MaxIterations(11), None),
        (Target(100.0), "target"),
        (Target(99.9), None),
        (FirstPlan(), "first plan"),
        (NoImprovement(1.5), "no improvement"),
        (NoImprovement(1.6), None),
        (MaxMemory(1.0), "memory"),
        (MaxMemory(1e18), None),
    ],
)
def test_each_criterion_looks_at_its_own_figure(criterion: StopCriterion, reason: str | None) -> None:
    expected = None if reason is None else Ending(Reason(reason))
    assert criterion(HALFWAY) == expected
    # Pure: asked again, it says the same.
    assert criterion(HALFWAY) == expected


@pytest.mark.parametrize(
    "criterion",
    [
        Gap(0.5),
        MaxRuntime(1.0),
        MaxIterations(1),
        Target(1e9),
        FirstPlan(),
        NoImprovement(0.0),
        Interrupter(),
    ],
)
def test_no_criterion_holds_while_nothing_is_known(criterion: StopCriterion) -> None:
    assert criterion(NOTHING_KNOWN) is None


def test_without_a_plan_nothing_can_fail_to_improve() -> None:
    assert NoImprovement(1.0)(Progress(seconds=1e6, lower_bound=3.0)) is None


def test_the_first_criterion_that_holds_gives_the_reason() -> None:
    criteria = [Gap(0.01), MaxIterations(5), MaxRuntime(1.0)]
    assert first_ending(criteria, HALFWAY) == Ending(Reason.ITERATIONS)
    assert first_ending([], HALFWAY) is None
    assert first_ending([Gap(0.01)], HALFWAY) is None


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ("lunch", Ending(Reason.CRITERION, "lunch")),
        (Reason.MEMORY, Ending(Reason.MEMORY)),
        (Ending(Reason.TARGET, "cheap enough"), Ending(Reason.TARGET, "cheap enough")),
        # Words of ours in a user's text are the user's.
        ("gap", Ending(Reason.CRITERION, "gap")),
        ("infeasible", Ending(Reason.CRITERION, "infeasible")),
    ],
)
def test_any_function_of_the_progress_is_a_criterion(answer: Any, ending: Ending) -> None:
    def criterion(progress: Progress) -> Any:
        return answer if progress.iterations > 5 else None

    assert first_ending([criterion], HALFWAY) == ending
    assert first_ending([criterion], NOTHING_KNOWN) is None


@pytest.mark.parametrize(
    "reason",
    [
        Reason.PROVED,
        Reason.INFEASIBLE,
        Reason.RELAXATION,
        Reason.CONVERGED,
        Reason.ROUNDING,
        Reason.FAILED,
        Reason.EXHAUSTED,
        Reason.UNKNOWN,
    ],
)
def test_what_only_a_solver_can_know_is_no_criterions_reason(reason: Reason) -> None:
    for answer in (reason, Ending(reason), str(reason)):
        assert first_ending([lambda progress, told=answer: told], HALFWAY) == Ending(
            Reason.CRITERION, str(reason)
        )
    said = first_ending([lambda progress: Ending(reason, "so I guess")], HALFWAY)
    assert said == Ending(Reason.CRITERION, f"{reason} (so I guess)")


def test_one_criterion_or_several() -> None:
    assert criteria_of(Gap(0.1)) == (Gap(0.1),)
    assert criteria_of([Gap(0.1), MaxRuntime(1.0)]) == (Gap(0.1), MaxRuntime(1.0))
    assert criteria_of(each for each in (Gap(0.1),)) == (Gap(0.1),)
    assert criteria_of(()) == criteria_of(None) == ()
    assert criteria_of(FirstPlan(), 2.0, 0.0) == (FirstPlan(), Gap(0.0), MaxRuntime(2.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": 10}, r"^stop=10: .*write time_limit=10 or stop=MaxRuntime\(10\)"),
        ({"stop": [Gap(0.1), 1e-3]}, r"^stop=0.001: .*gap=0.001 or stop=Gap\(0.001\)"),
        ({"stop": "10 s"}, r"^stop='10 s': give a criterion, such as stop=MaxRuntime\(10\)"),
        ({"stop": None, "time_limit": "10"}, r"^time_limit='10': give a number"),
        ({"stop": None, "gap": -1.0}, r"^gap=-1.0: give a number that is at least 0"),
        ({"stop": None, "gap": float("nan")}, r"^gap=nan: give a number"),
    ],
)
def test_what_is_no_criterion_is_refused_with_a_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        criteria_of(**options)


def test_solvers_are_told_of_the_shortest_time_limit() -> None:
    assert time_limit_of([Gap(0.1), MaxRuntime(3.0), MaxRuntime(2.0)]) == 2.0
    assert time_limit_of([Gap(0.1), lambda progress: None]) == inf
    assert time_limit_of([]) == inf


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="elsewhere only the peak is told")
def test_the_memory_of_the_process_is_that_of_the_process() -> None:
    before = resident_memory()
    held = bytearray(64 * 2**20)
    # A page counts once it was written.
    held[:: 2**10] = b"x" * (len(held) // 2**10)
    assert resident_memory() - before > 32 * 2**20
    assert len(held) == 64 * 2**20


def test_a_system_that_does_not_tell_its_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda self: False)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(InvalidProblem, match="this system does not report the memory of a process"):
        MaxMemory(1e9)(HALFWAY)


def test_an_interrupter_stops_until_it_is_reset() -> None:
    interrupter = Interrupter()
    assert not interrupter.requested
    assert interrupter(HALFWAY) is None
    thread = threading.Thread(target=interrupter.interrupt)
    thread.start()
    thread.join()
    assert interrupter.requested
    assert interrupter(HALFWAY) == interrupter(NOTHING_KNOWN) == Ending(Reason.INTERRUPTED)
    interrupter.reset()
    assert interrupter(HALFWAY) is None


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [
        (90.0, 100.0, 0.1),
        (100.0, 100.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 5.0, 1.0),
        (-inf, 100.0, inf),
        (90.0, inf, inf),
        (inf, inf, inf),
        (-5.0, 10.0, 1.5),
        (100.0 + 1e-12, 100.0, 0.0),
    ],
)
def test_the_relative_gap(lower: float, upper: float, gap: float) -> None:
    assert relative_gap(lower, upper) == pytest.approx(gap)
    assert Progress(lower_bound=lower, upper_bound=upper).gap == pytest.approx(gap)
