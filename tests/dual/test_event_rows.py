"""What event rows are worth, rounded down: not a digit above what rational numbers say."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from hcssp.cssp.policy import NO_ROW
from hcssp.dual.event_rows import EventRows
from hcssp.ssp.potential import UNIT_ROUNDOFF

LONGEST = 40


def rows_with(seed: int, num_costs: int = 2) -> EventRows:
    """Three rows of one event: the longest in the middle, with as many events as doors."""
    rng = np.random.default_rng(seed)
    events, doors = rng.random((3, LONGEST)), rng.random((3, LONGEST))
    events[0, 2:], doors[0] = 0.0, 0.0
    events[2, 3:], doors[2, 1:] = 0.0, 0.0
    layout: Any = SimpleNamespace(
        num_event_rows=3,
        num_costs=num_costs,
        event_moves=csr_array(events),
        door_moves=[csr_array(doors), csr_array(np.zeros((3, 1)))],
        event_costs=rng.random((num_costs, 3)),
        rows_of_event=lambda event: range(3),
    )
    return EventRows(layout)


def exact(rows: EventRows, row: int, weights: Any, values: Any, levels: Any) -> Fraction:
    """What a row is worth in rational numbers."""
    layout: Any = rows.layout
    total = sum(Fraction(w) * Fraction(c) for w, c in zip(weights, layout.event_costs[:, row], strict=True))
    for moves, worth in ((layout.event_moves, values), (layout.door_moves[0], levels)):
        line = moves.toarray()[row]
        total += sum(Fraction(p) * Fraction(v) for p, v in zip(line, worth, strict=True))
    return Fraction(total)


def test_the_best_row_is_told_with_no_more_than_it_is_worth() -> None:
    for seed in range(60):
        rows, rng = rows_with(seed), np.random.default_rng(seed + 1_000)
        weights, values, levels = rng.random(2), 100.0 * rng.random(LONGEST), 100.0 * rng.random(LONGEST)
        prices = rows.prices(weights)
        worth = [exact(rows, row, weights, values, levels) for row in range(3)]
        for forbidden in (frozenset[int](), frozenset({0, 2})):
            chosen, told = rows.best(0, prices, values, [levels, None], forbidden)
            best = min(set(range(3)) - forbidden, key=worth.__getitem__)
            assert chosen == best
            assert Fraction(told) <= worth[best]
            assert told == pytest.approx(float(worth[best]), rel=1e-13)
        assert rows.best(0, prices, values, [levels, None], frozenset({0, 1, 2})) == (NO_ROW, np.inf)
        # An activity without a plan cannot be entered; the first row enters none.
        assert rows.best(0, prices, values, [None, None], frozenset())[0] == 0


@pytest.mark.parametrize("num_costs", [2, 50])
def test_all_terms_of_the_longest_row_are_allowed_for(num_costs: int) -> None:
    lost = 1.0 - rows_with(0, num_costs).rounded_down(1.0)
    # A product and a sum for each entry, and for each cost.
    assert lost >= 2.0 * (2 * LONGEST + num_costs) * UNIT_ROUNDOFF
    assert lost <= 4.0 * (2 * LONGEST + num_costs) * UNIT_ROUNDOFF
