"""Tables that share a layout make the same problems as tables made one by one, and break the same rules."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.alike_tables import AlikeTables
from hcssp.cssp.assembly import Assembly
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem
from volume import some

Row = tuple[int, str, dict[int, float]]
SHAPES: dict[str, list[Row]] = {
    "in order": [(0, "x", {1: 0.5, 2: 0.5}), (1, "y", {2: 1.0})],
    "successors out of order": [(0, "x", {2: 0.5, 0: 0.25, 1: 0.25}), (1, "y", {2: 1.0})],
    "rows out of order": [(1, "y", {2: 1.0}), (0, "x", {1: 1.0}), (1, "x", {0: 1.0})],
    "a goal that acts": [(2, "again", {0: 1.0}), (0, "x", {2: 0.5, 1: 0.5}), (1, "y", {2: 1.0})],
    "impossible successors": [(0, "x", {1: 0.0, 2: 1.0}), (1, "y", {2: 1.0})],
}


def assembly(rows: list[Row], seed: int = 0, names: str = "abc", costs: int = 2) -> Assembly:
    """A table of three states with those rows, and costs and probabilities of its own."""
    random = np.random.default_rng(seed)
    made = Assembly(("time", "damage", "wear")[:costs])
    for name in names:
        made.add_state(name)
    for state, action, to in rows:
        row = made.add_row(state, action, random.integers(0, 9, costs).astype(float).tolist())
        chances = np.array([*to.values()]) * random.uniform(0.5, 1.5, len(to))
        made.add_transitions([row] * len(to), [*to], (chances / chances.sum()).tolist())
    return made


@pytest.mark.parametrize("rows", SHAPES.values(), ids=[*SHAPES])
@pytest.mark.parametrize("seed", some(range(1, 7), 2))
def test_a_problem_is_the_same_whatever_was_made_before(rows: list[Row], seed: int) -> None:
    alike = AlikeTables()
    for before in (0, 1):
        alike.problem(alike.table(assembly(rows, 100 + before)), {0: 1.0}, (2,))
    made = alike.problem(alike.table(assembly(rows, seed, "pqr")), {0: 1.0}, (2,))
    alone = validated(assembly(rows, seed, "pqr").table().without_actions_of([2]).cssp({0: 1.0}, [2]))
    assert made == alone
    assert made.row_state.tolist() == alone.row_state.tolist()
    assert dict(made.state_index) == dict(alone.state_index)
    assert made.costs.flags.c_contiguous
    for array in (made.costs, made.transitions.data, made.transitions.indices, made.goals, made.initial):
        assert not array.flags.writeable


def test_what_is_stated_again_is_made_once() -> None:
    alike = AlikeTables()
    rows = SHAPES["in order"]
    table = alike.table(assembly(rows))
    assert alike.table(assembly(rows)) is table
    for other in (assembly(rows, 1), assembly(rows, names="abd"), assembly(rows, costs=3)):
        assert alike.table(other) is not table


def test_another_start_or_goal_is_another_problem() -> None:
    alike = AlikeTables()
    table = alike.table(assembly(SHAPES["in order"]))
    for start, goal in ((0, 2), (1, 2), (0, 1)):
        made = alike.problem(alike.table(assembly(SHAPES["in order"], goal)), {start: 1.0}, (goal,))
        assert np.flatnonzero(made.initial).tolist() == [start]
        assert np.flatnonzero(made.goals).tolist() == [goal]
    assert alike.problem(table, {0: 0.5, 1: 0.5}, (2,)).initial.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("probability", "cost", "actions", "told"),
    [
        (0.5, 1.0, "xy", "state 'a', action 'x': probabilities sum to 0.5, not 1"),
        (-1.0, 1.0, "xy", "state 'a', action 'x': the probability of reaching state 'c' is -1.0"),
        (1.0, -1.0, "xy", "state 'a', action 'x': the cost 'time' is -1.0"),
        (1.0, np.nan, "xy", "state 'a', action 'x': the cost 'time' is nan"),
        (1.0, 1.0, "xx", "state 'a', action 'x': the state has two actions of this name"),
    ],
)
def test_rules_are_checked_of_every_table(probability: float, cost: float, actions: str, told: str) -> None:
    def made(probability: float, cost: float, actions: str) -> Assembly:
        table = Assembly(("time",))
        for name in "abc":
            table.add_state(name)
        for action, chance in zip(actions, (probability, 1.0), strict=True):
            table.add_transitions([table.add_row(0, action, [cost])], [2], [chance])
        return table

    alike = AlikeTables()
    alike.problem(alike.table(made(1.0, 2.0, "xy")), {0: 1.0}, (2,))
    with pytest.raises(InvalidProblem) as caught:
        alike.problem(alike.table(made(probability, cost, actions)), {0: 1.0}, (2,))
    assert caught.value.violations[0].startswith(told)
    # Nothing is worse for it afterwards.
    alike.problem(alike.table(made(1.0, 3.0, "xy")), {0: 1.0}, (2,))
