"""Forms that values of a document have: from one declaration come the reader and the JSON Schema.

A reader goes on after a mistake, so that a user can correct a file at once: it notes each mistake, and gives
None instead of the value.

>>> slip = number("a probability", 0, 1) | name_text("the name of a slip")
>>> slip.schema(Definitions())["anyOf"][::2]
[{'type': 'number', 'minimum': 0, 'maximum': 1}, {'$ref': '#/$defs/name'}]

Records are mappings with given keys, declared as classes whose attributes name the forms of the values.

>>> from hcssp.files.problem_file.document import Findings, Limits, parse_document
>>> class Door(Part):
...     '''A door.'''
...
...     width = required(number("a width in metres", 0.5, 3.0))
...     colour = optional(text("a colour"), "white")
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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from math import inf, isfinite
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, overload

from hcssp.errors import listed
from hcssp.files.problem_file.arithmetic import (
    LONGEST,
    NAME,
    PATTERN,
    ExpressionError,
    exact_number,
    is_word,
    looks_like_expression,
    parameter_problem,
)
from hcssp.files.problem_file.document import Field, Scalar

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
        Of a text, what is wrong with it, if anything.
    """

    what: str
    kinds: tuple[str, ...]
    take: Callable[[Field], Value | None]
    schema: Callable[[Definitions], Schema]
    looks_right: Callable[[Field], bool] = lambda field: True
    defined_as: str = ""
    description: str = ""
    problem: Callable[[str], str | None] = lambda text: None

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

        kinds = (*self.kinds, *other.kinds)
        return Form(other.what, kinds, take, schema, lambda field: self.fits(field) or other.fits(field))


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


def fixed(message: str, *values: Given) -> Form[Given]:
    """One of some values; `message` says what is wrong with another one, which ``{}`` stands for."""

    def take(field: Field) -> Given | None:
        if field.value in values and field.kind != "a truth value":
            return values[values.index(field.value)]
        field.wrong(message.format(field.shown))
        return None

    return Form("", KINDS, take, lambda _: {"enum": [*values]})


def nothing(value: Given) -> Form[Given]:
    """Nothing at all, which means `value`."""
    return Form("nothing", ("nothing",), lambda field: value, lambda _: {"type": "null"})


def half_of_a_character(text: str) -> str | None:
    """What is wrong with a text that has half of a character in it, if so."""
    # The escapes of YAML can spell this, and it cannot be printed.
    half = any("\ud800" <= character <= "\udfff" for character in text)
    return f"{text!r} has half of a character in it; write the whole one" if half else None


def text(
    what: str = "a text", problem: Callable[[str], str | None] = half_of_a_character, **limits: Any
) -> Form[str]:
    """A text; `problem` returns an error in it, if any, and `limits` are the same rules for a schema."""

    def take(field: Field) -> str | None:
        given = str(field.value)
        found = problem(given)
        if found is not None:
            field.wrong(found)
        return given if found is None else None

    return Form(what, ("a text",), take, lambda _: {"type": "string", **limits}, problem=problem)


def name_problem(name: str) -> str | None:
    """Why a text cannot name something, if so."""
    stripped = name.strip()
    if not stripped:
        return "a name must not be empty"
    if len(name) > LONGEST_NAME:
        return f"a name must not be longer than {LONGEST_NAME} characters, this has {len(name)}"
    if not name.isprintable():
        return f"the name {name!r} has a character that cannot be printed; remove it"
    return f"the name {name!r} begins or ends with a space; remove it" if name != stripped else None


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

    unlike = {"not": {"enum": [*taken, " "]}}
    return text("a cell or a letter of the map", problem, minLength=1, maxLength=1, **unlike)


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
            if value in seen:
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


NAMED = name_text("a name")


def map_of(
    what: str,
    member: Form[Given],
    *,
    keys: Form[str] = NAMED,
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
    others = special or {}

    def take(field: Field) -> dict[str, Given | None] | None:
        members = field.members()
        if empty and not members:
            field.wrong(empty)
            return None
        for key, each in members.items():
            found = keys.problem(key)
            if found is not None:
                each.wrong(found)
        return {key: others.get(key, member).read(each) for key, each in members.items()}

    def schema(definitions: Definitions) -> Schema:
        least = {"minProperties": 1} if empty else {}
        members: Schema = {"additionalProperties": definitions.of(member)}
        if others:
            members["properties"] = {key: definitions.of(form) for key, form in others.items()}
        return {"type": "object", **least, "propertyNames": definitions.of(keys), **members}

    return Form(what, ("a mapping",), take, schema)


WRITTEN: Schema = {"type": "string", "pattern": PATTERN, "maxLength": LONGEST}
"""Arithmetic: a fraction, a percentage, a parameter, or what is computed from them."""


def number(what: str, least: float = -inf, most: float = inf) -> Form[float]:
    """A finite number between `least` and `most`; arithmetic is a text that means one."""
    limits = {name: each for name, each in (("minimum", least), ("maximum", most)) if isfinite(each)}
    return _numeric(what, float, least, most, {"type": "number", **limits})


def whole(what: str = "a whole number", least: int = -(10**9), most: int = 10**9) -> Form[int]:
    """A whole number between `least` and `most`."""
    return _numeric(what, int, least, most, {"type": "integer", "minimum": least, "maximum": most})


def _numeric(
    what: str, made: Callable[[float | Fraction], Given], least: float, most: float, plain: Schema
) -> Form[Given]:
    """A number, or arithmetic that means one: what is `made` of it is a float, or the same number."""

    def right(value: float | Fraction) -> bool:
        return isfinite(value) and least <= value <= most and (made is float or made(value) == value)

    def take(field: Field) -> Given | None:
        given = field.value
        if isinstance(given, str):
            value = _computed(field, what)
            if value is not None and right(value):
                return made(value)
            if value is not None:
                field.wrong(f"{field.parameters.described(given)} is not {what}")
        elif isinstance(given, int | float) and right(given):
            return made(given)
        else:
            field.expected(what)
        return None

    return Form(what, ("a number", "a text"), take, lambda _: {"anyOf": [plain, WRITTEN]}, _looks_computed)


def _computed(field: Field, what: str) -> Fraction | None:
    """The exact value of a text that is arithmetic; None, and the mistake noted, if it is not or has none."""
    text = str(field.value)
    # Where there are no parameters a word is a word, and not one that is missing.
    if not looks_like_expression(text) or (is_word(text) and not field.parameters.values):
        field.expected(what)
        return None
    try:
        return field.parameters.evaluate(text)
    except ExpressionError as error:
        field.wrong(f"{field.shown} is not {what}: {error}")
        return None


def _looks_computed(field: Field) -> bool:
    text = field.value
    if not isinstance(text, str):
        return True
    return looks_like_expression(text) and (not is_word(text) or text.strip() in field.parameters.values)


def parameter() -> Form[Fraction | str]:
    """The default of a parameter: a number exactly as it is written, or arithmetic."""
    what = "a number, or arithmetic on parameters before it"

    def take(field: Field) -> Fraction | str | None:
        if isinstance(field.value, str) and looks_like_expression(field.value):
            return field.value
        number = isinstance(field.value, int | float) and isinstance(field.node, Scalar)
        exact = exact_number(field.node.source) if number and isinstance(field.node, Scalar) else None
        if exact is None:
            field.expected(what)
        return exact

    schema = {"anyOf": [{"type": "number"}, WRITTEN]}
    return Form(what, ("a number", "a text"), take, lambda _: schema, _looks_computed)


def bound(what: str) -> Form[float]:
    """A finite number, or a word for none."""
    finite, words = number(what), ("inf", ".inf")

    def take(field: Field) -> float | None:
        if field.value == inf and isinstance(field.node, Scalar) and "i" not in field.node.source.lower():
            field.wrong(f"{field.shown} is too large for a number; write inf for a bound that is none")
            return None
        return inf if field.value == inf or field.value in words else finite.read(field)

    return Form(what, KINDS, take, lambda _: {"anyOf": [{"type": "number"}, WRITTEN, {"enum": [*words]}]})


WHOLE = whole()


def numbers(what: str, count: int | None = None, number: Form[int] = WHOLE) -> Form[tuple[int, ...]]:
    """A list of whole numbers: exactly `count`, or at least two if that is None."""

    def take(field: Field) -> tuple[int, ...] | None:
        items = field.items()
        if len(items) != (count or max(len(items), 2)):
            field.wrong(f"a list of {len(items)} is not {what}")
            return None
        found = [number.read(item) for item in items]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(items) else None

    def schema(definitions: Definitions) -> Schema:
        lengths = {"minItems": count or 2} | ({"maxItems": count} if count else {})
        return {"type": "array", **lengths, "items": definitions.of(number)}

    return Form(what, ("a list",), take, schema)


@dataclass(frozen=True)
class Rule:
    """What the keys of a record must keep, whatever their values are.

    Attributes
    ----------
    check
        Notes what is wrong with the keys of a mapping.
    schemas
        The same for other programs.
    """

    check: Callable[[Field], None]
    schemas: tuple[Schema, ...]


def exactly_one(keys: tuple[str, ...], missing: str) -> Rule:
    """Exactly one of these keys is given; `missing` says that none is."""

    def check(field: Field) -> None:
        given = [key for key in keys if key in field]
        if len(given) != 1:
            message = f"{' and '.join(given)} are given" if given else missing
            field.wrong(f"{message}; give one of {', '.join(keys)}")

    return Rule(check, ({"oneOf": [{"required": [key]} for key in keys]},))


def at_least_one(keys: tuple[str, ...], missing: str) -> Rule:
    """At least one of these keys is given; `missing` says that none is."""

    def check(field: Field) -> None:
        if not any(key in field for key in keys):
            field.wrong(missing)

    return Rule(check, ({"anyOf": [{"required": [key]} for key in keys]},))


def not_beside(key: str, others: tuple[str, ...], message: str) -> Rule:
    """A key is not given beside any of the others; `message` says why."""

    def check(field: Field) -> None:
        if key in field and any(other in field for other in others):
            field.at(key).wrong(message)

    return Rule(check, tuple({"not": {"required": [key, other]}} for other in others))


def only_beside(keys: tuple[str, ...], other: str, message: str) -> Rule:
    """Keys are given only beside another one; `message` says why."""

    def check(field: Field) -> None:
        for key in keys:
            if key in field and other not in field:
                field.at(key).wrong(message)

    return Rule(check, ({"dependentRequired": {key: [other] for key in keys}},))


@dataclass(frozen=True)
class Key:
    """A key of a record.

    Attributes
    ----------
    form
        Of its value.
    required
        Whether it must be there.
    description
        What a schema says about it.
    default
        Its value where it is missing or wrong.
    """

    form: Form[Any]
    required: bool
    description: str
    default: Any = None


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

    rules: ClassVar[tuple[Rule, ...]] = ()
    keys: ClassVar[dict[str, Key]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: key for name, key in vars(cls).items() if isinstance(key, Key)}
        cls.keys = {**cls.keys, **own}
        for name, key in own.items():
            setattr(cls, name, key.default)

    def __init__(self, place: Field, sound: bool, **values: object) -> None:
        self.place = place
        self.sound = sound
        vars(self).update(values)

    def where(self, *keys: str | int) -> Field:
        """The place of what the keys and positions lead to."""
        return self.place.at(*keys)

    def having(self, **values: object) -> Self:
        """The same with other values of some keys."""
        return type(self)(**{**vars(self), **values})


Kind = TypeVar("Kind", bound=Part)


def required(form: Form[Given], description: str = "") -> Given | None:
    """A key of a record that must be there."""
    key: Any = Key(form, True, description)
    return cast("Given | None", key)


@overload
def optional(form: Form[Given], *, description: str = "") -> Given | None: ...


@overload
def optional(form: Form[Given], default: Given, description: str = "") -> Given: ...


def optional(form: Form[Given], default: Given | None = None, description: str = "") -> Given | None:
    """A key of a record that need not be there."""
    key: Any = Key(form, False, description, default)
    return cast("Given | None", key)


def record(what: str, part: type[Kind], *, known_by: str = "", besides: tuple[str, ...] = ()) -> Form[Kind]:
    """A mapping with given keys.

    Parameters
    ----------
    what
        What it is.
    part
        The record that is made of it.
    known_by
        The key by which it is recognised among other records; by default there are no others.
    besides
        Keys that are required here, though not everywhere.
    """
    keys = part.keys
    needed = [name for name, key in keys.items() if key.required or name in besides]
    known = [*needed, *(name for name in keys if name not in needed)]

    def take(field: Field) -> Kind:
        before = len(field.findings)
        members = field.members()
        values: dict[str, Any] = {}
        misspelt: set[str] = set()
        for name, member in members.items():
            if name in keys:
                values[name] = keys[name].form.read(member)
            elif name == "<<":
                member.wrong("YAML's merge key is not known here; repeat the keys, or use 'model'")
            else:
                nearest = get_close_matches(name, known, n=1)
                guess = (
                    f"did you mean {nearest[0]!r}?" if nearest else f"the keys here are {listed(known, 20)}"
                )
                member.wrong(f"there is no such key; {guess}")
                misspelt.update(nearest)
        for name in needed:
            # A key that is misspelt is not missing as well.
            if name not in members and name not in misspelt:
                field.wrong(f"the key {name!r} is missing")
        for rule in part.rules:
            rule.check(field)
        given = {name: value for name, value in values.items() if value is not None}
        return part(field, len(field.findings) == before, **given)

    def schema(definitions: Definitions) -> Schema:
        if besides:
            return {"allOf": [definitions.of(record(what, part)), {"required": [*besides]}]}
        rules = [schema for rule in part.rules for schema in rule.schemas]
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
