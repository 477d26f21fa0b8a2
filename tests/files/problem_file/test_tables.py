"""Tables beside a problem, CSV and DRN: what they mean, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hcssp import dump_problem, solve
from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load_text

PROBLEM = """
format: hcssp-problem
version: 1
costs: [time, damage]
activities:
  slide: {file: FILE, start: top, goal: bottom}
"""
CSV = """\
state,action,next,probability,time,damage
top,jump,bottom,0.5,1,2
middle,wait,middle,1,1,
top,jump,middle,0.5,3,2
"(3, 4)",walk,bottom,1,5,0
middle,walk,"(3, 4)",1,0.5,0
"""
DRN = """\
// written by hand
@type: MDP
@parameters

@reward_models
damage time
@nr_states
3
@nr_choices
3
@model
state 0 [0.5, 1] init
\taction jump [2, 0]
\t\t1 : 1/3
\t\t2 : 0.6666666667
\taction __NOLABEL__
\t\t1 : 1
state 1 [0, 4]
//[x=1]
\taction __NOLABEL__ [0, 0.5]
\t\t2 : 1
state 2 goal "the end"
\taction __NOLABEL__
\t\t2 : 1
"""


def load(folder: Path, name: str, content: str, problem: str = PROBLEM) -> CSSP:
    (folder / name).write_text(content, encoding="utf-8")
    return load_text(problem.replace("FILE", name), folder).activities[0].cssp


def told(folder: Path, name: str, content: str, problem: str = PROBLEM) -> str:
    with pytest.raises(InvalidProblem) as caught:
        load(folder, name, content, problem)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_csv_table(tmp_path: Path) -> None:
    cssp = load(tmp_path, "t.csv", CSV)
    assert cssp.state_labels == ("top", "middle", (3, 4), "bottom")
    assert list(cssp.action_labels) == ["jump", "wait", "walk", "walk"]
    assert cssp.row_start.tolist() == [0, 1, 3, 4, 4]
    expected = [[0, 0.5, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(cssp.transitions.toarray(), expected)
    # What a jump takes depends on where it ends: one half of 1 and one half of 3.
    assert cssp.costs.tolist() == [[2.0, 1.0, 0.5, 5.0], [2.0, 0.0, 0.0, 0.0]]
    assert cssp.goals.tolist() == [False, False, False, True]


def test_columns_may_come_in_any_order_and_costs_may_be_left_out(tmp_path: Path) -> None:
    cssp = load(
        tmp_path, "t.csv", "damage, next, probability, action, state\r\n2, bottom, 1, go, top\r\n\r\n"
    )
    assert cssp.costs.tolist() == [[0.0], [2.0]]


def test_costs_that_agree_are_not_rounded(tmp_path: Path) -> None:
    lines = "".join(
        f"top,go,{state},{p},0.1,0\n" for state, p in (("bottom", 0.7), ("top", 0.2), ("far", 0.1))
    )
    text = "state,action,next,probability,time,damage\n" + lines + "far,go,bottom,1,0,0\n"
    assert load(tmp_path, "t.csv", text).costs[0, 0] == 0.1


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ("state,action", "stat,action", "t.csv:1: stat: there is no such column; did you mean 'state'?"),
        ("state,action", "stat,action", "t.csv:1: the column 'state' is missing"),
        ("time,damage", "time,time", "t.csv:1: time: this column stands here a second time"),
        ("time,damage", "time,smoke", "t.csv:1: smoke: there is no such column; available: 'state'"),
        ("bottom,0.5,1,2", "bottom,0.5,1", "t.csv:2: 5 columns instead of 6"),
        (
            "bottom,0.5,1,2",
            "bottom,half,1,2",
            "t.csv:2: probability: 'half' is not a probability between 0 and 1",
        ),
        (
            "bottom,0.5,1,2",
            "bottom,1.5,1,2",
            "t.csv:2: probability: 1.5 is not a probability between 0 and 1",
        ),
        (
            "bottom,0.5,1,2",
            "bottom,nan,1,2",
            "t.csv:2: probability: 'nan' is not a probability between 0 and 1",
        ),
        ("bottom,0.5,1,2", "bottom,0.5,-1,2", "t.csv:2: time: -1 is not a cost: a number from 0"),
        ("bottom,0.5,1,2", "bottom,0.5,1_0,2", "t.csv:2: time: '1_0' is not a cost: a number from 0"),
        ("bottom,0.5,1,2", "bottom,0.4,1,2", "t.csv:2: probabilities sum to 0.9, not 1"),
        ("middle,wait", ",wait", "t.csv:3: state: a name must not be empty"),
        ("walk,bottom", "walk,botom", "t.csv:5: it leads to 'botom', which has no actions and is no goal"),
        ('"(3, 4)",walk', '"(3, 4),walk', "t.csv:6: this is not CSV: "),
        (CSV, "", "t.csv:1: the table is empty; its first line must be state,action,next,probability"),
        (CSV.partition("\n")[2], "", "t.csv:1: the table has no transitions"),
    ],
)
def test_a_mistake_in_a_csv_table(tmp_path: Path, change: str, to: str, says: str) -> None:
    assert CSV.count(change) == 1
    assert says in told(tmp_path, "t.csv", CSV.replace(change, to))


def test_a_csv_table_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"state\n\xe9")
    with pytest.raises(InvalidProblem, match=r"slide\.file: \S*t\.csv:2: byte 0xe9 is not UTF-8"):
        load_text(PROBLEM.replace("FILE", "t.csv"), tmp_path)


BY_LABELS = PROBLEM.replace(", start: top, goal: bottom", "")


def test_a_drn_table(tmp_path: Path) -> None:
    cssp = load(tmp_path, "t.drn", DRN, BY_LABELS)
    assert cssp.state_labels == ("0", "1", "2")
    assert list(cssp.action_labels) == ["jump", "action 1", "action 0"]
    assert cssp.costs.tolist() == [[1.0, 1.0, 4.5], [2.5, 0.5, 0.0]]
    np.testing.assert_allclose(
        cssp.transitions.toarray(), [[0, 1 / 3, 2 / 3], [0, 1, 0], [0, 0, 1]], atol=1e-9
    )
    np.testing.assert_allclose(cssp.transitions.sum(axis=1), 1.0, atol=1e-15)
    assert cssp.initial.tolist() == [1.0, 0.0, 0.0]
    assert cssp.goals.tolist() == [False, False, True]


@pytest.mark.parametrize("goal", ["the end", "'2'", "[the end, '1']"])
def test_labels_and_numbers_of_a_drn_table_name_states(tmp_path: Path, goal: str) -> None:
    problem = PROBLEM.replace("start: top, goal: bottom", f"start: '0', goal: {goal}")
    assert load(tmp_path, "t.drn", DRN, problem).goals[2]


def test_a_chain_in_drn(tmp_path: Path) -> None:
    chain = "@type: DTMC\n@model\nstate 0 init\n\t0 : 0.5\n\t1 : 0.5\nstate 1 goal\n\taction 0\n\t\t1 : 1\n"
    cssp = load(tmp_path, "t.drn", chain, BY_LABELS)
    assert cssp.transitions.toarray().tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("change", "to", "says"),
    [
        ("MDP", "POMDP", "t.drn:2: @type: 'POMDP' cannot be read; the types that can are 'MDP', 'DTMC'"),
        ("@type: MDP\n", "", "t.drn:10: the type is missing; write '@type: MDP' before '@model'"),
        ("@parameters\n", "@parameters\np q\n", "t.drn:4: @parameters: 'p q' is not a number; instantiate"),
        ("@type: MDP", "@type: MDP\n@value_type: double-interval", "t.drn:3: @value_type: 'double-interval'"),
        (
            "damage time",
            "damage smoke",
            "t.drn:5: @reward_models: 'smoke' is not a cost; the costs are 'time'",
        ),
        ("@nr_states\n3", "@nr_states\n4", "t.drn:1: @nr_states: 4 states are announced, but there are 3"),
        (
            "@nr_choices",
            "@nr_chices",
            "t.drn:9: '@nr_chices' is not a part of a header; did you mean '@nr_choices'?",
        ),
        ("@model\n", "", "t.drn:1: there is no line '@model', so this is no DRN file"),
        ("state 1 ", "state 5 ", "t.drn:18: state 5 follows 0; states are numbered 0, 1, 2 and so on"),
        ("[0.5, 1]", "[0.5]", "t.drn:12: 1 rewards, but there are 2 reward models"),
        ("[0.5, 1]", "[0.5, -1]", "t.drn:12: '-1' is not a number from 0 to 1e+100"),
        ("1 : 1/3", "1 : 1/0", "t.drn:14: '1/0' is not a number from 0 to 1e+100"),
        ("1 : 1/3", "1 : 1/2", "t.drn:13: probabilities sum to 1.166666667, not 1"),
        ("1 : 1/3", "1 : 3", "t.drn:14: '3' is not a probability between 0 and 1"),
        ("1 : 1/3", "1 -> 1/3", "t.drn:14: '1 -> 1/3' is neither 'state ...' nor 'action ...' nor"),
        ("1 : 1/3", "7 : 1/3", "t.drn:13: it leads to 7, but the states are 0 to 2"),
        ("\taction jump [2, 0]\n", "", "t.drn:13: a transition before the first action"),
        ("state 0 [0.5, 1] init\n", "", "t.drn:12: an action before the first state"),
        ("state 1 [0, 4]", "state 1 !3 [0, 4]", "t.drn:18: '!3 [0, 4]': rates, observations and intervals"),
        ('goal "the end"', "", "activities.slide: the key 'goal' is missing, here and in the model"),
        (DRN[DRN.index("state 0") :], "", "t.drn:1: there are no states"),
        (DRN, "nothing", "t.drn:1: 'nothing' is not a part of a header"),
        (DRN, "// nothing", "t.drn:1: there is no line '@model', so this is no DRN file"),
    ],
)
def test_a_mistake_in_a_drn_table(tmp_path: Path, change: str, to: str, says: str) -> None:
    assert DRN.count(change) == 1
    assert says in told(tmp_path, "t.drn", DRN.replace(change, to), BY_LABELS)


def test_a_shared_table_leaves_out_the_actions_of_each_goal(tmp_path: Path) -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time]
models:
  floors:
    table:
      ground: {up: {to: first, costs: {time: 1}}}
      first: {up: {to: roof, costs: {time: 2}}, down: {to: ground, costs: {time: 1}}}
activities:
  climb: {model: floors, start: ground, goal: first}
  escape: {model: floors, start: first, goal: roof}
procedure:
  start: below
  end: above
  events:
    below: {climb: {runs: climb, to: middle}}
    middle: {escape: {runs: escape, to: above}}
"""
    climb, escape = (activity.cssp for activity in load_text(text).activities)
    assert (climb.num_rows, escape.num_rows) == (1, 3)
    assert climb.state_labels == escape.state_labels == ("ground", "first", "roof")
    alone = text.replace("goal: roof", "goal: ground").replace("start: first", "start: roof")
    with pytest.raises(
        InvalidProblem, match=r"problem:9: models\.floors\.table\.first\.up\.to: it leads to 'roof'"
    ):
        load_text(alone)


def test_a_state_that_is_led_to_with_probability_zero_must_exist_as_well() -> None:
    text = """
format: hcssp-problem
version: 1
costs: [time]
activities:
  climb: {table: {below: {up: {to: {above: 1, belwo: 0}}}}, start: below, goal: above}
"""
    with pytest.raises(InvalidProblem, match=r"it leads to 'belwo', .* did you mean 'below'\?"):
        load_text(text)


JUMP = """
format: hcssp-problem
version: 1
costs: [time, lost]
models:
  jump:
    table:
      edge:
        jump: {to: {out: 0.9, pit: 0.1}, costs: {time: 1}}
        climb: {to: out, costs: {time: 30}}
      pit: {}
    start: edge
    goal: out
    give_up: {time: 1/2, lost: 1}
activities:
  first: {model: jump}
  second: {model: jump, give_up: {time: 500}}
procedure:
  start: a
  end: c
  events:
    a: {go: {runs: first, to: b}}
    b: {go: {runs: second, to: c}}
constraints: {lost: {at_most: 0.1}}
"""


def test_dead_ends_end_at_the_nearest_price() -> None:
    problem = load_text(JUMP)
    costs = [activity.cssp.costs[:, 2].tolist() for activity in problem.activities]
    assert costs == [[0.5, 1.0], [500.0, 0.0]]
    assert load_text(dump_problem(problem)) == problem
    # Jumping costs 1 + 0.1 * 0.5 the first time, and would cost 1 + 0.1 * 500 the second.
    assert solve(problem).upper_bound == pytest.approx(1.05 + 30.0)


def test_giving_up_must_name_costs() -> None:
    wrong = JUMP.replace("{time: 500}", "{tiem: 500}").replace("{time: 1/2, lost: 1}", "1/2")
    with pytest.raises(InvalidProblem) as raised:
        load_text(wrong)
    assert raised.value.violations == (
        "problem:14: models.jump.give_up: '1/2' is not a mapping from costs to numbers",
    )
    with pytest.raises(InvalidProblem) as raised:
        load_text(JUMP.replace("{time: 500}", "{tiem: 500}"))
    told = "problem:17: activities.second.give_up.tiem: there is no cost 'tiem'; did you mean 'time'?"
    assert raised.value.violations == (told,)
