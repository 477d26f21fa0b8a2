from __future__ import annotations

import pickle

import numpy as np
import pytest

from brute_force_procedures import brute_force
from hcssp.errors import InvalidProblem
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from small_procedures import corridor, fork, forking, retrying, risky_room


def floor(at_most: float = np.inf) -> HCSSP:
    """Cross a room, and perhaps another one first."""
    plan = ProcedureBuilder("floor", positions={"west": (0, 0), "east": (0, 7)})
    lobby, hall, stairs = (plan.add_event(name) for name in ("lobby", "hall", "stairs"))
    first, last = (
        plan.add_activity("first", risky_room(), "west"),
        plan.add_activity("last", risky_room(), "east"),
    )
    plan.add_choice(
        lobby, "look around", to=[Outcome(0.5, hall, runs=first), Outcome(0.25, hall), Outcome(0.25, lobby)]
    )
    plan.add_choice(hall, "cross", to=[Outcome(1.0, stairs, runs=last)])
    plan.add_constraint("smoke", at_most=at_most, counts={first: "damage", last: "damage"})
    plan.add_constraint("smoke at last", at_most=np.inf, counts={last: "damage"})
    return plan.build(start=lobby, end=stairs)


def house(inner: HCSSP | None = None) -> HCSSP:
    """A floor, a yard, and the same floor again with probability a half."""
    storey = inner or floor()
    plan = ProcedureBuilder("house", positions={"upper": (10, 0), "yard": (0, 0), "nowhere": (1, 1)})
    top, door, out = (plan.add_event(name) for name in ("top", "door", "out"))
    upper, yard, lower = (
        plan.add_activity("upper", storey),
        plan.add_activity("yard", risky_room()),
        plan.add_activity("lower", storey),
    )
    plan.add_choice(top, "leave", to=[Outcome(1.0, door, runs=upper)])
    plan.add_choice(door, "yard", to=[Outcome(1.0, out, runs=yard)])
    plan.add_choice(door, "through", to=[Outcome(0.5, out, runs=lower), Outcome(0.5, top)])
    plan.add_constraint("smoke", at_most=3.0, counts={upper: "smoke", yard: "damage", lower: "smoke at last"})
    return plan.build(start=top, end=out)


def test_every_use_has_events_and_activities_of_its_own_that_share_their_problems() -> None:
    problem = house()
    assert problem.events == (
        "top",
        "door",
        "out",
        "upper/lobby",
        "upper/hall",
        "lower/lobby",
        "lower/hall",
    )
    names = [activity.name for activity in problem.activities]
    assert names == ["upper/first", "upper/last", "yard", "lower/first", "lower/last"]
    assert problem.activities[0].cssp is problem.activities[3].cssp
    assert problem.constraints[0].counts == {0: 1, 1: 1, 2: 1, 4: 1}
    assert (problem.name, problem.start, problem.end) == ("house", 0, 2)


def test_the_uses_say_who_belongs_to_whom() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    other, inner = (
        plan.add_activity("other", risky_room()),
        plan.add_activity("inner", house().with_bounds(smoke=np.inf)),
    )
    plan.add_choice(start, "go", to=[Outcome(0.5, end, runs=inner), Outcome(0.5, end, runs=other)])
    problem = plan.build(start=start, end=end)
    inside = [
        (
            use.name,
            use.own_name,
            use.procedure.name,
            use.parent,
            problem.events[use.start],
            problem.events[use.end],
            [problem.events[event] for event in use.events],
            [problem.activities[activity].name for activity in use.activities],
        )
        for use in problem.uses
    ]
    upper = ["inner/upper/lobby", "inner/upper/hall"]
    lower = ["inner/lower/lobby", "inner/lower/hall"]
    crossed = [f"inner/{name}" for name in ("upper/first", "upper/last", "yard", "lower/first", "lower/last")]
    assert inside == [
        (
            "inner",
            "inner",
            "house",
            None,
            "inner/top",
            "end",
            ["inner/top", "inner/door", *upper, *lower],
            crossed,
        ),
        ("inner/upper", "upper", "floor", 0, upper[0], "inner/door", upper, crossed[:2]),
        ("inner/lower", "lower", "floor", 0, lower[0], "end", lower, crossed[3:]),
    ]


def test_costs_compose_as_if_a_procedure_were_an_activity() -> None:
    inner = brute_force(floor()).costs
    problem = house()
    # By the yard every floor and the yard once; through, the floors as often as the coin says.
    by_the_yard = [(f + time, g + damage) for f, g, _ in inner for time, damage in ((3.0, 0.0), (2.0, 8.0))]
    through = [(2 * f + lower, 2 * g + last) for f, g, _ in inner for lower, _, last in inner]
    expected = np.array(sorted(by_the_yard + through))
    found = brute_force(problem).costs
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1])], expected, rtol=1e-12)


def test_exits_are_handed_on_through_a_procedure() -> None:
    inner = ProcedureBuilder("turn")
    begin, over = inner.add_event("begin"), inner.add_event("over")
    inner.add_choice(begin, "go", to=[Outcome(1.0, over, runs=inner.add_activity("fork", fork()))])
    turn = inner.build(start=begin, end=over)
    plan = ProcedureBuilder()
    start, crossing, out = (plan.add_event(name) for name in ("start", "crossing", "out"))
    plan.add_choice(start, "go", to=[Outcome(1.0, crossing, runs=plan.add_activity("turn", turn))])
    plan.add_choice(crossing, "go", to=[Outcome(1.0, out, runs=plan.add_activity("corridor", corridor()))])
    problem = plan.build(start=start, end=out)
    entered = {problem.events[event]: [] for event, _ in problem.flattening.event_states}
    for event, entry in problem.flattening.event_states:
        entered[problem.events[event]].append(entry)
    assert entered["crossing"] == ["left", "right"]
    assert sorted(brute_force(problem).costs[:, 0]) == pytest.approx([1 + 0.25 * 10 + 0.75 * 1, 15.0])


def flight() -> HCSSP:
    """A leg that may end in a crash, and a room after it if it does not."""
    plan = ProcedureBuilder("flight")
    begin, landed, over = (plan.add_event(name) for name in ("begin", "landed", "over"))
    leg, last = (
        plan.add_activity("leg", fork(("landed", "crashed"))),
        plan.add_activity("last", risky_room()),
    )
    plan.add_choice(begin, "fly", to=[Outcome(1.0, landed, runs=leg, exits={"crashed": over})])
    plan.add_choice(landed, "walk", to=[Outcome(1.0, over, runs=last)])
    return plan.build(start=begin, end=over)


def mission(exits: dict[str, str], inner: HCSSP) -> HCSSP:
    plan = ProcedureBuilder()
    events = {name: plan.add_event(name) for name in ("start", "wreck", "home")}
    trip, search = plan.add_activity("trip", inner), plan.add_activity("search", corridor())
    named = {label: events[event] for label, event in exits.items()}
    plan.add_choice(events["start"], "go", to=[Outcome(1.0, events["home"], runs=trip, exits=named)])
    plan.add_choice(events["wreck"], "look", to=[Outcome(1.0, events["home"], runs=search)])
    return plan.build(start=events["start"], end=events["home"])


def test_exits_of_a_procedure_lead_to_different_events() -> None:
    problem = mission({"crashed": "wreck"}, flight())
    found = sorted(brute_force(problem).costs[:, 0])
    # Surely for 5 or fast for 1; after a crash (0.75) a search of 10, else the last room for 3 or 2.
    expected = [1 + 0.25 * 2 + 7.5, 1 + 0.25 * 3 + 7.5, 7.0, 8.0]
    assert found == pytest.approx(sorted(expected))
    assert "from crashed: reach wreck" in str(problem)
    assert "from any other exit: reach home" in str(problem)


def test_exits_that_a_procedure_does_not_have_are_refused() -> None:
    with pytest.raises(
        InvalidProblem, match=r"'trip': its procedure has no exit 'lost'; its exits are 'crashed', 'out'"
    ):
        mission({"lost": "wreck"}, flight())


def test_an_exit_that_is_only_handed_on_cannot_lead_elsewhere() -> None:
    plan = ProcedureBuilder()
    begin, hall, over = (plan.add_event(name) for name in ("begin", "hall", "over"))
    plan.add_choice(begin, "fly", to=[Outcome(1.0, hall, runs=plan.add_activity("leg", fork()))])
    plan.add_choice(hall, "stop", to=[Outcome(1.0, over)])
    with pytest.raises(InvalidProblem, match="event 'hall' of its procedure hands it on to the end"):
        mission({"right": "wreck"}, plan.build(start=begin, end=over))


def test_rooms_lie_where_the_map_of_their_use_does() -> None:
    problem = house()
    assert problem.positions == {"upper/west": (10, 0), "upper/east": (10, 7), "yard": (0, 0)}
    assert [activity.room for activity in problem.activities][:3] == ["upper/west", "upper/east", "yard"]


def test_bounds_change_and_pickles_keep_what_was_stated() -> None:
    problem = house().with_bounds(smoke=1.5)
    assert problem.bounds.tolist() == problem.outline.bounds.tolist() == [1.5]
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert [use.name for use in again.uses] == ["upper", "lower"]
    assert again.outline == problem.outline


def test_a_procedure_of_nothing_is_passed_through() -> None:
    nothing = ProcedureBuilder("nothing")
    only = nothing.add_event("only")
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    skip = plan.add_activity("skip", nothing.build(start=only, end=only))
    plan.add_choice(start, "go", to=[Outcome(1.0, end, runs=skip)])
    problem = plan.build(start=start, end=end)
    assert problem.events == ("start", "end")
    assert problem.choices[0].outcomes == (Outcome(1.0, end),)
    (use,) = problem.uses
    assert (use.start, use.end, len(use.events), len(use.activities)) == (end, end, 0, 0)


def test_what_is_wrong_is_said_in_the_words_of_the_statement() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    inner = plan.add_activity("inner", retrying().with_bounds(damage=np.inf))
    plan.add_activity("idle", forking().with_bounds(damage=np.inf))
    plan.add_choice(start, "go", to=[Outcome(1.0, end, runs=inner)])
    plan.add_constraint("hurt", at_most=1.0, counts={inner: "smoke"})
    with pytest.raises(InvalidProblem) as caught:
        plan.build(start=start, end=end)
    assert "activity 'idle': no outcome runs it" in str(caught.value)
    assert "activity 'inner' has no cost 'smoke'; its secondary costs are 'damage', 'damage-at-last'" in str(
        caught.value
    )


def test_two_things_of_the_same_path_are_refused() -> None:
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    inner = plan.add_activity("upper", floor())
    twin = plan.add_activity("upper/first", risky_room())
    plan.add_choice(start, "go", to=[Outcome(0.5, end, runs=inner), Outcome(0.5, end, runs=twin)])
    with pytest.raises(InvalidProblem, match="activity 'upper/first': 2 of them have that name"):
        plan.build(start=start, end=end)


def test_a_procedure_is_described_once_however_often_it_is_used() -> None:
    text = str(house())
    assert text.startswith("procedure: 3 events, 3 activities, 1 constraint; minimise time\ntop\n")
    assert "run upper (procedure floor, 5 states), reach door" in text
    assert text.count("procedure floor, used 2 times: 3 events, 2 activities") == 1
    assert text.count("look around") == 1
