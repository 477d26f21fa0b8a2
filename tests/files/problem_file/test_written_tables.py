"""Tables that are written out one by one: each has its own problem and its own mistakes."""

from __future__ import annotations

import pytest

from hcssp import dump_problem
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_text

TABLE = "{a: {x: {to: {z: 3/4, a: 1/4}, costs: {time: 1, damage: 2}}, y: {to: z, costs: {time: 3}}}}"


def text(first: str, second: str, ends: str = "start: a, goal: z", before: str = "") -> str:
    """A problem of two activities, one after the other."""
    return f"""format: hcssp-problem
version: 1
costs: [time, damage]
{before}
activities:
  one: {{table: {first}, start: a, goal: z}}
  two: {{table: {second}, {ends}}}
procedure:
  start: begin
  end: end
  events:
    begin: {{go: {{runs: one, to: between}}}}
    between: {{go: {{runs: two, to: end}}}}
"""


def told(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidProblem) as raised:
        load_text(text)
    return raised.value.violations


@pytest.mark.parametrize(
    "second",
    [
        TABLE.replace("time: 3", "time: 4"),
        TABLE.replace("3/4", "2/3").replace("1/4", "1/3"),
        TABLE.replace("y:", "why:"),
        TABLE.replace("3/4", "1").replace("1/4", "0"),
        "{a: {x: {to: b}}, b: {y: {to: z, costs: {damage: 1}}}}",
        "{a: {x: {to: z}}, z: {again: {to: a}}}",
    ],
)
def test_tables_that_differ_are_what_they_are_alone(second: str) -> None:
    together = load_text(text(TABLE, second)).activities
    swapped = load_text(text(second, TABLE)).activities
    assert together[1].cssp == swapped[0].cssp == load_text(text(second, second)).activities[0].cssp
    assert together[0].cssp == swapped[1].cssp != together[1].cssp
    problem = load_text(text(TABLE, second))
    assert load_text(dump_problem(problem)) == problem


def test_equal_tables_may_start_and_end_elsewhere() -> None:
    table = "{a: {x: {to: b}}, b: {y: {to: z}}, z: {w: {to: a}}}"
    one, two = (each.cssp for each in load_text(text(table, table, "start: b, goal: a")).activities)
    assert (one.initial.tolist(), one.goals.tolist()) == ([1, 0, 0], [False, False, True])
    assert (two.initial.tolist(), two.goals.tolist()) == ([0, 1, 0], [True, False, False])


def test_each_table_has_its_own_mistakes() -> None:
    short = TABLE.replace("3/4", "1/2")
    assert told(text(short, short)) == (
        "problem:6: activities.one.table.a.x.to: probabilities sum to 0.75, not 1",
        "problem:7: activities.two.table.a.x.to: probabilities sum to 0.75, not 1",
    )
    assert told(text(TABLE, TABLE.replace("damage", "damgae"))) == (
        "problem:7: activities.two.table.a.x.costs.damgae: there is no cost 'damgae'; did you mean 'damage'?",
    )


def test_a_goal_of_one_table_is_none_of_an_equal_one() -> None:
    forked = "{a: {x: {to: z}, y: {to: w}}}"
    assert told(text(forked, forked, "start: a, goal: [z, w]")) == (
        "problem:6: activities.one.table.a.y.to: it leads to 'w', which has no actions and is no goal; give "
        "it actions, or let an activity end there",
    )


def test_a_capacity_is_no_cost_though_it_is_written_like_one() -> None:
    before = "capacities: {damage: {at_most: 2}}"
    own = text(TABLE, TABLE, "costs: [time], start: a, goal: z", before)
    one, two = load_text(own).activities
    assert one.cssp.cost_names[:2] == ("time", "damage")
    assert "damage" not in two.cssp.cost_names


def test_keys_are_looked_at_again_after_a_mistake() -> None:
    """Which keys are right together is remembered, what is wrong with others is not."""
    missing = TABLE.replace("to: z, ", "")
    expected = (
        "problem:6: activities.one.table.a.y: the key 'to' is missing",
        "problem:7: activities.two.table.a.y: the key 'to' is missing",
    )
    for _ in range(2):
        assert told(text(missing, missing)) == expected
        assert load_text(text(TABLE, TABLE)).num_activities == 2
