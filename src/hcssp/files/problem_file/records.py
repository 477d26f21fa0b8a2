"""Records: mappings with given keys, declared as dataclasses whose fields name the forms of the values.

>>> from hcssp.files.problem_file.findings import Findings
>>> from hcssp.files.problem_file.forms import text
>>> from hcssp.files.problem_file.number_forms import number
>>> from hcssp.files.problem_file.parsing import parse_document
>>> from hcssp.files.problem_file.source import Limits
>>> @dataclass(frozen=True)
... class Door(Part):
...     '''A door.'''
...
...     width: float | None = required(number("a width in metres", 0.5, 3.0))
...     colour: str = optional(text("a colour"), "white")
>>> form = record("a door", Door)
>>> findings = Findings("doors.yaml")
>>> def read(text):
...     return form.read(Field.root(parse_document(text, findings, Limits()), findings))
>>> door = read("width: 0.9")
>>> door.width, door.colour
(0.9, 'white')
>>> door.where("width").wrong("no door is that narrow")
>>> read("{wdith: 1, colour: 7}").colour
'white'
>>> findings.raise_if_any()
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: 3 violations:
  - doors.yaml:1: width: no door is that narrow
  - doors.yaml:1: wdith: there is no such key; did you mean 'width'?
  - doors.yaml:1: colour: 7 is not a colour; put it in quotes
>>> Definitions().of(form)
{'$ref': '#/$defs/door'}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, TypeVar, overload

from hcssp.errors import listed
from hcssp.files.problem_file.forms import Definitions, Form, Given, Schema
from hcssp.files.problem_file.tree import Field


@dataclass(frozen=True)
class OneOf:
    """A rule of a record: exactly one of these keys is given; `missing` says that none is."""

    keys: tuple[str, ...]
    missing: str

    def check(self, field: Field) -> bool:
        given = [key for key in self.keys if key in field]
        if len(given) != 1:
            told = f"{' and '.join(given)} are given" if given else self.missing
            field.wrong(f"{told}; give one of {', '.join(self.keys)}")
        return len(given) == 1

    def schemas(self) -> list[Schema]:
        return [{"oneOf": [{"required": [key]} for key in self.keys]}]


@dataclass(frozen=True)
class NotBeside:
    """A rule of a record: a key is not given beside any of the others; `told` says why."""

    key: str
    others: tuple[str, ...]
    told: str

    def check(self, field: Field) -> bool:
        broken = self.key in field and any(other in field for other in self.others)
        if broken:
            field.at(self.key).wrong(self.told)
        return not broken

    def schemas(self) -> list[Schema]:
        return [{"not": {"required": [self.key, other]}} for other in self.others]


@dataclass(frozen=True)
class OnlyBeside:
    """A rule of a record: keys are given only beside another one; `told` says why."""

    keys: tuple[str, ...]
    other: str
    told: str

    def check(self, field: Field) -> bool:
        broken = [key for key in self.keys if key in field and self.other not in field]
        for key in broken:
            field.at(key).wrong(self.told)
        return not broken

    def schemas(self) -> list[Schema]:
        return [{"dependentRequired": {key: [self.other] for key in self.keys}}]


@dataclass(frozen=True)
class AnyOf:
    """A rule of a record: at least one of these keys is given; `missing` says that none is."""

    keys: tuple[str, ...]
    missing: str

    def check(self, field: Field) -> bool:
        kept = any(key in field for key in self.keys)
        if not kept:
            field.wrong(self.missing)
        return kept

    def schemas(self) -> list[Schema]:
        return [{"anyOf": [{"required": [key]} for key in self.keys]}]


MOST_KEPT = 1000
"""Of so many sets of keys it is remembered that they are right: of more than any but a hostile file has."""

Rules = tuple[OneOf | NotBeside | OnlyBeside | AnyOf, ...]
"""Each says in `check` whether the keys of a mapping keep it, and notes what is wrong if they do not."""


@dataclass(frozen=True)
class Part:
    """A mapping with given keys that has been read: the base of all records.

    Subclasses declare their keys with :func:`required` and :func:`optional`. Of what is missing or wrong
    they hold the default, which is None for what is required.

    Attributes
    ----------
    place
        Where it stands.
    sound
        Whether nothing is wrong with it.
    """

    rules: ClassVar[Rules] = ()

    place: Field
    sound: bool

    def where(self, *keys: str | int) -> Field:
        """The place of what the keys and positions lead to."""
        return self.place.at(*keys)


Kind = TypeVar("Kind", bound=Part)


@dataclass(frozen=True)
class Key:
    """A key of a record: the form of its value, whether it must be there, and what a schema says about it."""

    form: Form[Any]
    required: bool
    description: str


def required(form: Form[Given], description: str = "") -> Given | None:
    """A key of a record that must be there."""
    return dataclasses.field(default=None, metadata={"key": Key(form, True, description)})


@overload
def optional(form: Form[Given], *, description: str = "") -> Given | None: ...
@overload
def optional(form: Form[Given], default: Given, description: str = "") -> Given: ...
def optional(form: Form[Given], default: Given | None = None, description: str = "") -> Given | None:
    """A key of a record that need not be there."""
    return dataclasses.field(default=default, metadata={"key": Key(form, False, description)})


def keys_of(part: type[Part]) -> dict[str, Key]:
    """The keys that a record declares."""
    declared = dataclasses.fields(part)
    return {each.name: each.metadata["key"] for each in declared if "key" in each.metadata}


def record(what: str, part: type[Kind], *, known_by: str = "", besides: tuple[str, ...] = ()) -> Form[Kind]:
    """A mapping with given keys.

    Parameters
    ----------
    what
        What it is.
    part
        The record that is made of it.
    known_by
        The key that tells it from other records; by default there are no others.
    besides
        Keys that are required here, though not everywhere.
    """
    keys = keys_of(part)
    needed = [name for name, key in keys.items() if key.required or name in besides]
    known = [*needed, *(name for name in keys if name not in needed)]

    # Keys that have stood together without a mistake; of a file's records most have the same ones.
    sound_together: set[tuple[str, ...]] = set()

    def take(field: Field) -> Kind:
        before = len(field.findings)
        members = field.members()
        together = tuple(members)
        if together in sound_together:
            values = {name: keys[name].form.read(member) for name, member in members.items()}
        else:
            values, sound = look_at(field, members)
            if sound and len(sound_together) < MOST_KEPT:
                sound_together.add(together)
        given = {name: value for name, value in values.items() if value is not None}
        return part(field, len(field.findings) == before, **given)

    def look_at(field: Field, members: Mapping[str, Field]) -> tuple[dict[str, Any], bool]:
        """The values of the keys, and whether the keys are right, whatever their values are."""
        values: dict[str, Any] = {}
        misspelt: set[str] = set()
        for name, member in members.items():
            if name in keys:
                values[name] = keys[name].form.read(member)
                continue
            if name == "<<":
                member.wrong("YAML's merge key is not known here; repeat the keys, or use 'model'")
                continue
            nearest = get_close_matches(name, known, n=1)
            guess = f"did you mean {nearest[0]!r}?" if nearest else f"the keys here are {listed(known, 20)}"
            member.wrong(f"there is no such key; {guess}")
            misspelt.update(nearest)
        # A key that is misspelt is not missing as well.
        missing = [name for name in needed if name not in values and name not in misspelt]
        for name in missing:
            field.wrong(f"the key {name!r} is missing")
        kept = [rule.check(field) for rule in part.rules]
        return values, len(values) == len(members) and not missing and all(kept)

    def schema(definitions: Definitions) -> Schema:
        if besides:
            return {"allOf": [definitions.of(record(what, part)), {"required": [*besides]}]}
        rules = [schema for rule in part.rules for schema in rule.schemas()]
        return {
            "type": "object",
            "required": needed,
            "additionalProperties": False,
            "properties": {name: definitions.of(key.form, key.description) for name, key in keys.items()},
            **({"allOf": rules} if rules else {}),
        }

    form = Form(what, ("a mapping",), take, schema, lambda field: not known_by or known_by in field)
    title = part.__name__[0].lower() + part.__name__[1:]
    return form if besides else form.defined(title, (part.__doc__ or "").partition("\n")[0])
