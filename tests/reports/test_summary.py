from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.proof import Infeasible
from hcssp.cssp.product import Amount, Capacity, Level, LevelLabel
from hcssp.reports.plan_text import (
    ChoiceSummary,
    activity_summaries,
    choice_summaries,
    constraint_summaries,
    joined_choices,
)
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from small_procedures import forking, retrying
from solved_building import solved_building


def test_a_budget_is_what_the_method_allocated_and_nothing_else() -> None:
    plan = solved_building().as_procedure()
    without = {each.name: each for each in activity_summaries(plan)}
    assert all(each.budget == {"damage": None} for each in without.values())
    assert "allocated" not in str(plan)
    allocated = replace(plan, budgets={"return-to-E": {"damage": 5.0}})
    summaries = {each.name: each for each in activity_summaries(allocated)}
    assert summaries["return-to-E"].budget == {"damage": 5.0}
    assert summaries["go-to-door"].budget == {"damage": None}
    (row,) = [line.split() for line in str(allocated).splitlines() if line.startswith("  return-to-E ")]
    assert row[5] == "5.0000"


def test_an_activity_tells_only_of_the_constraints_that_count_it() -> None:
    cross, leave = activity_summaries(solve(retrying()).as_procedure())
    assert set(cross.usage) == {"damage"}
    assert set(leave.usage) == {"damage", "damage-at-last"}
    assert cross.expected_executions == pytest.approx(1.25)


def test_a_choice_that_depends_on_the_entry_says_so() -> None:
    events = [choice.event for choice in choice_summaries(solve(forking()).as_procedure())]
    assert events[0] == "start"
    assert all(event.startswith("hall (entered in ") for event in events[1:])
    assert len(events) > 1


def test_nothing_is_claimed_without_a_plan() -> None:
    plan = Plan(small_building(2.0)).as_procedure()
    (constraint,) = constraint_summaries(plan)
    assert (constraint.expected, constraint.at_most, constraint.price) == (None, 2.0, None)
    assert {each.cost for each in activity_summaries(plan)} == {None}
    assert choice_summaries(plan) == ()


def test_the_multipliers_of_a_proof_that_nothing_is_feasible_are_no_prices() -> None:
    plan = Plan(small_building(2.0), prices={"damage": 7.0}).as_procedure()
    assert constraint_summaries(plan)[0].price == 7.0
    assert constraint_summaries(replace(plan, proof=Infeasible()))[0].price is None


def test_equal_choices_at_neighbouring_levels_are_told_together_with_what_is_left() -> None:
    battery, water = Capacity("battery", 9.0, probability=0.1), Capacity("water", 3.0, step=0.5)

    def chosen(entry: Hashable | None, choice: str, place: str = "ridge") -> ChoiceSummary:
        return ChoiceSummary("", choice, ("other",), place, entry)

    def at(base: str, level: int, other: int | None = None) -> LevelLabel:
        amounts = [] if other is None else [Amount(water, other)]
        return LevelLabel(base, (Level([*amounts, Amount(battery, level)]),))

    listed = [
        chosen(None, "go", "depot"),
        chosen(at("G", 2), "fly"),
        chosen(at("H", 1), "fly"),
        chosen(at("G", 1), "fly"),
        chosen(at("G", 3), "charge"),
        # Level 10 stands for all that exceed the capacity.
        chosen(at("G", 10), "charge"),
        chosen(at("G", 8, 1), "wait", "lake"),
        chosen(at("G", 9, 1), "wait", "lake"),
        chosen(at("G", 9, 2), "wait", "lake"),
        chosen("left", "wait", "door"),
        chosen("right", "wait", "door"),
    ]
    assert [(each.event, each.choice) for each in joined_choices(listed)] == [
        ("depot", "go"),
        ("ridge (entered in G), battery used 1-2 of 9 (7-8 left)", "fly"),
        ("ridge (entered in H), battery used 1 of 9 (8 left)", "fly"),
        ("ridge (entered in G), battery used 3 of 9 (6 left)", "charge"),
        ("ridge (entered in G), battery above 9", "charge"),
        ("lake, water used 0.5 of 3 (2.5 left), battery used 8-9 of 9 (0-1 left)", "wait"),
        ("lake, water used 1 of 3 (2 left), battery used 9 of 9 (0 left)", "wait"),
        ("door (entered in left)", "wait"),
        ("door (entered in right)", "wait"),
    ]
