"""Forms that values of a document have: from one declaration come the reader and the JSON Schema.

A reader goes on after a mistake, so that a user mends a file in one go: of what is wrong it notes the
mistake, and gives None in its stead.

>>> from hcssp.files.problem_file.number_forms import number
>>> slip = number("a probability", 0, 1) | name_text("the name of a slip")
>>> slip.schema(Definitions())["anyOf"][::2]
[{'type': 'number', 'minimum': 0, 'maximum': 1}, {'$ref': '#/$defs/name'}]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from hcssp.errors import listed
from hcssp.files.problem_file.expressions import (
    NAME,
)
from hcssp.files.problem_file.parameters import parameter_problem
from hcssp.files.problem_file.tree import Field

Value = TypeVar("Value", covariant=True)
Other = TypeVar("Other")
Given = TypeVar("Given")
Schema = dict[str, Any]

KINDS = ("a text", "a number", "a truth value", "nothing", "a list", "a mapping")
LONGEST_NAME = 200


@dataclass(frozen=True)
class Form(Generic[Value]):
    """What a value must be.

    Attributes
    ----------
    what
        What it is, for messages.
    kinds
        The kinds of values that it may be at all, as :attr:`Field.kind` says them.
    take
        The value of a field of such a kind; None, and the mistakes noted, if it is not of this form.
    schema
        Its JSON Schema.
    looks_right
        Whether a field of such a kind looks as if it was meant to be of this form.
    defined_as, description
        What a schema calls it, if it defines it, and says about it then.
    problem
        Of a text, what is wrong with it, if anything, where that is all there is to ask.
    """

    what: str
    kinds: tuple[str, ...]
    take: Callable[[Field], Value | None]
    schema: Callable[[Definitions], Schema]
    looks_right: Callable[[Field], bool] = lambda field: True
    defined_as: str = ""
    description: str = ""
    problem: Callable[[str], str | None] | None = None

    def fits(self, field: Field) -> bool:
        """Whether a value looks as if it was meant to be of this form."""
        return field.kind in self.kinds and self.looks_right(field)

    def read(self, field: Field) -> Value | None:
        """The value; None, and the mistakes noted, if it is not of this form."""
        if field.node.kind in self.kinds:
            return self.take(field)
        # A text that only stands for a number does not want quotes.
        wants_text = "a text" in self.kinds and "a number" not in self.kinds
        in_quotes = wants_text and field.kind in ("a number", "a truth value")
        field.expected(self.what, "; put it in quotes" if in_quotes else "")
        return None

    def defined(self, name: str, description: str = "") -> Form[Value]:
        """The same with a definition of its own in a schema."""
        return replace(self, defined_as=name, description=description)

    def __or__(self, other: Form[Other]) -> Form[Value | Other]:
        """The form that a value fits, or else the other one, whose words must name both; none is of both."""

        def take(field: Field) -> Value | Other | None:
            return self.take(field) if self.fits(field) else other.read(field)

        def schema(definitions: Definitions) -> Schema:
            first = definitions.of(self)
            before = first["anyOf"] if [*first] == ["anyOf"] else [first]
            return {"anyOf": [*before, definitions.of(other)]}

        return Form(
            other.what,
            (*self.kinds, *other.kinds),
            take,
            schema,
            lambda field: self.fits(field) or other.fits(field),
        )


class Definitions:
    """The forms that a schema gives a name, each defined once."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def of(self, form: Form[Any], description: str = "") -> Schema:
        """The schema of a form, or a reference to its definition."""
        described = {"description": description} if description else {}
        name = form.defined_as
        if not name:
            return form.schema(self) | described
        if name not in self.schemas:
            # Its place first, so that definitions stand in the order in which they are met.
            self.schemas[name] = {"description": form.description} if form.description else {}
            self.schemas[name] |= form.schema(self)
        return described | {"$ref": f"#/$defs/{name}"}


def constant(value: Given, told: str) -> Form[Given]:
    """Always the same value; `told` says what is wrong with another one, which ``{}`` stands for."""

    def take(field: Field) -> Given | None:
        if field.value == value and field.kind != "a truth value":
            return value
        field.wrong(told.format(field.shown))
        return None

    return Form("", KINDS, take, lambda _: {"const": value})


def nothing(value: Given) -> Form[Given]:
    """Nothing at all, which means `value`."""
    return Form("nothing", ("nothing",), lambda field: value, lambda _: {"type": "null"})


def text(
    what: str = "a text", problem: Callable[[str], str | None] | None = None, **limits: Any
) -> Form[str]:
    """A text; `problem` says what is wrong with it, if anything, and `limits` says so to a schema."""
    ask = problem or half_of_a_character

    def take(field: Field) -> str | None:
        given = str(field.value)
        found = ask(given)
        if found is not None:
            field.wrong(found)
        return given if found is None else None

    return Form(what, ("a text",), take, lambda _: {"type": "string", **limits}, problem=ask)


def name_text(what: str) -> Form[str]:
    """A text that can name something."""
    about = f"One line of at most {LONGEST_NAME} printable characters, without spaces at either end."
    return text(what, name_problem, minLength=1, maxLength=LONGEST_NAME).defined("name", about)


def letter(draws: str) -> Form[str]:
    """A character that draws something in a map."""
    taken = "#.SG"

    def problem(given: str) -> str | None:
        if len(given) == 1 and given not in taken and given.isprintable() and not given.isspace():
            return None
        return f"{given!r} cannot draw {draws}; take one character other than {listed(taken)}"

    return text(
        "a cell or a letter of the map", problem, minLength=1, maxLength=1, **{"not": {"enum": [*taken, " "]}}
    )


def parameter_name() -> Form[str]:
    """What a parameter can be called."""
    return text("the name of a parameter", parameter_problem, pattern=f"^{NAME}$", maxLength=100)


def list_of(
    what: str,
    item: Form[Given],
    *,
    empty: str = "",
    twice: str = "",
    least: int = 0,
    most: int | None = None,
    never: str = "",
) -> Form[list[Given | None]]:
    """A list, in which None stands for what is wrong.

    Parameters
    ----------
    what
        What it is.
    item
        The form of its items.
    empty, twice
        What to say if there are none, and if one stands there twice; by default both may be.
    least, most
        How many there must be to look like such a list.
    never
        The kind of items that shows that it is meant to be something else.
    """

    def take(field: Field) -> list[Given | None] | None:
        items = field.items()
        if empty and not items:
            field.wrong(empty)
            return None
        values = [item.read(each) for each in items]
        seen: set[Given] = set()
        for each, value in zip(items, values, strict=True) if twice else ():
            if value is not None and value in seen:
                each.wrong(twice.format(value))
            elif value is not None:
                seen.add(value)
        return values

    def looks_right(field: Field) -> bool:
        items = field.items()
        count = least <= len(items) <= (most or len(items))
        other = any(each.kind == never for each in items)
        return count and not other and (not items or any(map(item.fits, items)))

    def schema(definitions: Definitions) -> Schema:
        lengths = {"minItems": max(least, 1) if empty else least, "maxItems": most}
        known = {key: length for key, length in lengths.items() if length}
        unique = {"uniqueItems": True} if twice else {}
        return {"type": "array", **known, **unique, "items": definitions.of(item)}

    return Form(what, ("a list",), take, schema, looks_right)


def map_of(
    what: str,
    member: Form[Given],
    *,
    keys: Form[str] | None = None,
    empty: str = "",
    special: Mapping[str, Form[Given]] | None = None,
) -> Form[dict[str, Given | None]]:
    """A mapping whose keys the user chooses, in which None stands for what is wrong.

    Parameters
    ----------
    what
        What it is.
    member, keys
        The forms of its values and of its keys, which are names by default.
    empty
        What to say if there are none; by default that may be.
    special
        The forms of the values that some keys have instead.
    """
    form_of_keys = keys or name_text("a name")
    others = special or {}

    def is_plain(key: str) -> bool:
        return form_of_keys.problem is not None and form_of_keys.problem(key) is None

    def take(field: Field) -> dict[str, Given | None] | None:
        members = field.members()
        if empty and not members:
            field.wrong(empty)
            return None
        for key in members:
            if not is_plain(key):
                form_of_keys.read(field.key(key))
        return {key: others.get(key, member).read(each) for key, each in members.items()}

    def schema(definitions: Definitions) -> Schema:
        least = {"minProperties": 1} if empty else {}
        members: Schema = {"additionalProperties": definitions.of(member)}
        if others:
            members["properties"] = {key: definitions.of(form) for key, form in others.items()}
        return {"type": "object", **least, "propertyNames": definitions.of(form_of_keys), **members}

    return Form(what, ("a mapping",), take, schema)


def half_of_a_character(text: str) -> str | None:
    """What is wrong with a text that has half of a character in it, if so."""
    # The escapes of YAML can spell this, and nobody can print it.
    half = any("\ud800" <= character <= "\udfff" for character in text)
    return f"{text!r} has half of a character in it; write the whole one" if half else None


def name_problem(name: str) -> str | None:
    """Why a text cannot name something, if so."""
    stripped = name.strip()
    if not stripped:
        return "a name must not be empty"
    if len(name) > LONGEST_NAME:
        return f"a name must not be longer than {LONGEST_NAME} characters, this has {len(name)}"
    if not name.isprintable():
        return f"the name {name!r} has a character that cannot be printed; remove it"
    if name != stripped:
        return f"the name {name!r} begins or ends with a space; remove it"
    return None
