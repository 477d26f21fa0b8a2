"""Problems in PPDDL: what can be done in a situation, how it turns out, and what it costs.

A number that effects increase and nothing depends on is a *cost*: it is not part of a situation, and its
expected increase is what an action costs. A number that conditions or other effects depend on, such as the
fuel in a tank, is part of the situation. A cost of several objects is one for each: ``(fuel truck1)`` is the
cost ``fuel truck1``.

The metric says what is minimised: ``(:metric minimize (time))``, or a sum of costs with factors. Without one
it is the first cost that is declared, and without any the number of actions, ``steps``. All others can be
bounded. A metric that is maximised becomes what is missed of it (:mod:`hcssp.solving.maximisation`).

What ``:init`` leaves to chance is a distribution over the situations in which it begins.

Where a problem in PPDDL begins: in one situation, or in one of several by chance.

The actions of a domain with all objects that can ever suit them, and the numbers they read and change.

What is counted of PPDDL's numbers: the costs of a problem, and the reward that its metric maximises.

A number that effects increase and nothing depends on is a cost; one that something depends on is a cost if it
is asked for. A metric that is minimised names the primary cost, or a sum of costs that is one. A metric that
is maximised names rewards, which may fall as well: what is taken from ``(gold)`` again is the cost
``gold lost``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
    Atom,
    AtomGroups,
    Effect,
    Effects,
    Happening,
    Situation,
    Test,
    Vocabulary,
    all_parts,
    constant,
    functions_changed,
    moving_predicates,
    together,
    written,
)
from hcssp.exchange.ppddl_language import PpddlTrees, read_ppddl
from hcssp.solving.maximisation import maximise


def begun(words: Vocabulary, chances: Sequence[Any]) -> dict[Situation, float]:
    """The situations in which a problem may begin, with their probabilities.

    Parameters
    ----------
    words
        What is certain in the beginning, and the objects.
    chances
        What is not, as effects that are independent of each other.

    Raises
    ------
    InvalidProblem
        If a number has no value in one of them, or an atom is said to be true and false.
    """
    effects = Effects(words)
    certain = words.initial
    found: dict[Situation, Fraction] = {}
    for happening in together([effects.effect(each, {})(certain) for each in chances]):
        stated = {*happening.added, *certain.atoms}
        violations = [f"{written(atom)} is true and false" for atom in happening.deleted if atom in stated]
        given = {*words.given, *(change.what for change in happening.changes)}
        violations += [
            f"{written(what)} has no value if chance does not draw one"
            for what in words.place
            if what not in given
        ]
        if violations:
            raise InvalidProblem(f"{each} in :init" for each in violations)
        situation = effects.after(certain, happening)
        found[situation] = found.get(situation, Fraction(0)) + happening.probability
    return {situation: float(probability) for situation, probability in found.items()}


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
        If an action names unknown objects; with all violations.
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
            # The more objects it names, the fewer situations it is true in.
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


STEPS, METRIC, GOAL_REWARD = "steps", "metric", "goal-reward"
"""The number of actions, what a metric of several costs adds up to, and what the goal itself is worth."""


class Counting:
    """The costs of a problem, and what a step has of each.

    Parameters
    ----------
    domain, problem
        plado's trees.
    touched
        The numbers that effects change.
    read
        The names of the functions that something depends on.
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
        domain: Any,
        problem: Any,
        touched: Iterable[Atom],
        read: Collection[str],
        minimise: str | None,
        counted: Collection[str],
        added: Collection[str],
    ) -> None:
        order = [each.name for each in domain.functions]
        said = None if minimise is not None else problem.metric
        metric = {} if said is None else _factors(said, order)
        wanted = {name.partition(" ")[0] for name in (*metric, *counted, minimise or "")}
        self.counted = sorted(
            (each for each in touched if each[0] not in read or each[0] in wanted),
            key=lambda atom: (order.index(atom[0]), atom),
        )
        names = [" ".join(each) for each in self.counted]
        self._weights: dict[str, Fraction] = {}
        self._goal_reward = Fraction(0)
        self._falling: set[str] = set()
        self.reward: dict[str, float] | None = None
        if said is not None and said.direction > 0:
            lost = self._maximise(domain, problem, metric, names)
            primary = names[0]
        else:
            lost = []
            primary = self._minimise(names, metric, minimise)
        steps = (STEPS,) if STEPS in (*counted, *metric) else ()
        self.names = tuple(dict.fromkeys((primary, *names, *lost, *steps, *added)))

    def costs(self, happening: Happening, ends: bool) -> list[float]:
        """What one way in which an action turns out costs, in the order of the names.

        Parameters
        ----------
        happening
            The way.
        ends
            Whether it reaches the goal.

        Raises
        ------
        InvalidProblem
            If a cost is assigned to.
        """
        totals: dict[str, Fraction] = dict.fromkeys(self.names, Fraction(0))
        totals[STEPS] = Fraction(1)
        costs = set(self.counted)
        if ends and self._goal_reward:
            totals[GOAL_REWARD] += self._goal_reward
        for change in happening.changes:
            if change.what not in costs:
                continue
            if change.assigned:
                message = "is a cost and is assigned to; only (increase ...) adds to a cost"
                raise InvalidProblem([f"{written(change.what)} {message}"])
            name = " ".join(change.what)
            if change.by < 0 and name in self._falling:
                totals[_lost(name)] -= change.by
            else:
                totals[name] += change.by
        if self._weights:
            totals[METRIC] = sum((w * totals[name] for name, w in self._weights.items()), Fraction(0))
        return [float(totals[name]) for name in self.names]

    def _minimise(self, names: list[str], metric: Mapping[str, Fraction], minimise: str | None) -> str:
        """The name of the cost that is minimised; a sum of several is a cost of its own."""
        known = [*names, STEPS]
        for name in (minimise,) if minimise is not None else metric:
            if name not in known:
                message = did_you_mean(name, known)
                raise InvalidProblem(
                    [f"{name!r} cannot be minimised, since no action increases it; {message}"]
                )
        if minimise is not None:
            return minimise
        if not metric:
            return known[0]
        if [*metric.values()] == [1]:
            return next(iter(metric))
        self._weights = dict(metric)
        return METRIC

    def _maximise(
        self, domain: Any, problem: Any, metric: Mapping[str, Fraction], names: list[str]
    ) -> list[str]:
        """Take down the factors of the reward; the names of what may be lost of it, and of the goal's."""
        decreased = set(_decreased(domain))
        factors: dict[str, float] = {}
        if problem.goal_reward is not None:
            if type(problem.goal_reward).__name__ != "NumericConstant":
                raise UnsupportedProblem("the goal's reward is no constant; write a number")
            self._goal_reward = constant(problem.goal_reward.value_str)
        for name, factor in metric.items():
            if name not in names and not (name == "reward" and self._goal_reward):
                message = did_you_mean(name, names)
                raise InvalidProblem([f"{name!r} cannot be maximised, since no action changes it; {message}"])
            if name in names:
                factors[name] = float(factor)
            if name in names and name.partition(" ")[0] in decreased:
                self._falling.add(name)
                factors[_lost(name)] = -float(factor)
        if self._goal_reward:
            factors[GOAL_REWARD] = float(metric.get("reward", Fraction(1)))
        self.reward = factors
        if not names:
            names.append(GOAL_REWARD)
        return [name for name in factors if name not in names]


def _lost(name: str) -> str:
    return f"{name} lost"


def _decreased(domain: Any) -> Iterator[str]:
    """The names of the functions that some effect decreases."""
    for tree in all_parts(action.effect for action in domain.actions):
        if type(tree).__name__ == "DecreaseEffect":
            yield tree.variable.name


def _factors(metric: Any, declared: Collection[str]) -> dict[str, Fraction]:
    """The factor of each cost in a metric; a total time that is not declared is the number of actions.

    Raises
    ------
    UnsupportedProblem
        If it is no sum of costs with factors.
    """
    found: dict[str, Fraction] = {}
    open_ones = [(metric.expression, Fraction(1))]
    while open_ones:
        tree, factor = open_ones.pop()
        kind = type(tree).__name__
        if kind == "FunctionCall":
            name = " ".join((tree.name, *(each.name for each in tree.arguments)))
            name = STEPS if name == "total-time" and name not in declared else name
            found[name] = found.get(name, Fraction(0)) + factor
        elif kind in ("Sum", "Subtraction"):
            # The last one in is looked at first, and the first one of the file is to be the first.
            open_ones += [(tree.rhs, factor if kind == "Sum" else -factor), (tree.lhs, factor)]
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
        message = [written(atom) for atom in sorted(situation.atoms)]
        for what, value in zip(self._words.numbers, situation.values, strict=True):
            message.append(f"(= {written(what)} {_short(value)})")
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
