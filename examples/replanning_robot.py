"""A robot follows a plan through a burning building while the fire moves, and plans the rest anew, live.

`Follower` is what a robot's code needs, whatever moves the robot: it is told what is observed, says what to
do, and plans anew when the map changes. `Leaf` makes it a leaf of a behaviour tree. A node of ROS 2 would
call the same two methods from its callbacks; docs/how-to/robot.md shows it. Here a small simulation takes
the place of the robot.
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import replace

from hcssp import HCSSP, Decision, Hazard, NoSolution, Plan, small_building, solve


class Follower:
    """Follows a plan, and plans the rest anew when the world is no longer what the plan took it for."""

    def __init__(self, plan: Plan) -> None:
        self._run = plan.start()
        self.decision = self._run.step()

    def observe(self, seen: Hashable) -> Decision:
        """Tell what was observed since the last decision, and be told what to do."""
        self.decision = self._run.step(seen)
        return self.decision

    def change(self, world: HCSSP) -> Decision:
        """The map has changed: go on from here by a new plan, with what is left of the budgets."""
        self._run = self._run.replan(problem=world)
        self.decision = self._run.decision
        return self.decision

    def possible(self) -> list[tuple[str | None, Hashable | None]]:
        """What can be observed next, for a simulation."""
        return self._run.possible()


class Leaf:
    """The leaf of a behaviour tree: every tick tells what was seen and does what the plan says."""

    def __init__(self, follower: Follower, robot: Robot) -> None:
        self._follower, self._robot = follower, robot

    def update(self) -> str:
        """One tick; RUNNING until the end is reached, FAILURE if no plan is left."""
        changed = self._robot.new_map()
        try:
            decision = self._follower.decision if changed is None else self._follower.change(changed)
        except NoSolution as error:
            print(f"  there is no way left: {error}")
            return "FAILURE"
        if changed is not None:
            print(f"  the map has changed; planned anew: {decision}")
        if decision.over:
            return "SUCCESS"
        self._robot.do(decision)
        self._follower.observe(self._robot.look(self._follower.possible()))
        return "RUNNING"


class Robot:
    """Stands in for the robot and the building: samples what happens, and moves the fire once."""

    def __init__(self, seed: int, new_map: HCSSP, after: int) -> None:
        self._random, self._new_map, self._after = random.Random(seed), new_map, after
        self.steps = 0

    def do(self, decision: Decision) -> None:
        """Take the action: a real robot would begin to move."""
        self.steps += 1

    def look(self, possible: list[tuple[str | None, Hashable | None]]) -> Hashable:
        """What is observed then."""
        outcome, state = self._random.choice(possible)
        return state if state is not None else outcome

    def new_map(self) -> HCSSP | None:
        """The building as it is now, if that has changed since it was last asked for."""
        return self._new_map if self.steps == self._after else None


def with_fire(problem: HCSSP, activity: str, *cells: tuple[int, int, int, int]) -> HCSSP:
    """The same building in which other cells of an activity's room burn."""
    world = problem.activities[problem.activity_index(activity)].cssp.world
    if world is None:
        raise ValueError(f"{activity} takes place on no grid")
    costs = world.hazards[0].costs
    burning = [Hazard(*rectangle, costs=costs) for rectangle in cells]
    return problem.with_activities({activity: replace(world, hazards=burning).to_cssp()})


def main() -> None:
    """Plan, follow, and plan anew when the fire behind the door has moved."""
    problem = small_building(bound=2.0)
    plan = solve(problem)
    print(f"{plan.name}: expected time {plan.cost('time'):.2f}, damage {plan.cost('damage'):.2f} of 2")
    robot = Robot(seed=5, new_map=with_fire(problem, "leave-through-door", (3, 2, 1, 1)), after=3)
    follower = Follower(plan)
    leaf = Leaf(follower, robot)
    while (status := leaf.update()) == "RUNNING":
        pass
    print(f"{status}: at {follower.decision.event} after {robot.steps} decisions")
    if status != "SUCCESS":
        raise SystemExit("the robot did not arrive")


if __name__ == "__main__":
    main()
