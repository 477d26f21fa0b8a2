"""A dead end is told by its activity, its line and what to do, whichever method met it."""

from __future__ import annotations

from typing import Any

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
from hcssp.errors import DeadEnd
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.dead_ends import explained

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
        "problem:6: activities.jump: whatever is done it may be trapped, for example in state 'pit', from "
        "which no goal can be reached; let it give up at a finite price with the key 'give_up' there, as in "
        "'give_up: {time: 500}'"
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
