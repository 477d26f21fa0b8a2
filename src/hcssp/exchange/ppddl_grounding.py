"""What PPDDL's formulas and numbers mean for given objects and in a given situation.

A *situation* is the set of atoms that are true and can change, and the values of the numbers that something
depends on and that can change. Trees are turned into functions of a situation, object by object; what can
never change is looked up at once. Nothing is compiled or run that is made from the text of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
