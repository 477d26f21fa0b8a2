"""Grids whose steps may end in an exit, exits that lead to events, and models with other numbers."""

from __future__ import annotations

import pytest

from hcssp import dump_problem, solve
from hcssp.cssp.grid import GridWorld, Hazard
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_text
from hcssp.procedure import HCSSP

FLIGHT = """
format: hcssp-problem
version: 1
costs: [time, crash]
models:
  air:
    grid:
      map: |
        #####
        S.~.#
        #...W
        #####
      hazards: {"~": {time: 1/2, exit: {crashed: 1/10}}}
      places: {waypoint: W, roof: [3, 1]}
      slip: 20%
    start: [0, 1]
    goal: waypoint
  wreck:
    table: {lost: {report: {to: told, costs: {crash: 1}}}}
    start: lost
    goal: told
activities:
  out: {model: air}
  back: {model: air, slip: 0, exit: {crashed: 0.25}, step_cost: 2}
  calm: {model: back, intended: 0.7, hazards: {"~": {time: 3}}}
  report: {model: wreck}
  report again: {model: wreck, actions: {lost: {report: {to: told, costs: {crash: 0.5}}}}}
procedure:
  start: depot
  end: over
  events:
    depot: {fly: {runs: out, to: {waypoint: en route, crashed: lost}}}
    en route:
      go on: {runs: back, to: {waypoint: far, crashed: lost again}}
    far:
      home: {runs: calm, to: over}
    lost: {report: {runs: report, to: over}}
    lost again: {report: {runs: report again, to: over}}
constraints:
  crash: {at_most: 0.9}
"""


def worlds(problem: HCSSP) -> dict[str, GridWorld]:
    return {each.name: each.cssp.world for each in problem.activities if each.cssp.world is not None}


def told(*changes: tuple[str, str]) -> list[str]:
    text = FLIGHT
    for change, to in changes:
        assert text.count(change) == 1, change
        text = text.replace(change, to)
    with pytest.raises(InvalidProblem) as raised:
        load_text(text)
    return [violation.removeprefix("problem:") for violation in raised.value.violations]


def test_a_step_from_a_hazard_may_end_in_an_exit() -> None:
    out = load_text(FLIGHT).activities[0].cssp
    assert [out.state_labels[state] for state in out.goals.nonzero()[0]] == [(4, 2), "crashed"]
    east = int(out.row_start[out.state_index[2, 1]]) + 1
    row = dict(
        zip(out.transitions[[east]].indices.tolist(), out.transitions[[east]].data.tolist(), strict=True)
    )
    reached = {out.state_labels[state]: chance for state, chance in row.items()}
    assert reached == pytest.approx({(3, 1): 0.9 * 0.8, (2, 1): 0.9 * 0.1, (2, 2): 0.9 * 0.1, "crashed": 0.1})
    assert out.costs[:, east].tolist() == [1.5, 0.0]


def test_exits_lead_to_events() -> None:
    problem = load_text(FLIGHT)
    fly, go_on, home = (problem.choices[index].outcomes[0] for index in range(3))
    assert {label: problem.events[event] for label, event in fly.exits.items()} == {
        (4, 2): "en route",
        "crashed": "lost",
    }
    assert problem.events[go_on.event_after("crashed")] == "lost again"
    assert not home.exits


def test_a_model_may_be_used_with_other_numbers() -> None:
    made = worlds(load_text(FLIGHT))
    assert (made["out"].slip, made["out"].step_cost, made["out"].exits) == (0.2, 1.0, {})
    assert (made["back"].slip, made["back"].step_cost, made["back"].exits) == (0.0, 2.0, {"crashed": 0.25})
    assert (
        made["back"].hazards == made["out"].hazards == (Hazard(2, 1, 1, 1, {"time": 0.5}, {"crashed": 0.1}),)
    )
    # The nearest numbers count: the slip and the hazard of its own, and what it refers to has.
    assert made["calm"].slip == pytest.approx(0.3)
    assert made["calm"].hazards == (Hazard(2, 1, 1, 1, {"time": 3.0}),)
    assert (made["calm"].step_cost, made["calm"].exits) == (2.0, {"crashed": 0.25})
    report, again = load_text(FLIGHT).activities[3:]
    assert (report.cssp.costs[1, 0], again.cssp.costs[1, 0]) == (1.0, 0.5)


def test_a_chain_of_crashes_costs_what_it_must() -> None:
    """On the way back every step crashes with 1/4, whatever it passes, and there are five of them."""
    plan = solve(load_text(FLIGHT.replace("exit: {crashed: 1/10}", "exit: {crashed: 0}")))
    assert plan.cost("crash") == pytest.approx(0.5 * (1 - 0.75**5), rel=1e-9)


def test_what_is_written_is_read_again() -> None:
    problem = load_text(FLIGHT)
    assert load_text(dump_problem(problem)) == problem
    assert load_text(dump_problem(problem, style="json"), json=True) == problem


PATH = "procedure.events.depot.fly.to"
EXITS = "available: 'crashed', 'waypoint', '(4, 2)'"


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        (
            "crashed: lost}",
            "crahsed: lost}",
            f"32: {PATH}.crahsed: activity 'out' has no exit 'crahsed'; did you mean 'crashed'?",
        ),
        (
            "{waypoint: en route, crashed: lost}",
            "{waypoint: en route}",
            f"32: {PATH}: it does not say where the exit 'crashed' of activity 'out' leads; "
            "name an event for each exit",
        ),
        (
            "{waypoint: en route, crashed",
            "{roof: en route, crashed",
            f"32: {PATH}.roof: activity 'out' has no exit 'roof'; {EXITS}",
        ),
        (
            "{waypoint: en route, crashed: lost}",
            "{waypoint: en route, '(4, 2)': lost, crashed: lost}",
            f"32: {PATH}.'(4, 2)': '(4, 2)' and 'waypoint' are the same exit of activity 'out'; keep one",
        ),
        (
            "crashed: lost}",
            "crashed: lots}",
            f"32: {PATH}.crashed: there is no event 'lots'; did you mean 'lost'?",
        ),
        (
            "{waypoint: en route, crashed: lost}",
            "{}",
            f"32: {PATH}: no exit is named; name the event that each exit of the activity leads to",
        ),
        (
            "{runs: calm, to: over}",
            "{to: {waypoint: over}}",
            "36: procedure.events.far.home.to: an outcome that runs no activity has no exits; name one event",
        ),
        (
            "exit: {crashed: 1/10}",
            "exit: {}",
            "13: models.air.grid.hazards.~.exit: no exit is named; name one, or leave the key out",
        ),
        (
            "exit: {crashed: 1/10}",
            "exit: {crashed: 2}",
            "13: models.air.grid.hazards.~.exit.crashed: 2 is not a probability between 0 and 1",
        ),
        (
            "exit: {crashed: 1/10}",
            "exit: crashed",
            "13: models.air.grid.hazards.~.exit: 'crashed' is not a mapping from exits to probabilities",
        ),
        (
            "exit: {crashed: 1/10}",
            "exit: {crashed: 0.9, lost: 20%}",
            "13: models.air.grid.hazards.~.exit: the probabilities of the exits at [2, 1] sum to 1.1, "
            "which is more than 1",
        ),
        (
            "exit: {crashed: 1/10}",
            "exti: {crashed: 1/10}",
            "13: models.air.grid.hazards.~.exti: a mapping is not a cost: a number from 0 to 1e+100",
        ),
        (
            "roof: [3, 1]",
            "crashed: [3, 1]",
            "14: models.air.grid.places.crashed: there is an exit 'crashed' as well; "
            "give the place another name",
        ),
        (
            "start: [0, 1]",
            "start: crashed",
            "16: models.air.start: 'crashed' is an exit, where an activity ends; start in a cell",
        ),
        (
            "slip: 0, exit",
            "slip: 0, intended: 1, exit",
            "24: activities.back.slip: slip and intended say the same thing; keep one of them",
        ),
        (
            "slip: 0, exit: {crashed: 0.25}",
            "slip: {left: 0.9, right: 0.9}",
            "24: activities.back.slip: left and right sum to 1.8, which is more than 1",
        ),
        (
            "{time: 3}",
            "{tiem: 3}",
            "25: activities.calm.hazards.~.tiem: there is no cost 'tiem'; did you mean 'time'?",
        ),
        (
            "report: {model: wreck}",
            "report: {model: wreck, slip: 0.1}",
            "26: activities.report.slip: the model is a table, of which 'actions' may be changed",
        ),
        (
            "intended: 0.7, hazards",
            "actions: {x: {y: {to: z}}}, hazards",
            "25: activities.calm.actions: the model is a grid, of which 'slip', 'intended', 'step_cost', "
            "'hazards', 'exit' may be changed",
        ),
        (
            "    goal: told\nact",
            "    goal: told\n    slip: 3\nact",
            "22: models.wreck.slip: there is no such key; the keys here are 'grid', 'table', 'file', "
            "'constants', 'costs', 'position', 'start', 'goal', 'give_up', 'description'",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(change: str, to: str, says: str) -> None:
    assert says in told((change, to))


def test_an_exit_that_what_follows_does_not_know_names_the_remedy() -> None:
    """The last leg ends in two ways, too, and what follows has no state of either name."""
    (says, *_) = told(("home: {runs: calm, to: over}", "home: {runs: calm, to: lost}"))
    assert "the event can be entered in state" in says
    assert "let each exit of the activity before it lead to an event of its own" in says


def test_other_numbers_stand_beside_a_model_only() -> None:
    text = "format: hcssp-problem\nversion: 1\ncosts: [time]\nactivities: {a: {grid: {map: S.G}, slip: 0.1}}"
    with pytest.raises(InvalidProblem, match=r"activities\.a\.slip: this changes a model"):
        load_text(text)


def test_the_rectangles_of_a_listed_grid_may_fail_too() -> None:
    body = """
    grid:
      width: 3
      height: 2
      hazards: [{at: [[1, 1, 1, 1], [3, 2, 1, 1]], exit: {crashed: 1%}}, {at: [1, 1, 1, 1], costs: {time: 2}}]
      exit: {broken: 0.1%}
    start: [0, 1]
    goal: [4, 2]
"""
    text = f"format: hcssp-problem\nversion: 1\ncosts: [time]\nactivities:\n  a:{body}"
    problem = load_text(text)
    cssp = problem.activities[0].cssp
    assert list(cssp.state_labels)[-2:] == ["broken", "crashed"]
    row = cssp.transitions[[int(cssp.row_start[cssp.state_index[1, 1]])]].toarray()[0]
    assert row[-2:].tolist() == [0.001, 0.01]
    assert load_text(dump_problem(problem)) == problem
    with pytest.raises(InvalidProblem, match=r"hazards\[0\]: the key 'costs' is missing, or 'exit'"):
        load_text(text.replace(", exit: {crashed: 1%}", ""))
