"""What alternatives would cost, against every policy there is and a chain that remembers the deviation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp import HCSSP, CSSPBuilder, InvalidProblem, Plan, small_building, solve
from hcssp.cli import main
from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import UnknownName
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.solving.why import Reasons, reported_costs, why
from random_nestings import random_limits
from random_procedures import random_procedure

KINDS = [
    (1, {}),
    (2, {}),
    (0, {"cycles": True}),
    (3, {"several_exits": True}),
    (1, {"exits_part": True}),
    (2, {"cycles": True, "several_exits": True}),
]


def once_by_remembering(problem: HCSSP, rows: IntArray, state: int, row: int) -> FloatArray | None:
    """What deviating once costs, by the chain whose states say whether one has deviated; None if unsaid."""
    flat = problem.flattening.cssp
    count = flat.num_states
    chain, costs = np.zeros((2 * count, 2 * count)), np.zeros((2 * count, len(flat.cost_names)))
    for copy in (0, 1):
        for at in range(count):
            taken, after = int(rows[at]), copy
            if copy == 0 and at == state:
                taken, after = row, 1
            if taken >= 0:
                chain[copy * count + at, after * count : (after + 1) * count] = flat.transitions[
                    [taken]
                ].toarray()
                costs[copy * count + at] = flat.costs[:, taken]
    reached = np.zeros(2 * count, dtype=bool)
    reached[:count] = flat.initial > 0
    for _ in range(2 * count):
        reached |= (reached.astype(float) @ chain) > 0
    # Where nobody says what to do, nothing can be told.
    acting = np.concatenate([rows >= 0, rows >= 0]) | (np.arange(2 * count) == state)
    goals = np.concatenate([flat.goals, flat.goals])
    if (reached & ~goals & ~acting).any():
        return None
    inner = np.flatnonzero(reached & ~goals)
    system = np.eye(len(inner)) - chain[np.ix_(inner, inner)]
    if np.linalg.matrix_rank(system) < len(inner):
        return None
    values = np.linalg.solve(system, costs[inner])
    start = np.concatenate([flat.initial, np.zeros(count)])[inner]
    return np.asarray(start @ values)


@pytest.mark.parametrize(("seed", "kind"), KINDS)
def test_alternatives_against_all_policies(seed: int, kind: dict[str, bool]) -> None:
    problem = random_procedure(seed, num_constraints=1, **kind)
    plan = solve(problem)
    policies = brute_force(problem)
    flat, rows = problem.flattening.cssp, plan.policy.rows
    visited = [at for at in np.flatnonzero(rows >= 0).tolist() if plan.evaluate().visits[at] > 0]
    asked = 0
    for state in visited:
        if flat.row_start[state + 1] - flat.row_start[state] < 2 or asked == 4:
            continue
        asked += 1
        reasons = why(plan, place_of(problem, state))
        others = [r for r in range(flat.row_start[state], flat.row_start[state + 1]) if r != rows[state]]
        for row, found in zip(others, reasons.alternatives, strict=True):
            # Whoever never comes there keeps to it as well.
            kept = (policies.rows[:, state] == row) | (policies.rows[:, state] == -1)
            forced = type(policies)(policies.rows[kept], policies.costs[kept]).optimum(problem.bounds)
            if forced is None:
                assert not found.best.found
            else:
                assert found.best.upper_bound == pytest.approx(forced[0])
                assert found.best.lower_bound <= forced[0] + 1e-9
                assert found.best.keeps_bounds()
                taken = found.best.policy.rows[state]
                assert taken == row or found.reach_probability == 0.0
            completed = rows if not found.best.found else np.where(rows == -1, found.best.policy.rows, rows)
            expected = once_by_remembering(problem, completed, state, row)
            if expected is None:
                assert found.once is None
            else:
                assert found.once == pytest.approx(expected)
    assert asked


@pytest.mark.parametrize("seed", [4, 5, 13])
def test_limits_for_each_execution_are_kept_and_told_for_one(seed: int) -> None:
    problem = random_limits(seed)[1]
    plan = solve(problem)
    if not plan.found:
        pytest.fail("the seed was chosen for limits that can be kept")
    policies = brute_force(problem)
    flat, rows = problem.flattening.cssp, plan.policy.rows
    limits = [place for place, each in enumerate(problem.constraints, 1) if each.per is not None]
    asked = 0
    for state in range(problem.flattening.num_event_states):
        if rows[state] < 0 or not plan.evaluate().visits[state] > 0.0:
            continue
        others = [r for r in range(flat.row_start[state], flat.row_start[state + 1]) if r != rows[state]]
        reasons = why(plan, place_of(problem, state))
        for row, found in zip(others, reasons.alternatives, strict=True):
            asked += 1
            kept = (policies.rows[:, state] == row) | (policies.rows[:, state] == -1)
            forced = type(policies)(policies.rows[kept], policies.costs[kept]).optimum(problem.bounds)
            assert found.best.found == (forced is not None)
            if forced is not None:
                assert found.best.upper_bound == pytest.approx(forced[0])
                assert found.best.lower_bound <= forced[0] + 1e-9
            # Where one comes once at most, deviating once is another policy.
            changed = rows if not found.best.found else np.where(rows == -1, found.best.policy.rows, rows)
            changed = np.where(np.arange(len(rows)) == state, row, changed)
            if found.once is not None and plan.evaluate().visits[state] <= 1.0 + 1e-12:
                other = Plan(problem, ProcedurePolicy(problem, changed)).evaluated().as_procedure()
                if other.costs.visits[state] <= 1.0 + 1e-12:
                    told = reported_costs(other)
                    assert found.once == pytest.approx(told, nan_ok=True)
                    assert found.keeps_bounds == other.keeps_bounds()
        assert len(reported_costs(plan.as_procedure())) > max(limits)
    assert asked


def place_of(problem: HCSSP, state: int) -> tuple[str, object]:
    flattening = problem.flattening
    if state < flattening.num_event_states:
        event, entry = flattening.event_states[state]
        return problem.events[event], entry
    index = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
    local = int(np.flatnonzero(flattening.flat_state(index) == state)[0])
    return problem.activities[index].name, problem.activities[index].cssp.state_labels[local]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return solve(small_building())


@pytest.fixture(scope="module")
def reasons(plan: Plan) -> Reasons:
    found: Reasons = plan.why("go-to-door 2,2")
    return found


def test_a_cell_is_named_in_several_ways(plan: Plan, reasons: Reasons) -> None:
    for at in (("go-to-door", (2, 2)), "go-to-door: (2, 2)"):
        assert why(plan, at, best=False).chosen == reasons.chosen == "south"
    assert why(plan, "start", best=False).reach_probability == 1.0


def test_it_is_told_in_words(reasons: Reasons) -> None:
    told = str(reasons)
    assert "At go-to-door, (2, 2), reached with probability 23.15%, the plan takes south." in told
    assert "Take the alternative once, then follow the plan" in told
    assert "  north (*)  28.4965  2.1139" in told
    assert "Always take the alternative: the best plan that keeps the bounds" in told
    assert "(*) breaks a bound" in told


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("strat", "there is no event or activity 'strat'; did you mean 'start'?"),
        ("go-to-door 9,9", "there is no state of 'go-to-door' '9,9'"),
        ("exit", "the procedure is over at 'exit', so there is nothing to do"),
        ("go-to-E 2,2", "the plan never reaches go-to-E, (2, 2)"),
    ],
)
def test_a_place_that_is_none_is_told(plan: Plan, at: str, told: str) -> None:
    with pytest.raises((UnknownName, InvalidProblem)) as raised:
        why(plan, at)
    assert told in str(raised.value)


def test_of_a_single_problem_a_state_is_named() -> None:
    way = CSSPBuilder(cost_names=("minutes", "damage"), bounds={"damage": 3})
    hall, out = way.add_state("hall"), way.add_goal("out")
    way.add_action(hall, "walk", to=out, costs={"minutes": 6})
    way.add_action(hall, "run", to={out: 0.5, hall: 0.5}, costs={"minutes": 1, "damage": 1})
    way.set_initial(hall)
    found = solve(way.build()).why("hall")
    assert found.chosen == "run"
    (walking,) = found.alternatives
    assert walking.once == pytest.approx([6.0, 0.0])
    assert walking.best.upper_bound == pytest.approx(6.0)


def test_the_command(tmp_path: Path, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    plan.save(path)
    assert main(["why", "small-building", str(path), "--at", "start", "-q", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["chosen"], told["reach_probability"]) == ("go-to-door", 1.0)
    (alternative,) = told["alternatives"]
    assert alternative["action"] == "go-to-E"
    assert alternative["once_keeps_bounds"] is False
    assert alternative["best"]["upper_bound"] == pytest.approx(39.34037436)
    assert alternative["best"]["lower_bound"] <= alternative["best"]["upper_bound"]
    assert main(["why", "small-building", str(path), "--at", "hallway", "-q", "--time-limit", "600"]) == 0
    assert "There is no alternative." in capsys.readouterr().out
