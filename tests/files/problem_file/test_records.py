"""Records: what is missing, misspelt or must not stand together is told; the rest is there."""

from __future__ import annotations

import jsonschema
import pytest

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.document import Field, Findings, Limits, parse_document
from hcssp.files.problem_file.schema import (
    Definitions,
    Part,
    exactly_one,
    list_of,
    not_beside,
    number,
    optional,
    record,
    required,
    text,
)
from plain_documents import plain_document


class Door(Part):
    """A way out of a room."""

    rules = (
        exactly_one(("wood", "steel"), "what it is made of is missing"),
        not_beside("colour", ("steel",), "steel is not painted"),
    )

    width = required(number("a width", 0, 3), "In metres.")
    wood = optional(text("a kind of wood"))
    steel = optional(text("a kind of steel"))
    colour = optional(text("a colour"), "white")
    scratches = optional(list_of("scratches", number("a length", 0, 9)))


DOOR = record("a door", Door)


def read(content: str) -> tuple[Door | None, list[str]]:
    findings = Findings("it")
    door = DOOR.read(Field.root(parse_document(content, findings, Limits()), findings))
    try:
        findings.raise_if_any()
    except InvalidProblem as error:
        return door, list(error.violations)
    return door, []


def test_a_sound_record() -> None:
    door, says = read("{width: 1, wood: oak, scratches: [2]}")
    assert says == []
    assert door is not None
    assert door.sound
    assert (door.width, door.wood, door.steel, door.colour, door.scratches) == (
        1.0,
        "oak",
        None,
        "white",
        [2.0],
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{wood: oak}", "it:1: the key 'width' is missing"),
        ("{wood: oak, wdith: 1}", "it:1: wdith: there is no such key; did you mean 'width'?"),
        (
            "{wood: oak, width: 1, zzz: 1}",
            "it:1: zzz: there is no such key; the keys here are 'width', 'wood', 'steel', 'colour', "
            "'scratches'",
        ),
        ("{width: 1}", "it:1: what it is made of is missing; give one of wood, steel"),
        ("{width: 1, wood: oak, steel: blue}", "it:1: wood and steel are given; give one of wood, steel"),
        ("{width: 1, steel: s, colour: red}", "it:1: colour: steel is not painted"),
        ("[1]", "it:1: a list is not a door"),
        ("{width: 1, wood: oak, colour: 3}", "it:1: colour: 3 is not a colour; put it in quotes"),
    ],
)
def test_a_mistake_is_told_and_refused_by_the_schema(content: str, says: str) -> None:
    door, found = read(content)
    assert found == [says]
    assert door is None or not door.sound
    definitions = Definitions()
    schema = definitions.of(DOOR) | {"$defs": definitions.schemas}
    assert not jsonschema.Draft202012Validator(schema).is_valid(plain_document(content))


def test_beside_a_mistake_the_rest_is_there() -> None:
    door, says = read("{width: wide, wood: oak, colour: 3, scratches: [1, x]}")
    assert len(says) == 3
    assert door is not None
    assert (door.width, door.wood, door.colour, door.scratches) == (None, "oak", "white", [1.0, None])


def test_everything_knows_its_place() -> None:
    door, _ = read("width: 1\nwood: oak\nscratches:\n- 2\n- 3\n")
    assert door is not None
    assert (door.where("scratches", 1).path, door.where("scratches", 1).line) == ("scratches[1]", 5)
    assert (door.where("wood").path, door.where("wood").line) == ("wood", 2)
    # As far as there is something.
    assert door.where("colour", "left").path == ""
    assert door.where("scratches", 7).path == "scratches"


def test_the_schema_of_a_record() -> None:
    definitions = Definitions()
    assert definitions.of(record("a door", Door, besides=("colour",))) == {
        "allOf": [{"$ref": "#/$defs/door"}, {"required": ["colour"]}]
    }
    schema = definitions.schemas["door"]
    assert schema["description"] == "A way out of a room."
    assert schema["required"] == ["width"]
    assert schema["properties"]["width"]["description"] == "In metres."
    assert schema["allOf"] == [
        {"oneOf": [{"required": ["wood"]}, {"required": ["steel"]}]},
        {"not": {"required": ["colour", "steel"]}},
    ]


def test_a_key_may_be_required_in_one_place_only() -> None:
    findings = Findings("it")
    node = parse_document("{width: 1, wood: oak}", findings, Limits())
    record("a door", Door, besides=("colour",)).read(Field.root(node, findings))
    with pytest.raises(InvalidProblem, match="the key 'colour' is missing"):
        findings.raise_if_any()


def test_records_are_told_apart_by_a_key() -> None:
    steel = record("a steel door", Door, known_by="steel")
    findings = Findings("it")
    assert steel.fits(Field.root(parse_document("{steel: x}", findings, Limits()), findings))
    assert not steel.fits(Field.root(parse_document("{wood: x}", findings, Limits()), findings))
