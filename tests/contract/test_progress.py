from __future__ import annotations

from dataclasses import FrozenInstanceError
from math import inf

import pytest

from hcssp.contract.progress import Progress


def test_by_default_a_progress_claims_nothing() -> None:
    progress = Progress()
    assert (progress.lower_bound, progress.upper_bound, progress.gap) == (-inf, inf, inf)
    assert progress.incumbent is progress.prices is progress.ending is progress.infeasible is None
    assert progress.stochastic is progress.budgets is None
    assert progress.improved == inf


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Progress().lower_bound = 3.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(), "   0.0 s       0 boxes   no plan yet"),
        (Progress(12.25, 7, lower_bound=3.0), "  12.2 s       7 boxes   lower bound 3.0000   no plan yet"),
        (Progress(1.0, 7, upper_bound=4.0), "   1.0 s       7 boxes   incumbent 4.0000"),
        (
            Progress(1.0, 7, lower_bound=3.0, upper_bound=4.0),
            "   1.0 s       7 boxes   lower bound 3.0000   incumbent 4.0000   gap 25%",
        ),
    ],
)
def test_in_words_only_what_is_known_is_told(progress: Progress, words: str) -> None:
    assert progress.in_words("boxes") == words
    assert str(progress) == words.replace("boxes", "iterations")
