"""Inside a group: activities planned in turn, from where the plans before them end."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

from brute_force_procedures import brute_force_flat
from hcssp.methods.paper import Instance
from hcssp.methods.paper.activity_budget import within
from hcssp.methods.paper.algorithms import planned_in_turn
from hcssp.procedure.parts import Grouping, grouped
from random_procedures import random_procedure
from small_procedures import drone, fork_in_the_middle, forking


def instance_of(grouping: Grouping) -> Instance:
    return Instance(grouping.problem, owners=grouping.owners)


def turns_of(grouping: Grouping) -> list[set[Hashable]]:
    """The labels of the states that are decided in each turn of the first activity."""
    instance = instance_of(grouping)
    planner = instance.activities[0].planner
    labels = grouping.problem.activities[0].cssp.state_labels
    states = planner.prepared.states[planner.balance.live]
    return [
        {labels[int(states[state])] for state in planner.balance.row_state[rows]}
        for rows in instance.turns(0)
    ]


def test_members_that_can_choose_take_turns_in_topological_order_and_choices_come_last() -> None:
    assert turns_of(grouped(drone())) == [{("first leg", "depot")}, {("second leg", "depot")}]
    assert turns_of(grouped(forking())) == [
        {("choose", "fork")},
        {("event", "hall", "left"), ("event", "hall", "right")},
    ]


def test_an_activity_outside_of_groups_has_no_turns() -> None:
    instance = instance_of(grouped(fork_in_the_middle()))
    assert [instance.is_group(activity) for activity in range(4)] == [False, True, False, False]
    assert list(instance.turns(0)) == []


def test_what_the_first_leg_leaves_of_the_budget_goes_to_the_second() -> None:
    # High and high takes 32 and never crashes; within 0.15 one leg can be flown low, the first at first.
    instance = instance_of(grouped(drone()))
    budget = instance.activities[0]
    safest = budget.at(np.array([1e6])).plan
    assert safest.costs[0] == pytest.approx(32.0)
    assert planned_in_turn(instance, 0, np.array([0.15]), safest).costs[0] == pytest.approx(25.4)
    assert planned_in_turn(instance, 0, np.array([0.2]), safest).costs[0] == pytest.approx(20.9)
    assert planned_in_turn(instance, 0, np.array([0.05]), safest) is safest


@pytest.mark.parametrize("seed", range(12))
def test_plans_keep_the_limits_and_are_never_worse(seed: int) -> None:
    grouping = grouped(random_procedure(seed, several_exits=True, cycles=seed % 2 == 0))
    instance = instance_of(grouping)
    for activity in filter(instance.is_group, range(len(instance.activities))):
        budget = instance.activities[activity]
        sparing = budget.at(np.full(len(budget.counted), 1e3)).plan
        limits = 0.5 * (
            budget.usage(sparing) + np.maximum(budget.usage(sparing), budget.usage(budget.unconstrained))
        )
        plan = planned_in_turn(instance, activity, limits, sparing)
        assert within(budget.usage(plan), limits)
        assert plan.costs[0] <= sparing.costs[0]
        costs = brute_force_flat(grouping.problem.activities[activity].cssp).costs
        assert np.min(np.abs(costs - plan.costs).max(axis=1)) == pytest.approx(0.0, abs=1e-8)
