"""Each rule that a procedure can break, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from hcssp import (
    BudgetAllocation,
    CSSPBuilder,
    LinearProgram,
    MixedInteger,
    PolicyBranching,
    solve,
    trade_off,
)
from hcssp.errors import DeadEnd, InvalidProblem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP, ActivityHandle, EventHandle, Outcome, ProcedureBuilder
from hcssp.procedure.validation import explained
from small_procedures import corridor, fork, risky_room


class Plan:
    """A valid procedure, start -> hall -> out, to be spoilt before it is built."""

    def __init__(self) -> None:
        self.builder = ProcedureBuilder()
        self.start, self.hall, self.out = (self.builder.add_event(name) for name in ("start", "hall", "out"))
        self.cross = self.builder.add_activity("cross", risky_room())
        self.builder.add_choice(self.start, "cross", to=[Outcome(1.0, self.hall, runs=self.cross)])
        self.builder.add_choice(self.hall, "leave", to=[Outcome(1.0, self.out)])

    def build(self) -> HCSSP:
        return self.builder.build(start=self.start, end=self.out)

    def choose(self, *outcomes: Outcome, name: str = "more") -> None:
        self.builder.add_choice(self.start, name, to=outcomes)

    def event(self, name: str, *outcomes: Outcome) -> EventHandle:
        event = self.builder.add_event(name)
        if outcomes:
            self.builder.add_choice(event, "on", to=outcomes)
        return event

    def constrain(
        self, counts: dict[ActivityHandle, str], at_most: float = 1.0, name: str = "damage"
    ) -> None:
        self.builder.add_constraint(name, at_most=at_most, counts=counts)


def second_on_two_outcomes(plan: Plan) -> None:
    plan.choose(Outcome(0.5, plan.hall, runs=plan.cross), Outcome(0.5, plan.out))


def trap(plan: Plan) -> None:
    loop = plan.event("loop")
    plan.builder.add_choice(loop, "on", to=[Outcome(1.0, loop)])
    plan.choose(Outcome(0.5, loop), Outcome(0.5, plan.out))


def lost(plan: Plan) -> None:
    more = plan.builder.add_activity("wander", risky_room())
    plan.event("nowhere", Outcome(1.0, plan.out, runs=more))


def wrong_entry(plan: Plan) -> None:
    choose = plan.builder.add_activity("choose", fork(("left", "top")))
    walk = plan.builder.add_activity("walk", corridor())
    landing = plan.event("landing", Outcome(1.0, plan.out, runs=walk))
    plan.choose(Outcome(1.0, landing, runs=choose))


def unnamed_exit(plan: Plan) -> None:
    choose = plan.builder.add_activity("choose", replace(fork(), state_labels=("fork", None, "right")))
    plan.choose(Outcome(1.0, plan.hall, runs=choose))


def endless_activity(plan: Plan) -> None:
    endless = plan.builder.add_activity("endless", risky_room().derive(goals=np.zeros(2, dtype=bool)))
    plan.choose(Outcome(1.0, plan.hall, runs=endless))


CASES: dict[str, tuple[Callable[[Plan], object], str]] = {
    "two events": (
        lambda plan: plan.choose(Outcome(1.0, plan.event("hall", Outcome(1.0, plan.out)))),
        "event 'hall': 2 of them have that name; give each its own",
    ),
    "two activities": (
        lambda plan: plan.choose(
            Outcome(1.0, plan.out, runs=plan.builder.add_activity("cross", risky_room()))
        ),
        "activity 'cross': 2 of them have that name; give each its own",
    ),
    "two choices": (
        lambda plan: plan.choose(Outcome(1.0, plan.hall), name="cross"),
        "event 'start', choice 'cross': 2 of them have that name; give each its own",
    ),
    "two constraints": (
        lambda plan: [plan.constrain({plan.cross: "damage"}) for _ in range(2)],
        "constraint 'damage': 2 of them have that name; give each its own",
    ),
    "unknown event of an outcome": (
        lambda plan: plan.choose(Outcome(1.0, 17)),
        "event 'start', choice 'more': there is no event 17; pass what add_event returned",
    ),
    "a name instead of a handle": (
        lambda plan: plan.choose(Outcome(1.0, "hall")),  # type: ignore[arg-type]
        "event 'start', choice 'more': there is no event 'hall'; pass what add_event returned",
    ),
    "unknown event of a choice": (
        lambda plan: plan.builder.add_choice(EventHandle(17), "more", to=[Outcome(1.0, plan.out)]),
        "choice 'more': there is no event 17; pass what add_event returned",
    ),
    "unknown activity of an outcome": (
        lambda plan: plan.choose(Outcome(1.0, plan.out, runs=3)),
        "event 'start', choice 'more': there is no activity 3; pass what add_activity returned",
    ),
    "nan": (
        lambda plan: plan.choose(Outcome(nan, plan.out)),
        "event 'start', choice 'more': an outcome has probability nan; give a number from 0 to 1",
    ),
    "a probability in words": (
        lambda plan: plan.choose(Outcome("often", plan.out)),  # type: ignore[arg-type]
        "event 'start', choice 'more': an outcome has probability often; give a number from 0 to 1",
    ),
    "negative": (
        lambda plan: plan.choose(Outcome(-0.5, plan.out), Outcome(1.5, plan.hall)),
        "event 'start', choice 'more': an outcome has probability -0.5; give a number from 0 to 1",
    ),
    "sum": (
        lambda plan: plan.choose(Outcome(0.5, plan.out), Outcome(0.45, plan.hall)),
        "event 'start', choice 'more': probabilities sum to 0.95, not 1",
    ),
    "infinite": (
        lambda plan: plan.choose(Outcome(inf, plan.out)),
        "event 'start', choice 'more': probabilities sum to inf, not 1",
    ),
    "no outcomes": (
        lambda plan: plan.choose(),
        "event 'start', choice 'more': it leads nowhere; give it an outcome",
    ),
    "activity on no outcome": (
        lambda plan: plan.builder.add_activity("idle", risky_room()),
        "activity 'idle': no outcome runs it; let one run it, or leave it out",
    ),
    "activity on two outcomes": (
        second_on_two_outcomes,
        "activity 'cross': 2 outcomes run it (event 'start', choice 'cross'; event 'start', choice 'more'), "
        "but an activity has one policy and belongs to one outcome; add the same CSSP as a second activity",
    ),
    "activity without a goal": (
        endless_activity,
        "activity 'endless': it has no goal, so that it never ends; give it one",
    ),
    "choice at the end": (
        lambda plan: plan.builder.add_choice(plan.out, "again", to=[Outcome(1.0, plan.start)]),
        "event 'out': the procedure ends here, but there is a choice: 'again'; remove it",
    ),
    "event without a choice": (
        lambda plan: plan.choose(Outcome(1.0, plan.event("dead"))),
        "event 'dead': there is nothing to choose and it is not the end; add a choice",
    ),
    "trap": (
        trap,
        "event 'loop': from here the end 'out' is not reached with certainty, whatever is chosen; "
        "add a way to it",
    ),
    "constraint that counts nothing": (
        lambda plan: plan.constrain({}),
        "constraint 'damage': it counts nothing; say which secondary cost of which activities it counts",
    ),
    "unknown cost": (
        lambda plan: plan.constrain({plan.cross: "fuel"}),
        "constraint 'damage': activity 'cross' has no cost 'fuel'; its secondary costs are 'damage'",
    ),
    "primary cost": (
        lambda plan: plan.constrain({plan.cross: "time"}),
        "constraint 'damage': 'time' is the primary cost of activity 'cross'; a constraint counts "
        "secondary costs, which are 'damage'",
    ),
    "unknown activity of a constraint": (
        lambda plan: plan.constrain({ActivityHandle(5): "damage"}),
        "constraint 'damage': there is no activity 5; pass what add_activity returned",
    ),
    "constraint named like the primary cost": (
        lambda plan: plan.constrain({plan.cross: "damage"}, name="time"),
        "constraint 'time': that is the primary cost's name; give the constraint another",
    ),
    "bound that is no number": (
        lambda plan: plan.constrain({plan.cross: "damage"}, at_most=nan),
        "constraint 'damage': nan is not an upper bound; give a finite number, or inf for none",
    ),
    "bound in words": (
        lambda plan: plan.constrain({plan.cross: "damage"}, at_most="2"),  # type: ignore[arg-type]
        "constraint 'damage': 2 is not an upper bound; give a finite number, or inf for none",
    ),
    "bound of minus infinity": (
        lambda plan: plan.constrain({plan.cross: "damage"}, at_most=-inf),
        "constraint 'damage': -inf is not an upper bound; give a finite number, or inf for none",
    ),
    "entry that the next activity does not have": (
        wrong_entry,
        "activity 'walk', run by choice 'on' at event 'landing': the event can be entered in state 'top', "
        "which the activity does not have; exits and entries are matched by label, so give it a state of "
        "that label, or let each exit of the activity before it lead to an event of its own (in a file, "
        "'to: {exit: event}')",
    ),
    "exit without a label": (
        unnamed_exit,
        "activity 'choose': it has several goals and one is labelled None; label it otherwise",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_rule_is_named(case: str) -> None:
    spoil, message = CASES[case]
    plan = Plan()
    spoil(plan)
    with pytest.raises(InvalidProblem) as caught:
        plan.build()
    assert caught.value.violations == (message,)


def test_what_cannot_be_reached_is_named_event_by_event_and_activity_by_activity() -> None:
    plan = Plan()
    lost(plan)
    with pytest.raises(InvalidProblem) as caught:
        plan.build()
    assert caught.value.violations == (
        "event 'nowhere': it cannot be reached from 'start', the start; lead to it, or drop it",
        "activity 'wander': it is on no path from the start 'start', since event 'nowhere' cannot be reached",
    )


def test_an_unknown_start_and_end_are_named() -> None:
    with pytest.raises(InvalidProblem) as caught:
        Plan().builder.build(start=EventHandle(8), end=EventHandle(9))
    assert caught.value.violations[:2] == (
        "start: there is no event 8; pass what add_event returned",
        "end: there is no event 9; pass what add_event returned",
    )


def test_all_violations_are_reported_together() -> None:
    plan = Plan()
    plan.choose(Outcome(0.5, plan.hall))
    plan.constrain({}, at_most=nan)
    with pytest.raises(InvalidProblem, match="3 violations"):
        plan.build()


def test_a_certain_end_may_need_the_right_choice_and_patience() -> None:
    plan = Plan()
    loop = plan.event("loop")
    plan.builder.add_choice(loop, "stay", to=[Outcome(1.0, loop)])
    plan.builder.add_choice(loop, "try", to=[Outcome(0.9, loop), Outcome(0.1, plan.out)])
    plan.choose(Outcome(0.5, loop), Outcome(0.5, plan.out))
    assert plan.build().num_events == 4


def test_an_event_that_may_lead_into_a_trap_is_as_bad_as_the_trap() -> None:
    plan = Plan()
    loop = plan.event("loop")
    plan.builder.add_choice(loop, "stay", to=[Outcome(1.0, loop)])
    gamble = plan.event("gamble", Outcome(0.1, loop), Outcome(0.9, plan.out))
    plan.choose(Outcome(1.0, gamble))
    with pytest.raises(InvalidProblem) as caught:
        plan.build()
    assert [violation.split(":")[0] for violation in caught.value.violations] == [
        "event 'loop'",
        "event 'gamble'",
    ]


def test_what_is_legal_is_built() -> None:
    plan = Plan()
    plan.constrain({plan.cross: "damage"}, at_most=-1.0)
    plan.constrain({plan.cross: "damage"}, at_most=inf, name="the same again")
    plan.choose(Outcome(0.0, plan.hall), Outcome(1.0, plan.out))
    assert plan.build().bounds.tolist() == [-1.0, inf]


def test_the_same_room_may_be_two_activities() -> None:
    plan = Plan()
    again = plan.builder.add_activity("cross-again", risky_room())
    plan.choose(Outcome(1.0, plan.hall, runs=again))
    assert plan.build().num_activities == 2


JUMP = """
format: hcssp-problem
version: 1
costs: [time, lost]
activities:
  jump:
    table:
      edge:
        jump: {to: {out: 0.9, pit: 0.1}, costs: {time: 1}}
      pit: {}
    start: edge
    goal: out
"""


@pytest.mark.parametrize("solver", [PolicyBranching(), BudgetAllocation(), LinearProgram(), MixedInteger()])
def test_every_method_names_the_line_and_the_key(solver: Any) -> None:
    with pytest.raises(DeadEnd) as raised:
        solve(load_text(JUMP), solver)
    assert str(raised.value) == (
        "problem:6: activities.jump: every policy may be trapped, for example in state 'pit', from "
        "which no goal can be reached; allow giving up at a finite penalty with the key "
        "'give_up' there, as in 'give_up: {time: 500}'"
    )


def test_the_trade_off_curve_says_the_same() -> None:
    with pytest.raises(DeadEnd, match=r"^problem:6: activities.jump: .*'give_up: {time: 500}'$"):
        trade_off(load_text(JUMP + "constraints: {lost: {at_most: 1}}"), "lost", [1.0])


def built() -> HCSSP:
    """The same, stated in Python."""
    way = CSSPBuilder(cost_names=("time",))
    edge, pit, out = way.add_state("edge"), way.add_state("pit"), way.add_goal("out")
    way.add_action(edge, "jump", to={out: 0.9, pit: 0.1}, costs=1.0)
    way.set_initial(edge)
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    plan.add_choice(start, "jump", to=[Outcome(1.0, end, runs=plan.add_activity("jump", way.build()))])
    return plan.build(start=start, end=end)


def test_without_a_file_it_names_the_function() -> None:
    with pytest.raises(
        DeadEnd,
        match=r"^activity 'jump': .* 'pit', .*with_giving_up\(cssp, penalty=...\) .*--give-up time=500$",
    ):
        solve(built())


def test_what_no_activity_knows_stays_as_it_was() -> None:
    error = DeadEnd("nobody knows")
    assert explained(built(), error) is error
    error.trapped = "edge"  # from which a goal can be reached, so it is no trap
    assert explained(built(), error) is error


LATER = """
format: hcssp-problem
version: 1
costs: [time]
capacities: {battery: {at_most: 3}}
activities:
  out:
    table:
      home: {walk: {to: {away: 0.5, home: 0.5}, costs: {time: 1, battery: 1}}}
    start: home
    goal: away
  look:
    table:
      away: {look: {to: seen, costs: {time: 1}}}
    start: away
    goal: seen
  back:
    table:
      away: {walk: {to: home, costs: {time: 1, battery: 2}}}
    start: away
    goal: home
procedure:
  start: start
  end: end
  events:
    start: {go: {runs: out, to: there}}
    there: {look: {runs: look, to: turn}}
    turn: {go: {runs: back, to: end}}
"""


def test_a_trap_behind_an_event_names_the_activities_that_need_a_way_out() -> None:
    """Whoever walks out for long can look around, but has too little left for the way back."""
    with pytest.raises(DeadEnd) as raised:
        solve(load_text(LATER))
    told = str(raised.value)
    assert told.startswith("problem:7: activities.out: ")
    assert "'event'" not in told
    assert told.endswith("'give_up: {time: 500}'; the same holds for 'back'")
