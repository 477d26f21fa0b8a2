"""Problems in PPDDL: the actions in a situation, their outcomes, and their costs.

A number that effects increase and nothing depends on is a *cost*: it is not part of a situation, and its
expected increase is what an action costs. A number that conditions or other effects depend on, such as the
fuel in a tank, is part of the situation, and a cost only if it is asked for. A cost of several objects is one
for each: ``(fuel truck1)`` is the cost ``fuel truck1``.

The metric says what is minimised: ``(:metric minimize (time))``, or a sum of costs with factors. Without one
it is the first cost that is declared, and without any the number of actions, ``steps``. All others can be
bounded. A metric that is maximised becomes what is missed of it (:mod:`hcssp.solving.maximisation`); what is
taken from a reward ``(gold)`` again is the cost ``gold lost``.

What ``:init`` leaves to chance is a distribution over the situations in which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any, NamedTuple

from hcssp.cssp.builder import Costs
from hcssp.cssp.implicit import ImplicitCSSP, explore
from hcssp.cssp.model import CSSP
from hcssp.cssp.preprocessing import with_giving_up
from hcssp.errors import InvalidProblem, UnsupportedProblem, did_you_mean
from hcssp.exchange.ppddl_grounding import (
    LARGEST,
    Atom,
    Effect,
    Happening,
    Situation,
    Test,
    Vocabulary,
    atom_groups,
    constant,
    shown,
)
from hcssp.exchange.ppddl_language import (
    REWARD,
    Action,
    Brackets,
    Task,
    Tree,
    Word,
    all_parts,
    head,
    read_ppddl,
    written,
)
from hcssp.solving.maximisation import maximise

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


def ground_actions(words: Vocabulary, actions: Collection[Action]) -> list[GroundAction]:
    """All actions with all objects of the right types, but for those that are never possible.

    Raises
    ------
    InvalidProblem
        If an action names unknown objects; with all violations.
    UnsupportedProblem
        If there are too many.
    """
    found: list[GroundAction] = []
    violations: list[str] = []
    for action in actions:
        try:
            for ground in _grounded(words, action):
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


def _grounded(words: Vocabulary, action: Action) -> Iterator[GroundAction]:
    conjuncts = list(_conjuncts(action.precondition))
    names = [str(name) for name, _ in action.parameters]
    candidates = [words.objects_of(kind) for _, kind in action.parameters]
    # What never changes is looked at as soon as its objects are known, long before all are.
    ready: list[list[Tree]] = [[] for _ in range(len(names) + 1)]
    for conjunct in conjuncts:
        free = _variables(conjunct)
        if free <= set(names):
            ready[max((names.index(name) + 1 for name in free), default=0)].append(conjunct)

    def bound(binding: dict[str, str]) -> Iterator[dict[str, str]]:
        depth = len(binding)
        if any(words.test(conjunct, binding) is False for conjunct in ready[depth]):
            return
        if depth == len(names):
            yield binding
            return
        for each in candidates[depth]:
            yield from bound({**binding, names[depth]: each})

    for binding in bound({}):
        test = words.test(action.precondition, binding)
        gates = [words.predicate(each, binding) for each in conjuncts if head(each) in words.moving]
        yield GroundAction(
            shown((action.name, *binding.values())),
            test,
            words.effect(action.effect, binding),
            # The more objects it names, the fewer situations it is true in.
            max(gates, key=len, default=None),
        )


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    if head(tree) == "and":
        for each in tree[1:]:
            yield from _conjuncts(each)
    elif tree:
        yield tree


def _variables(tree: Tree) -> set[str]:
    """The variables of a condition, but for those of its quantifiers."""
    if isinstance(tree, Word):
        return {str(tree)} if tree.startswith("?") else set()
    found: set[str] = set().union(*map(_variables, tree))
    return found - _variables(tree[1]) if head(tree) in ("forall", "exists") and len(tree) > 1 else found


STEPS, METRIC, GOAL_REWARD = "steps", "metric", "goal-reward"
"""The number of actions, the value of a metric of several costs, and the reward of the goal."""


class Counting:
    """The costs of a problem, and those of a step.

    Parameters
    ----------
    task
        The problem.
    words
        Its numbers: which effects change, and which something depends on.
    minimise
        The cost to minimise; by default as the metric says.
    counted
        Names of costs that are wanted, though something depends on them, or ``steps``.
    added
        Names of costs that no action has.

    Attributes
    ----------
    names
        The primary cost, then the others in the order in which they are declared.
    reward
        The factors of the costs in the reward that the metric maximises; None if it maximises none.
    """

    def __init__(
        self,
        task: Task,
        words: Vocabulary,
        minimise: str | None,
        counted: Collection[str],
        added: Collection[str],
    ) -> None:
        order = [*task.functions]
        metric = {} if minimise is not None or task.metric is None else _factors(task.metric[1], order)
        wanted = {name.partition(" ")[0] for name in (*metric, *counted, minimise or "")}
        self.counted = sorted(
            (each for each in words.touched if each[0] not in words.read or each[0] in wanted),
            key=lambda atom: (order.index(atom[0]), atom),
        )
        names = [" ".join(each) for each in self.counted]
        self._weights: dict[str, Fraction] = {}
        self._goal_reward = Fraction(0)
        self._falling: set[str] = set()
        self.reward: dict[str, float] | None = None
        if minimise is None and task.metric is not None and task.metric[0] == "maximize":
            lost = self._maximise(task, metric, names)
            primary = names[0]
        else:
            lost = []
            primary = self._minimise(names, metric, minimise)
        steps = (STEPS,) if STEPS in (*counted, *metric) else ()
        self.names = tuple(dict.fromkeys((primary, *names, *lost, *steps, *added)))

    def costs(self, happening: Happening, ends: bool) -> list[float]:
        """The costs of one outcome of an action, in the order of the names.

        Parameters
        ----------
        happening
            The way.
        ends
            Whether it reaches the goal.

        Raises
        ------
        InvalidProblem
            If a cost is assigned to, or too large.
        """
        totals: dict[str, Fraction] = dict.fromkeys(self.names, Fraction(0))
        totals[STEPS] = Fraction(1)
        if ends and self._goal_reward:
            totals[GOAL_REWARD] += self._goal_reward
        for change in happening.changes:
            if change.what not in self.counted:
                continue
            if change.assigned:
                message = "is a cost and is assigned to; only (increase ...) adds to a cost"
                raise InvalidProblem(f"{shown(change.what)} {message}")
            name = " ".join(change.what)
            if change.by < 0 and name in self._falling:
                totals[_lost(name)] -= change.by
            else:
                totals[name] += change.by
        if self._weights:
            totals[METRIC] = sum((w * totals[name] for name, w in self._weights.items()), Fraction(0))
        large = [name for name in self.names if abs(totals[name]) > LARGEST]
        if large:
            raise InvalidProblem(f"the cost {large[0]!r} becomes too large for a number")
        return [float(totals[name]) for name in self.names]

    def _minimise(self, names: list[str], metric: Mapping[str, Fraction], minimise: str | None) -> str:
        """The name of the cost that is minimised; a sum of several is a cost of its own."""
        known = [*names, STEPS]
        for name in (minimise,) if minimise is not None else metric:
            if name not in known:
                message = f"since no action increases it; {did_you_mean(name, known)}"
                raise InvalidProblem(f"{name!r} cannot be minimised, {message}")
        if minimise is not None:
            return minimise
        if not metric:
            return known[0]
        if [*metric.values()] == [1]:
            return next(iter(metric))
        self._weights = dict(metric)
        return METRIC

    def _maximise(self, task: Task, metric: Mapping[str, Fraction], names: list[str]) -> list[str]:
        """Take down the factors of the reward; the names of what may be lost of it, and of the goal's."""
        effects = all_parts(action.effect for action in task.actions)
        decreased = {head(tree[1]) for tree in effects if head(tree) == "decrease"}
        factors: dict[str, float] = {}
        if task.goal_reward is not None:
            if isinstance(task.goal_reward, Brackets):
                raise UnsupportedProblem("the goal's reward is not a constant; write a number")
            self._goal_reward = constant(task.goal_reward)
        for name, factor in metric.items():
            if name not in names and not (name == REWARD and self._goal_reward):
                message = f"since no action changes it; {did_you_mean(name, names)}"
                raise InvalidProblem(f"{name!r} cannot be maximised, {message}")
            if name in names:
                factors[name] = float(factor)
                if name.partition(" ")[0] in decreased:
                    self._falling.add(name)
                    factors[_lost(name)] = -float(factor)
        if self._goal_reward:
            factors[GOAL_REWARD] = float(metric.get(REWARD, Fraction(1)))
        self.reward = factors
        if not names:
            names.append(GOAL_REWARD)
        return [name for name in factors if name not in names]


def _lost(name: str) -> str:
    return f"{name} lost"


def _factors(metric: Tree, declared: Collection[str]) -> dict[str, Fraction]:
    """The factor of each cost in a metric; a total time that is not declared is the number of actions.

    Raises
    ------
    UnsupportedProblem
        If it is not a sum of costs with factors.
    """
    found: dict[str, Fraction] = {}

    def add(tree: Tree, factor: Fraction) -> None:
        kind, constants = head(tree), [each for each in tree if isinstance(each, Word)][1:]
        if kind in ("+", "-"):
            for place, each in enumerate(tree[1:]):
                falls = kind == "-" and (place > 0 or len(tree) == 2)
                if not isinstance(each, Word):
                    add(each, -factor if falls else factor)
        elif kind == "*" and len(tree) - len(constants) == 2:
            (other,) = (each for each in tree if isinstance(each, Brackets))
            for each in constants:
                factor *= constant(each)
            add(other, factor)
        elif kind in ("*", "/", ""):
            raise UnsupportedProblem(
                f"the metric {written(metric)} is not a sum of costs with factors; name a cost to minimise "
                "instead"
            )
        else:
            name = " ".join(tree)
            name = STEPS if name == "total-time" and name not in declared else name
            found[name] = found.get(name, Fraction(0)) + factor

    add(metric if isinstance(metric, Brackets) else Brackets(0, [metric]), Fraction(1))
    return found


GIVE_UP, GIVEN_UP = "give up", "given up"
"""The action where nothing else can be done, and where it leads, in a problem that is not explored."""


_TURNS_KEPT = 1 << 12


class PpddlModel:
    """A problem as functions of a situation; what cannot be reached is never asked for.

    Parameters
    ----------
    task
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
        The name of the problem.
    cost_names
        The primary cost, then the others in the order in which they are declared.
    reward
        The factors of the costs in the reward that the metric maximises; None if it maximises none.
    initial
        The situations in which it may begin, with their probabilities.
    """

    def __init__(
        self,
        task: Task,
        minimise: str | None = None,
        counted: Collection[str] = (),
        added: Collection[str] = (),
    ) -> None:
        self.name = task.name
        self._words = Vocabulary(task)
        self._actions = ground_actions(self._words, task.actions)
        self._number = {action.label: number for number, action in enumerate(self._actions)}
        self._gated: dict[Atom | None, list[int]] = {}
        for number, action in enumerate(self._actions):
            self._gated.setdefault(action.gate, []).append(number)
        self._goal = self._words.test(task.goal, {})
        self._counting = Counting(task, self._words, minimise, counted, added)
        self.cost_names, self.reward = self._counting.names, self._counting.reward
        self._refuse_head_starts()
        self.initial = self._words.begun()
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
        possible = (self._actions[number] for number in sorted(numbers))
        return [
            label for label, test, _, _ in possible if (test if isinstance(test, bool) else test(situation))
        ]

    def transitions(self, situation: Situation, action: str) -> list[tuple[Situation, float, list[float]]]:
        """Where an action leads, with probabilities and costs in the order of the names."""
        return self._turned(situation, action)

    def label(self, situation: Situation) -> str:
        """A situation as a text: the true atoms of those that can change."""
        message = [shown(atom) for atom in sorted(situation.atoms)]
        for what, value in zip(self._words.place, situation.values, strict=True):
            message.append(f"(= {shown(what)} {_short(value)})")
        return " ".join(message) or "()"

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
        return found.derive(state_labels=labels, name=self.name, groups=atom_groups(labels))

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
            A lower bound on the cost-to-go of a state, by its label; None for zero.
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
        """The outcomes of an action with their costs; computed exactly, and rounded at the end."""
        found: dict[tuple[Situation, tuple[float, ...]], Fraction] = {}
        try:
            for happening in self._actions[self._number[action]].effect(situation):
                after = self._words.after(situation, happening)
                costs = tuple(self._counting.costs(happening, self.is_goal(after)))
                found[after, costs] = found.get((after, costs), Fraction(0)) + happening.probability
        except InvalidProblem as error:
            raise InvalidProblem(f"action {action}: {each}" for each in error.violations) from None
        return [(after, float(chance), [*costs]) for (after, costs), chance in found.items()]

    def _refuse_head_starts(self) -> None:
        given, place = self._words.given, self._words.place
        costs = [what for what in self._counting.counted if what not in place]
        found = [
            f"(= {shown(what)} {_short(given[what])}) in :init: a cost begins at 0; take it off the bound"
            for what in costs
            if given.get(what)
        ]
        found += [
            f"{shown(what)} is a cost and is left to chance in :init; a cost begins at 0"
            for what in costs
            if what in self._words.drawn
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
        If it uses unsupported features.
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
        A lower bound on the cost-to-go of a state, by its label, in the forms of costs; None for zero.

    Raises
    ------
    UnsupportedProblem
        If the metric is to be maximised, which needs all states; or as for :func:`from_ppddl`.
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
    task = read_ppddl(domain, problem)
    named = dict(give_up) if isinstance(give_up, Mapping) else {}
    known = {*task.functions, STEPS}
    added = [name for name in named if name.partition(" ")[0] not in known]
    model = PpddlModel(task, minimise=minimise, counted=(*(bounds or {}), *costs, *named), added=added)
    if give_up is None:
        return model, None
    return model, named if isinstance(give_up, Mapping) else {model.cost_names[0]: float(give_up)}


def _short(value: Fraction) -> str:
    """A value as people write it."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.10g}"
