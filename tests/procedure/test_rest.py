"""The rest of a procedure is what the whole is from there on."""

from __future__ import annotations

import numpy as np
import pytest

import hcssp
from brute_force_procedures import brute_force, brute_force_flat
from hcssp.cssp.reachability import reachable
from hcssp.errors import BudgetSpent, InvalidProblem, UnknownName
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP
from hcssp.procedure.rest import UNDER_WAY, Position, inside, label_called, position_of, rest_of
from random_nestings import random_limits
from random_procedures import random_procedure
from volume import some


def positions(problem: HCSSP) -> list[tuple[Position, int]]:
    """All places where one can be, with their flat states."""
    flattening = problem.flattening
    found = [
        (Position(event, entry), state)
        for state, (event, entry) in enumerate(flattening.event_states)
        if event != problem.end
    ]
    for index, activity in enumerate(problem.activities):
        flat = flattening.flat_state(index)
        for local in np.flatnonzero(~activity.cssp.goals).tolist():
            before = problem.choices[int(problem.activity_choice[index])].event
            found.append((Position(before, None, index, local), int(flat[local])))
    reached = reachable(flattening.cssp)
    return [(position, state) for position, state in found if reached[state]]


@pytest.mark.parametrize("exits_part", [False, True])
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_all_policies_of_the_rest_are_those_of_the_whole_from_there(seed: int, exits_part: bool) -> None:
    problem = random_procedure(seed, several_exits=True, exits_part=exits_part)
    flat = problem.flattening.cssp
    left = dict.fromkeys(problem.constraint_names, 1.0)
    for position, state in positions(problem):
        initial = np.zeros(flat.num_states)
        initial[state] = 1.0
        whole = brute_force_flat(flat.derive(initial=initial)).costs
        rest = rest_of(problem, position, left)
        counted = [0, *(1 + problem.constraint_names.index(name) for name in rest.constraint_names)]
        # A constraint that is left out counts nothing any more.
        gone = [row for row in range(1, whole.shape[1]) if row not in counted]
        assert np.all(whole[:, gone] == 0.0)
        mine = brute_force(rest).costs
        assert np.allclose(np.sort(mine, axis=0), np.sort(whole[:, counted], axis=0), rtol=1e-9)
        # Nothing that the rules for problems forbid is in it.
        assert HCSSP(**{name: getattr(rest, name) for name in PARTS}) == rest


PARTS = ("events", "start", "end", "activities", "choices", "constraints")


@pytest.mark.parametrize("cycles", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_limits_of_the_rest_are_for_each_execution(seed: int, cycles: bool) -> None:
    _, problem = random_limits(seed, cycles=cycles)
    for position, _ in positions(problem):
        left = {
            each.name: 5.0 if each.per is None else 0.4 * each.limit * inside(problem, position, each.per.use)
            for each in problem.constraints
        }
        rest = rest_of(problem, position, left)
        flat = brute_force(rest)
        for rows, costs in list(zip(flat.rows, flat.costs, strict=True))[:6]:
            found = hcssp.evaluate(rest, hcssp.extend.ProcedurePolicy(rest, rows))
            limits = {each.name: each for each in found.limits}
            for row, constraint in enumerate(rest.constraints, 1):
                if constraint.name == "damage":
                    continue
                # Either way the same is left over: by what choices lose, and by executions.
                stated = next(each for each in problem.constraints if each.name == constraint.name)
                times = limits[constraint.name].expected_executions if constraint.per else 0.0
                used = sum(activity.usage.get(constraint.name, 0.0) for activity in found.activities)
                allowed = left[constraint.name] + stated.limit * times
                assert constraint.at_most - costs[row] == pytest.approx(allowed - used, abs=1e-9)


def test_an_execution_under_way_has_a_policy_of_its_own() -> None:
    problem = random_procedure(2, cycles=True, num_constraints=1)
    names = [activity.name for activity in problem.activities]
    renamed = False
    for position, _ in positions(problem):
        if position.activity is None:
            continue
        rest = rest_of(problem, position, {"damage": 1.0})
        under_way, others = rest.activities[-1], [activity.name for activity in rest.activities[:-1]]
        again = names[position.activity] in others
        assert under_way.name == names[position.activity] + (UNDER_WAY if again else "")
        assert under_way.cssp.initial[position.state] == 1.0
        renamed |= again
    assert renamed


def test_a_rest_in_a_grid_can_be_written_to_a_file() -> None:
    problem = hcssp.small_building()
    rest = rest_of(problem, position_of(problem, ("go-to-door", (1, 2))), {"damage": 0.5})
    assert load_text(dump_problem(rest)) == rest


def test_a_goal_is_the_event_behind_it() -> None:
    problem = hcssp.small_building()
    assert position_of(problem, ("go-to-E", [5, 2])) == position_of(problem, "hallway")


def test_a_place_may_be_called_by_a_text() -> None:
    problem = hcssp.small_building()
    meant = position_of(problem, ("go-to-E", (3, 1)))
    for called in ("go-to-E 3,1", "go-to-E: (3, 1)", ("go-to-E", "3,1"), ("go-to-E", "(3, 1)")):
        assert position_of(problem, called) == meant
    assert position_of(problem, "hallway") == Position(problem.event_index("hallway"))


def test_the_text_of_a_label_counts_before_what_is_like_it() -> None:
    assert label_called("a b", ["ab", "a b"]) == "a b"
    assert label_called("(2, 2)", ["2,2", (2, 2)]) == (2, 2)
    assert label_called("2,2", [(2, 2), None]) == (2, 2)
    assert label_called(7, [7, None]) == 7
    assert label_called("7", [6]) is None


def test_what_is_no_place_is_refused() -> None:
    problem = hcssp.small_building()
    with pytest.raises(UnknownName, match="no event or activity 'hallwy'; did you mean 'hallway'"):
        position_of(problem, "hallwy")
    with pytest.raises(UnknownName, match=r"no state of 'go-to-E' '\(9, 9\)'"):
        position_of(problem, ("go-to-E", (9, 9)))
    with pytest.raises(
        InvalidProblem, match=r"'go-to-E': this is an activity; .* such as 'go-to-E \(0, 2\)'"
    ):
        position_of(problem, "go-to-E")
    with pytest.raises(InvalidProblem, match="it has no states; name it alone"):
        position_of(problem, ("hallway", "left"))
    with pytest.raises(InvalidProblem, match="name an event, or give"):
        position_of(problem, ("hallway", "left", "right"))
    with pytest.raises(InvalidProblem, match="event 'exit': the procedure is over"):
        rest_of(problem, position_of(problem, "exit"), {"damage": 1.0})


def test_a_budget_that_is_gone_is_told() -> None:
    problem = hcssp.small_building(bound=2.0)
    hallway = position_of(problem, "hallway")
    with pytest.raises(BudgetSpent, match=r"'damage': nothing is left of 2, 0\.5 too much is spent"):
        rest_of(problem, hallway, {"damage": -0.5})
    # What rounding has taken is not spent.
    assert rest_of(problem, hallway, {"damage": -1e-12}).constraints[0].at_most == 0.0
