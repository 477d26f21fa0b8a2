from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from hcssp.checker.layout import Block, Layout
from hcssp.cssp.arrays import decimal
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.reachability import almost_sure
from hcssp.errors import InvalidProblem
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.builder import proposed_layout
from random_problems import random_cssp
from random_procedures import random_procedure
from small_procedures import forking, retrying, risky_room
from volume import some


def without(problem: CSSP, rows: np.ndarray) -> CSSP:
    """The problem with only `rows`, in which the others lead nowhere but to themselves, at a price."""
    kept = problem.transitions.toarray()
    kept[~rows] = np.eye(problem.num_states)[problem.row_state[~rows]]
    return replace(problem, transitions=csr_array(kept))


@given(st.integers(0, 2**32 - 1))
def test_almost_sure_agrees_with_the_other_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_cssp(rng)
    allowed = rng.random(problem.num_rows) < 0.7
    states, rows = Block(problem).almost_sure(allowed)
    other = almost_sure(without(problem, allowed))
    assert states.tolist() == other.states.tolist()
    # A row that stays for ever is no harm to the other search if there is a way out as well.
    assert rows.tolist() == (other.rows & allowed).tolist()


def test_impossible_successors_do_not_count() -> None:
    problem = risky_room()
    data = problem.transitions.copy()
    data.data = data.data.copy()
    data[1, 1] = 0.0
    data[1, 0] = 1.0
    block = Block(replace(problem, transitions=data))
    assert block.successors.tolist() == [1, 0]
    states, rows = block.almost_sure(np.array([False, True]))
    assert states.tolist() == [False, True]
    assert rows.tolist() == [False, False]


@pytest.mark.parametrize(
    "change",
    [
        {"costs": np.array([[3.0, -1.0], [0.0, 4.0]])},
        {"costs": np.array([[3.0, np.inf], [0.0, 4.0]])},
        {"costs": np.array([[3.0, np.nan], [0.0, 4.0]])},
        {"transitions": np.array([[0.0, 1.0], [0.0, 0.0]])},
        {"transitions": np.array([[0.0, 1.0], [-0.5, 1.5]])},
    ],
)
def test_a_problem_that_is_none_is_refused(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(InvalidProblem, match="validate the problem first"):
        Block(risky_room().derive(**change))


def test_activities_with_equal_arrays_share_a_block() -> None:
    layout = proposed_layout(retrying())
    assert layout.blocks[0] is layout.blocks[1]
    other = proposed_layout(forking())
    assert other.blocks[0] is not other.blocks[1]


def test_a_cost_of_minus_nought_is_nought() -> None:
    room = risky_room()
    negative = room.derive(costs=np.where(room.costs == 0.0, -0.0, room.costs))
    assert np.signbit(negative.costs).any()
    assert Block(room).has_arrays_of(negative)
    assert not Block(room).has_arrays_of(room.derive(costs=room.costs + (room.costs == 0.0)))


def test_a_flat_problem_is_one_activity() -> None:
    layout = Layout(replace(risky_room(), bounds=np.array([2.0])))
    assert layout.flattening.num_event_rows == 1
    assert layout.exits == [[(1, 1)]]
    assert layout.own_weights(0, [Fraction(1), Fraction(3)]) == [1, 3]
    assert layout.event_rows == ((0, [], [(1, 0, 0)]),)
    assert layout.flattening.rows_of(0) == slice(1, 3)


def test_weights_of_an_activity_add_up_over_constraints() -> None:
    layout = Layout(retrying())
    weights = [Fraction(1), Fraction(2), Fraction(5)]
    assert layout.own_weights(0, weights) == [1, 2]
    assert layout.own_weights(1, weights) == [1, 7]


def test_exits_lead_to_the_event_states_of_their_labels() -> None:
    layout = Layout(forking())
    states = layout.flattening.event_states
    named = [{states[target] for _, target in exits} for exits in layout.exits]
    assert named == [{(1, "left"), (1, "right")}, {(2, None)}]


@pytest.mark.parametrize("seed", some(range(12), 6))
def test_an_exit_leads_where_the_procedure_says_also_back_to_the_start(seed: int) -> None:
    problem = random_procedure(seed, cycles=True, several_exits=seed % 2 == 1, exits_part=seed % 3 == 1)
    layout = Layout(problem)
    states = layout.flattening.event_states
    for activity, exits in enumerate(layout.exits):
        cssp, outcome = problem.activities[activity].cssp, problem.activity_outcome[activity]
        led = {goal: states[to][0] for goal, to in exits}
        after = {
            goal: outcome.event_after(cssp.state_labels[goal]) for goal in np.flatnonzero(cssp.goals).tolist()
        }
        assert led.items() <= after.items()
        # Goals that nobody comes to may be missing, those of an only goal never are.
        assert led == after or len(after) > 1


def test_an_activity_may_end_where_all_began() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    first, last = plan.add_activity("first", risky_room()), plan.add_activity("last", risky_room())
    plan.add_choice(start, "try", to=[Outcome(0.5, start, runs=first), Outcome(0.5, out, runs=last)])
    layout = Layout(plan.build(start=start, end=out))
    assert layout.flattening.event_states[0] == (start, None)
    assert layout.exits == [[(1, 0)], [(1, 1)]]


def test_starts_of_an_activity_share_what_its_outcome_has_exactly() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    room = plan.add_activity("room", replace(risky_room(), initial=np.array([1 / 7, 6 / 7])))
    plan.add_choice(start, "go", to=[Outcome(0.25, out, runs=room), Outcome(0.75, out)])
    ((_, _, ways),) = Layout(plan.build(start=start, end=out)).event_rows
    whole = sum(chance for chance, _, _ in ways)
    shares = [decimal(1 / 7) / 4, decimal(6 / 7) / 4]
    # What the shares sum to is not quite one, and the room is entered one time in four all the same.
    expected = [*(each / (4 * sum(shares)) for each in shares), Fraction(3, 4)]
    assert [Fraction(chance, whole) for chance, _, _ in ways] == expected
    assert sum(shares) != Fraction(1, 4)


def test_starts_sum_to_one_exactly() -> None:
    problem = replace(risky_room(), initial=np.array([1 / 7, 6 / 7]))
    ((_, _, ways),) = Layout(problem).event_rows
    whole = sum(chance for chance, _, _ in ways)
    shares = [decimal(1 / 7), decimal(6 / 7)]
    assert [Fraction(chance, whole) for chance, _, _ in ways] == [each / sum(shares) for each in shares]
    assert [start for _, _, start in ways] == [0, 1]
    assert sum(shares) != 1


def steps(*costs: float, chance: bool = False) -> CSSP:
    plan = CSSPBuilder(cost_names=("time", "wear"))
    here, out = plan.add_state("here"), plan.add_goal("out")
    for index, cost in enumerate(costs):
        # What takes longer wears less, or nobody would need it.
        plan.add_action(here, f"way {index}", to=out, costs={"time": cost, "wear": 10.0 - cost})
    if chance:
        plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs={"time": 1.0})
    plan.set_initial(here)
    return plan.build()


def with_a_detour(*costs: float) -> CSSP:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    for index, cost in enumerate(costs):
        plan.add_action(here, f"way {index}", to=out, costs=cost)
    return plan.build()


def test_the_unit_of_costs_without_chance() -> None:
    assert Layout(steps(0.3, 0.5, 1.0)).unit == Fraction(1, 10)
    assert Layout(steps(6.0, 4.0)).unit == 2
    assert Layout(steps(0.0)).unit == 0
    # A way that is dearer in everything is dominated.
    assert proposed_layout(with_a_detour(6.0, 4.0)).unit == 4
    assert Layout(steps(6.0, 4.0, chance=True)).unit == 0
    two_starts = replace(steps(6.0), initial=np.array([0.5, 0.5]))
    assert Layout(two_starts).unit == 0
    assert Layout(procedure(0.5)).unit == 0
    assert Layout(procedure(1.0)).unit == 2


def test_chance_where_no_proper_policy_comes_does_not_matter() -> None:
    plan = CSSPBuilder(cost_names=("time",))
    here, out = plan.add_state("here"), plan.add_goal("out")
    pit, elsewhere = plan.add_state("pit"), plan.add_state("elsewhere")
    plan.add_action(here, "walk", to=out, costs=6.0)
    plan.add_action(here, "step", to=out, costs=4.0)
    plan.add_action(here, "jump", to={out: 0.5, pit: 0.5}, costs=1.0)
    plan.add_action(pit, "stay", to=pit, costs=0.5)
    plan.add_action(elsewhere, "try", to={elsewhere: 0.5, out: 0.5}, costs=1.5)
    plan.set_initial(here)
    assert proposed_layout(plan.build()).unit == 4  # "walk" is dearer than "step"
    plan.add_action(here, "stray", to=elsewhere, costs=2.0)
    assert Layout(plan.build()).unit == 0


def procedure(probability: float) -> HCSSP:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    walk = plan.add_activity("walk", steps(6.0, 4.0))
    others = [Outcome(1.0 - probability, out)] if probability < 1.0 else []
    plan.add_choice(start, "go", to=[Outcome(probability, out, runs=walk), *others])
    return plan.build(start=start, end=out)
