"""Small instances of the domains whose optima are known without a solver: closed forms, and all policies."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

import hcssp
from brute_force_procedures import brute_force
from hcssp.contract.progress import Progress
from hcssp.cssp.grid import GridWorld
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP
from hcssp.scenarios import (
    aircraft,
    delivery,
    elevators,
    patient,
    random_cssp,
    random_procedure,
    routing,
    rover,
    search_and_rescue,
)


def optimum(problem: HCSSP) -> float:
    plan = hcssp.solve(problem)
    assert plan.status == "optimal"
    assert plan.evaluate().keeps_bounds()
    assert plan.lower_bound == pytest.approx(plan.upper_bound, rel=1e-6)
    return float(plan.upper_bound)


def by_integer_program(problem: HCSSP) -> float:
    """The optimum as HiGHS finds it, by code that shares nothing with the search."""
    plan = hcssp.solve(problem, hcssp.MixedInteger())
    assert plan.ending.reason in ("proved", "converged", "gap")
    return float(plan.upper_bound)


def steps(world: GridWorld, start: tuple[int, int], goal: tuple[int, int]) -> int:
    """The steps of the shortest way between two cells."""
    distance = {start: 0}
    waiting = deque([start])
    while waiting:
        column, row = waiting.popleft()
        for there in ((column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)):
            inside = 0 <= there[0] <= world.width + 1 and 0 <= there[1] <= world.height + 1
            if inside and there not in distance and world.free[there[1], there[0]]:
                distance[there] = distance[column, row] + 1
                waiting.append(there)
    return distance[goal]


def choices(plan: hcssp.Plan, event: str) -> dict[str, str]:
    """What a procedure's plan chooses at an event, by the state in which it is entered."""
    whole = plan.as_procedure()
    problem, made = whole.problem, whole.policy.choices
    at = problem.events.index(event)
    return {
        str(entry).split(",")[0]: problem.choices[choice].name
        for (each, entry), choice in made.items()
        if each == at
    }


def test_an_aircraft_in_clear_weather_flies_as_published() -> None:
    plan = hcssp.solve(aircraft(storm=0.0, exposure=0.0))
    # Four segments of a quarter of an hour.
    assert plan.upper_bound == pytest.approx(60.0)
    assert plan.cost("exposure") == 0.0
    assert optimum(aircraft(storm=0.0, exposure=100.0)) == pytest.approx(60.0)


def test_an_aircraft_has_weather_with_probabilities() -> None:
    with pytest.raises(hcssp.InvalidProblem, match=r"sum to 1\.55; give"):
        aircraft(drift=0.9, decay=0.5)


def test_an_aircraft_chooses_by_the_bound_and_by_the_weather() -> None:
    plans = [hcssp.solve(aircraft(fuel=75, exposure=bound), gap=1e-3) for bound in (0.0, 1.0, 4.0, 20.0)]
    costs = [plan.upper_bound for plan in plans]
    assert all(tight > loose * (1.0 + 1e-3) for tight, loose in pairwise(costs))
    made = [tuple(choices(plan, event) for event in ("airport", "NIMBA", "TERMO")) for plan in plans]
    assert len(set(map(str, made))) >= 3
    # The same flight in other weather.
    airport = choices(plans[1], "airport")
    assert len({airport["clear"], airport["north"], airport["line"]}) >= 2


def test_an_aircraft_holds_or_diverts_as_its_fuel_allows() -> None:
    scarce, ample = (aircraft(fuel=fuel, exposure=0.0) for fuel in (60, 120))
    diverting, holding = hcssp.solve(scarce), hcssp.solve(ample)
    assert diverting.upper_bound > holding.upper_bound

    def flown(plan: hcssp.Plan, name: str) -> float:
        found = plan.evaluate()
        uses = [each.name for each in plan.as_procedure().problem.activities if name in each.name]
        return sum(found.activity(use).expected_executions for use in uses)

    assert flown(diverting, "divert") > 0.01 > flown(diverting, "hold")
    assert flown(holding, "hold") > 0.01
    assert by_integer_program(scarce) == pytest.approx(diverting.upper_bound, rel=1e-6)


def test_a_rover_drills_until_it_has_a_sample() -> None:
    problem = rover(
        stops=1, width=10, height=6, slip=0.0, dust=0.0, failure=0.25, energy=1e6, risk=1e6, missed=0.0
    )
    ways = [problem.world(activity) for activity in (0, 2)]
    driven = sum(steps(each, next(iter(each.starts)), each.goals[0]) for each in ways if each is not None)
    # In haste drilling takes an hour and a half, and on average it is tried 4/3 times.
    assert optimum(problem) == pytest.approx(0.5 * driven + 1.5 / 0.75)


def test_a_rover_may_leave_samples() -> None:
    problem = rover(stops=2, width=10, height=6, slip=0.0, dust=0.0, energy=1e6, risk=1e6, missed=1.6)
    ways = [problem.world(activity) for activity in (0, 2, 4)]
    driven = sum(steps(each, next(iter(each.starts)), each.goals[0]) for each in ways if each is not None)
    # One stop is passed and the other scanned in haste.
    assert optimum(problem) == pytest.approx(0.5 * driven + 0.5)


@pytest.mark.parametrize(("overlooked", "looks"), [(0.4, ()), (0.16, (0.6,)), (0.02, (0.95,))])
def test_a_robot_looks_as_closely_as_it_must(overlooked: float, looks: tuple[float, ...]) -> None:
    present = 0.4
    problem = search_and_rescue(
        areas=1, hideouts=1, slip=0.0, delayed=0.0, collapse=0.0, present=present, overlooked=overlooked
    )
    world = problem.world(0)
    assert world is not None
    start, goal = next(iter(world.starts)), world.goals[0]
    if not looks:
        # Nobody looks: passing by is quicker than walking through.
        assert optimum(problem) == pytest.approx(world.width / 2)
        return
    cssp = problem.activities[0].cssp
    looking = [row for row in range(cssp.num_rows) if cssp.action_labels[row] == "glance"]
    hideout = tuple(world.cells[cssp.row_state[looking[0]]].tolist())
    share = looks[0]
    minutes = {0.6: 1.0, 0.95: 4.0}[share]
    there, on = steps(world, start, hideout), steps(world, hideout, goal)
    found = present * share
    # Whoever is found is carried out at once.
    assert optimum(problem) == pytest.approx(there + minutes + found * 9.0 + (1.0 - found) * on)


def test_a_drone_in_still_air() -> None:
    problem = delivery(width=4, height=3, battery=30, windy=0.0, drift=0.0, crash=0.0, loss=0.001)
    # Two straight legs, and a landing that is tried 10/9 times with a minute of climbing in between.
    assert optimum(problem) == pytest.approx(2 * 5 + 1.1 / 0.9, abs=1e-6)


def test_a_drone_charges_what_it_needs() -> None:
    problem = delivery(width=4, height=3, battery=12, windy=0.0, drift=0.0, crash=0.0, loss=0.02)
    plan = hcssp.solve(problem)
    # Ten steps leave two; after a quick charge of four there are six, for three attempts to land.
    assert plan.evaluate().activity("charge").expected_executions == pytest.approx(1.0)
    assert plan.cost("loss") == pytest.approx(0.1**3)
    assert plan.upper_bound == pytest.approx(
        2 * 5 + 0.5 * 4 + 1 + 0.1 * 2 + 0.01 * 2 + 0.001 * 100 - 0.001 * 0
    )


def test_a_drone_is_lost_once_at_most() -> None:
    problem = delivery(width=4, height=3, battery=12, windy=1.0, drift=0.2, crash=0.1, loss=1.0)
    plan = hcssp.solve(problem)
    lost = plan.simulate(runs=2_000, seed=1).totals[1]
    # Crashes and empty batteries end the flight alike, wherever they happen.
    assert set(lost) == {0.0, 1.0}
    assert lost.mean() == pytest.approx(plan.cost("loss"), abs=0.05)
    assert plan.problem.constraints[0].probability_of == "losing the drone"


@pytest.mark.parametrize("bounds", [{"toxicity": 4.0}, {"hospital": 0.3, "failure": 0.08}])
def test_a_patient_against_an_integer_program(bounds: dict[str, float]) -> None:
    loose = {"toxicity": 1e6, "hospital": 1e6, "failure": 1.0}
    problem = patient(grades=2, burdens=2, **{**loose, **bounds})
    assert optimum(problem) == pytest.approx(by_integer_program(problem), rel=1e-6)


@pytest.mark.parametrize("energy", [1e6, 5.0, 4.0])
def test_elevators_against_an_integer_program(energy: float) -> None:
    problem = elevators(rushes=1, floors=3, people=1, seed=1, energy=energy)
    assert optimum(problem) == pytest.approx(by_integer_program(problem), rel=1e-6)


def test_routing_without_ferries() -> None:
    problem = routing(basins=2, width=5, height=5, ferries=0, drift=0.0, shut=0.05)
    ways = [problem.world(activity) for activity in (0, 3)]
    rowed = sum(steps(each, next(iter(each.starts)), each.goals[0]) for each in ways if each is not None)
    # The lock is waited for 32 minutes if it is shut, which is better than the three of the canal.
    assert optimum(problem) == pytest.approx(rowed + 0.05 * 32)
    assert optimum(routing(basins=2, width=5, height=5, ferries=0, drift=0.0, shut=0.5)) == rowed + 3


def test_a_ferry_goes_to_and_fro() -> None:
    problem = routing(basins=1, width=5, height=5, ferries=1, late=0.25, drift=0.0)
    cssp = problem.activities[0].cssp
    row = int(cssp.row_start[cssp.state_index["(3, 1), ferry in 4 at 1 southwards"]])
    actions = [cssp.action_labels[row + each] for each in range(5)]
    reached = cssp.transitions[[row + actions.index("east")]].tocoo()
    # The ferry is late and met at once, or it has gone on and covers rows 2 and 3.
    assert {
        cssp.state_labels[state]: chance for state, chance in zip(reached.col, reached.data, strict=True)
    } == {"(4, 1), ferry in 4 at 2 southwards": 0.75, "collided": 0.25}


@pytest.mark.parametrize(("seed", "activities"), [(0, 4), (1, 4), (2, 3)])
def test_random_procedures_against_all_policies(seed: int, activities: int) -> None:
    problem = random_procedure(
        seed=seed, activities=activities, states=2, actions=2, branching=2, constraints=2
    )
    found = brute_force(problem).optimum(problem.bounds)
    assert found is not None
    assert optimum(problem) == pytest.approx(found[0])


@pytest.mark.parametrize("tightness", [0.0, 1.0])
def test_random_bounds_can_be_kept(tightness: float) -> None:
    problem = random_cssp(seed=5, states=30, constraints=3, tightness=tightness)
    free = hcssp.solve(problem.with_bounds(dict.fromkeys(problem.cost_names[1:], np.inf)))
    plan = hcssp.solve(problem, stop=hcssp.FirstPlan())
    assert plan.evaluate().keeps_bounds()
    assert free.evaluate().keeps_bounds()
    kept = all(
        free.cost(name) <= bound for name, bound in zip(problem.cost_names[1:], problem.bounds, strict=True)
    )
    assert kept == (tightness == 0.0)


def test_whoever_stops_while_a_problem_is_drawn_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: PolicyBranching, *_: object) -> Iterator[Progress]:
        raise KeyboardInterrupt

    monkeypatch.setattr(PolicyBranching, "iterate", stopped)
    with pytest.raises(KeyboardInterrupt):
        random_cssp(seed=5, states=30, constraints=1, tightness=0.5)
