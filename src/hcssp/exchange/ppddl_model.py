"""Problems in PPDDL: what can be done in a situation, how it turns out, and what it costs.

A number that effects increase and nothing depends on is a *cost*: it is not part of a situation, and its
expected increase is what an action costs. A number that conditions or other effects depend on, such as the
fuel in a tank, is part of the situation. A cost of several objects is one for each: ``(fuel truck1)`` is the
cost ``fuel truck1``.

The metric says what is minimised: ``(:metric minimize (time))``, or a sum of costs with factors. Without one
it is the first cost that is declared, and without any the number of actions, ``steps``. All others can be
bounded. A metric that is maximised becomes what is missed of it (:mod:`hcssp.solving.maximisation`).

What ``:init`` leaves to chance is a distribution over the situations in which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any

from hcssp.cssp.assembly import Costs
from hcssp.cssp.exploration import explore
from hcssp.cssp.implicit import ImplicitCSSP
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.errors import InvalidProblem, UnsupportedProblem
from hcssp.exchange.ppddl_actions import functions_read, ground_actions
from hcssp.exchange.ppddl_beginning import begun
from hcssp.exchange.ppddl_costs import STEPS, Counting
from hcssp.exchange.ppddl_effects import (
    Effects,
    all_parts,
    functions_changed,
    moving_predicates,
)
from hcssp.exchange.ppddl_grounding import Atom, Situation, Vocabulary, written
from hcssp.exchange.ppddl_groups import AtomGroups
from hcssp.exchange.ppddl_language import PpddlTrees, read_ppddl
from hcssp.solving.maximisation import maximise

SUFFIXES = (".pddl", ".ppddl")
"""What the names of problems in PPDDL end in."""

GIVE_UP, GIVEN_UP = "give up", "given up"
"""The action where nothing else can be done, and where it leads, in a problem that is not explored."""

_TURNS_KEPT = 1 << 12


class PpddlModel:
    """A problem as functions of a situation; what cannot be reached is never asked for.

    Parameters
    ----------
    trees
        What :func:`~hcssp.exchange.ppddl_language.read_ppddl` has read.
    minimise
        The cost to minimise; by default as the metric says.
    counted
        Names of costs that are wanted, though something depends on them, or ``steps``.
    added
        Names of costs that no action has, for what the file does not know, such as giving up.

    Attributes
    ----------
    name
        What the problem is called.
    cost_names
        The primary cost, then the others in the order in which they are declared.
    reward
        The factors of the costs in the reward that the metric maximises; None if it maximises none.
    initial
        The situations in which it may begin, with their probabilities.
    """

    def __init__(
        self,
        trees: PpddlTrees,
        minimise: str | None = None,
        counted: Collection[str] = (),
        added: Collection[str] = (),
    ) -> None:
        domain, problem, chances = trees
        self.name = str(problem.name)
        read = functions_read(domain, problem)
        happening = [*(action.effect for action in domain.actions), *chances]
        remembered = read & functions_changed(happening)
        drawn = [each.variable for each in all_parts(chances) if hasattr(each, "variable")]
        self._words = Vocabulary(domain, problem, moving_predicates(happening), remembered, drawn)
        self._effects = Effects(self._words)
        self._actions = ground_actions(self._words, self._effects, domain)
        self._number = {action.label: number for number, action in enumerate(self._actions)}
        self._gated: dict[Atom | None, list[int]] = {}
        for number, action in enumerate(self._actions):
            self._gated.setdefault(action.gate, []).append(number)
        self._goal = self._words.test(problem.goal, {})
        self._counting = Counting(domain, problem, self._effects.touched, read, minimise, counted, added)
        self.cost_names, self.reward = self._counting.names, self._counting.reward
        self._refuse_head_starts()
        self.initial = begun(self._words, chances)
        self._turned = lru_cache(maxsize=_TURNS_KEPT)(self._turn)

    def is_goal(self, situation: Situation) -> bool:
        """Whether the goal is reached."""
        goal = self._goal
        return goal if isinstance(goal, bool) else goal(situation)

    def actions(self, situation: Situation) -> list[str]:
        """The labels of what can be done, in the order of the file."""
        numbers = list(self._gated.get(None, ()))
        for atom in situation.atoms:
            numbers += self._gated.get(atom, ())
        tests = ((number, self._actions[number].test) for number in sorted(numbers))
        return [
            self._actions[number].label
            for number, test in tests
            if (test if isinstance(test, bool) else test(situation))
        ]

    def transitions(self, situation: Situation, action: str) -> list[tuple[Situation, float, list[float]]]:
        """Where an action leads, with probabilities and costs in the order of the names."""
        return self._turned(situation, action)

    def label(self, situation: Situation) -> str:
        """A situation in words: what is true of all that can change."""
        told = [written(atom) for atom in sorted(situation.atoms)]
        for what, value in zip(self._words.numbers, situation.values, strict=True):
            told.append(f"(= {written(what)} {_short(value)})")
        return " ".join(told) or "()"

    def explored(self, bounds: Mapping[str, float] | None = None, max_states: int = 1_000_000) -> CSSP:
        """All that can be reached, as arrays whose states are called by their labels."""
        found = explore(
            self.initial,
            self.actions,
            self.transitions,
            lambda situation, action: 0.0,
            self.is_goal,
            self.cost_names,
            bounds,
            max_states,
        )
        situations: Any = found.state_labels
        labels = tuple(map(self.label, situations))
        return found.derive(state_labels=labels, name=self.name, groups=AtomGroups(labels))

    def implicit(
        self,
        bounds: Mapping[str, float] | None = None,
        heuristics: Callable[[str], Costs] | None = None,
        price: Mapping[str, float] | None = None,
    ) -> ImplicitCSSP:
        """The same without looking at anything yet; its states are the labels of situations.

        Parameters
        ----------
        bounds
            Upper bounds on secondary costs, by name.
        heuristics
            What is to come at least from a state that is called so; None for nothing.
        price
            What it costs to give up where nothing can be done; without it there is a dead end.
        """
        met = {self.label(situation): situation for situation in self.initial}

        def actions(state: str) -> list[str]:
            found = self.actions(met[state])
            return found if found or price is None else [GIVE_UP]

        def transitions(state: str, action: str) -> list[tuple[str, float, Costs]]:
            if action == GIVE_UP:
                return [(GIVEN_UP, 1.0, dict(price or {}))]
            led: list[tuple[str, float, Costs]] = []
            for after, chance, paid in self.transitions(met[state], action):
                label = self.label(after)
                met[label] = after
                led.append((label, chance, paid))
            return led

        def costs(state: str, action: str) -> Costs:
            return 0.0

        def is_goal(state: str) -> bool:
            return state == GIVEN_UP or self.is_goal(met[state])

        first = dict(zip(met, self.initial.values(), strict=True))
        return ImplicitCSSP(
            first, actions, transitions, costs, is_goal, heuristics, self.cost_names, bounds, name=self.name
        )

    def _turn(self, situation: Situation, action: str) -> list[tuple[Situation, float, list[float]]]:
        """Where an action leads, and what each outcome costs; computed without rounding until the end."""
        found: dict[tuple[Situation, tuple[float, ...]], Fraction] = {}
        try:
            for happening in self._actions[self._number[action]].effect(situation):
                after = self._effects.after(situation, happening)
                costs = tuple(self._counting.costs(happening, self.is_goal(after)))
                found[after, costs] = found.get((after, costs), Fraction(0)) + happening.probability
        except InvalidProblem as error:
            raise InvalidProblem(f"action {action}: {each}" for each in error.violations) from None
        return [(after, float(chance), [*costs]) for (after, costs), chance in found.items()]

    def _refuse_head_starts(self) -> None:
        given = self._words.given
        found = [
            f"(= {written(what)} {_short(given[what])}) in :init: a cost begins at 0; take it off the bound"
            for what in self._counting.counted
            if given.get(what) and what not in self._words.numbers
        ]
        found += [
            f"{written(what)} is a cost and is left to chance in :init; a cost begins at 0"
            for what in self._counting.counted
            if what in self._words.drawn and what not in self._words.numbers
        ]
        if found:
            raise InvalidProblem(found)


def from_ppddl(
    domain: str | PathLike[str],
    problem: str | PathLike[str] | None = None,
    *,
    minimise: str | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Collection[str] = (),
    give_up: float | Mapping[str, float] | None = None,
    max_states: int = 1_000_000,
) -> CSSP:
    """Read a problem in PPDDL and explore all that can be reached.

    Parameters
    ----------
    domain
        The file of the domain.
    problem
        The file of the problem; None if it follows in the same file.
    minimise
        The cost to minimise; by default as the metric says.
    bounds
        Upper bounds on other costs, by name.
    costs
        What is to be a cost besides: ``steps``, or a number that something depends on.
    give_up
        What it costs to end where the goal can no longer be reached: a number of the minimised cost, or costs
        by name; without it, that must not happen. A name that is no cost of the file becomes one:
        ``{"failure": 1}`` counts failures, which can be bounded.
    max_states
        Refuse more situations than this.

    Raises
    ------
    InvalidProblem
        If a file cannot be read or does not make sense; with all violations.
    UnsupportedProblem
        If it uses what is not known here.
    MissingDependency
        If plado is not installed.
    """
    model, price = _model(domain, problem, minimise, bounds, costs, give_up)
    found = model.explored(bounds, max_states)
    if price is not None:
        found = with_giving_up(found, price)
    return found if model.reward is None else maximise(found, model.reward)


def implicit_ppddl(
    domain: str | PathLike[str],
    problem: str | PathLike[str] | None = None,
    *,
    minimise: str | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Collection[str] = (),
    give_up: float | Mapping[str, float] | None = None,
    heuristics: Callable[[str], Costs] | None = None,
) -> ImplicitCSSP:
    """Read a problem in PPDDL that is never enumerated: solving it looks only where good policies go.

    Parameters
    ----------
    domain, problem, minimise, bounds, costs
        As for :func:`from_ppddl`.
    give_up
        As for :func:`from_ppddl`, but giving up is possible only where nothing else is.
    heuristics
        What is to come at least from a state, called by its label, in the forms of costs; None for nothing.

    Raises
    ------
    UnsupportedProblem
        If the metric is to be maximised, which takes a look at everything; or as for :func:`from_ppddl`.
    """
    model, price = _model(domain, problem, minimise, bounds, costs, give_up)
    if model.reward is not None:
        raise UnsupportedProblem(
            "a metric can be maximised only if everything is explored; use from_ppddl, or name a cost to "
            "minimise"
        )
    return model.implicit(bounds, heuristics, price)


def _model(
    domain: str | PathLike[str],
    problem: str | PathLike[str] | None,
    minimise: str | None,
    bounds: Mapping[str, float] | None,
    costs: Collection[str],
    give_up: float | Mapping[str, float] | None,
) -> tuple[PpddlModel, dict[str, float] | None]:
    """The problem in files, and the price of giving up, by the names of costs."""
    trees = read_ppddl(domain, problem)
    named = dict(give_up) if isinstance(give_up, Mapping) else {}
    known = {each.name for each in trees.domain.functions} | {STEPS}
    added = [name for name in named if name.partition(" ")[0] not in known]
    model = PpddlModel(trees, minimise=minimise, counted=(*(bounds or {}), *costs, *named), added=added)
    if give_up is None:
        return model, None
    return model, named if isinstance(give_up, Mapping) else {model.cost_names[0]: float(give_up)}


def _short(value: Fraction) -> str:
    """A value as people write it."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.10g}"
