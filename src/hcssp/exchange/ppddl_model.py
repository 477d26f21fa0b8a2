"""Problems in PPDDL: what can be done in a situation, how it turns out, and what it costs.

A number that effects increase and nothing depends on is a *cost*: it is not part of a situation, and its
expected increase is what an action costs. A number that conditions or other effects depend on, such as the
fuel in a tank, is part of the situation. A cost of several objects is one for each: ``(fuel truck1)`` is the
cost ``fuel truck1``.

The metric says what is minimised: ``(:metric minimize (time))``, or a sum of costs with factors. Without one
it is the first cost that is declared, and without any the number of actions, ``steps``. All others can be
bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any

from hcssp.cssp.exploration import explore
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.errors import InvalidProblem, UnsupportedProblem, did_you_mean
from hcssp.exchange.ppddl_actions import functions_changed, functions_read, ground_actions
from hcssp.exchange.ppddl_effects import Effects, Happening, moving_predicates
from hcssp.exchange.ppddl_grounding import Atom, Situation, Vocabulary, constant, written
from hcssp.exchange.ppddl_language import read_ppddl

STEPS, METRIC = "steps", "metric"
"""The number of actions, and what a metric of several costs adds up to."""

_TURNS_KEPT = 1 << 12


class PpddlModel:
    """A problem as functions of a situation; what cannot be reached is never asked for.

    Parameters
    ----------
    domain, problem
        plado's trees; see :func:`~hcssp.exchange.ppddl_language.read_ppddl`.
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
    """

    def __init__(
        self,
        domain: Any,
        problem: Any,
        minimise: str | None = None,
        counted: Collection[str] = (),
        added: Collection[str] = (),
    ) -> None:
        self.name = str(problem.name)
        read = functions_read(domain, problem)
        self._words = Vocabulary(domain, problem, moving_predicates(domain), read & functions_changed(domain))
        self._effects = Effects(self._words)
        self._actions = ground_actions(self._words, self._effects, domain)
        self._number = {action.label: number for number, action in enumerate(self._actions)}
        self._gated: dict[Atom | None, list[int]] = {}
        for number, action in enumerate(self._actions):
            self._gated.setdefault(action.gate, []).append(number)
        self._goal = self._words.test(problem.goal, {})
        order = [each.name for each in domain.functions]
        metric = {} if problem.metric is None or minimise is not None else _metric(problem.metric, order)
        wanted = {name.partition(" ")[0] for name in (*metric, *counted, minimise or "")}
        self._costs = sorted(
            (each for each in self._effects.touched if each[0] not in read or each[0] in wanted),
            key=lambda atom: (order.index(atom[0]), atom),
        )
        self._weights: dict[str, Fraction] = {}
        names = [" ".join(each) for each in self._costs]
        primary = self._primary(names, metric, minimise)
        steps = (STEPS,) if STEPS in (*counted, *metric) else ()
        self.cost_names = tuple(dict.fromkeys((primary, *names, *steps, *added)))
        self._refuse_head_starts()
        self._turned = lru_cache(maxsize=_TURNS_KEPT)(self._turn)

    @property
    def initial(self) -> Situation:
        """The situation in which everything begins."""
        return self._words.initial

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

    def transitions(self, situation: Situation, action: str) -> dict[Situation, float]:
        """Where an action leads, with probabilities."""
        return self._turned(situation, action)[0]

    def costs(self, situation: Situation, action: str) -> list[float]:
        """The expected costs of an action, in the order of the names."""
        return self._turned(situation, action)[1]

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
            self.costs,
            self.is_goal,
            self.cost_names,
            bounds,
            max_states,
        )
        situations: Any = found.state_labels
        return found.derive(state_labels=tuple(map(self.label, situations)), name=self.name)

    def _turn(self, situation: Situation, action: str) -> tuple[dict[Situation, float], list[float]]:
        """Where an action leads, and what it costs; computed without rounding until the end."""
        found: dict[Situation, Fraction] = {}
        totals = dict.fromkeys(self._costs, Fraction(0))
        try:
            for happening in self._actions[self._number[action]].effect(situation):
                after = self._effects.after(situation, happening)
                found[after] = found.get(after, Fraction(0)) + happening.probability
                _count(happening, totals)
        except InvalidProblem as error:
            raise InvalidProblem(f"action {action}: {each}" for each in error.violations) from None
        told = {STEPS: Fraction(1)} | {" ".join(what): total for what, total in totals.items()}
        told[METRIC] = sum((weight * told[name] for name, weight in self._weights.items()), Fraction(0))
        costs = [float(told.get(name, 0)) for name in self.cost_names]
        return {after: float(probability) for after, probability in found.items()}, costs

    def _primary(self, names: list[str], metric: Mapping[str, Fraction], minimise: str | None) -> str:
        """The name of the cost that is minimised; a sum of several is a cost of its own."""
        known = [*names, STEPS]
        for name in (minimise,) if minimise is not None else metric:
            if name not in known:
                told = did_you_mean(name, known)
                raise InvalidProblem([f"{name!r} cannot be minimised, since no action increases it; {told}"])
        if minimise is not None:
            return minimise
        if not metric:
            return known[0]
        if [*metric.values()] == [1]:
            return next(iter(metric))
        self._weights = dict(metric)
        return METRIC

    def _refuse_head_starts(self) -> None:
        given = self._words.given
        found = [
            f"(= {written(what)} {_short(given[what])}) in :init: a cost begins at 0; take it off the bound"
            for what in self._costs
            if given.get(what) and what not in self._words.numbers
        ]
        if found:
            raise InvalidProblem(found)


def from_ppddl(
    domain: str | PathLike[str],
    problem: str | PathLike[str] | None = None,
    *,
    minimise: str | None = None,
    bounds: Mapping[str, float] | None = None,
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
    price = give_up if isinstance(give_up, Mapping) else {}
    trees = read_ppddl(domain, problem)
    known = {each.name for each in trees[0].functions} | {STEPS}
    added = [name for name in price if name.partition(" ")[0] not in known]
    model = PpddlModel(*trees, minimise=minimise, counted=(*(bounds or {}), *price), added=added)
    found = model.explored(bounds, max_states)
    return found if give_up is None else with_giving_up(found, give_up)


def _count(happening: Happening, totals: dict[Atom, Fraction]) -> None:
    """Add what a way to turn out adds to the costs."""
    for change in happening.changes:
        if change.what not in totals:
            continue
        if change.assigned:
            raise InvalidProblem(
                [f"{written(change.what)} is a cost and is assigned to; only (increase ...) adds to a cost"]
            )
        totals[change.what] += happening.probability * change.by


def _metric(metric: Any, declared: Collection[str]) -> dict[str, Fraction]:
    """The factor of each cost in the metric; a total time that nobody declares is the number of actions.

    Raises
    ------
    UnsupportedProblem
        If it is to be maximised, or is no sum of costs with factors.
    """
    if metric.direction > 0:
        raise UnsupportedProblem(
            f"the metric {metric.expression.dump(0)} is to be maximised; name a cost to minimise instead"
        )
    found: dict[str, Fraction] = {}
    open_ones = [(metric.expression, Fraction(1))]
    while open_ones:
        tree, factor = open_ones.pop()
        kind = type(tree).__name__
        if kind == "FunctionCall":
            name = " ".join((tree.name, *(each.name for each in tree.arguments)))
            name = STEPS if name == "total-time" and name not in declared else name
            found[name] = found.get(name, Fraction(0)) + factor
        elif kind == "Sum":
            # The last one in is looked at first, and the first one of the file is to be the first.
            open_ones += [(tree.rhs, factor), (tree.lhs, factor)]
        elif kind == "Product" and "NumericConstant" in (type(tree.lhs).__name__, type(tree.rhs).__name__):
            left = type(tree.lhs).__name__ == "NumericConstant"
            number, other = (tree.lhs, tree.rhs) if left else (tree.rhs, tree.lhs)
            open_ones.append((other, factor * constant(number.value_str)))
        elif kind != "NumericConstant":
            raise UnsupportedProblem(
                f"the metric {metric.expression.dump(0)} is no sum of costs with factors; name a cost to "
                "minimise instead"
            )
    return found


def _short(value: Fraction) -> str:
    """A value as people write it."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.10g}"
