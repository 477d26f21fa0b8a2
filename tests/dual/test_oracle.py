"""What an oracle of one's own gets for free; the module's documentation shows how one is made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Strategies, zero_bounds
from hcssp.methods.policy_branching import prove
from hcssp.ssp.scalar_problem import Region
from menus import Dish, Menu
from volume import examples

TABLE = ((10.0, 0.0), (6.0, 2.0), (4.0, 6.0))


def test_the_states_of_the_rows_follow_from_where_they_begin() -> None:
    assert Menu(TABLE, [4.0]).row_state.tolist() == [0, 0, 0]

    class TwoStates(Menu):
        def __init__(self) -> None:
            super().__init__(TABLE, [4.0])
            super(Menu, self).__init__(np.array([4.0]), np.array([0, 1, 3]))

    assert TwoStates().row_start.tolist() == [0, 1, 3]
    assert TwoStates().row_state.tolist() == [0, 1, 1]


def test_by_default_nothing_is_improved_rounded_or_renumbered() -> None:
    menu = Menu(TABLE, [4.0])
    dish = Dish(menu.table[1], 1)
    assert menu.strategies == Strategies()
    assert menu.strategies.round_up(3.25) == 3.25
    assert menu.lift(dish).tolist() == [1]


def test_other_bounds_leave_the_oracle_as_it_was_and_share_what_it_knows() -> None:
    menu = Menu(TABLE, [4.0])
    other = menu.under(np.array([1.0]))
    assert isinstance(other, Menu)
    assert (menu.bounds.tolist(), other.bounds.tolist()) == ([4.0], [1.0])
    assert maximise(menu, Region()).bound == pytest.approx(5.0, abs=1e-7)
    assert maximise(other, Region()).bound == pytest.approx(8.0, abs=1e-7)
    assert other.asked is menu.asked


def test_only_bounds_of_nothing_allow_nothing() -> None:
    assert zero_bounds(np.array([1.0, 0.0, np.inf, -1.0, 1e-300, 0.0])) == (1, 5)


def test_a_policy_lies_in_a_region_unless_it_goes_where_that_forbids() -> None:
    class Seldom(Dish):
        @property
        def visits(self) -> np.ndarray:
            return np.array([1e-300])

    class Never(Dish):
        @property
        def visits(self) -> np.ndarray:
            return np.zeros(1)

    row_state = np.zeros(3, dtype=np.int64)
    for kind, lies in ((Dish, False), (Seldom, False), (Never, True)):
        point = kind(np.zeros(2), 1)
        assert point.lies_in(Region().forbid([0, 2]), row_state)
        assert point.lies_in(Region().forbid([1]), row_state) == lies
        assert point.reached.tolist() == [not lies]


@given(
    st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=7),
    st.tuples(st.integers(0, 9), st.one_of(st.integers(0, 9), st.just(np.inf))),
)
@settings(max_examples=examples(60))
def test_policy_branching_finds_the_best_line_of_any_table(
    table: list[tuple[int, int, int]], bounds: tuple[float, float]
) -> None:
    menu = Menu(table, bounds)
    kept = menu.table[np.all(menu.table[:, 1:] <= menu.bounds, axis=1), 0]
    lower_bound, upper_bound, rows = prove(menu)
    if len(kept) == 0:
        assert (lower_bound, upper_bound, rows) == (np.inf, np.inf, None)
        return
    assert upper_bound == kept.min()
    # Where a bound is zero, prices may be enormous, and what is tolerated is worth something.
    assert kept.min() - 1e-3 <= lower_bound <= kept.min()
    assert rows is not None
    assert menu.table[rows[0], 0] == kept.min()
