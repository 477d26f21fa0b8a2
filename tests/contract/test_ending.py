from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from hcssp.contract.proof import Ending, Reason


def test_a_reason_is_a_text_that_a_file_can_hold() -> None:
    assert [str(reason) for reason in Reason] == [
        "proved",
        "infeasible",
        "gap",
        "target",
        "first plan",
        "time limit",
        "no improvement",
        "iterations",
        "memory",
        "criterion",
        "interrupted",
        "relaxation solved",
        "converged",
        "rounding",
        "failed",
        "exhausted",
        "unknown",
    ]
    assert all(Reason(str(reason)) is reason for reason in Reason)


def test_every_reason_can_be_told_as_a_clause() -> None:
    clauses = [Ending(reason).in_words for reason in Reason]
    assert len(set(clauses)) == len(Reason)
    # They follow "because" within a sentence.
    assert all(clause[0].islower() and not clause.endswith(".") for clause in clauses)


def test_the_detail_is_told_behind_the_reason() -> None:
    ending = Ending(Reason.CRITERION, "battery low")
    assert str(ending) == "criterion (battery low)"
    assert ending.in_words == "a stop criterion was met (battery low)"
    assert str(Ending(Reason.GAP)) == "gap"


def test_endings_compare_by_content_and_stay_as_they_are() -> None:
    assert Ending(Reason.GAP) == Ending(Reason.GAP, "")
    assert Ending(Reason.GAP) != Ending(Reason.GAP, "wide")
    assert len({Ending(Reason.GAP), Ending(Reason.GAP)}) == 1
    with pytest.raises(FrozenInstanceError):
        Ending(Reason.GAP).reason = Reason.PROVED  # type: ignore[misc]
