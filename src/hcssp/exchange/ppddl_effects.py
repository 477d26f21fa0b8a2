"""What PPDDL's effects do: all the ways in which an action can turn out in a given situation.

Conditions are looked at before an action, all effects happen together, deletions before additions, and
probabilistic effects beside each other are independent of each other, as the definition of PPDDL 1.0 (Younes
and Littman, 2004) has it. Increases of one number add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem
from hcssp.exchange.ppddl_grounding import (
    Atom,
    Binding,
    Situation,
    Vocabulary,
    as_function,
    constant,
    divided,
    written,
)


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
