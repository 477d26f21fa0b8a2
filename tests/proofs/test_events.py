"""Values of event states; test_builder and test_assembly have whole proofs."""

from __future__ import annotations

from itertools import pairwise

from hcssp.proofs.events import MARGINS


def test_margins_begin_with_none_and_grow_and_stay_small() -> None:
    assert MARGINS[0] == 0.0
    assert all(before < after for before, after in pairwise(MARGINS))
    # What a margin takes away from the bound is lost, for as many choices as there are in a row.
    assert MARGINS[-1] < 1e-6
