"""Properties of models in the syntax of PRISM: rewards and probabilities that are bounded or optimised.

A query is ``multi(...)`` of objectives, or one objective alone. An objective is ``R{"name"}``, ``R{1}``,
``R`` or ``P``, then a bound (``<= 3``, ``> 0.5``, ``>= 2*T``), ``min=?`` or ``max=?``, then a path:
``[C]`` for the total reward, ``[F target]`` for what happens until a target or whether it is reached,
``[safe U target]`` for whether it is reached with `safe` before. A file may also have constants and labels:
``const double T = 3;``, ``label "done" = x=3;``. What else the language has is refused by name and place.

>>> query, = parse_properties('"edge": multi(R{"time"}<=4.5 [C], P>0.9 [F "done" & !"broken"]); // a note')
>>> query.name, [each.name for each in query.objectives]
('edge', ['time', 'P2'])
>>> query.objectives[1].bound, query.objectives[1].strict, query.objectives[1].target
(Fraction(9, 10), True, '"done" & !"broken"')
>>> parse_properties('R{"time"}<=T [C<=5]', {"T": "3"})
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: line 1, column 14: [C<=5]: bounds on the number of steps are not supported
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hcssp.errors import InvalidProblem, UnknownName, did_you_mean


@dataclass(frozen=True)
class Objective:
    """One objective of a query.

    Attributes
    ----------
    name
        What it is called in answers: the reward's name, or P or R and its place.
    reward
        The reward model by name, or by its number from 1; None for a probability.
    at_least
        Whether large values are wanted.
    bound
        Its bound; None if it is optimised.
    target
        The expression of the target; empty for a total reward.
    safe
        The expression that must hold before; empty if anything may.
    text
        As it was written.
    strict
        Whether the bound itself is not allowed.
    """

    name: str
    reward: str | int | None
    at_least: bool
    bound: Fraction | None
    target: str
    safe: str
    text: str
    strict: bool = False

    @property
    def path(self) -> str:
        """What leads to the target: the expression that must hold before, if there is one, and the target."""
        return f"{self.safe} U {self.target}" if self.safe else self.target


@dataclass(frozen=True)
class Query:
    """A query: a name, which may be empty, and its objectives."""

    name: str
    objectives: tuple[Objective, ...]

    @property
    def expressions(self) -> list[str]:
        """The expressions about states that its objectives have."""
        return [each for one in self.objectives for each in (one.target, one.safe) if each]


LARGEST = 10**100
"""Bounds are not larger."""

MOST_OPTIMISED = 3
"""The number of objectives that one query may optimise; two or three make it a Pareto query."""

_QUOTED = r'"[^"\n]*"'
_CONSTANT = r"\bconst\s+(?:(?:int|double|bool)\s+)?(\w+)\s*=?([^;]*)"
_HEAD = re.compile(
    r'(?P<kind>[PR])(?P<first>min|max)?\s*(?:\{\s*(?:"(?P<reward>[^"]*)"|(?P<number>\d+))\s*\})?\s*'
    r"(?P<sense>min|max)?\s*(?:=\s*(?P<asked>\?)|(?P<relation><=|>=|<|>)(?P<bound>[^\[]*))\s*\["
)
_NUMBER = r"(?:\d{1,300}\.?|\d{0,300}\.\d{1,300})(?:[eE][-+]?\d\d?)?(?![\w.])"
_SUM = re.compile(rf"(?:\s|[-+*/()]|[A-Za-z_]\w*|{_NUMBER})*", re.ASCII)
_ALONE = (
    (r"filter\s*\(", "filters"),
    (r"(?:LRA|S)\b", "long-run averages"),
    (r"T\s*(?:min|max|[<>=])", "expected times"),
    (r"[AE]\s*\[", "the operators A and E"),
    (r"quantile\b|\w+\s*\(", "functions of properties"),
)
_PATHS = (
    (r"\bLRA\b|^\s*S\s*$", "long-run averages"),
    (r"\bI\s*=", "rewards at one instant"),
    (r"\b[CFGU](?:steps|time|rew\w*(?:\{[^}]*\})?)?\s*(?:<|>|\[|=[^>])", "bounds on the number of steps"),
    (r"\b[PR](?:min|max)?\s*(?:\{[^}]*\})?\s*(?:min|max)?\s*(?:=\s*\?|[<>]=?[^\[]*\[)", "nested properties"),
    (r"^\s*[GX]\b|\b[WR]\b(?!\s*[=<>{])", "temporal operators other than F and U"),
)


def parse_properties(
    text: str, constants: Mapping[str, str] | None = None, named: str | None = None
) -> list[Query]:
    """The queries of a file of properties, or of one property.

    Parameters
    ----------
    text
        The text.
    constants
        Values of constants that it uses.
    named
        The name of the only query that is wanted; what others ask need not be supported.

    Raises
    ------
    InvalidProblem
        If one of them is none, or has what is not supported; the message names the line and the column.
    UnknownName
        If there is none of that name.
    """
    text = without_notes(text)
    reader = _Reader(text, dict(constants or {}), named)
    found = [query for begin, part in _items(text) if (query := reader.item(begin, part)) is not None]
    if named is not None and not found:
        raise UnknownName("property", named, [name for name in reader.names if name])
    if not found:
        raise InvalidProblem(
            ['there is no property; write one such as multi(R{"time"}<=3 [C], P>=0.9 [F done])']
        )
    return found


def without_notes(text: str) -> str:
    """The text with blanks in the place of comments."""
    notes = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
    return notes.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def stated_constants(text: str) -> dict[str, str]:
    """The constants that a model in PRISM or a file of properties states, with the texts of their values.

    >>> stated_constants("const int K = 3; const double p; // the number")
    {'K': '3', 'p': ''}
    """
    return {name: value.strip() for name, value in re.findall(_CONSTANT, without_notes(text))}


class _Reader:
    """Reads one item after the other; constants and labels hold for those that follow.

    Parameters
    ----------
    text
        The whole text, for places.
    constants
        Their values as texts.
    named
        As for :func:`parse_properties`.

    Attributes
    ----------
    names
        Those of the queries.
    """

    def __init__(self, text: str, constants: dict[str, str], named: str | None) -> None:
        self._text, self._constants, self._named = text, constants, named
        self._labels: dict[str, str] = {}
        self.names: list[str] = []

    def item(self, begin: int, text: str) -> Query | None:
        """The query that a part of the text is; None for a constant or a label."""
        if (found := re.fullmatch(_CONSTANT, text)) is not None:
            if found[2].strip():
                self._constants[found[1]] = self._filled_in(found[2].strip())
            elif found[1] not in self._constants:
                raise self._error(begin, text, f"give a value by --constants {found[1]}=...")
            return None
        if (found := re.fullmatch(r'label\s*"([^"]*)"\s*=(.*)', text, re.DOTALL)) is not None:
            self._labels[found[1]] = self._filled_in(found[2].strip())
            return None
        named = re.match(r'"([^"]*)"\s*:\s*', text)
        name, start = (named[1], named.end()) if named else ("", 0)
        self.names.append(name)
        if self._named not in (None, name):
            return None
        several = re.fullmatch(r"multi\s*\((.*)\)", text[start:], re.DOTALL)
        parts = [(0, text[start:])] if several is None else _split(several[1], ",")
        start += begin + (0 if several is None else several.start(1))
        objectives = tuple(
            self._objective(start + place, part, number) for number, (place, part) in enumerate(parts, 1)
        )
        if sum(each.bound is None for each in objectives) > MOST_OPTIMISED:
            told = "a Pareto query optimises two or three objectives; give bounds to the others"
            raise self._error(begin, text, told)
        return Query(name, objectives)

    def _objective(self, begin: int, text: str, place: int) -> Objective:
        head = _HEAD.match(text)
        if head is None or not text.endswith("]") or (head["first"] and head["sense"]):
            for pattern, told in _ALONE:
                if re.match(pattern, text):
                    raise self._error(begin, text, f"{told} are not supported")
            remedy = 'write R{"name"} or P, then a bound or min=? or max=?, then [C], [F target] or [a U b]'
            raise self._error(begin, text, f"it is not an objective; {remedy}")
        path, where = text[head.end() : -1], begin + head.end() - 1
        unquoted = re.sub(_QUOTED, lambda found: "_" * len(found[0]), path)
        for pattern, told in _PATHS:
            if re.search(pattern, unquoted):
                raise self._error(where, f"[{path}]", f"{told} are not supported")
        relation, sense = head["relation"] or "", head["first"] or head["sense"]
        at_least = relation.startswith(">") or (not relation and sense == "max")
        if bool(head["asked"]) > bool(sense) or (relation and sense == ("min" if at_least else "max")):
            told = f"with {sense} it asks about all policies; write multi({head['kind']}...) to ask for one"
            raise self._error(begin, text, told if relation else "write min=? or max=?")
        reward: str | int | None = None
        if head["kind"] == "R":
            reward = head["reward"] if head["reward"] is not None else int(head["number"] or 1)
        elif head["reward"] or head["number"]:
            raise self._error(begin, text, "a probability has no reward model")
        until = re.search(r"\bU\b", unquoted)
        reach = re.match(r"\s*F\b", path)
        safe = "" if until is None else self._filled_in(path[: until.start()].strip())
        target = "" if until is None else self._filled_in(path[until.end() :].strip())
        if until is None and reach is not None:
            target = self._filled_in(path[reach.end() :].strip())
        if (not target and (path.strip() != "C" or reward is None)) or (until and (reach or not safe)):
            told = "it is not a path of this objective; write [C], [F target] or [a U b]"
            raise self._error(where, f"[{path}]", told)
        if reward is not None and safe:
            raise self._error(where, f"[{path}]", "a reward is counted until [F target], or in total, [C]")
        bound = self._number(begin + head.start("bound"), head["bound"]) if relation else None
        name = f"{head['kind']}{place}" if reward is None or isinstance(reward, int) else reward
        return Objective(name, reward, at_least, bound, target, safe, text, relation in ("<", ">"))

    def _filled_in(self, expression: str) -> str:
        """An expression about states, with the constants and labels of the properties filled in."""

        def value(found: re.Match[str]) -> str:
            word = found[0]
            if word.startswith('"'):
                return f"({self._labels[word[1:-1]]})" if word[1:-1] in self._labels else word
            return f"({self._constants[word]})" if word in self._constants else word

        return re.sub(rf"{_QUOTED}|\b[A-Za-z_]\w*\b", value, expression)

    def _number(self, begin: int, text: str) -> Fraction:
        """The exact value of an expression with numbers and constants."""
        filled = self._filled_in(text.strip()).strip()
        try:
            if _SUM.fullmatch(filled) is None:
                raise ValueError(filled)
            found = _value(ast.parse(filled, mode="eval").body, filled)
            if abs(found) > LARGEST:
                raise ValueError(filled)
            return found
        except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as error:
            known = (
                did_you_mean(str(error), [*self._constants]) if isinstance(error, _UnknownConstant) else ""
            )
            told = f"it is not a number; {known or 'write one such as 3, 0.5, or 2*T with a constant T'}"
            raise self._error(begin, text.strip(), told) from error

    def _error(self, begin: int, text: str, told: str) -> InvalidProblem:
        before = self._text[:begin]
        line, column = 1 + before.count("\n"), begin - before.rfind("\n")
        return InvalidProblem([f"line {line}, column {column}: {' '.join(text.split())[:60]}: {told}"])


class _UnknownConstant(ValueError):
    """A name without a value."""


def _value(node: ast.expr, source: str) -> Fraction:
    match node:
        case ast.Constant():
            # As it is written: 0.1 is one tenth.
            return Fraction(ast.get_source_segment(source, node) or "")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, source)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = _value(left, source), _value(right, source)
            match operator:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.Div():
                    return first / second
        case ast.Name(id=name):
            raise _UnknownConstant(name)
    raise ValueError(source)


def _items(text: str) -> Iterator[tuple[int, str]]:
    """The items of a file and where they begin: they end with a semicolon, queries also with their line."""
    for begin, part in _split(text, ";"):
        start = 0
        for place, _ in [*_split(part, "\n")][1:]:
            item, rest = part[start:place].strip(), part[place:].strip()
            if item.endswith(("]", ")")) and rest and not re.match(r"const\b|label\b", item):
                yield begin + start + _indent(part[start:]), item
                start = place
        if part[start:].strip():
            yield begin + start + _indent(part[start:]), part[start:].strip()


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _split(text: str, mark: str) -> Iterator[tuple[int, str]]:
    """The parts between marks that stand outside of brackets and texts, and where they begin."""
    depth, quoted, begin = 0, False, 0
    for place, letter in enumerate(text + mark):
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if (depth == 0 and not quoted and letter == mark) or place == len(text):
            part = text[begin:place]
            yield begin + _indent(part), part.strip()
            begin = place + 1
