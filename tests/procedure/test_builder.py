from __future__ import annotations

from hcssp.procedure import Activity, Outcome, ProcedureBuilder
from small_procedures import risky_room


def test_handles_are_positions_and_costs_are_counted_by_name() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    cross, leave = plan.add_activity("cross", risky_room()), plan.add_activity("leave", risky_room())
    assert (start, out, cross, leave) == (0, 1, 0, 1)
    plan.add_choice(start, "go", to=[Outcome(0.5, out, runs=cross), Outcome(0.5, out, runs=leave)])
    plan.add_constraint("damage", at_most=2, counts={leave: "damage"})
    problem = plan.build(start=start, end=out)
    assert (problem.start, problem.end, problem.events) == (0, 1, ("start", "out"))
    assert problem.constraints[0].counts == {1: 1}
    assert problem.activities == (Activity("cross", risky_room()), Activity("leave", risky_room()))


def test_names_rooms_and_places_go_along() -> None:
    plan = ProcedureBuilder("a house", "with a fire", positions={"hall": (3, 4)})
    start, out = plan.add_event("start"), plan.add_event("out")
    cross = plan.add_activity("cross", risky_room(), room="hall")
    leave = plan.add_activity("leave", risky_room())
    plan.add_choice(start, "go", to=[Outcome(0.5, out, runs=cross), Outcome(0.5, out, runs=leave)])
    problem = plan.build(start=start, end=out)
    assert (problem.name, problem.description, problem.positions) == (
        "a house",
        "with a fire",
        {"hall": (3, 4)},
    )
    # An activity that is nowhere in particular has a room of its own.
    assert [activity.room for activity in problem.activities] == ["hall", "leave"]


def test_a_builder_goes_on_after_it_has_built() -> None:
    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    plan.add_choice(start, "go", to=[Outcome(1.0, out)])
    first = plan.build(start=start, end=out)
    plan.add_choice(start, "wait", to=iter([Outcome(0.5, start), Outcome(0.5, out)]))
    second = plan.build(start=start, end=out)
    assert [len(problem.choices) for problem in (first, second)] == [1, 2]
    assert first != second
