"""Properties of models in the syntax of PRISM: rewards and probabilities that are bounded or optimised.

A query is ``multi(...)`` of objectives, or one objective alone. An objective is ``R{"name"}`` or ``P``, then
a bound (``<= 3``, ``>= 0.5``) or ``min=?`` or ``max=?``, then a path in brackets: ``[C]`` for the total
reward, ``[F target]`` for what happens until a target or whether it is reached, ``[safe U target]`` for
whether it is reached with `safe` before. What else the language has is refused by name.

>>> query, = parse_properties('"edge": multi(R{"time"}<=4.5 [C], P>=0.9 [F "done" & !"broken"]); // a note')
>>> query.name, [each.name for each in query.objectives]
('edge', ['time', 'P2'])
>>> query.objectives[1].bound, query.objectives[1].target
(Fraction(9, 10), '"done" & !"broken"')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from hcssp.errors import InvalidProblem


@dataclass(frozen=True)
class Objective:
    """One objective of a query.

    Attributes
    ----------
    name
        What it is called in answers: the reward's name, or P and its place.
    reward
        The reward model; None for a probability.
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
    """

    name: str
    reward: str | None
    at_least: bool
    bound: Fraction | None
    target: str
    safe: str
    text: str


@dataclass(frozen=True)
class Query:
    """A query: a name, which may be empty, and its objectives."""

    name: str
    objectives: tuple[Objective, ...]


MOST_OPTIMISED = 3
"""The number of objectives that one query may optimise; two or three make it a Pareto query."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_OBJECTIVE = re.compile(
    rf'(?:(?P<kind>P)|R\s*(?:\{{\s*"(?P<reward>[^"]*)"\s*\}}))\s*'
    rf"(?:(?P<sense>min|max)\s*=\s*\?|(?P<relation><=|>=|<|>)\s*(?P<bound>{_NUMBER}))\s*"
    r"\[(?P<path>.*)\]",
    re.DOTALL,
)
_REFUSED = (
    (r"\bLRA\b|\bS\b(?!\w)", "long-run averages are not supported"),
    (r"(?:\bC|\bF|\bU)\s*(?:<=|<|\[|=)", "bounds on the number of steps are not supported"),
    (r"\b[PR]\s*(?:\{[^}]*\})?\s*(?:min|max)?\s*[<>=]", "nested properties are not supported"),
    (r"^\s*G\b|\bX\b|\bW\b", "of the temporal operators only F and U are supported"),
)


def parse_properties(text: str) -> list[Query]:
    """The queries of a file of properties, or of one property.

    Raises
    ------
    InvalidProblem
        If one of them is none, or has what is not supported.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    found = [_query(part.strip()) for part in _split(text, ";\n") if part.strip()]
    if not found:
        raise InvalidProblem(
            ['there is no property; write one such as multi(R{"time"}<=3 [C], P>=0.9 [F done])']
        )
    return found


def _query(text: str) -> Query:
    named = re.match(r'"([^"]*)"\s*:\s*(.*)$', text, re.DOTALL)
    name, body = (named[1], named[2]) if named else ("", text)
    several = re.fullmatch(r"multi\s*\((.*)\)", body.strip(), re.DOTALL)
    parts = _split(several[1], ",") if several else [body]
    objectives = tuple(_objective(part.strip(), place) for place, part in enumerate(parts, 1))
    if sum(each.bound is None for each in objectives) > MOST_OPTIMISED:
        raise InvalidProblem(
            [f"{text}: a Pareto query optimises two or three objectives; give bounds to the others"]
        )
    return Query(name, objectives)


def _objective(text: str, place: int) -> Objective:
    found = _OBJECTIVE.fullmatch(text)
    if found is None:
        remedy = 'write R{"name"} or P, then a bound or min=? or max=?, then [C], [F target] or [a U b]'
        raise InvalidProblem([f"{text}: it is no objective; {remedy}"])
    path, reward = found["path"].strip(), found["reward"]
    for pattern, told in _REFUSED:
        if re.search(pattern, path):
            raise InvalidProblem([f"{text}: {told}"])
    relation = found["relation"]
    if relation in ("<", ">"):
        raise InvalidProblem([f"{text}: strict bounds are not supported; write {relation}= instead"])
    at_least = relation == ">=" or found["sense"] == "max"
    until = re.fullmatch(r"(.*)\bU\b(.*)", path, re.DOTALL)
    reach = re.fullmatch(r"F\b(.*)", path, re.DOTALL)
    safe, target = (until[1].strip(), until[2].strip()) if until else ("", reach[1].strip() if reach else "")
    if not target and (path != "C" or reward is None):
        raise InvalidProblem(
            [f"{text}: [{path}] is no path of this objective; write [C], [F target] or [a U b]"]
        )
    if reward is not None and (safe or (target and at_least)):
        told = "a reward is counted until [F target], and there it can be at most something or minimised"
        raise InvalidProblem([f"{text}: {told}; a total reward [C] can be at least something"])
    bound = None if found["bound"] is None else Fraction(found["bound"])
    return Objective(reward or f"P{place}", reward, at_least, bound, target, safe, text)


def _split(text: str, marks: str) -> Iterator[str]:
    """The parts between marks that stand outside of brackets and texts."""
    depth, quoted, begin = 0, False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if depth == 0 and not quoted and letter in marks:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]
