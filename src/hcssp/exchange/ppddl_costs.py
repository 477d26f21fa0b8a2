"""What is counted of PPDDL's numbers: the costs of a problem, and the reward that its metric maximises.

A number that effects increase and nothing depends on is a cost; one that something depends on is a cost if it
is asked for. A metric that is minimised names the primary cost, or a sum of costs that is one. A metric that
is maximised names rewards, which may fall as well: what is taken from ``(gold)`` again is the cost
``gold lost``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from hcssp.errors import InvalidProblem, UnsupportedProblem, did_you_mean
from hcssp.exchange.ppddl_effects import Happening, all_parts
from hcssp.exchange.ppddl_grounding import Atom, constant, written

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
                told = "is a cost and is assigned to; only (increase ...) adds to a cost"
                raise InvalidProblem([f"{written(change.what)} {told}"])
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
                told = did_you_mean(name, names)
                raise InvalidProblem([f"{name!r} cannot be maximised, since no action changes it; {told}"])
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
    """The factor of each cost in a metric; a total time that nobody declares is the number of actions.

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
