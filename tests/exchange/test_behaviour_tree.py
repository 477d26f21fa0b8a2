"""The leaf of a behaviour tree follows a plan, plans the rest again, cancels and resumes."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("py_trees")

import py_trees
from py_trees.common import Status

from hcssp import Capacity, CSSPBuilder, Outcome, ProcedureBuilder, small_building, solve, with_capacities
from hcssp.exchange.behaviour_tree import FollowParameters, FollowPlan, Robot
from running_processes import HANG_GUARD

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from hcssp import HCSSP, Decision, Plan, Run


class Simulated(Robot):
    """Draws what happens from what the model calls possible; every action takes two ticks."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.leaf: FollowPlan | None = None
        self.actions: list[Decision] = []
        self.cancelled = 0
        self.worlds: dict[int, HCSSP] = {}
        self.additional: dict[int, float] = {}
        self._waits = 0
        self._run: Run | None = None
        self._before = 0.0

    def begin(self, decision: Decision) -> None:
        self.actions.append(decision)
        self._waits = 1

    def observed(self) -> Hashable | None:
        if self._waits:
            self._waits -= 1
            return None
        assert self.leaf is not None
        assert self.leaf.run is not None
        outcome, state = self.random.choice(self.leaf.run.possible())
        return state if state is not None else outcome

    def changed_problem(self) -> HCSSP | None:
        return self.worlds.pop(len(self.actions), None)

    def spent(self) -> Mapping[str, float]:
        """What the model expects, and more from some action on; counted over all runs."""
        assert self.leaf is not None
        run = self.leaf.run
        if run is not self._run:
            self._before += 0.0 if self._run is None else self._run.decision.spent["damage"]
            self._run = run
        here = 0.0 if run is None else run.decision.spent["damage"]
        more = sum(amount for action, amount in self.additional.items() if len(self.actions) >= action)
        return {"damage": self._before + here + more}

    def cancel(self) -> None:
        self.cancelled += 1


def _leaf(plan: Plan, robot: Simulated, **parameters: float) -> FollowPlan:
    leaf = FollowPlan(plan, robot, FollowParameters(**parameters))
    robot.leaf = leaf
    return leaf


def _ticked(root: py_trees.behaviour.Behaviour, leaf: FollowPlan) -> Status:
    """The status of the root when it is no longer running."""
    end = time.monotonic() + HANG_GUARD
    while time.monotonic() < end:
        root.tick_once()
        if root.status != Status.RUNNING:
            leaf.shutdown()
            return root.status
        time.sleep(0.001)
    raise AssertionError("the leaf never ends")


def _moved_fire(problem: HCSSP) -> HCSSP:
    index = problem.activity_index("leave-through-door")
    world = problem.activities[index].cssp.world
    assert world is not None
    fire = replace(world.hazards[0], row=2)
    return problem.with_activities({"leave-through-door": replace(world, hazards=[fire]).to_cssp()})


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(small_building(bound=2.0), gap=1e-3)


def test_a_leaf_follows_a_plan_to_its_end(plan: Plan) -> None:
    robot = Simulated(seed=1)
    leaf = _leaf(plan, robot)
    root = py_trees.composites.Sequence("mission", memory=True, children=[leaf])
    assert _ticked(root, leaf) == Status.SUCCESS
    assert leaf.replanned == 0
    assert leaf.run is None, "the next tick begins a new run"
    policy_actions = {decision.action for decision in robot.actions if decision.activity}
    assert policy_actions <= {"north", "east", "south", "west"}


def test_a_leaf_plans_again_twice_and_succeeds(plan: Plan) -> None:
    """Once since the fire has moved, and once since more damage was measured than expected."""
    robot = Simulated(seed=1)
    robot.worlds[2] = _moved_fire(small_building(bound=2.0))
    robot.additional[5] = 0.5
    leaf = _leaf(plan, robot)
    assert _ticked(leaf, leaf) == Status.SUCCESS, leaf.feedback_message
    assert leaf.replanned == 2
    # What was measured is gone: less is left of the bound than before.
    left = [decision.budget_left["damage"] for decision in robot.actions]
    assert min(left) <= 1.5


def test_without_a_plan_for_the_rest_the_leaf_fails(plan: Plan) -> None:
    robot = Simulated(seed=1)
    robot.additional[2] = 100.0
    leaf = _leaf(plan, robot)
    assert _ticked(leaf, leaf) == Status.FAILURE
    assert "damage" in leaf.feedback_message


def test_a_cancelled_leaf_goes_on_from_where_it_was(plan: Plan) -> None:
    robot = Simulated(seed=3)
    leaf = _leaf(plan, robot)
    for _ in range(6):
        leaf.tick_once()
    before = robot.actions[-1]
    leaf.stop(Status.INVALID)
    assert robot.cancelled == 1
    leaf.tick_once()
    assert robot.actions[-1] == before, "the action begins again"
    assert _ticked(leaf, leaf) == Status.SUCCESS


def test_a_change_is_not_lost_if_planning_is_cancelled(plan: Plan) -> None:
    robot = Simulated(seed=1)
    robot.worlds[2] = _moved_fire(small_building(bound=2.0))
    leaf = _leaf(plan, robot)
    while 2 in robot.worlds:
        leaf.tick_once()
    assert leaf.replanned == 0
    leaf.stop(Status.INVALID)
    assert _ticked(leaf, leaf) == Status.SUCCESS
    assert leaf.replanned == 1


def test_a_randomised_plan_has_a_randomised_rest() -> None:
    robot = Simulated(seed=1)
    robot.additional[2] = 0.3
    leaf = _leaf(solve(small_building(bound=2.0), policies="randomised"), robot)
    policies = set()
    while leaf.status != Status.SUCCESS:
        leaf.tick_once()
        if leaf.run is not None:
            policies.add(leaf.run._plan.policies)
        time.sleep(0.001)
    leaf.shutdown()
    assert leaf.replanned >= 1
    assert policies == {"randomised"}


def test_measured_capacities_reach_the_run() -> None:
    leg = CSSPBuilder(cost_names=("minutes", "battery"))
    here, there = leg.add_state((1, 1)), leg.add_goal((2, 1))
    leg.add_action(here, "fast", to={there: 0.5, here: 0.5}, costs={"minutes": 1, "battery": 2})
    leg.add_action(here, "slow", to=there, costs={"minutes": 5, "battery": 1})
    leg.set_initial(here)
    flight = ProcedureBuilder()
    base, ridge, home = (flight.add_event(name) for name in ("base", "ridge", "home"))
    out, back = flight.add_activity("out", leg.build()), flight.add_activity("back", leg.build())
    flight.add_choice(base, "fly", to=[Outcome(1.0, ridge, runs=out)])
    flight.add_choice(ridge, "fly", to=[Outcome(1.0, home, runs=back)])
    plan = solve(with_capacities(flight.build(start=base, end=home), [Capacity("battery", at_most=4)]))

    class Flying(Simulated):
        def observed(self) -> Hashable | None:
            # The first try fails.
            return (1, 1) if len(self.actions) == 1 else (2, 1)

        def spent(self) -> Mapping[str, float]:
            return {}

        def used(self) -> Mapping[str, float]:
            return {"battery": 2} if len(self.actions) == 1 else {}

    robot = Flying(seed=0)
    leaf = _leaf(plan, robot)
    assert _ticked(leaf, leaf) == Status.SUCCESS
    assert [decision.used["battery"] for decision in robot.actions][:2] == [0.0, 2.0]
    assert robot.actions[1].action == "slow", "one unit is needed for the way back"
