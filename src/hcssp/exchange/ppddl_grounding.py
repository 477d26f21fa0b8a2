"""What PPDDL's formulas and numbers mean for given objects and in a given situation.

A *situation* is the set of atoms that are true and can change, and the values of the numbers that something
depends on and that can change. Trees are turned into functions of a situation, object by object; what can
never change is looked up at once. Nothing is compiled or run that is made from the text of a file.

What is true in a situation as the name of the situations in which it is, so that it can be spoken of.

What PPDDL's effects do: all the ways in which an action can turn out in a given situation.

Conditions are looked at before an action, all effects happen together, deletions before additions, and
probabilistic effects beside each other are independent of each other, as the definition of PPDDL 1.0 (Younes
and Littman, 2004) has it. Increases of one number add up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple, TypeVar

from hcssp.errors import InvalidProblem, did_you_mean

Atom = tuple[str, ...]
"""A predicate or function and its objects."""


class Situation(NamedTuple):
    """The atoms that are true and the values of numbers, as far as they can change."""

    atoms: frozenset[Atom]
    values: tuple[Fraction, ...]


Test = Callable[[Situation], bool]


Number = Callable[[Situation], Fraction]


Binding = Mapping[str, str]


Answer = TypeVar("Answer")


def written(atom: Atom) -> str:
    """An atom as it stands in a file.

    >>> written(("on", "a", "b"))
    '(on a b)'
    """
    return f"({' '.join(atom)})"


class Vocabulary:
    """The objects by type, what never changes, and where in a situation the numbers are.

    Parameters
    ----------
    domain, problem
        plado's trees.
    moving
        The names of the predicates that effects change.
    remembered
        The names of the functions that effects change and something depends on.
    drawn
        plado's trees of the numbers that chance draws in the beginning.
    """

    def __init__(
        self,
        domain: Any,
        problem: Any,
        moving: set[str],
        remembered: set[str],
        drawn: Iterable[Any] = (),
    ) -> None:
        self._types = {each.name: each.parent_type_name for each in domain.types}
        objects = (*domain.constants, *problem.objects)
        self._objects = {each.name: each.type_name or "object" for each in objects}
        self._predicates = {each.name: len(each.parameters) for each in domain.predicates}
        self.functions = {each.name: len(each.parameters) for each in domain.functions}
        self.derived: dict[str, list[Any]] = {}
        for each in domain.derived_predicates:
            self.derived.setdefault(each.predicate.name, []).append(each)
            self._predicates.setdefault(each.predicate.name, len(each.predicate.parameters))
        self._inlined: list[str] = []
        self.moving = moving
        self._facts: set[Atom] = set()
        self.given: dict[Atom, Fraction] = {}
        for each in problem.initial:
            if hasattr(each, "expression"):
                what = self.atom(each.variable, {}, self.functions, "function")
                self.given[what] = constant(each.expression.value_str)
            else:
                self._facts.add(self.atom(each, {}, self._predicates, "predicate"))
        self.remembered = remembered
        self.drawn = {self.atom(each, {}, self.functions, "function") for each in drawn}
        # Numbers that change and matter later are part of a situation; those that only add up are not.
        held = sorted(each for each in {*self.given, *self.drawn} if each[0] in self.remembered)
        self.place = {what: place for place, what in enumerate(held)}

    @property
    def initial(self) -> Situation:
        """What is certain in the beginning; a number that is still to be drawn is 0."""
        moving = frozenset(atom for atom in self._facts if atom[0] in self.moving)
        return Situation(moving, tuple(self.given.get(what, Fraction(0)) for what in self.place))

    @property
    def numbers(self) -> tuple[Atom, ...]:
        """The numbers of a situation, in the order of its values."""
        return tuple(self.place)

    def objects_of(self, kind: str | None) -> list[str]:
        """The objects of a type or of one below it."""
        wanted = kind or "object"
        if wanted != "object" and wanted not in self._types:
            raise _no("type", wanted, [*self._types])
        return [name for name, own in self._objects.items() if wanted in self._lineage(own)]

    def _lineage(self, kind: str) -> list[str]:
        above = ["object"]
        at: str | None = kind
        while at is not None and at not in above:
            above.append(at)
            at = self._types.get(at)
        return above

    def atom(self, tree: Any, binding: Binding, known: Mapping[str, int], kind: str) -> Atom:
        """A predicate or function with its objects in place."""
        if tree.name not in known:
            raise _no(kind, tree.name, [*known])
        if len(tree.arguments) != known[tree.name]:
            raise InvalidProblem(
                [f"{kind} {tree.name!r} takes {known[tree.name]} objects, but is given {len(tree.arguments)}"]
            )
        return (tree.name, *(self._object(each, binding) for each in tree.arguments))

    def _object(self, term: Any, binding: Binding) -> str:
        if term.is_variable():
            if term.name not in binding:
                raise _no("parameter", term.name, [*binding])
            return binding[term.name]
        if term.name not in self._objects:
            raise _no("object", term.name, [*self._objects])
        return str(term.name)

    def predicate(self, tree: Any, binding: Binding) -> Atom:
        """An atom with its objects in place."""
        return self.atom(tree, binding, self._predicates, "predicate")

    def test(self, tree: Any, binding: Binding) -> Test | bool:
        """A condition for given objects: a truth value if it never changes, else a function."""
        kind = type(tree).__name__
        if tree is None or kind == "Truth":
            return True
        if kind == "Falsity":
            return False
        if kind == "Atom":
            return self._atom_test(tree, binding)
        if kind == "Negation":
            return _negated(self.test(tree.sub_formula, binding))
        if kind in ("Conjunction", "Disjunction"):
            return _joined([self.test(each, binding) for each in tree.sub_formulas], kind == "Conjunction")
        if kind in ("Forall", "Exists"):
            each_binding = self.bindings(tree.parameters, binding)
            return _joined([self.test(tree.sub_formula, each) for each in each_binding], kind == "Forall")
        return self._combined(_COMPARISONS[kind], tree, binding)

    def _atom_test(self, tree: Any, binding: Binding) -> Test | bool:
        if tree.name == "=":
            first, second = (self._object(each, binding) for each in tree.arguments)
            return first == second
        atom = self.predicate(tree, binding)
        if tree.name in self.derived:
            if tree.name in self._inlined:
                raise InvalidProblem(
                    [
                        f"the derived predicate {tree.name!r} depends on itself, which is not supported; "
                        "keep the atoms by the effects of actions instead"
                    ]
                )
            self._inlined.append(tree.name)
            rules = [
                self.test(
                    rule.condition,
                    dict(zip((each.name for each in rule.predicate.parameters), atom[1:], strict=True)),
                )
                for rule in self.derived[tree.name]
            ]
            self._inlined.pop()
            return _joined(rules, False)
        if atom[0] not in self.moving:
            return atom in self._facts
        return lambda situation: atom in situation.atoms

    def number(self, tree: Any, binding: Binding) -> Number | Fraction:
        """A number for given objects: itself if it never changes, else a function."""
        kind = type(tree).__name__
        if kind == "NumericConstant":
            return constant(tree.value_str)
        if kind == "FunctionCall":
            return self.value(self.atom(tree, binding, self.functions, "function"))
        if kind == "UnaryNegation":
            inner = self.number(tree.sub_expression, binding)
            if isinstance(inner, Fraction):
                return -inner
            return lambda situation: -inner(situation)
        return self._combined(_OPERATIONS[kind], tree, binding)

    def _combined(
        self, combine: Callable[[Fraction, Fraction], Answer], tree: Any, binding: Binding
    ) -> Callable[[Situation], Answer] | Answer:
        """What is made of the numbers on both sides: itself if they never change, else a function."""
        left, right = self.number(tree.lhs, binding), self.number(tree.rhs, binding)
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return combine(left, right)
        first, second = as_function(left), as_function(right)
        return lambda situation: combine(first(situation), second(situation))

    def value(self, what: Atom) -> Number | Fraction:
        """The value of a number: itself if it never changes, else a function."""
        if what in self.place:
            place = self.place[what]
            return lambda situation: situation.values[place]
        if what in self.given:
            return self.given[what]

        def undefined(situation: Situation) -> Fraction:
            raise InvalidProblem([f"{written(what)} has no value; give it one in :init"])

        # Only an error where it is looked at: distances of places that are not joined need not be known.
        return undefined

    def bindings(self, parameters: Sequence[Any], given: Binding) -> Iterator[dict[str, str]]:
        """All ways to give objects to parameters, besides those that are given."""
        names = [each.name for each in parameters]
        for objects in product(*(self.objects_of(each.type_name) for each in parameters)):
            yield {**given, **dict(zip(names, objects, strict=True))}


def _no(kind: str, name: str, known: list[str]) -> InvalidProblem:
    return InvalidProblem([f"there is no {kind} {name!r}; {did_you_mean(name, known)}"])


def constant(text: str) -> Fraction:
    """A number as it stands in a file, without rounding."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidProblem([f"{text!r} is not a number"]) from error


def divided(left: Fraction, right: Fraction) -> Fraction:
    """The quotient.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    if not right:
        raise InvalidProblem([f"{left} is divided by 0"])
    return left / right


_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "Sum": lambda left, right: left + right,
    "Subtraction": lambda left, right: left - right,
    "Product": lambda left, right: left * right,
    "Division": divided,
}


_COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "Less": lambda left, right: left < right,
    "LessEqual": lambda left, right: left <= right,
    "Greater": lambda left, right: left > right,
    "GreaterEqual": lambda left, right: left >= right,
    "Equals": lambda left, right: left == right,
}


def as_function(number: Number | Fraction) -> Number:
    """A number as a function of a situation, whether it changes or not."""
    return (lambda situation: number) if isinstance(number, Fraction) else number


def _negated(test: Test | bool) -> Test | bool:
    if isinstance(test, bool):
        return not test
    return lambda situation: not test(situation)


def _joined(tests: Sequence[Test | bool], every: bool) -> Test | bool:
    """The conjunction or disjunction of tests, without those that never change."""
    open_ones = [test for test in tests if not isinstance(test, bool)]
    if any(test is not every for test in tests if isinstance(test, bool)):
        return not every
    if not open_ones:
        return every
    if len(open_ones) == 1:
        return open_ones[0]
    if every:
        return lambda situation: all(test(situation) for test in open_ones)
    return lambda situation: any(test(situation) for test in open_ones)


_NUMBER = re.compile(r"\(= \([^()]*\) [^()]*\)")


_ATOM = re.compile(r"\([^()]+\)")


class AtomGroups(Mapping[str, Sequence[Hashable]]):
    """The states in which an atom is true, by the atom as it stands in a file.

    They are read from what the states are called, so that a problem that is sent elsewhere takes nothing more
    along.

    >>> groups = AtomGroups(("(at home)", "(at home) (flat) (= (fuel) 2)"))
    >>> list(groups), groups["(flat)"]
    (['(at home)', '(flat)'], ['(at home) (flat) (= (fuel) 2)'])

    Parameters
    ----------
    labels
        What the states are called: what is true in them, and the values of numbers.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels

    def __getitem__(self, name: str) -> list[Hashable]:
        found: list[Hashable] = [label for label in self._labels if name in _atoms(label)]
        if not found:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({atom for label in self._labels for atom in _atoms(label)}))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _atoms(label: str) -> list[str]:
    return _ATOM.findall(_NUMBER.sub("", label))


class Change(NamedTuple):
    """What happens to one number: it is increased or assigned to."""

    what: Atom
    by: Fraction
    assigned: bool


class Happening(NamedTuple):
    """One way in which an action can turn out."""

    probability: Fraction
    added: tuple[Atom, ...] = ()
    deleted: tuple[Atom, ...] = ()
    changes: tuple[Change, ...] = ()


Effect = Callable[[Situation], list[Happening]]


NOTHING = [Happening(Fraction(1))]


class Effects:
    """The effects of a domain for given objects.

    Attributes
    ----------
    touched
        The numbers that the effects asked for so far can change.
    """

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        self.touched: set[Atom] = set()

    def effect(self, tree: Any, binding: Binding) -> Effect:
        """An effect for given objects, as a function to all the ways in which it can turn out."""
        kind = type(tree).__name__
        if kind == "AtomEffect":
            added = [Happening(Fraction(1), added=(self._moved(tree, binding),))]
            return lambda situation: added
        if kind == "NegativeEffect":
            deleted = [Happening(Fraction(1), deleted=(self._moved(tree.atom, binding),))]
            return lambda situation: deleted
        if kind in ("ConjunctiveEffect", "UniversalEffect"):
            if kind == "ConjunctiveEffect":
                parts = [self.effect(each, binding) for each in tree.effects]
            else:
                every = self._words.bindings(tree.parameters, binding)
                parts = [self.effect(tree.effect, each) for each in every]
            return lambda situation: together([part(situation) for part in parts])
        if kind == "ConditionalEffect":
            test, then = self._words.test(tree.condition, binding), self.effect(tree.effect, binding)
            if isinstance(test, bool):
                return then if test else (lambda situation: NOTHING)
            return lambda situation: then(situation) if test(situation) else NOTHING
        if kind == "ProbabilisticEffect":
            return self._chances(tree, binding)
        return self._numeric(tree, binding)

    def _moved(self, tree: Any, binding: Binding) -> Atom:
        if tree.name in self._words.derived:
            raise InvalidProblem(
                [f"an effect changes the derived predicate {tree.name!r}; change what it rests on"]
            )
        return self._words.predicate(tree, binding)

    def _chances(self, tree: Any, binding: Binding) -> Effect:
        weighed = [
            (constant(each.probability.value_str), self.effect(each.effect, binding))
            for each in tree.outcomes
        ]
        total = sum((weight for weight, _ in weighed), Fraction(0))
        if total > 1 or any(weight < 0 for weight, _ in weighed):
            listed = ", ".join(f"{float(weight):.10g}" for weight, _ in weighed)
            raise InvalidProblem([f"probabilities {listed} are negative or sum to more than 1"])
        if total < 1:
            weighed.append((1 - total, lambda situation: NOTHING))
        return lambda situation: [
            each._replace(probability=weight * each.probability)
            for weight, then in weighed
            if weight
            for each in then(situation)
        ]

    def _numeric(self, tree: Any, binding: Binding) -> Effect:
        what = self._words.atom(tree.variable, binding, self._words.functions, "function")
        self.touched.add(what)
        by = as_function(self._words.number(tree.expression, binding))
        kind = type(tree).__name__
        if kind in ("IncreaseEffect", "DecreaseEffect"):
            sign = 1 if kind == "IncreaseEffect" else -1
            return lambda situation: [
                Happening(Fraction(1), changes=(Change(what, sign * by(situation), False),))
            ]
        before = as_function(self._words.value(what))

        def assigned(situation: Situation) -> list[Happening]:
            value = by(situation)
            if kind == "ScaleUpEffect":
                value = before(situation) * value
            elif kind == "ScaleDownEffect":
                value = divided(before(situation), value)
            return [Happening(Fraction(1), changes=(Change(what, value, True),))]

        return assigned

    def after(self, situation: Situation, happening: Happening) -> Situation:
        """The situation that an action leaves behind when it has turned out so."""
        atoms = situation.atoms
        if happening.added or happening.deleted:
            atoms = atoms.difference(happening.deleted).union(happening.added)
        values = list(situation.values)
        assigned: dict[Atom, Fraction] = {}
        for change in happening.changes:
            place = self._words.place.get(change.what)
            if place is None:
                if change.what[0] in self._words.remembered:
                    raise InvalidProblem([f"{written(change.what)} has no value; give it one in :init"])
                continue
            if change.assigned and assigned.setdefault(change.what, change.by) != change.by:
                raise InvalidProblem([f"{written(change.what)} is assigned two values at once"])
            values[place] = change.by if change.assigned else values[place] + change.by
        return Situation(atoms, tuple(values))


def together(parts: Sequence[list[Happening]]) -> list[Happening]:
    """All ways in which effects that are independent of each other can turn out together."""
    found = NOTHING
    for part in parts:
        if part is NOTHING:
            continue
        found = [
            Happening(
                first.probability * second.probability,
                first.added + second.added,
                first.deleted + second.deleted,
                first.changes + second.changes,
            )
            for first in found
            for second in part
        ]
    return found


def moving_predicates(effects: Iterable[Any]) -> set[str]:
    """The predicates that some of the effects changes."""
    found: set[str] = set()
    for tree in all_parts(effects):
        kind = type(tree).__name__
        if kind in ("AtomEffect", "NegativeEffect"):
            found.add((tree if kind == "AtomEffect" else tree.atom).name)
    return found


def functions_changed(effects: Iterable[Any]) -> set[str]:
    """The names of the functions that some of the effects changes."""
    return {effect.variable.name for effect in all_parts(effects) if hasattr(effect, "variable")}


def all_parts(effects: Iterable[Any]) -> Iterator[Any]:
    """All effects, whole and in parts."""
    open_ones = list(effects)
    while open_ones:
        tree = open_ones.pop()
        yield tree
        open_ones += parts_of_effect(tree)


def parts_of_effect(tree: Any) -> list[Any]:
    """The effects that an effect is made of."""
    kind = type(tree).__name__
    if kind == "ConjunctiveEffect":
        return list(tree.effects)
    if kind in ("UniversalEffect", "ConditionalEffect"):
        return [tree.effect]
    if kind == "ProbabilisticEffect":
        return [each.effect for each in tree.outcomes]
    return []
