"""Units do not matter: costs in other units have the same best policy, the same status and the same gap."""

from __future__ import annotations

import pytest

from other_units import NAMES, check_units, has_unique_optimum, plan_of, problems
from referee.pending import settled


@pytest.mark.parametrize("name", settled("units", NAMES))
def test_the_unit_of_a_cost_does_not_matter(name: str) -> None:
    assert check_units(name) == []


def test_there_is_something_to_compare() -> None:
    assert sum(map(has_unique_optimum, problems())) > len(problems()) // 2
    assert sum(plan_of(name).found for name in problems()) > len(problems()) // 2
