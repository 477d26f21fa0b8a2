"""Policies closed with caution: they stay among what is expanded, and end."""

from __future__ import annotations

import numpy as np
import pytest

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.reachability import closure
from hcssp.ssp.caution import CautiousExpansion, close_cautiously, share_of_sure_states
from hcssp.ssp.guided_expansion import Departures, GuidedExpansion
from hcssp.ssp.policy_rows import policy_chain

LAST = 24


def drifting(sure: bool) -> ImplicitCSSP:
    """A walk along a line that is quicker, and may drift aside for ever, if one runs."""

    def transitions(place: tuple[int, int], action: str) -> list[tuple[tuple[int, int], float]]:
        along, aside = place
        if action == "walk":
            return [((along + 1, aside), 0.5), ((along + 1, aside if sure else 0), 0.5)]
        return [((along + 2, aside + drift), chance) for drift, chance in ((0, 0.8), (1, 0.1), (-1, 0.1))]

    return ImplicitCSSP(
        (0, 0),
        lambda place: ("run", "walk"),
        transitions,
        lambda place, action: 1.0,
        lambda place: place[0] >= LAST,
        lambda place: max(LAST - place[0], 0) / 2.0,
    )


def searched(problem: ImplicitCSSP) -> GuidedExpansion:
    expansion = Expansion(problem)
    search = GuidedExpansion(expansion, Departures(expansion), np.ones(1))
    search.trial(0.01, 100)
    search.sweep(30)
    return search


def test_a_closed_policy_has_a_row_wherever_it_goes_and_ends() -> None:
    search = searched(drifting(sure=True))
    rows = close_cautiously(search, 1.0, 10_000)
    search.follow()
    assert rows is not None
    expansion = search.expansion
    chain = policy_chain(search, rows)
    starts = np.arange(expansion.num_states) == 0
    reached = closure(chain, starts)
    assert np.array_equal(reached & ~expansion.goal, rows >= 0)
    assert closure(chain.T.tocsr(), expansion.goal)[reached].all()


def test_nothing_is_expanded_beyond_what_is_allowed() -> None:
    search = searched(drifting(sure=True))
    before = search.expansion.num_expanded
    assert close_cautiously(search, 1.0, before) is None
    assert close_cautiously(search, 1.0, 10_000, lambda: True) is None


def test_only_what_was_not_expanded_is_dearer() -> None:
    search = searched(drifting(sure=True))
    careful = CautiousExpansion(search, 3.0)
    assert np.array_equal(careful.values - search.values, 3.0 * search.expansion.frontier)
    edge = np.flatnonzero(search.expansion.frontier)
    careful.expand(edge)
    met = slice(len(search.values), None)
    heuristic = search.expansion.heuristic[0, met]
    assert careful.values[met] == pytest.approx(heuristic + 3.0 * ~search.expansion.goal[met])


def test_states_are_sure_that_have_a_row_to_one_other_state() -> None:
    for sure, share in ((True, 1.0), (False, 0.0)):
        search = searched(drifting(sure))
        # Where one is not aside, both ways of walking lead to the same state.
        aside = np.array(
            [label[1] != 0 for label in map(search.expansion.label, range(search.expansion.num_states))]
        )
        expanded = search.expansion.first_row >= 0
        expected = 1.0 if sure else np.count_nonzero(expanded & ~aside) / np.count_nonzero(expanded)
        assert share_of_sure_states(search.expansion, search.departures) == pytest.approx(expected)
        assert share <= expected
