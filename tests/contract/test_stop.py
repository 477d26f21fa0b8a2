from __future__ import annotations

from math import inf

import pytest

from hcssp.contract.progress import Progress
from hcssp.contract.stop import Gap, MaxIterations, MaxRuntime, StopCriterion, Target, first_reason
from hcssp.numerics import relative_gap

NOTHING_KNOWN = Progress()
HALFWAY = Progress(seconds=2.0, iterations=10, lower_bound=90.0, upper_bound=100.0)


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
    ],
)
def test_each_criterion_looks_at_its_own_figure(criterion: StopCriterion, reason: str | None) -> None:
    assert criterion(HALFWAY) == reason
    # Pure: asked again, it says the same.
    assert criterion(HALFWAY) == reason


@pytest.mark.parametrize("criterion", [Gap(0.5), MaxRuntime(1.0), MaxIterations(1), Target(1e9)])
def test_no_criterion_holds_while_nothing_is_known(criterion: StopCriterion) -> None:
    assert criterion(NOTHING_KNOWN) is None


def test_the_first_criterion_that_holds_gives_the_reason() -> None:
    criteria = [Gap(0.01), MaxIterations(5), MaxRuntime(1.0)]
    assert first_reason(criteria, HALFWAY) == "iterations"
    assert first_reason([], HALFWAY) is None
    assert first_reason([Gap(0.01)], HALFWAY) is None


def test_any_function_of_the_progress_is_a_criterion() -> None:
    assert first_reason([lambda progress: "lunch" if progress.iterations > 5 else None], HALFWAY) == "lunch"


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
