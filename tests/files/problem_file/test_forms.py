"""A form reads what its JSON Schema accepts, and notes a mistake about everything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file import format as problem_format
from hcssp.files.problem_file.arithmetic import Parameters
from hcssp.files.problem_file.document import Field, Findings, Limits, parse_document
from hcssp.files.problem_file.schema import (
    WRITTEN,
    Definitions,
    Form,
    Part,
    bound,
    fixed,
    letter,
    list_of,
    map_of,
    name_text,
    nothing,
    number,
    numbers,
    record,
    text,
    whole,
)
from volume import examples


def read(
    form: Form[Any], value: Any, parameters: Mapping[str, Fraction] | None = None
) -> tuple[Any, list[str]]:
    """What a form makes of a value, and what it says about it."""
    findings = Findings("it")
    field = Field.root(parse_document(json.dumps(value), findings, Limits(), json=True), findings)
    made = form.read(replace(field, parameters=Parameters(parameters or {}, frozenset(CAPACITIES))))
    try:
        findings.raise_if_any()
    except InvalidProblem as error:
        return made, [violation.removeprefix("it:1: ") for violation in error.violations]
    return made, []


def schema(form: Form[Any]) -> jsonschema.Draft202012Validator:
    definitions = Definitions()
    return jsonschema.Draft202012Validator(definitions.of(form) | {"$defs": definitions.schemas})


@pytest.mark.parametrize(
    ("form", "value", "made"),
    [
        (text(), "é", "é"),
        (name_text("a name"), "a name", "a name"),
        (letter("a hazard"), "~", "~"),
        (number("a share", 0, 1), 1, 1.0),
        (number("a share", 0, 1), "1/3", 1 / 3),
        (number("a share", 0, 1), "15%", 0.15),
        (number("a share", -1, 1), "-.5 / 2", -0.25),
        (bound("a bound"), "0.1%", 0.001),
        (whole(), 3.0, 3),
        (bound("a bound"), "inf", inf),
        (bound("a bound"), -2, -2.0),
        (fixed("{}", 1), 1, 1),
        (nothing({}), None, {}),
        (numbers("a cell", 2), [1, -2], (1, -2)),
        (numbers("a label"), [1, 2, 3], (1, 2, 3)),
        (list_of("texts", text()), ["a", "b"], ["a", "b"]),
        (map_of("texts", text()), {"a": "b"}, {"a": "b"}),
        (number("a share") | text("a share, or a text"), "a", "a"),
    ],
)
def test_a_value_of_the_form(form: Form[Any], value: Any, made: Any) -> None:
    assert read(form, value) == (made, [])
    assert type(read(form, value)[0]) is type(made)
    schema(form).validate(value)


@pytest.mark.parametrize(
    ("form", "value", "says"),
    [
        (text("a motto"), 7, ["7 is not a motto; put it in quotes"]),
        (text("a motto"), [], ["a list is not a motto"]),
        (text("a motto"), None, ["nothing is given here; give a motto"]),
        (name_text("a name"), " a", ["the name ' a' begins or ends with a space; remove it"]),
        (name_text("a name"), "a" * 201, ["a name must not be longer than 200 characters, this has 201"]),
        (letter("a fire"), "S", ["'S' cannot draw a fire; take one character other than '#', '.', 'S', 'G'"]),
        (number("a share", 0, 1), 1.5, ["1.5 is not a share"]),
        (number("a share", 0, 1), True, ["true is not a share"]),
        (number("a share", 0, 1), "1", ["'1' is not a share"]),
        (whole("a count", 1, 9), 10, ["10 is not a count"]),
        (whole("a count", 1, 9), 1.5, ["1.5 is not a count"]),
        (bound("a bound"), "infinite", ["'infinite' is not a bound"]),
        (bound("a bound"), True, ["true is not a bound"]),
        (fixed("version {} is unknown", 1), True, ["version true is unknown"]),
        (numbers("a cell", 2), [1], ["a list of 1 is not a cell"]),
        (numbers("a cell", 2), [1, "x"], ["[1]: 'x' is not a whole number"]),
        (list_of("names", text(), empty="nobody"), [], ["nobody"]),
        (list_of("names", text(), twice="{!r} again"), ["a", "b", "a"], ["[2]: 'a' again"]),
        (map_of("ages", whole("an age")), {"a": "x", "b": 2}, ["a: 'x' is not an age"]),
        (map_of("ages", whole(), empty="nobody"), {}, ["nobody"]),
        (map_of("ages", whole()), {"": 1}, ["'': a name must not be empty"]),
        (number("a share") | text("a share, or a text"), [], ["a list is not a share, or a text"]),
    ],
)
def test_a_mistake(form: Form[Any], value: Any, says: list[str]) -> None:
    assert read(form, value)[1] == says


def test_what_is_wrong_is_none_and_the_rest_is_there() -> None:
    assert read(list_of("ages", whole()), [1, "x", 3])[0] == [1, None, 3]
    assert read(map_of("ages", whole()), {"a": "x", "b": 2})[0] == {"a": None, "b": 2}


class Nobody(Part):
    """Nobody."""


def test_a_definition_stands_in_the_schema_once() -> None:
    share = number("a share", 0, 1).defined("share", "A part of one.")
    definitions = Definitions()
    made = definitions.of(list_of("shares", share) | share, "Some shares.")
    assert made == {
        "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/share"}}, {"$ref": "#/$defs/share"}],
        "description": "Some shares.",
    }
    plain = {"type": "number", "minimum": 0, "maximum": 1}
    assert definitions.schemas == {"share": {"description": "A part of one.", "anyOf": [plain, WRITTEN]}}
    assert definitions.of(record("nobody", Nobody))["$ref"] == "#/$defs/nobody"


FORMS = {
    name: form
    for name, form in vars(problem_format).items()
    if isinstance(form, Form) and form is not problem_format.PROBLEM
}
SCALARS = st.sampled_from(
    [None, True, False, -1, 0, 1, 2, 3, 0.5, 1.5, 2.0, 1e99, 1e101, "x", "y", "~", "#", "inf", "a.csv", ".b"]
)
# What is of some form, so that the forms are met often enough.
SAMPLES: list[Any] = yaml.safe_load("""
[0, 1, x, [], {}, [1, 2], [1, 2, 3, 4], [[1, 2, 3, 4]], [x, y], [x, x], [[1, 2], x], {x: 1}, {x: null},
{left: 0.5, right: 0}, {left: 1}, {at: x, probability: 1}, [{at: [1, 2], probability: 1}], {to: x},
{to: {x: 1, y: 0}, costs: {x: 3}}, {x: {y: {to: x}}}, {y: {to: x}}, [{to: x}], [{to: x}, {to: y}],
[{to: x, probability: 0.5}, {to: y, probability: 0.5, runs: z}], {map: S.G}, {width: 1, height: 2},
{x: {exit: {y: 0.5}}}, {x: {at_most: 1}}, [{at: [1, 2, 3, 4], exit: {y: 0.5}}], {to: {x: y}}]
""")
LEAVES = SCALARS | st.sampled_from(SAMPLES)
CAPACITIES = ["at", "probability", "to", "costs", "runs", "left", "right", "x"]
KEYS = st.sampled_from(CAPACITIES)
VALUES = LEAVES | st.lists(LEAVES, max_size=4) | st.dictionaries(KEYS, LEAVES, max_size=3)


def test_the_format_is_made_of_forms() -> None:
    assert {"PROBABILITY", "RECTANGLES", "SLIP", "TABLE", "START", "GOAL", "CHOICE"} <= set(FORMS)


def is_of(form: Form[Any], value: Any) -> bool:
    """Whether a value is of a form, on which reader and schema must agree."""
    # A schema cannot know which parameters there are.
    made, says = read(form, value, {"x": Fraction(1), "y": Fraction(1)})
    assert (not says) == schema(form).is_valid(value), says
    assert made is not None or says
    return not says


@pytest.mark.parametrize("name", FORMS)
def test_reader_and_schema_agree_on_samples(name: str) -> None:
    # Of every form there are some, and there are some that are not.
    assert {is_of(FORMS[name], value) for value in SAMPLES} == {True, False}


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=examples(60))
@given(value=VALUES)
def test_reader_and_schema_agree(name: str, value: Any) -> None:
    is_of(FORMS[name], value)
