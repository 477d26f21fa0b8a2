"""The actions of a domain with all objects that can ever suit them, and the numbers they read and change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hcssp.errors import InvalidProblem, UnsupportedProblem
from hcssp.exchange.ppddl_effects import Effect, Effects, all_parts
from hcssp.exchange.ppddl_grounding import Atom, Test, Vocabulary

MOST_ACTIONS = 1_000_000


class GroundAction(NamedTuple):
    """An action with its objects.

    Attributes
    ----------
    label
        As in a file: ``(move a b)``.
    test
        Whether it is possible.
    effect
        What happens.
    gate
        An atom without which it is impossible, so that few actions have to be tested; None if there is none.
    """

    label: str
    test: Test | bool
    effect: Effect
    gate: Atom | None


def ground_actions(words: Vocabulary, effects: Effects, domain: Any) -> list[GroundAction]:
    """All actions with all objects of the right types, but for those that are never possible.

    Raises
    ------
    InvalidProblem
        If an action speaks of what there is not; with all violations.
    UnsupportedProblem
        If there are too many.
    """
    found: list[GroundAction] = []
    violations: list[str] = []
    for action in domain.actions:
        try:
            for ground in _grounded(words, effects, action):
                found.append(ground)
                if len(found) > MOST_ACTIONS:
                    raise UnsupportedProblem(
                        f"there are more than {MOST_ACTIONS:,} actions with their objects; take objects away"
                    )
        except InvalidProblem as error:
            violations += [f"action {action.name!r}: {each}" for each in error.violations]
    if violations:
        raise InvalidProblem(violations)
    return found


def _grounded(words: Vocabulary, effects: Effects, action: Any) -> Iterator[GroundAction]:
    conjuncts = list(_conjuncts(action.precondition))
    parameters = action.parameters
    names = [each.name for each in parameters]
    candidates = [words.objects_of(each.type_name) for each in parameters]
    # What never changes is looked at as soon as its objects are known, long before all are.
    ready: list[list[Any]] = [[] for _ in range(len(names) + 1)]
    for conjunct in conjuncts:
        free = set() if conjunct is None else conjunct.get_free_variables()
        unknown = free - set(names)
        if not unknown:
            ready[max((names.index(name) + 1 for name in free), default=0)].append(conjunct)

    def bound(binding: dict[str, str]) -> Iterator[dict[str, str]]:
        depth = len(binding)
        if any(words.test(conjunct, binding) is False for conjunct in ready[depth]):
            return
        if depth == len(names):
            yield dict(binding)
            return
        for each in candidates[depth]:
            yield from bound({**binding, names[depth]: each})

    for binding in bound({}):
        test = words.test(action.precondition, binding)
        gates = [
            words.predicate(each, binding)
            for each in conjuncts
            if type(each).__name__ == "Atom" and each.name in words.moving
        ]
        yield GroundAction(
            f"({' '.join((action.name, *binding.values()))})",
            test,
            effects.effect(action.effect, binding),
            # The more objects it speaks of, the fewer situations it is true in.
            max(gates, key=len, default=None),
        )


def _conjuncts(tree: Any) -> Iterator[Any]:
    if type(tree).__name__ == "Conjunction":
        for each in tree.sub_formulas:
            yield from _conjuncts(each)
    elif tree is not None:
        yield tree


def functions_read(domain: Any, problem: Any) -> set[str]:
    """The names of the functions that a condition, the goal or the value of an effect depends on."""
    trees = [problem.goal, *(action.precondition for action in domain.actions)]
    trees += [rule.condition for rule in domain.derived_predicates]
    found: set[str] = set()
    for effect in all_parts(action.effect for action in domain.actions):
        trees += [getattr(effect, "condition", None), getattr(effect, "expression", None)]
        if type(effect).__name__ in ("ScaleUpEffect", "ScaleDownEffect"):
            found.add(effect.variable.name)
    while trees:
        tree = trees.pop()
        if type(tree).__name__ == "FunctionCall":
            found.add(tree.name)
        trees += getattr(tree, "sub_formulas", ())
        trees += [
            getattr(tree, part)
            for part in ("sub_formula", "sub_expression", "lhs", "rhs")
            if hasattr(tree, part)
        ]
    return found
