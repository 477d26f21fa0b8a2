"""Texts about a procedure: its tree of events, choices and activities, the units and names of its costs.

An event that several outcomes lead to is shown where it is first met and referred to from then on, so
that the text is no longer than the problem and a procedure that retries is shown once. A procedure that
others run is shown once, below them, however often it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray, Reward
from hcssp.cssp.product import base_of
from hcssp.procedure.model import HCSSP, Constraint, Outcome, Problem


def describe(problem: HCSSP) -> str:
    """The text that ``print(problem)`` shows."""
    texts = [_one_level(problem)]
    for procedure, count in used_procedures(problem):
        again = "once" if count == 1 else f"{count} times"
        texts.append(f"procedure {procedure_name(procedure)}, used {again}: {_one_level(procedure)}")
    return "\n".join(["procedure: " + texts[0], *texts[1:]])


def used_procedures(problem: HCSSP) -> list[tuple[HCSSP, int]]:
    """The procedures that run inside `problem`, outer ones first, and how often each is used."""
    counts = Counter(id(use.procedure) for use in problem.uses)
    # By identity, since comparing procedures means comparing all their arrays.
    distinct = {id(use.procedure): use.procedure for use in problem.uses}
    return [(procedure, counts[key]) for key, procedure in distinct.items()]


def procedure_name(procedure: HCSSP) -> str:
    """What people call a procedure that others use."""
    return procedure.name or "without a name"


def _one_level(problem: HCSSP) -> str:
    """The tree of what was stated, without what is inside of procedures that it runs."""
    outline = problem.outline
    counts = ", ".join(
        _counted(len(things), *names)
        for things, names in (
            (outline.events, ("event", "events")),
            (outline.activities, ("activity", "activities")),
            (outline.constraints, ("constraint", "constraints")),
        )
    )
    wanted = f"minimise {problem.primary_name}"
    if problem.reward is not None:
        wanted = f"maximise {problem.reward.name}"
    lines = [f"{counts}; {wanted}", outline.events[outline.start]]
    shown = {outline.start}
    # A stack of lines still to write instead of recursion: procedures may be long.
    waiting = _choices(problem, outline.start, 1)
    while waiting:
        depth, text, event = waiting.pop()
        if event is not None:
            if event == outline.end:
                text += ", the end"
            elif event in shown:
                text += " (see above)"
            else:
                shown.add(event)
                waiting += _choices(problem, event, depth + 1)
        lines.append("  " * depth + text)
    lines += [
        _constraint(outline, constraint)
        for constraint in outline.constraints
        # What only counts the reward bounds nothing.
        if problem.reward is None or constraint.name not in problem.reward.weights or constraint.at_most < inf
    ]
    lines += [
        f"limit {constraint.name} <= {constraint.limit:.6g} for each execution of "
        f"{problem.uses[constraint.per.use].name}"
        for constraint in problem.constraints
        if constraint.per is not None
    ]
    return "\n".join(lines)


_Line = tuple[int, str, "int | None"]
"""Its depth, its text, and the event that it leads to, if any."""


def _choices(problem: HCSSP, event: int, depth: int) -> list[_Line]:
    """The lines below an event, the first of them last, ready to be popped."""
    lines: list[_Line] = []
    outline = problem.outline
    for index in outline.choices_at(event):
        choice = outline.choices[index]
        lines.append((depth, f"choose {choice.name}", None))
        for outcome in choice.outcomes:
            chance = f"{outcome.probability:.6g}: " if len(choice.outcomes) > 1 else ""
            lines += [
                (depth + 1 + below, (chance if not below else "") + text, event)
                for below, text, event in _outcome(problem, outcome)
            ]
    return lines[::-1]


def _outcome(problem: HCSSP, outcome: Outcome) -> list[_Line]:
    """One line; if the activity's exits lead to several events, one below it for each exit."""
    outline = problem.outline
    reach = f"reach {outline.events[outcome.event]}"
    if outcome.runs is None:
        return [(0, reach, outcome.event)]
    run = f"run {outline.activities[outcome.runs].name} ({_size(problem, outcome.runs)})"
    if not outcome.exits:
        return [(0, f"{run}, {reach}", outcome.event)]
    # At all levels of a capacity an exit leads to the same event.
    by_base = dict.fromkeys((base_of(label), event) for label, event in outcome.exits.items())
    exits = [(1, f"from {label}: reach {outline.events[event]}", event) for label, event in by_base]
    return [(0, run, None), *exits]


def _size(problem: HCSSP, activity: int) -> str:
    """How large an activity of the outline is, and which procedure it is if it is one."""
    procedure = None if problem.nesting is None else problem.nesting.procedures.get(activity)
    if procedure is None:
        return f"{problem.outline.activities[activity].cssp.num_states:,} states"
    return f"procedure {procedure_name(procedure)}, {procedure.flattening.num_states:,} states"


def _constraint(problem: HCSSP, constraint: Constraint) -> str:
    by_cost: dict[str, list[str]] = {}
    for index, cost in constraint.counts.items():
        activity = problem.activities[index]
        by_cost.setdefault(activity.cssp.cost_names[cost], []).append(activity.name)
    counted = "; ".join(f"{cost} of {', '.join(names)}" for cost, names in by_cost.items())
    if constraint.probability_of:
        bound = f"{100.0 * constraint.at_most:.6g}%" if constraint.at_most < inf else "inf"
        return f"constraint {constraint.name}: probability of {constraint.probability_of} <= {bound}"
    return f"constraint {constraint.name} <= {constraint.at_most:.6g}: counts {counted}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def expected(problem: Problem, name: str) -> str:
    """What reports call an expectation: ``expected time (s)``, or ``probability of crashed``."""
    prefix = "" if problem.probability_of(name) else "expected "
    return f"{prefix}{problem.called(name)}"


@dataclass(frozen=True)
class Aim:
    """The objective of a problem: the cost that is minimised, or the reward that is maximised.

    A problem that maximises a reward minimises what is missed of it (:func:`hcssp.maximise`). Reports show
    the reward itself; a secondary cost that only counts the reward is not shown again.

    >>> from hcssp.scenarios import small_building
    >>> Aim.of(small_building())
    Aim(name='time', greatest=False, others=('damage',))

    Attributes
    ----------
    name
        The primary cost, or the reward.
    greatest
        Whether it is to be as great as possible, and not as small.
    others
        The secondary costs that are reported besides.
    weights
        The parts of the objective: factors of the problem's costs, by name.
    matrix
        From the costs of the problem, in order, to the reported figures: the objective, then the others.
    kept
        The positions of the others among the secondary costs.
    """

    name: str
    greatest: bool
    others: tuple[str, ...]
    weights: Mapping[str, float] = field(repr=False, hash=False, compare=False)
    matrix: FloatArray = field(repr=False, hash=False, compare=False)
    kept: IntArray = field(repr=False, hash=False, compare=False)
    _reward: Reward | None = field(default=None, repr=False)

    @classmethod
    def of(cls, problem: Problem) -> Aim:
        """That of a problem."""
        names = (problem.primary_name, *problem.constraint_names)
        reward = problem.reward
        weights = {names[0]: 1.0} if reward is None else reward.weights
        own = None if reward is None or dict(weights) != {reward.name: 1.0} else reward.name
        kept = [
            index
            for index, (name, bound) in enumerate(zip(names[1:], problem.bounds, strict=True))
            if name != own or bound < inf
        ]
        others = tuple(names[1 + index] for index in kept)
        matrix = np.zeros((1 + len(kept), len(names)))
        for name, weight in weights.items():
            matrix[0, names.index(name)] = weight
        matrix[np.arange(1, 1 + len(kept)), 1 + np.array(kept, dtype=np.int64)] = 1.0
        name = names[0] if reward is None else reward.name
        places = np.array(kept, dtype=np.int64)
        return cls(name, reward is not None, others, weights, matrix, places, reward)

    @property
    def names(self) -> tuple[str, ...]:
        """The aim, then the others."""
        return (self.name, *self.others)

    def value(self, costs: Mapping[str, float]) -> float:
        """The aim of a plan that has these costs, by name."""
        return sum(weight * costs[name] for name, weight in self.weights.items())

    def total(self, costs: FloatArray) -> float:
        """The aim of a plan that has these costs, in the problem's order."""
        used = np.flatnonzero(self.matrix[0])
        # What is unknown of other costs must not touch it.
        return float(self.matrix[0, used] @ np.asarray(costs)[used])

    def reported(self, costs: FloatArray) -> list[float]:
        """The aim, then the others, of a plan that has these costs, in the problem's order."""
        return [self.total(costs), *np.asarray(costs)[1 + self.kept].tolist()]

    def share(self, cost: float | None, usage: Mapping[str, float | None]) -> float | None:
        """What an activity contributes: its primary cost, or what it uses of the costs in the reward."""
        if self._reward is None or cost is None:
            return cost
        return sum(weight * (usage.get(name) or 0.0) for name, weight in self.weights.items())

    def limit(self, lower_bound: float) -> float:
        """What no plan is better than, by a lower bound on the primary cost."""
        return lower_bound if self._reward is None else self._reward.at_most(lower_bound)

    def judged(self, cost: float) -> float:
        """A primary cost in terms of the aim; of a reward, to the precision of what is stored as missed."""
        return cost if self._reward is None else self._reward.most - cost
