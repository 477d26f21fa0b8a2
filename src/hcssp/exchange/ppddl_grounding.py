"""What PPDDL's formulas, numbers and effects mean for given objects and in a given situation.

A *situation* is the set of atoms that are true and can change, and the values of the numbers that something
depends on and that can change. Trees are turned into functions of a situation, object by object; what can
never change is looked up at once. Nothing is compiled or run that is made from the text of a file.

An effect is a function to all the ways in which it can turn out. Conditions are looked at before an action,
all effects happen together, deletions before additions, and probabilistic effects beside each other are
independent of each other, as the definition of PPDDL 1.0 (Younes and Littman, 2004) has it. Increases of one
number add up.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import NamedTuple, TypeVar

from hcssp.errors import InvalidProblem, did_you_mean
from hcssp.exchange.ppddl_language import (
    EFFECTS,
    NUMERIC,
    Brackets,
    Task,
    Tree,
    Typed,
    Word,
    all_parts,
    functions_changed,
    head,
    inside,
    typed,
    written,
)

LARGEST = 10**100
"""More than any number in a problem; what is larger could not be rounded to a double."""

Atom = tuple[str, ...]
"""A predicate or function and its objects."""


class Situation(NamedTuple):
    """The atoms that are true and the values of numbers, as far as they can change."""

    atoms: frozenset[Atom]
    values: tuple[Fraction, ...]


Binding = Mapping[str, str]
Answer = TypeVar("Answer")
Test = Callable[[Situation], bool]
Number = Callable[[Situation], Fraction]


class Change(NamedTuple):
    """What happens to one number: it is increased or assigned to."""

    what: Atom
    by: Fraction
    assigned: bool


class Happening(NamedTuple):
    """One way in which an action can turn out."""

    probability: Fraction = Fraction(1)
    added: tuple[Atom, ...] = ()
    deleted: tuple[Atom, ...] = ()
    changes: tuple[Change, ...] = ()


Effect = Callable[[Situation], list[Happening]]
NOTHING = [Happening()]


def shown(atom: Atom) -> str:
    """An atom as it stands in a file.

    >>> shown(("on", "a", "b"))
    '(on a b)'
    """
    return f"({' '.join(atom)})"


def divided(left: Fraction, right: Fraction) -> Fraction:
    """The quotient.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    if not right:
        raise InvalidProblem(f"{left} is divided by 0")
    return left / right


_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divided,
}
_COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


class Vocabulary:
    """The objects by type, what never changes, and where in a situation the numbers are.

    Attributes
    ----------
    chances
        What happens before everything, as effects: what ``:init`` leaves to chance, or says to be false.
    read
        The names of the functions that something depends on.
    moving
        The names of the predicates that effects change.
    given, drawn
        The numbers that have a value in the beginning, and those that chance draws then.
    place
        Where in a situation the numbers are that change and matter later; others only add up.
    touched
        The numbers that the effects asked for so far can change.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._inlined: list[str] = []
        self.touched: set[Atom] = set()
        uncertain = [each for each in task.init if head(each) in ("and", "not", "probabilistic")]
        self.chances = [_beginning(each) for each in uncertain]
        effects = [*(action.effect for action in task.actions), *self.chances]
        self.moving = {
            head(tree[1]) if head(tree) == "not" and len(tree) > 1 else head(tree)
            for tree in all_parts(effects)
            if head(tree) == "not" or head(tree) not in EFFECTS
        }
        self.read = _functions_read(task)
        self._remembered = self.read & functions_changed(effects)
        self._facts: set[Atom] = set()
        self.given: dict[Atom, Fraction] = {}
        for each in task.init:
            if head(each) == "=":
                what, value = inside(each, 2)
                self.given[self.function(what, {})] = constant(value)
            elif head(each) not in ("and", "not", "probabilistic"):
                self._facts.add(self.predicate(each, {}))
        drawn = (tree[1] for tree in all_parts(self.chances) if head(tree) in NUMERIC)
        self.drawn = {self.function(each, {}) for each in drawn}
        held = sorted(each for each in {*self.given, *self.drawn} if each[0] in self._remembered)
        self.place = {what: place for place, what in enumerate(held)}

    @property
    def initial(self) -> Situation:
        """What is certain in the beginning; a number that is still to be drawn is 0."""
        moving = frozenset(atom for atom in self._facts if atom[0] in self.moving)
        return Situation(moving, tuple(self.given.get(what, Fraction(0)) for what in self.place))

    def objects_of(self, kind: str) -> list[str]:
        """The objects of a type or of one below it."""
        types = self._task.types
        if kind != "object" and kind not in types:
            raise _no("type", kind, [*types])

        def is_of(own: str | None) -> bool:
            above = {"object"}
            while own is not None and own not in above:
                above.add(own)
                own = types.get(own)
            return kind in above

        return [name for name, own in self._task.objects.items() if is_of(own)]

    def bindings(self, parameters: Sequence[Typed], given: Binding) -> Iterator[dict[str, str]]:
        """All ways to give objects to parameters, besides those that are given."""
        for objects in product(*(self.objects_of(kind) for _, kind in parameters)):
            yield {**given, **dict(zip((str(name) for name, _ in parameters), objects, strict=True))}

    def predicate(self, tree: Tree, binding: Binding) -> Atom:
        """An atom with its objects in place."""
        return self._atom(tree, binding, self._task.predicates, "predicate")

    def function(self, tree: Tree, binding: Binding) -> Atom:
        """The name of a number with its objects in place."""
        return self._atom(tree, binding, self._task.functions, "function")

    def _atom(self, tree: Tree, binding: Binding, known: Mapping[str, int], kind: str) -> Atom:
        if not isinstance(tree, Brackets) or not tree or not all(isinstance(each, Word) for each in tree):
            raise InvalidProblem(f"line {tree.line}: {written(tree)!r} is no {kind} with its objects")
        name, *objects = tree
        if name not in known:
            raise _no(kind, name, [*known])
        if len(objects) != known[name]:
            message = f"{kind} {str(name)!r} takes {known[name]} objects, but is given {len(objects)}"
            raise InvalidProblem(message)
        return (str(name), *(self._object(each, binding) for each in objects))

    def _object(self, word: Word, binding: Binding) -> str:
        if word.startswith("?"):
            if word not in binding:
                raise _no("parameter", word, [*binding])
            return binding[word]
        if word not in self._task.objects:
            raise _no("object", word, [*self._task.objects])
        return str(word)

    def test(self, tree: Tree, binding: Binding) -> Test | bool:
        """A condition for given objects: a truth value if it never changes, else a function."""
        if tree is None or tree == []:
            return True
        kind = head(tree)
        if kind in ("and", "or"):
            return _joined([self.test(each, binding) for each in tree[1:]], kind == "and")
        if kind == "not":
            return _negated(self.test(inside(tree, 1)[0], binding))
        if kind == "imply":
            first, then = (self.test(each, binding) for each in inside(tree, 2))
            return _joined([_negated(first), then], False)
        if kind in ("forall", "exists"):
            parameters, formula = inside(tree, 2)
            every = self.bindings(typed(parameters), binding)
            return _joined([self.test(formula, each) for each in every], kind == "forall")
        if kind in _COMPARISONS:
            first, second = inside(tree, 2)
            if kind == "=" and not (_is_number(first) or _is_number(second)):
                return self._object(first, binding) == self._object(second, binding)
            return _combined(_COMPARISONS[kind], self.number(first, binding), self.number(second, binding))
        atom = self.predicate(tree, binding)
        if kind in self._task.derived:
            return self._derived(atom)
        if kind not in self.moving:
            return atom in self._facts
        return lambda situation: atom in situation.atoms

    def _derived(self, atom: Atom) -> Test | bool:
        name, *objects = atom
        if name in self._inlined:
            raise InvalidProblem(
                f"the derived predicate {name!r} depends on itself, which is not supported; "
                "keep the atoms by the effects of actions instead"
            )
        self._inlined.append(name)
        tests = [
            self.test(condition, dict(zip((str(each) for each, _ in parameters), objects, strict=True)))
            for parameters, condition in self._task.derived[name]
        ]
        self._inlined.pop()
        return _joined(tests, False)

    def number(self, tree: Tree, binding: Binding) -> Number | Fraction:
        """A number for given objects: itself if it never changes, else a function."""
        if isinstance(tree, Word):
            return constant(tree)
        if head(tree) in _OPERATIONS and len(tree) > 1:
            numbers = [self.number(each, binding) for each in tree[1:]]
            if head(tree) == "-" and len(numbers) == 1:
                numbers = [Fraction(0), *numbers]
            return reduce(lambda left, right: _combined(_OPERATIONS[head(tree)], left, right), numbers)
        return self.value(self.function(tree, binding))

    def value(self, what: Atom) -> Number | Fraction:
        """The value of a number: itself if it never changes, else a function."""
        if what in self.place:
            place = self.place[what]
            return lambda situation: situation.values[place]
        if what in self.given:
            return self.given[what]

        def undefined(situation: Situation) -> Fraction:
            raise InvalidProblem(f"{shown(what)} has no value; give it one in :init")

        # Only an error where it is looked at: distances of places that are not joined need not be known.
        return undefined

    def effect(self, tree: Tree, binding: Binding) -> Effect:
        """An effect for given objects, as a function to all the ways in which it can turn out."""
        kind = head(tree)
        if tree is None or tree == []:
            return lambda situation: NOTHING
        if kind in ("and", "forall"):
            if kind == "and":
                parts = [self.effect(each, binding) for each in tree[1:]]
            else:
                parameters, each_effect = inside(tree, 2)
                parts = [self.effect(each_effect, each) for each in self.bindings(typed(parameters), binding)]
            return lambda situation: together([part(situation) for part in parts])
        if kind == "when":
            condition, consequence = inside(tree, 2)
            test, then = self.test(condition, binding), self.effect(consequence, binding)
            if isinstance(test, bool):
                return then if test else (lambda situation: NOTHING)
            return lambda situation: then(situation) if test(situation) else NOTHING
        if kind == "probabilistic":
            return self._chances(tree, binding)
        if kind in NUMERIC:
            return self._numeric(tree, binding)
        deleted = kind == "not"
        (atom,) = inside(tree, 1) if deleted else (tree,)
        if head(atom) in self._task.derived:
            message = f"an effect changes the derived predicate {head(atom)!r}; change what it rests on"
            raise InvalidProblem(message)
        moved = (self.predicate(atom, binding),)
        happening = [Happening(deleted=moved) if deleted else Happening(added=moved)]
        return lambda situation: happening

    def _chances(self, tree: Brackets, binding: Binding) -> Effect:
        if len(tree) % 2 == 0:
            raise InvalidProblem(f"line {tree.line}: {written(tree)[:60]} lacks a probability or an effect")
        weighed = [
            (constant(chance), self.effect(effect, binding))
            for chance, effect in zip(tree[1::2], tree[2::2], strict=True)
        ]
        total = sum((weight for weight, _ in weighed), Fraction(0))
        if total > 1 or any(weight < 0 for weight, _ in weighed):
            listed = ", ".join(f"{float(weight):.10g}" for weight, _ in weighed)
            raise InvalidProblem(f"probabilities {listed} are negative or sum to more than 1")
        if total < 1:
            weighed.append((1 - total, lambda situation: NOTHING))
        return lambda situation: [
            each._replace(probability=weight * each.probability)
            for weight, then in weighed
            if weight
            for each in then(situation)
        ]

    def _numeric(self, tree: Brackets, binding: Binding) -> Effect:
        variable, expression = inside(tree, 2)
        what = self.function(variable, binding)
        self.touched.add(what)
        kind, by = head(tree), self.number(expression, binding)
        if kind.startswith("scale"):
            by = _combined(operator.mul if kind == "scale-up" else divided, self.value(what), by)
        elif kind == "decrease":
            by = _combined(operator.sub, Fraction(0), by)
        assigned, amount = kind not in ("increase", "decrease"), _as_function(by)
        return lambda situation: [Happening(changes=(Change(what, amount(situation), assigned),))]

    def after(self, situation: Situation, happening: Happening) -> Situation:
        """The situation that an action leaves behind when it has turned out so."""
        atoms = situation.atoms
        if happening.added or happening.deleted:
            atoms = atoms.difference(happening.deleted).union(happening.added)
        values = list(situation.values)
        assigned: dict[Atom, Fraction] = {}
        for change in happening.changes:
            place = self.place.get(change.what)
            if place is None:
                if change.what[0] in self._remembered:
                    raise InvalidProblem(f"{shown(change.what)} has no value; give it one in :init")
                continue
            if change.assigned and assigned.setdefault(change.what, change.by) != change.by:
                raise InvalidProblem(f"{shown(change.what)} is assigned two values at once")
            values[place] = change.by if change.assigned else values[place] + change.by
            if abs(values[place]) > LARGEST:
                raise InvalidProblem(f"{shown(change.what)} becomes too large for a number")
        return Situation(atoms, tuple(values))

    def begun(self) -> dict[Situation, float]:
        """The situations in which it may begin, with their probabilities.

        Raises
        ------
        InvalidProblem
            If a number has no value in one of them, or an atom is said to be true and false.
        """
        certain = self.initial
        found: dict[Situation, Fraction] = {}
        for happening in together([self.effect(each, {})(certain) for each in self.chances]):
            stated = {*happening.added, *certain.atoms}
            violations = [f"{shown(atom)} is true and false" for atom in happening.deleted if atom in stated]
            given = {*self.given, *(change.what for change in happening.changes)}
            violations += [
                f"{shown(what)} has no value if chance does not draw one"
                for what in self.place
                if what not in given
            ]
            if violations:
                raise InvalidProblem(f"{each} in :init" for each in violations)
            situation = self.after(certain, happening)
            found[situation] = found.get(situation, Fraction(0)) + happening.probability
        return {situation: float(probability) for situation, probability in found.items()}


def _beginning(tree: Brackets) -> Brackets:
    """A part of ``:init`` as an effect; what a number is becomes an assignment."""
    kind = head(tree)
    if kind == "=":
        return Brackets(tree.line, [Word("assign", tree.line), *tree[1:]])
    if kind in ("and", "not", "probabilistic"):
        return Brackets(
            tree.line, [_beginning(each) if isinstance(each, Brackets) else each for each in tree]
        )
    if kind in EFFECTS:
        message = (
            f"line {tree.line}: {kind!r} in :init; it begins with atoms, numbers and (probabilistic ...)"
        )
        raise InvalidProblem(message)
    return tree


def _functions_read(task: Task) -> set[str]:
    """The names of the functions that a condition, the goal or the value of an effect depends on."""
    trees = [task.goal, *(action.precondition for action in task.actions)]
    trees += [rule.condition for rules in task.derived.values() for rule in rules]
    for effect in all_parts(action.effect for action in task.actions):
        if head(effect) in ("when", *NUMERIC):
            first, second = inside(effect, 2)
            trees += [first] if head(effect) == "when" or head(effect).startswith("scale") else []
            trees += [] if head(effect) == "when" else [second]
    found: set[str] = set()
    while trees:
        tree = trees.pop()
        if isinstance(tree, Brackets):
            found.add(head(tree))
            trees += tree
    return found & task.functions.keys()


def _no(kind: str, name: str, known: list[str]) -> InvalidProblem:
    return InvalidProblem([f"there is no {kind} {str(name)!r}; {did_you_mean(name, known)}"])


def constant(tree: Tree) -> Fraction:
    """A number as it stands in a file, without rounding.

    Raises
    ------
    InvalidProblem
        If it is none.
    """
    text = written(tree)
    if not _CONSTANT.fullmatch(text):
        raise InvalidProblem(f"{text[:60]!r} is not a number")
    above, _, below = text.partition("/")
    value = divided(Fraction(above), Fraction(below or 1))
    if abs(value) > LARGEST:
        raise InvalidProblem(f"{text!r} is too large for a number")
    return value


def _is_number(tree: Tree) -> bool:
    return isinstance(tree, Brackets) or _CONSTANT.fullmatch(tree) is not None


def _as_function(number: Number | Fraction) -> Number:
    """A number as a function of a situation, whether it changes or not."""
    return (lambda situation: number) if isinstance(number, Fraction) else number


def _combined(
    combine: Callable[[Fraction, Fraction], Answer], left: Number | Fraction, right: Number | Fraction
) -> Callable[[Situation], Answer] | Answer:
    """What is made of two numbers: itself if they never change, else a function."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return combine(left, right)
    first, second = _as_function(left), _as_function(right)
    return lambda situation: combine(first(situation), second(situation))


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
    quantify = all if every else any
    return lambda situation: quantify(test(situation) for test in open_ones)


def together(parts: Sequence[list[Happening]]) -> list[Happening]:
    """All ways in which effects that are independent of each other can turn out together."""
    found = NOTHING
    for part in parts:
        if part is not NOTHING:
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


_CONSTANT = re.compile(r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})(e[-+]?\d{1,3})?(/\d{1,40}(\.\d{0,40})?)?")
_NUMBER = re.compile(r"\(= \([^()]*\) [^()]*\)")
_ATOM = re.compile(r"\([^()]+\)")


def atom_groups(labels: Sequence[str]) -> dict[str, list[Hashable]]:
    """The states in which an atom is true, by the atom as it stands in a file.

    >>> atom_groups(("(at home)", "(at home) (flat) (= (fuel) 2)"))["(flat)"]
    ['(at home) (flat) (= (fuel) 2)']
    """
    groups: dict[str, list[Hashable]] = {}
    for label in labels:
        for atom in _ATOM.findall(_NUMBER.sub("", label)):
            groups.setdefault(atom, []).append(label)
    return groups
