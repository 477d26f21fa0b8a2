"""Files in PPDDL, read into trees: words and brackets with their lines.

What the trees mean is for :mod:`hcssp.exchange.ppddl_grounding`. What the language has and hcssp does not
know is reported as such, with its line. Nothing is executed that is made from a file.

>>> tree = trees("(and (at home) (not (flat))) ; on the road")[0]
>>> written(tree), tree[1].line
('(and (at home) (not (flat)))', 1)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem, UnsupportedProblem, did_you_mean
from hcssp.files.atomic import read_text

DEEPEST = 100
"""How deep brackets may be inside each other; no domain needs more than ten."""

REWARD = "reward"
"""The number that problems with rewards have without declaring it."""

NUMERIC = ("increase", "decrease", "assign", "scale-up", "scale-down")
"""The effects on numbers."""

EFFECTS = ("and", "not", "forall", "when", "probabilistic", *NUMERIC)
"""What effects begin with that are no atoms."""

_SECTIONS = {
    "domain": (":requirements", ":types", ":constants", ":predicates", ":functions", ":derived", ":action"),
    "problem": (":requirements", ":domain", ":objects", ":init", ":goal", ":goal-reward", ":metric"),
}

_UNKNOWN = {
    ":durative-action": "actions that last; give each action an effect (increase (time) ...) instead",
    ":durative-actions": "actions that last; give each action an effect (increase (time) ...) instead",
    ":constraints": "constraints on the way; bound a fluent instead",
    ":preferences": "preferences; bound a fluent instead",
    ":timed-initial-literals": "events at given times",
    ":process": "processes",
    ":event": "events by themselves",
    ":observe": "observations; states are fully known",
    ":continuous-effects": "changes in the course of time; give each action an effect (increase ...) instead",
    ":object-fluents": "functions to objects; use a predicate instead",
    "oneof": "outcomes without probabilities; write (probabilistic ...) instead",
    "either": "unions of types; name a common supertype instead",
}


class Word(str):
    """A word, in small letters."""

    __slots__ = ("line",)

    def __new__(cls, text: str, line: int = 0) -> Word:
        word = super().__new__(cls, text)
        word.line = line
        return word

    line: int


class Brackets(list[Any]):
    """What is between brackets: words and brackets."""

    def __init__(self, line: int, inside: Iterable[Any] = ()) -> None:
        super().__init__(inside)
        self.line = line


Tree = Any
"""A word, or brackets."""


def written(tree: Tree) -> str:
    """A tree as it stands in a file."""
    return f"({' '.join(map(written, tree))})" if isinstance(tree, Brackets) else str(tree)


def head(tree: Tree) -> str:
    """The word that brackets begin with; empty if there is none."""
    return str(tree[0]) if isinstance(tree, Brackets) and tree and isinstance(tree[0], Word) else ""


def inside(tree: Brackets, count: int) -> list[Tree]:
    """What follows the first word of brackets.

    Raises
    ------
    InvalidProblem
        If that are not `count` parts.
    """
    if len(tree) != count + 1:
        text = written(tree)[:60]
        raise InvalidProblem(f"line {tree.line}: {text} has {len(tree) - 1} parts, and needs {count}")
    return tree[1:]


def trees(text: str) -> list[Brackets]:
    """The brackets that a text consists of.

    Raises
    ------
    InvalidProblem
        If brackets do not match, or words stand outside of them.
    UnsupportedProblem
        If it uses unsupported features.
    """
    top = Brackets(0)
    around, unknown = [top], []
    for line, content in enumerate(text.lower().splitlines(), 1):
        for word in re.findall(r"[()]|[^\s()]+", content.partition(";")[0]):
            if word == "(":
                around.append(Brackets(line))
                around[-2].append(around[-1])
                if len(around) > DEEPEST:
                    raise InvalidProblem(f"line {line}: brackets are nested more than {DEEPEST} deep")
            elif len(around) == 1:
                raise InvalidProblem(f"line {line}: {word!r} after the end of the definition")
            elif word == ")":
                around.pop()
            else:
                if word in _UNKNOWN and (word.startswith(":") or not around[-1]):
                    unknown.append(f"line {line}: {word!r}: {_UNKNOWN[word]}")
                around[-1].append(Word(word, line))
    if unknown:
        raise UnsupportedProblem("; ".join(unknown[:3]) + ": this is not supported")
    if len(around) > 1:
        raise InvalidProblem("it ends too early; a bracket is not closed")
    return list(top)


class Typed(NamedTuple):
    """A parameter or an object, or a declaration in brackets, with its type."""

    name: Tree
    kind: str


def typed(given: Tree) -> list[Typed]:
    """Names with types, as in ``?x ?y - lamp ?z``; a name without a type is an ``object``."""
    if not isinstance(given, list):
        raise InvalidProblem(f"line {given.line}: {str(given)!r} is not a list in brackets")
    found: list[Typed] = []
    waiting: list[Tree] = []
    following = iter(given)
    for name in following:
        if name == "-":
            kind = next(following, None)
            if not isinstance(kind, Word):
                raise InvalidProblem(f"line {name.line}: '-' is not followed by a type")
            found += [Typed(each, str(kind)) for each in waiting]
            waiting = []
        else:
            waiting.append(name)
    return found + [Typed(each, "object") for each in waiting]


class Action(NamedTuple):
    """An action before its parameters have objects."""

    name: str
    parameters: list[Typed]
    precondition: Tree
    effect: Tree


class Rule(NamedTuple):
    """A way to derive a predicate."""

    parameters: list[Typed]
    condition: Tree


@dataclass
class Task:
    """A domain and a problem.

    Attributes
    ----------
    name
        The name of the problem.
    requirements
        The requirements of the domain.
    types, objects
        From names to the types above.
    predicates, functions
        From names to the number of objects.
    derived
        The rules of derived predicates.
    actions
        In the order of the file.
    init
        The initial facts.
    goal
        The condition of the end.
    metric
        ``minimize`` or ``maximize``, and a number; None if there is none.
    goal_reward
        The reward of the goal; None if there is none.
    """

    name: str = ""
    requirements: set[str] = field(default_factory=set)
    types: dict[str, str] = field(default_factory=dict)
    objects: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    derived: dict[str, list[Rule]] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    init: list[Brackets] = field(default_factory=list)
    goal: Tree = None
    metric: tuple[str, Tree] | None = None
    goal_reward: Tree = None

    def take(self, section: Brackets) -> None:
        """Add a section of a file."""
        kind, *content = section
        if kind == ":requirements":
            self.requirements |= set(map(str, content))
        elif kind == ":types":
            self.types |= {str(name): above for name, above in typed(content)}
        elif kind in (":constants", ":objects"):
            self.objects |= {str(name): above for name, above in typed(content)}
        elif kind in (":predicates", ":functions"):
            known = self.predicates if kind == ":predicates" else self.functions
            known |= {_declared(name): len(typed(name[1:])) for name, _ in typed(content)}
        elif kind == ":derived":
            what, condition = inside(section, 2)
            self.derived.setdefault(_declared(what), []).append(Rule(typed(what[1:]), condition))
            self.predicates.setdefault(head(what), len(typed(what[1:])))
        elif kind == ":action":
            self.actions.append(_action(section))
        elif kind == ":init":
            self.init += content
        elif kind == ":metric":
            direction, tree = inside(section, 2)
            if direction not in ("minimize", "maximize"):
                raise InvalidProblem(
                    [f"line {section.line}: {written(direction)} is not minimize or maximize"]
                )
            self.metric = str(direction), tree
        elif kind == ":goal":
            (self.goal,) = inside(section, 1)
        elif kind == ":goal-reward":
            (self.goal_reward,) = inside(section, 1)

    def give_rewards(self) -> None:
        """Declare the number of rewards, and maximise it if there is one and nothing else is said."""
        if not {":rewards", ":mdp"} & self.requirements:
            return
        self.functions.setdefault(REWARD, 0)
        changed = functions_changed(action.effect for action in self.actions)
        if self.metric is None and (REWARD in changed or self.goal_reward is not None):
            self.metric = "maximize", Brackets(0, [Word(REWARD)])


def _declared(tree: Tree) -> str:
    if not head(tree):
        raise InvalidProblem(f"line {tree.line}: {written(tree)!r} declares nothing; write (name ?x ...)")
    return head(tree)


_KEYS = (":parameters", ":precondition", ":effect")


def _action(section: Brackets) -> Action:
    name = written(section[1]) if len(section) > 1 else ""
    given = {written(key): value for key, value in zip(section[2::2], section[3::2], strict=False)}
    for key in section[2::2]:
        if key not in _KEYS or key not in given:
            why = f"{written(key)[:60]!r} is none of {', '.join(_KEYS)} with its value"
            raise InvalidProblem(f"line {key.line}: action {name!r}: {why}")
    parameters = typed(given.get(_KEYS[0], Brackets(section.line)))
    if len({written(name) for name, _ in parameters}) < len(parameters):
        raise InvalidProblem(f"line {section.line}: action {name!r} has two parameters of one name")
    return Action(name, parameters, given.get(_KEYS[1]), given.get(_KEYS[2]))


def read_ppddl(domain: str | PathLike[str], problem: str | PathLike[str] | None = None) -> Task:
    """The domain and the problem.

    Parameters
    ----------
    domain
        The file of the domain.
    problem
        The file of the problem; None if it follows in the same file.

    Raises
    ------
    InvalidProblem
        If a file cannot be read, or is no PPDDL.
    UnsupportedProblem
        If it uses unsupported features.
    """
    paths = [Path(each) for each in (domain, problem) if each is not None]
    parts: dict[str, tuple[Brackets, Path]] = {}
    for path in paths:
        for kind, tree in _definitions(path):
            parts.setdefault(kind, (tree, path))
    missing = [kind for kind in _SECTIONS if kind not in parts]
    if missing:
        named = " and ".join(map(str, paths))
        raise InvalidProblem(
            f"{named}: there is no (define ({kind} ...)); give both files" for kind in missing
        )
    task = Task()
    for kind, sections in _SECTIONS.items():
        tree, path = parts[kind]
        try:
            task.name = written(inside(tree[1], 1)[0])
            for section in tree[2:]:
                if head(section) not in sections:
                    raise InvalidProblem(
                        f"line {section.line}: {written(section)[:60]} is not a part of a {kind}; "
                        f"{did_you_mean(head(section), sections)}"
                    )
                task.take(section)
        except InvalidProblem as error:
            raise InvalidProblem(f"{path}: {each}" for each in error.violations) from error
    (tree, path), (posed, posed_path) = parts["domain"], parts["problem"]
    name, of = written(tree[1][1]), [written(each[-1]) for each in posed[2:] if head(each) == ":domain"]
    if of != [name]:
        about = "".join(map(repr, of)) or "no name"
        raise InvalidProblem(f"{posed_path}: a problem of the domain {about}, but {path} is {name!r}")
    task.give_rewards()
    return task


def _definitions(path: Path) -> Iterator[tuple[str, Brackets]]:
    """The definition in a file: a domain or a problem, with its tree."""
    text = read_text(path)
    try:
        found = trees(text)
    except InvalidProblem as error:
        raise InvalidProblem(f"{path}: {each}" for each in error.violations) from error
    except UnsupportedProblem as error:
        raise UnsupportedProblem(f"{path}, {error}") from error
    for tree in found:
        kind = head(tree[1]) if head(tree) == "define" and len(tree) > 1 else ""
        if kind not in _SECTIONS:
            why = f"{written(tree)[:60]} is not (define (domain ...)) or (define (problem ...))"
            raise InvalidProblem(f"{path}: line {tree.line}: {why}")
        yield kind, tree


def parts_of_effect(tree: Tree) -> Sequence[Tree]:
    """The effects that an effect is made of."""
    kind = head(tree)
    if kind == "and":
        return tree[1:]  # type: ignore[no-any-return]
    if kind in ("forall", "when"):
        return inside(tree, 2)[1:]
    return tree[2::2] if kind == "probabilistic" else ()


def all_parts(effects: Iterable[Tree]) -> Iterator[Tree]:
    """All effects, whole and in parts."""
    open_ones = list(effects)
    while open_ones:
        tree = open_ones.pop()
        yield tree
        open_ones += parts_of_effect(tree)


def functions_changed(effects: Iterable[Tree]) -> set[str]:
    """The names of the functions that some of the effects changes."""
    return {head(tree[1]) for tree in all_parts(effects) if head(tree) in NUMERIC and len(tree) > 1}
