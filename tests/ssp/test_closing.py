"""Policies that stay among what is expanded: they end, or are none."""

from __future__ import annotations

import numpy as np

from hcssp.cssp.expansion import Expansion
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.ssp.closed_policies import ClosedPolicies
from hcssp.ssp.guided_expansion import Departures, GuidedExpansion


def to_and_fro() -> ImplicitCSSP:
    """Between two places one may go to and fro for ever, or leave from the first for a long way."""
    return ImplicitCSSP(
        0,
        lambda place: ("fro", "leave") if place == 0 else ("on",),
        lambda place, action: {{"fro": 1, "leave": 2}.get(action, 0 if place == 1 else place + 1): 1.0},
        lambda place, action: 1.0,
        lambda place: place == 5,
    )


def searched(*expanded: int) -> GuidedExpansion:
    expansion = Expansion(to_and_fro())
    for place in expanded:
        number = expansion.numbers.find(place)
        assert number is not None
        expansion.expand(np.array([number]))
    return GuidedExpansion(expansion, Departures(expansion), np.ones(1))


def first_rows(search: GuidedExpansion) -> np.ndarray:
    return search.expansion.first_row.copy()


def test_a_policy_that_cannot_be_mended_is_none() -> None:
    """Nothing that is expanded leads to the goal: what goes in circles would seem to cost next to nothing."""
    search = searched(0, 1)
    closing = ClosedPolicies(search.expansion)
    assert not closing.is_possible
    assert closing.evaluated(search, first_rows(search)) is None


def test_a_policy_that_goes_in_circles_is_mended() -> None:
    search = searched(0, 1, 2, 3, 4)
    closing = ClosedPolicies(search.expansion)
    assert closing.is_possible
    found = closing.evaluated(search, first_rows(search))
    assert found is not None
    assert found.costs.tolist() == [4.0]
