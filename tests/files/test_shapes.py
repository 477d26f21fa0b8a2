from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import pytest

from hcssp.files.shapes import mistakes


class Inner(TypedDict):
    """A part."""

    kind: Literal["a", "b"]


class Whole(TypedDict):
    """A record."""

    number: float
    name: NotRequired[str]
    text: NotRequired[str | None]
    inner: NotRequired[Inner | None]
    counts: NotRequired[dict[str, list[int]]]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"number": 1}, []),
        ({"number": 1.5, "text": None, "inner": {"kind": "a"}, "counts": {"x": [1, 2]}}, []),
        ([], ["a list of 0 is not an object"]),
        ({}, ["number: this key is missing"]),
        ({"number": True}, ["number: true is not a number"]),
        ({"number": float("inf")}, ["number: Infinity is not a number"]),
        ({"number": 10**400}, [f"number: 1{'0' * 56}... is not a number"]),
        ({"number": 1, "text": 7}, ["text: 7 is not a text or null"]),
        ({"number": 1, "name": "\ud800"}, ["name: there is half of a character in it; write the whole one"]),
        # What is wrong inside of what may be null is named itself.
        ({"number": 1, "inner": {"kind": "c"}}, ['inner.kind: "c" is not one of a, b']),
        ({"number": 1, "inner": 3}, ["inner: 3 is not an object or null"]),
        (
            {"number": 1, "counts": {"x": [1, True, 0.5]}},
            [
                "counts.x[1]: true is not a whole number",
                "counts.x[2]: 0.5 is not a whole number",
            ],
        ),
        (
            {"number": 1, "other": 2},
            ["other: there is no such key; available: number, name, text, inner, counts"],
        ),
    ],
)
def test_every_mistake_is_named(value: Any, found: list[str]) -> None:
    assert list(mistakes(value, Whole)) == found


def test_a_record_may_have_keys_of_a_later_version() -> None:
    assert not list(mistakes({"number": 1, "other": 2}, Whole, closed=False))
