"""Forms that values of a document have: from one declaration come the reader and the JSON Schema.

A reader goes on after a mistake, so that a user mends a file in one go: of what is wrong it notes the
mistake, and gives None in its stead.

>>> slip = Number("a probability", 0, 1) | Name("the name of a slip")
>>> Definitions().of(slip)["anyOf"][0]
{'type': 'number', 'minimum': 0, 'maximum': 1}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from math import inf, isfinite
from typing import Any, ClassVar, Generic, Self, TypeVar

from hcssp.errors import listed
from hcssp.files.problem_file.tree import Field

Value = TypeVar("Value", covariant=True)
Other = TypeVar("Other")
Given = TypeVar("Given")
Schema = dict[str, Any]

LONGEST_NAME = 200


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


@dataclass(frozen=True)
class Form(ABC, Generic[Value]):
    """What a value must be.

    Attributes
    ----------
    kind
        The kind of value that it is at all, as :attr:`Field.kind` says it.
    what
        What it is, for messages.
    defined_as, description
        What a schema calls it, if it defines it, and says about it then.
    """

    kind: ClassVar[str]
    what: str
    _: KW_ONLY
    defined_as: str = ""
    description: str = ""

    def fits(self, field: Field) -> bool:
        """Whether a value looks as if it was meant to be of this form."""
        return field.kind == self.kind

    def read(self, field: Field) -> Value | None:
        """The value; None, and the mistakes noted, if it is not of this form."""
        if field.kind == self.kind:
            return self._read(field)
        in_quotes = self.kind == "a text" and field.kind in ("a number", "a truth value")
        field.expected(self.what, "; put it in quotes" if in_quotes else "")
        return None

    @abstractmethod
    def _read(self, field: Field) -> Value | None:
        """The same for a value of the right kind."""

    @abstractmethod
    def schema(self, definitions: Definitions) -> Schema:
        """The JSON Schema of this form."""

    def defined(self, name: str, description: str = "") -> Self:
        """The same with a definition of its own in a schema."""
        return replace(self, defined_as=name, description=description)

    def __or__(self, other: Form[Other]) -> Either[Value | Other]:
        before = self.forms if isinstance(self, Either) and not self.defined_as else (self,)
        return Either(other.what, (*before, other))


@dataclass(frozen=True)
class Text(Form[str]):
    """A text."""

    kind = "a text"
    what: str = "a text"

    def problem(self, text: str) -> str | None:
        """What is wrong with a text, if anything."""
        # The escapes of YAML can spell this, and nobody can print it.
        half = any("\ud800" <= character <= "\udfff" for character in text)
        return f"{text!r} has half of a character in it; write the whole one" if half else None

    def _read(self, field: Field) -> str | None:
        text = str(field.value)
        problem = self.problem(text)
        if problem is not None:
            field.wrong(problem)
        return text if problem is None else None

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "string"}


@dataclass(frozen=True)
class Name(Text):
    """A text that can name something."""

    _: KW_ONLY
    defined_as: str = "name"
    description: str = f"One line of at most {LONGEST_NAME} printable characters, without spaces at the ends."

    def problem(self, text: str) -> str | None:
        return name_problem(text)

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}


@dataclass(frozen=True)
class Letter(Text):
    """A character that draws `what` in a map."""

    taken: str = "#.SG"

    def problem(self, text: str) -> str | None:
        if len(text) == 1 and text not in self.taken and text.isprintable() and not text.isspace():
            return None
        return f"{text!r} cannot draw {self.what}; take one character other than {listed(self.taken)}"

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "string", "minLength": 1, "maxLength": 1, "not": {"enum": [*self.taken, " "]}}


@dataclass(frozen=True)
class TableName(Text):
    """The name of a table, which must end in one of `suffixes`."""

    suffixes: tuple[str, ...] = ()

    def problem(self, text: str) -> str | None:
        if text.lower().endswith(self.suffixes):
            return None
        return f"{text!r} is not a table that can be read; its name must end in {' or '.join(self.suffixes)}"

    def schema(self, definitions: Definitions) -> Schema:
        either = ["".join(f"[{c}{c.upper()}]" if c.isalpha() else f"[{c}]" for c in s) for s in self.suffixes]
        return {"type": "string", "pattern": f"({'|'.join(either)})$"}


@dataclass(frozen=True)
class Number(Form[float]):
    """A finite number between `least` and `most`."""

    kind = "a number"
    least: float = -inf
    most: float = inf

    def _read(self, field: Field) -> float | None:
        value = field.value
        if isinstance(value, int | float) and isfinite(value) and self.least <= value <= self.most:
            return float(value)
        field.expected(self.what)
        return None

    def schema(self, definitions: Definitions) -> Schema:
        limits = {"minimum": self.least, "maximum": self.most}
        return {"type": "number"} | {name: limit for name, limit in limits.items() if isfinite(limit)}


@dataclass(frozen=True)
class Bound(Number):
    """A number, or a word for none."""

    words: tuple[str, ...] = ("inf", ".inf")

    def read(self, field: Field) -> float | None:
        return inf if field.value == inf or field.value in self.words else super().read(field)

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [super().schema(definitions), {"enum": [*self.words]}]}


@dataclass(frozen=True)
class Whole(Form[int]):
    """A whole number between `least` and `most`."""

    kind = "a number"
    what: str = "a whole number"
    least: int = -(10**9)
    most: int = 10**9

    def _read(self, field: Field) -> int | None:
        value = field.value
        if isinstance(value, int | float) and self.least <= value <= self.most and value == int(value):
            return int(value)
        field.expected(self.what)
        return None

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Constant(Form[Given]):
    """Always `value`; the words must say what is wrong with another one, which ``{}`` stands for."""

    kind = ""
    value: Given

    def read(self, field: Field) -> Given | None:
        if field.value == self.value and field.kind != "a truth value":
            return self.value
        field.wrong(self.what.format(field.shown))
        return None

    _read = read

    def schema(self, definitions: Definitions) -> Schema:
        return {"const": self.value}


@dataclass(frozen=True)
class Numbers(Form[tuple[int, ...]]):
    """A list of whole numbers: exactly `count`, or at least two if that is None."""

    kind = "a list"
    count: int | None = None
    number: Whole = Whole()

    def _read(self, field: Field) -> tuple[int, ...] | None:
        items = field.items()
        if len(items) != (self.count or max(len(items), 2)):
            field.wrong(f"a list of {len(items)} is not {self.what}")
            return None
        numbers = [self.number.read(item) for item in items]
        whole = tuple(number for number in numbers if number is not None)
        return whole if len(whole) == len(items) else None

    def schema(self, definitions: Definitions) -> Schema:
        lengths = {"minItems": self.count or 2} | ({"maxItems": self.count} if self.count else {})
        return {"type": "array", **lengths, "items": definitions.of(self.number)}


@dataclass(frozen=True)
class ListOf(Form[list[Value | None]]):
    """A list, in which None stands for what is wrong.

    Attributes
    ----------
    item
        The form of its items.
    empty, twice
        What to say if there are none, and if one stands there twice; by default both may be.
    least, most
        How many there must be to fit.
    """

    kind = "a list"
    item: Form[Value]
    empty: str = ""
    twice: str = ""
    least: int = 0
    most: int | None = None

    def fits(self, field: Field) -> bool:
        items = field.items()
        count = self.least <= len(items) <= (self.most or len(items))
        return field.kind == self.kind and count and (not items or any(map(self.item.fits, items)))

    def _read(self, field: Field) -> list[Value | None] | None:
        items = field.items()
        if self.empty and not items:
            field.wrong(self.empty)
            return None
        values = [self.item.read(item) for item in items]
        for position, value in enumerate(values) if self.twice else ():
            if value is not None and value in values[:position]:
                items[position].wrong(self.twice.format(value))
        return values

    def schema(self, definitions: Definitions) -> Schema:
        schema: Schema = {"type": "array", "items": definitions.of(self.item)}
        if self.least or self.empty:
            schema["minItems"] = max(self.least, 1)
        if self.most is not None:
            schema["maxItems"] = self.most
        return schema | ({"uniqueItems": True} if self.twice else {})


@dataclass(frozen=True)
class MapOf(Form[dict[str, Value | None]]):
    """A mapping whose keys the user chooses, in which None stands for what is wrong.

    Attributes
    ----------
    member, keys
        The forms of its values and of its keys.
    empty
        What to say if there are none; by default that may be.
    """

    kind = "a mapping"
    member: Form[Value]
    keys: Text = Name()
    empty: str = ""

    def _read(self, field: Field) -> dict[str, Value | None] | None:
        members = field.members()
        if self.empty and not members:
            field.wrong(self.empty)
            return None
        for key, member in members.items():
            problem = self.keys.problem(key)
            if problem is not None:
                member.wrong(problem)
        return {key: self.member.read(member) for key, member in members.items()}

    def schema(self, definitions: Definitions) -> Schema:
        least = {"minProperties": 1} if self.empty else {}
        members = {"additionalProperties": definitions.of(self.member)}
        return {"type": "object", **least, "propertyNames": definitions.of(self.keys), **members}


@dataclass(frozen=True)
class Nothing(Form[Given]):
    """Nothing at all, which means `value`."""

    kind = "nothing"
    value: Given

    def _read(self, field: Field) -> Given:
        return self.value

    def schema(self, definitions: Definitions) -> Schema:
        return {"type": "null"}


@dataclass(frozen=True)
class Either(Form[Value]):
    """The first form that a value fits, or else the last one, whose words must name the others, too.

    It is made with ``|``. No value may be of several of its forms.
    """

    kind = ""
    forms: tuple[Form[Value], ...]

    def fits(self, field: Field) -> bool:
        return any(form.fits(field) for form in self.forms)

    def read(self, field: Field) -> Value | None:
        return next((form for form in self.forms if form.fits(field)), self.forms[-1]).read(field)

    _read = read

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [definitions.of(form) for form in self.forms]}


def name_problem(name: str) -> str | None:
    """Why a text cannot name something, if so."""
    if not name.strip():
        return "a name must not be empty"
    if len(name) > LONGEST_NAME:
        return f"a name must not be longer than {LONGEST_NAME} characters, this has {len(name)}"
    if not name.isprintable():
        return f"the name {name!r} has a character that cannot be printed; remove it"
    if name != name.strip():
        return f"the name {name!r} begins or ends with a space; remove it"
    return None
