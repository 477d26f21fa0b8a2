from __future__ import annotations

from hcssp.errors import InvalidProblem, UnknownName


def test_one_violation_is_told_as_it_is_and_several_as_a_list() -> None:
    assert str(InvalidProblem(["the roof leaks"])) == "the roof leaks"
    several = InvalidProblem(f"{part} leaks" for part in ("the roof", "a pipe"))
    assert str(several) == "2 violations:\n  - the roof leaks\n  - a pipe leaks"
    assert several.violations == ("the roof leaks", "a pipe leaks")


def test_an_unknown_name_suggests_the_nearest() -> None:
    assert str(UnknownName("method", "exat", ["exact", "anytime"])) == (
        "there is no method 'exat'; did you mean 'exact'? available: anytime, exact"
    )
    assert str(UnknownName("method", "magic", ())) == "there is no method 'magic'; available: none"


def test_of_very_many_names_some_are_listed_and_none_is_guessed() -> None:
    some = str(UnknownName("state", "room-7", (f"room-{number:04}" for number in range(100))))
    assert "did you mean 'room-0" in some
    assert some.endswith(", room-0076 and 94 more")
    many = str(UnknownName("state", "room-7", (f"room-{number:04}" for number in range(6000))))
    assert many.startswith("there is no state 'room-7'; available: room-0000, ")
    assert many.endswith(", room-0029 and 5970 more")
