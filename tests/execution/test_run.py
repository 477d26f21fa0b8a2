from __future__ import annotations

import numpy as np
import pytest

from brute_force import brute_force
from hcssp.cssp import CSSP, CSSPBuilder, DeterministicPolicy
from hcssp.cssp.product import Capacity
from hcssp.errors import DeadEnd, ImpossibleObservation, ImproperPolicy, NoSolution
from hcssp.evaluation.exact import evaluate, expected_remaining
from hcssp.execution import Run
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder, ProcedurePolicy
from hcssp.procedure.product import with_capacities
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import start_in_goal, two_starts
from random_problems import random_cssp
from small_procedures import dash_last, forking, passing_through, retrying, risky_room
from solved_building import solved_building
from volume import some


def fast() -> ProcedurePolicy:
    """Of :func:`forking`: walk on from the left, wait on the right."""
    choices = {(0, None): 0, (1, "left"): 1, (1, "right"): 2}
    return ProcedurePolicy.compose(forking(), choices, (np.array([1, -1, -1]), np.array([0, -1, -1])))


def test_a_run_is_followed_from_start_to_end() -> None:
    run = Run(dash_last())
    first = run.step()
    assert (first.event, first.activity, first.action, first.state) == ("start", None, "cross", None)
    assert first.remaining == pytest.approx({"time": 5.75, "damage": 8.0, "damage-at-last": 8.0})
    inside = run.step("in")
    assert (inside.event, inside.activity, inside.action, inside.state) == ("start", "cross", "round", "in")
    hall = run.step("out")
    assert (hall.event, hall.activity, hall.action) == ("hall", None, "leave")
    assert hall.spent == {"time": 3.0, "damage": 0.0, "damage-at-last": 0.0}
    again = run.step("start")
    assert (again.event, again.action) == ("start", "cross")
    assert again.remaining == pytest.approx(dict(first.remaining))
    for told in ("in", "out", "leave", "in"):
        decision = run.step(told)
    assert (decision.activity, decision.action) == ("leave", "dash")
    # Twice round, once a dash that failed: 4 of the 2 units of damage, and no bound on the other.
    assert decision.spent == {"time": 7.0, "damage": 4.0, "damage-at-last": 4.0}
    assert decision.budget_left == {"damage": -2.0, "damage-at-last": np.inf}
    assert not run.over
    last = run.step("out")
    assert last.over
    assert run.over
    assert (last.event, last.action, last.activity) == ("out", None, None)
    assert set(last.remaining.values()) == {0.0}
    assert run.possible() == []
    with pytest.raises(ImpossibleObservation, match="event 'out': the run is over; start another one"):
        run.step("out")


def test_where_only_one_thing_can_happen_nothing_need_be_told() -> None:
    run = Run(dash_last())
    assert run.possible() == [("start", None)]
    assert run.step().action == "cross"
    assert run.step().action == "round"
    assert run.step().action == "leave"
    assert run.possible() == [("leave", "in"), ("start", None)]
    with pytest.raises(
        ImpossibleObservation,
        match=r"event 'hall', choice 'leave': pass what was observed; possible: 'leave' in 'in', 'start'",
    ):
        run.step()


def test_an_impossible_observation_changes_nothing() -> None:
    run = Run(dash_last())
    with pytest.raises(ImpossibleObservation, match="a run begins at event 'start', not in 'hall'"):
        run.step("hall")
    run.step("start")
    before = run.step("in")
    with pytest.raises(
        ImpossibleObservation,
        match=r"activity 'cross', state 'in', action 'round': 'in' cannot be observed next; possible: 'out'",
    ):
        run.step("in")
    with pytest.raises(ImpossibleObservation, match="an action has no outcome 'hall' but a next state"):
        run.step(outcome="hall")
    assert run.decision == before
    run.step("out")
    with pytest.raises(ImpossibleObservation, match="'out-of-order' cannot be observed next"):
        run.step(outcome="out-of-order")
    assert run.step("leave").action == "dash"


def test_the_exit_of_an_activity_is_the_entry_of_what_follows() -> None:
    run = Run(fast())
    for told in (None, "fork"):
        run.step(told)
    left = run.step("left")
    assert (left.event, left.state, left.action) == ("hall", "left", "walk")
    assert (walking := run.step("left")).activity == "walk"
    assert walking.action == "walk"
    assert run.step("end").over
    run = Run(fast())
    for told in (None, "fork"):
        run.step(told)
    right = run.step("right")
    assert (right.event, right.state, right.action) == ("hall", "right", "wait")
    # An outcome without an activity passes the entry on.
    assert run.step("hall") == right
    assert run.step("out").over
    assert (
        str(left) == "at hall (entered in 'left'): choose walk; remaining: time 10, damage 0; left: damage -1"
    )


def some_starts() -> HCSSP:
    """Either of two activities, each of which begins in one of two states."""
    room = CSSPBuilder(cost_names=("time",))
    near, far, out = room.add_state((1, 1)), room.add_state((1, 2)), room.add_goal((9, 9))
    room.add_action(near, "go", to=out, costs=1.0)
    room.add_action(far, "go", to=out, costs=5.0)
    room.set_initial({near: 0.5, far: 0.5})
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    first, second = plan.add_activity("first", room.build()), plan.add_activity("second", room.build())
    plan.add_choice(start, "see", to=[Outcome(0.5, end, runs=first), Outcome(0.5, end, runs=second)])
    return plan.build(start=start, end=end)


def test_outcome_and_state_are_told_together_where_neither_suffices() -> None:
    policy = ProcedurePolicy.compose(some_starts(), {(0, None): 0}, (np.array([0, 1, -1]),) * 2)

    def begun() -> Run:
        run = Run(policy)
        run.step()
        return run

    message = r"'first' is ambiguous; pass outcome and state; possible: 'first' in \(1, 1\), "
    with pytest.raises(ImpossibleObservation, match=message):
        begun().step("first")
    with pytest.raises(ImpossibleObservation, match=r"\(1, 2\) is ambiguous"):
        begun().step((1, 2))
    with pytest.raises(ImpossibleObservation, match=r"\('first', \(7, 7\)\) cannot be observed next"):
        begun().step((7, 7), outcome="first")
    told = begun().step((1, 2), outcome="second")
    assert (told.activity, told.state, told.remaining) == ("second", (1, 2), {"time": 5.0})
    # What came as JSON, or out of an array, is a tuple all the same.
    assert begun().step([1, 2], outcome="second") == told
    assert begun().step(np.array([1, 2]), outcome="second") == told


def test_an_activity_that_begins_at_its_goal_is_passed_through() -> None:
    run = Run(passing_through())
    for told in (None, "fork", "right"):
        decision = run.step(told)
    assert (decision.event, decision.action) == ("hall", "walk")
    assert run.step("right").over


@pytest.mark.parametrize("seed", some(range(3), 3))
def test_followed_in_the_model_it_costs_what_is_expected(seed: int) -> None:
    plan = solved_building()
    generator = np.random.default_rng(seed)
    totals = []
    for _ in range(40):
        run = plan.start()
        decision = run.step()
        assert decision.remaining["time"] == pytest.approx(plan.upper_bound)
        while not decision.over:
            outcome, state = (possible := run.possible())[generator.integers(len(possible))]
            before = decision
            decision = run.step(state, outcome=outcome if before.activity is None else None)
            # What is spent and to come changes by the luck of the step alone.
            assert decision.spent["time"] >= before.spent["time"]
            assert decision.budget_left["damage"] == pytest.approx(2.0 - decision.spent["damage"])
        totals.append(decision.spent["time"])
    assert min(totals) > 0.0


def test_what_remains_is_the_average_over_what_can_happen() -> None:
    exact = evaluate(retrying(), dash_last())
    run = Run(dash_last())
    assert list(run.step().remaining.values()) == pytest.approx(exact.costs.tolist())
    run.step("in")
    at_hall = run.step("out")
    back = Run(dash_last()).step().remaining["time"]
    # A dash of 2 tries on average, or back to the start.
    assert at_hall.remaining["time"] == pytest.approx(0.8 * 2.0 + 0.2 * back)


def test_a_policy_that_never_ends_is_not_begun() -> None:
    policy = ProcedurePolicy.compose(retrying(), {(0, None): 0}, dash_last().activities)
    with pytest.raises(ImproperPolicy, match="no action in state 'hall'"):
        Run(policy)


def test_a_solved_plan_begins_a_run_under_whatever_bounds() -> None:
    problem = small_building(2.0)
    plan = solve(problem)
    assert plan.bounds == {"damage": 2.0}
    assert plan.status == "optimal"
    assert plan.evaluation is not None
    assert plan.evaluate().costs == pytest.approx(plan.evaluation.costs)
    assert plan.start().step().remaining["time"] == pytest.approx(plan.cost("time"))
    other = plan.under(problem.with_bounds(damage=3.0))
    assert (other.lower_bound, other.bounds, other.status) == (-np.inf, {"damage": 3.0}, "unknown")
    kept = other.evaluated()
    assert (kept.lower_bound, kept.upper_bound, kept.status) == (-np.inf, plan.upper_bound, "feasible")
    assert other.start().step().budget_left == {"damage": 3.0}
    assert plan.under(problem).lower_bound == plan.lower_bound


def test_without_a_plan_there_is_nothing_to_begin() -> None:
    with pytest.raises(NoSolution, match="no policy keeps the bound on 'damage'"):
        solve(small_building(-1.0)).start()


def followed(problem: CSSP, rows: list[int]) -> Run:
    return Run(DeterministicPolicy(problem, np.array(rows)))


def test_a_single_problem_is_followed_without_events() -> None:
    run = followed(risky_room().with_bounds(damage=5.0), [1, -1])
    assert run.possible() == [(None, "in")]
    first = run.step("in")
    assert (first.event, first.activity, first.state, first.action) == ("", None, "in", "dash")
    assert not first.over
    assert first.spent == {"time": 0.0, "damage": 0.0}
    assert first.remaining == pytest.approx({"time": 2.0, "damage": 8.0})
    assert first.budget_left == {"damage": 5.0}
    assert run.possible() == [(None, "in"), (None, "out")]
    # The dash failed: it is as at the start, but for what it cost.
    again = run.step("in")
    assert (again.state, again.action, again.remaining) == ("in", "dash", first.remaining)
    assert (again.spent, again.budget_left) == ({"time": 1.0, "damage": 4.0}, {"damage": 1.0})
    last = run.step("out")
    assert last.over
    assert run.over
    assert (last.action, last.spent, last.budget_left) == (
        None,
        {"time": 2.0, "damage": 8.0},
        {"damage": -3.0},
    )
    assert set(last.remaining.values()) == {0.0}
    assert run.possible() == []
    with pytest.raises(ImpossibleObservation, match=r"^the end: the run is over; start another one$"):
        run.step("out")


def test_where_a_single_problem_begins_in_one_state_nothing_need_be_told() -> None:
    run = followed(risky_room(), [0, -1])
    assert run.step().action == "round"
    assert run.step().over


def test_decisions_of_a_single_problem_in_words() -> None:
    run = followed(risky_room().with_bounds(damage=5.0), [1, -1])
    assert str(run.decision) == "at the start; remaining: time 2, damage 8; left: damage 5"
    assert str(run.step()) == "in state 'in': dash; remaining: time 2, damage 8; left: damage 5"
    assert str(run.step("in")) == "in state 'in': dash; remaining: time 2, damage 8; left: damage 1"
    assert str(run.step("out")) == "over; spent: time 2, damage 8; left: damage -3"


def test_one_of_several_initial_states_is_told() -> None:
    problem, rows = two_starts(2.5), [1, 2, -1]
    run = followed(problem, rows)
    assert not run.over
    assert run.decision.action is None
    assert not run.decision.over
    assert run.decision.remaining == pytest.approx({"time": 3.5, "damage": 1.0})
    assert run.possible() == [(None, "near"), (None, "far"), (None, "out")]
    with pytest.raises(
        ImpossibleObservation, match=r"^the start: pass what was observed; possible: 'near', 'far', 'out'$"
    ):
        run.step()
    near = run.step("near")
    assert (near.action, near.remaining) == ("run", {"time": 2.0, "damage": 4.0})
    assert followed(problem, rows).step("far").action == "walk"
    # Some of the time it begins outside, and there is nothing to do.
    outside = followed(problem, rows)
    assert outside.step("out").over
    assert outside.over
    assert set(outside.decision.spent.values()) == {0.0}


def test_a_single_problem_may_begin_in_its_goal() -> None:
    run = followed(start_in_goal(0.0), [-1, -1])
    assert not run.over
    assert not run.decision.over
    assert run.possible() == [(None, "out")]
    assert str(run.step()) == "over; spent: time 0, damage 0; left: damage 0"
    assert run.over


@pytest.mark.parametrize("told", ["far", "problem", "begin", "start", "end", ("in",)])
def test_where_a_single_problem_cannot_begin(told: object) -> None:
    # It has states, and nothing else can be observed: not even the names of the procedure it is run as.
    run = followed(risky_room(), [1, -1])
    with pytest.raises(ImpossibleObservation) as caught:
        run.step(told)
    assert str(caught.value) == f"the start: {told!r} cannot be observed next; possible: 'in'"
    assert run.possible() == [(None, "in")]
    assert run.step("in").action == "dash"


def test_a_single_problem_has_no_outcomes() -> None:
    run = followed(risky_room(), [1, -1])
    with pytest.raises(
        ImpossibleObservation, match=r"^the start: there is no outcome 'problem' but a first state"
    ):
        run.step("in", outcome="problem")
    run.step("in")
    with pytest.raises(
        ImpossibleObservation,
        match=r"^state 'in', action 'dash': an action has no outcome 'end' but a next state",
    ):
        run.step("out", outcome="end")


def test_an_impossible_observation_of_a_single_problem_changes_nothing() -> None:
    run = followed(risky_room(), [1, -1])
    before = run.step("in")
    with pytest.raises(ImpossibleObservation) as caught:
        run.step("attic")
    assert str(caught.value) == (
        "state 'in', action 'dash': 'attic' cannot be observed next; possible: 'in', 'out'"
    )
    with pytest.raises(ImpossibleObservation, match="pass what was observed; possible: 'in', 'out'"):
        run.step()
    assert run.decision == before
    assert run.step("out").over


def test_an_improper_policy_of_a_single_problem_is_told_in_its_own_words() -> None:
    with pytest.raises(ImproperPolicy, match="no action in state 'in'"):
        followed(risky_room(), [-1, -1])


@pytest.mark.parametrize("seed", some(range(10), 2))
def test_what_is_spent_and_to_come_are_those_of_the_exact_evaluation(seed: int) -> None:
    problem = random_cssp(seed, infeasible=0.0)
    policy = DeterministicPolicy(problem, brute_force(problem).policies[0])
    remaining = expected_remaining(problem, policy)
    generator = np.random.default_rng(seed)
    for _ in range(20):
        run = Run(policy)
        spent = np.zeros(len(problem.cost_names))
        decision = run.decision
        assert list(decision.remaining.values()) == pytest.approx(evaluate(problem, policy).costs.tolist())
        while not decision.over:
            if decision.state is not None:
                row = policy.rows[problem.state_index[decision.state]]
                assert decision.action == problem.action_labels[row]
                spent += problem.costs[:, row]
            possible = run.possible()
            _, told = possible[generator.integers(len(possible))]
            decision = run.step(told)
            assert list(decision.spent.values()) == pytest.approx(spent.tolist())
            to_come = remaining[:, problem.state_index[told]].tolist()
            assert list(decision.remaining.values()) == pytest.approx(to_come)


def two_ways_to_the_hall(*outcomes: Outcome) -> HCSSP:
    """A choice with `outcomes` that lead to the hall, from which one crosses to the end."""
    room = CSSPBuilder(cost_names=("time",))
    here, out = room.add_state("here"), room.add_goal("out")
    room.add_action(here, "go", to=out, costs=1.0)
    procedure = ProcedureBuilder()
    start, hall, end = (procedure.add_event(name) for name in ("start", "hall", "end"))
    cross = procedure.add_activity("cross", room.build())
    if any(outcome.runs is not None for outcome in outcomes):
        procedure.add_activity("again", room.build())
    procedure.add_choice(start, "try", to=list(outcomes))
    procedure.add_choice(hall, "cross", to=[Outcome(1.0, end, runs=cross)])
    return procedure.build(start=start, end=end)


@pytest.mark.parametrize("told", [{}, {"observation": "hall"}, {"outcome": "hall"}])
def test_two_outcomes_that_are_the_same_need_not_be_told_apart(told: dict[str, str]) -> None:
    run = solve(two_ways_to_the_hall(Outcome(0.5, 1), Outcome(0.5, 1))).start()
    run.step()
    assert run.possible() == [("hall", None)]
    assert run.step(**told).event == "hall"
    assert run.step().activity == "cross"
    assert run.step().over


@pytest.mark.parametrize("told", [{"observation": "hall"}, {"outcome": "hall"}])
def test_what_happens_at_once_says_more_than_where_an_activity_leads(told: dict[str, str]) -> None:
    run = solve(two_ways_to_the_hall(Outcome(0.5, 1), Outcome(0.5, 1, runs=1))).start()
    run.step()
    decision = run.step(**told)
    assert (decision.event, decision.activity) == ("hall", None)


@pytest.mark.parametrize("told", [{"observation": "again"}, {"outcome": "again"}, {"observation": "here"}])
def test_an_activity_on_the_way_is_told_by_its_name_or_its_start(told: dict[str, str]) -> None:
    run = solve(two_ways_to_the_hall(Outcome(0.5, 1), Outcome(0.5, 1, runs=1))).start()
    run.step()
    assert run.step(**told).activity == "again"


def test_a_run_knows_what_is_to_come_however_late() -> None:
    room = CSSPBuilder(cost_names=("time",))
    here, out = room.add_state("here"), room.add_goal("out")
    room.add_action(here, "try", to={out: 1e-15, here: 1.0}, costs=1.0)
    problem = room.build()
    decision = Run(DeterministicPolicy(problem, [0, -1])).step()
    assert decision.remaining["time"] == pytest.approx(1e15, rel=1e-12)


def flight(at_most: float = 4.0, probability: float = 0.0) -> HCSSP:
    """Two legs, each fast or slow: of 1 minute and 2 of the battery, again if it fails, or of 5 and 1."""
    way = CSSPBuilder(cost_names=("time", "battery"))
    here, there = way.add_state((1, 1)), way.add_goal((2, 1))
    way.add_action(here, "fast", to={there: 0.5, here: 0.5}, costs={"time": 1, "battery": 2})
    way.add_action(here, "slow", to=there, costs={"time": 5, "battery": 1})
    way.set_initial(here)
    plan = ProcedureBuilder()
    start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
    first, second = plan.add_activity("first", way.build()), plan.add_activity("second", way.build())
    plan.add_choice(start, "fly", to=[Outcome(1.0, middle, runs=first)])
    plan.add_choice(middle, "wait", to=[Outcome(1.0, middle)])
    plan.add_choice(middle, "fly", to=[Outcome(1.0, end, runs=second)])
    return with_capacities(plan.build(start=start, end=end), [Capacity("battery", at_most, 1.0, probability)])


def test_a_cell_and_what_was_measured_say_where_a_run_is() -> None:
    run = solve(flight()).start()
    assert run.step().used == {"battery": 0.0}
    decision = run.step((1, 1))
    assert (decision.cell, decision.used) == ((1, 1), {"battery": 0.0})
    assert (decision.state, decision.action) == ("(1, 1), battery 0", "fast")
    text = "in first, state (1, 1), battery used 0 of 4 (4 left): fast; remaining: time 8.5; "
    assert f"{decision}; ".startswith(text)
    # It failed. Labels as texts are still understood, and an amount that the model expects changes nothing.
    told = [
        {"observation": (1, 1)},
        {"observation": "(1, 1), battery 2"},
        {"observation": (1, 1), "battery": 2},
    ]
    decisions = []
    for each in told:
        again = solve(flight()).start()
        again.step()
        again.step([1, 1])
        decisions.append(again.step(**each))
    assert decisions[0] == decisions[1] == decisions[2]
    assert (decisions[0].used, decisions[0].action) == ({"battery": 2.0}, "slow")
    middle = run.step((2, 1))
    assert (middle.event, middle.cell, middle.used) == ("middle", (2, 1), {"battery": 2.0})
    assert run.step("second").used == {"battery": 2.0}
    assert run.step((2, 1)).over
    assert run.decision.used == {"battery": 3.0}


def test_chances_are_the_probabilities_of_what_is_possible() -> None:
    run = solve(flight()).start()
    assert (run.possible(), run.chances()) == ([("start", None)], [1.0])
    run.step()
    assert (run.possible(), run.chances()) == ([("first", "(1, 1), battery 0")], [1.0])
    run.step((1, 1))
    assert sorted(zip([str(state) for _, state in run.possible()], run.chances(), strict=True)) == [
        ("(1, 1), battery 2", 0.5),
        ("(2, 1), battery 2", 0.5),
    ]


def test_the_rest_is_planned_again_with_what_was_measured() -> None:
    run = solve(flight()).start()
    with pytest.raises(ImpossibleObservation, match="nothing is measured here; pass it with the next"):
        run.replan(used={"battery": 1})
    run.step()
    run.step((1, 1))
    rest = run.replan(used={"battery": 1})
    assert (rest.decision.activity, rest.decision.cell) == ("first", (1, 1))
    assert rest.decision.used == {"battery": 1.0}
    stepped = solve(flight()).start()
    stepped.step()
    assert rest.decision.remaining == pytest.approx(stepped.step((1, 1), battery=1).remaining)
    assert run.decision.used == {"battery": 0.0}
    # What was spent before counts in all, and not for the plan of the rest.
    run.step((1, 1))
    rest = run.replan(used={"battery": 2})
    assert (rest.total_spent, rest.decision.spent) == (run.decision.spent, {"time": 0.0})
    rest.step()
    assert rest.total_spent["time"] == run.decision.spent["time"] + rest.decision.spent["time"] > 1.0


@pytest.mark.parametrize(
    ("at", "measured", "to_come", "replanned"),
    [
        # Fast is only possible where a failure leaves enough for what follows: with 4 left in the first
        # leg, with 3 or 4 in the second. The plan reaches no 3 in the first, and at most 2 in the second.
        ("first", 0.0, 8.5, False),
        ("first", 1.0, 10.0, True),
        ("first", 0.2, 10.0, True),
        ("first", 2.0, 10.0, False),
        ("middle", 0.0, 1.0 + 0.5 * 5.0, True),
        ("middle", 2.0, 5.0, False),
        ("middle", 1.0, 1.0 + 0.5 * 5.0, True),
        ("second", 1.0, 1.0 + 0.5 * 5.0, True),
    ],
)
def test_what_was_measured_counts_whatever_the_model_expects(
    at: str, measured: float, to_come: float, replanned: bool
) -> None:
    run = solve(flight()).start()
    run.step()
    if at != "first":
        run.step()
    if at == "second":
        run.step((2, 1))
    where = (1, 1) if at != "middle" else (2, 1)
    decision = run.step(where, battery=measured)
    assert (decision.activity or decision.event) == at
    assert decision.used == {"battery": np.ceil(measured)}
    assert decision.remaining["time"] == pytest.approx(to_come, rel=1e-3)
    assert decision.replanned == replanned
    assert str(decision).endswith("planned again") == replanned
    # The run goes on from there.
    for _ in range(20):
        if decision.over:
            break
        outcome, state = run.possible()[-1]
        decision = run.step(outcome if state is None else state)
    assert decision.over
    assert not decision.replanned


def test_what_cannot_be_measured_changes_nothing() -> None:
    run = solve(flight()).start()
    with pytest.raises(ImpossibleObservation, match="nothing is measured before the first choice"):
        run.step(battery=1)
    before = run.step()
    for used, message in (
        ({"battery": 5}, "battery 5: more is used than the capacity of 4; state a larger capacity"),
        ({"battery": -1}, "battery -1: give how much of it is used"),
        ({"battery": np.nan}, "battery nan: give how much of it is used"),
        ({"fuel": 1}, "there is no capacity 'fuel'; the capacities are 'battery'"),
    ):
        with pytest.raises(ImpossibleObservation, match=message):
            run.step((1, 1), **used)
    with pytest.raises(DeadEnd):
        run.step((1, 1), battery=3)
    with pytest.raises(ImpossibleObservation, match=r"\(7, 7\) cannot be observed next"):
        run.step((7, 7), battery=1)
    assert run.decision == before
    alone = Run(run._policy)
    alone.step()
    with pytest.raises(
        ImpossibleObservation, match=r"the plan has no decision for .* start the run with plan"
    ):
        alone.step((1, 1), battery=1)
    dash = Run(dash_last())
    dash.step()
    with pytest.raises(ImpossibleObservation, match="there is no capacity 'battery'"):
        dash.step("in", battery=1)


def test_a_capacity_that_may_be_exceeded_goes_on_above_it() -> None:
    run = solve(flight(at_most=2.0, probability=0.9)).start()
    run.step()
    decision = run.step((1, 1), battery=7)
    assert decision.used == {"battery": np.inf}
    assert decision.remaining["time"] == pytest.approx(4.0, rel=1e-3)
