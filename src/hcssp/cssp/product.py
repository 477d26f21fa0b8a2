"""Memory that is carried in the states of a problem: capacities, and whether something has happened yet.

:func:`product` pairs the states of a problem with those of a small deterministic automaton, its *levels*. A
capacity is one use of it, a bound on a probability another (:mod:`hcssp.procedure.product`).

A bound on an expected cost lets single runs exceed it. A capacity does not: the amount used so far, in whole
steps, becomes a part of the state, actions that would exceed it cannot be taken, and what an action gives
back (a negative use) makes it less, though never less than nothing. A problem of :math:`S` states under a
capacity of :math:`N` steps has :math:`S (N + 1)` states.

A capacity that may be exceeded with some probability has one level more, in which a run that has exceeded it
stays; the step into it costs 1 of a cost of its own, whose expectation is the probability.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> way = CSSPBuilder(cost_names=("time",))
>>> here, out = way.add_state("here"), way.add_goal("out")
>>> fast = way.add_action(here, "fast", to={out: 0.5, here: 0.5}, costs=1.0)
>>> slow = way.add_action(here, "slow", to=out, costs=4.0)
>>> carried = with_levels(way.build(), [Capacity("battery", at_most=3.0)], np.array([[2.0, 1.0]]))
>>> list(carried.state_labels)[:5]
['here, battery 0', 'here, battery 1', 'here, battery 2', 'here, battery 3', 'out, battery 0']
>>> [carried.action_labels[row] for row in range(carried.num_rows)]
['fast', 'slow', 'fast', 'slow', 'slow']
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.arrays import joined_spans
from hcssp.cssp.grid import PlacedGrid
from hcssp.cssp.labels import LazyLabels, SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.preprocessing import GIVE_UP, append_rows, giving_up_goal, giving_up_price
from hcssp.cssp.reachability import can_reach_goal
from hcssp.cssp.transition_costs import Outcomes, TransitionCosts, outcomes
from hcssp.errors import InvalidProblem

_ROUNDING = 1e-9
"""An amount this close to a whole number of steps is rounded to it."""


@dataclass(frozen=True)
class Capacity:
    """How much of something may be used in any single run.

    Attributes
    ----------
    name
        The name of the capacity.
    at_most
        How much of it there is.
    step
        The step of counting: uses are rounded up to whole steps, recharges are rounded down.
    probability
        With what probability a run may exceed it; 0 means never.
    used
        How much of it is used when a run begins.
    """

    name: str
    at_most: float
    step: float = 1.0
    probability: float = 0.0
    used: float = 0.0

    def __post_init__(self) -> None:
        found = []
        if not (isfinite(self.step) and self.step > 0.0):
            found.append(f"capacity {self.name!r}: a step of {self.step}; give a positive number")
        if not (isfinite(self.at_most) and self.at_most >= 0.0):
            found.append(
                f"capacity {self.name!r}: at most {self.at_most}; give a finite number of at least 0"
            )
        if not 0.0 <= self.probability <= 1.0:
            found.append(f"capacity {self.name!r}: {self.probability} is not a probability between 0 and 1")
        if not found and not 0.0 <= self.used <= self.at_most:
            found.append(
                f"capacity {self.name!r}: {self.used} is used at the beginning; give a number from 0 to "
                f"{self.at_most:g}"
            )
        if found:
            raise InvalidProblem(found)

    @property
    def last(self) -> int:
        """The highest level that keeps the capacity."""
        return int(self.at_most / self.step + _ROUNDING)

    @property
    def num_levels(self) -> int:
        return self.last + (2 if self.probability > 0.0 else 1)

    @property
    def exceeded(self) -> str:
        """The cost of exceeding it: 1 in every run that does."""
        return f"{self.name} above {self.at_most:g}"

    def level_text(self, level: int) -> str:
        """What people call a level."""
        return self.exceeded if level > self.last else f"{self.name} {level * self.step:g}"

    def steps(self, use: FloatArray) -> IntArray:
        """The use in steps: uses are rounded up, recharges are rounded down."""
        return np.ceil(use / self.step - _ROUNDING).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Uses:
    """How much of each capacity the rows of a problem use, or give back if negative.

    Attributes
    ----------
    rows
        Shape ``(num_capacities, num_rows)``: what each row uses, where all its transitions use the same.
    transitions
        The outcomes of the rows whose transitions use or cost different amounts; of each the costs, then the
        uses. None if there are none.
    """

    rows: FloatArray
    transitions: TransitionCosts | None = None

    @classmethod
    def of(cls, problem: CSSP, uses: Uses | FloatArray) -> Uses:
        """What is used by rows whose transitions all use the same, or as it is given."""
        if isinstance(uses, Uses):
            return uses
        paid, used = problem.transition_costs, np.asarray(uses)
        if paid is not None:
            paid = paid.paying(np.vstack([paid.costs, used[:, paid.rows]]))
        return cls(used, paid)

    @classmethod
    def of_costs(cls, problem: CSSP, names: Sequence[str]) -> Uses:
        """What is used is the cost of that name; nothing, if there is none."""
        known = problem.cost_names
        free = np.zeros(problem.num_rows)
        used = np.array([problem.costs[known.index(name)] if name in known else free for name in names])
        paid = problem.transition_costs
        if paid is not None:
            none = np.zeros(len(paid.rows))
            own = [paid.costs[known.index(name)] if name in known else none for name in names]
            paid = paid.paying(np.vstack([paid.costs, *own]))
        return cls(used, paid)


class Memory(NamedTuple):
    """A deterministic automaton that is carried in the states of a problem.

    Attributes
    ----------
    texts
        What its states are called; empty if there is only one, which needs no name.
    first
        Its state when a run begins.
    after
        Its state after each outcome of the problem's rows: ``[outcome, state before]``; -1 where the outcome
        must not happen.
    costs
        For each cost that it adds, what each outcome costs: ``[outcome, state before]``.
    cost_names, bounds
        The names and bounds of these costs.
    """

    texts: Sequence[str]
    first: int
    after: IntArray
    costs: Sequence[FloatArray]
    cost_names: Sequence[str]
    bounds: Sequence[float]


def product(problem: CSSP, every: Outcomes, costs: FloatArray, memory: Memory) -> CSSP:
    """The product of a problem and a memory: states are pairs of both, by state first; not validated.

    An action can be taken where none of its outcomes is forbidden.

    Parameters
    ----------
    problem
        The problem.
    every, costs
        The outcomes of all its rows, and their costs, shape ``(num_costs, num_outcomes)``.
    memory
        The carried amounts, over these outcomes.
    """
    count = memory.after.shape[1]
    begins = np.cumsum(every.lengths) - every.lengths
    rows, level = np.nonzero(np.logical_and.reduceat(memory.after >= 0, begins, axis=0))
    # By state, then by level, then in the order that the actions of a state had.
    order = np.argsort(problem.row_state[rows] * count + level, kind="stable")
    rows, level = rows[order], level[order]
    lengths = every.lengths[rows]
    entries, firsts = joined_spans(begins[rows], lengths)
    before = np.repeat(level, lengths)
    reached = every.states[entries] * count + memory.after[entries, before]
    chances = every.probabilities[entries]
    differs = np.logical_or.reduceat(every.entry[entries] >= 0, firsts)
    single, expected = [costs[:, entries]], [problem.costs[:, rows]]
    for each in memory.costs:
        own = each[entries, before]
        least, most = np.minimum.reduceat(own, firsts), np.maximum.reduceat(own, firsts)
        differs |= least < most
        single.append(own[np.newaxis])
        expected.append(np.clip(np.add.reduceat(chances * own, firsts), least, most)[np.newaxis])
    listed = np.flatnonzero(np.repeat(differs, lengths))
    paid = TransitionCosts.of(
        np.repeat(np.arange(len(rows)), lengths)[listed],
        reached[listed],
        chances[listed],
        np.vstack(single)[:, listed],
    )
    num_states = problem.num_states * count
    transitions = csr_array(
        (chances, reached, np.append(firsts, len(entries))), shape=(len(rows), num_states)
    )
    transitions.sum_duplicates()
    initial = np.zeros((problem.num_states, count))
    initial[:, memory.first] = problem.initial
    states = problem.row_state[rows] * count + level
    world, labels = problem.world, problem.state_labels
    return problem.derive(
        transitions=transitions,
        row_start=np.searchsorted(states, np.arange(num_states + 1)).astype(np.int64),
        costs=np.vstack(expected),
        initial=initial.ravel(),
        goals=np.repeat(problem.goals, count),
        cost_names=(*problem.cost_names, *memory.cost_names),
        bounds=np.append(problem.bounds, memory.bounds),
        state_labels=LevelLabels(labels, memory.texts) if memory.texts else labels,
        action_labels=SelectedLabels(problem.action_labels, rows),
        # The grid does not know of the memory and its costs: it is only a picture of the states.
        world=None if world is None else PlacedGrid.on(world, np.repeat(world.cells, count, axis=0)),
        transition_costs=paid,
    )


def with_levels(
    problem: CSSP,
    capacities: Sequence[Capacity],
    uses: Uses | FloatArray,
    give_up: Mapping[str, float] | None = None,
    give_up_to: Hashable | None = None,
) -> CSSP:
    """The problem with what has been used so far as a part of its states; not validated.

    Parameters
    ----------
    problem
        The problem.
    capacities
        The carried amounts. Those that may be exceeded have a further cost, in this order.
    uses
        How much of each capacity each row uses, or gives back if negative: an array with a row for each
        capacity, or uses that depend on the state that is reached. An action is allowed where none of its
        outcomes exceeds a capacity.
    give_up
        What it costs to end in a state from which no goal can be reached with what is left; None: it does
        not end there.
    give_up_to
        The label of the goal where it ends then; by default the first.
    """
    used, rows, own = Uses.of(problem, uses), np.arange(problem.num_rows), len(problem.costs)
    every = outcomes(problem.transitions, rows, used.transitions)
    found = every.costs(rows, np.vstack([problem.costs, used.rows]), used.transitions)
    memory = _counters(capacities, found[own:])
    carried = product(problem, every, found[:own], memory)
    if give_up is None:
        return carried
    price, goal = giving_up_price(problem, give_up), giving_up_goal(problem, give_up_to)
    lost = np.flatnonzero(~carried.goals & ~can_reach_goal(carried))
    # What has been used stays used.
    count = len(memory.texts)
    goals = goal * count + lost % count
    paid = np.append(price, np.zeros(len(memory.cost_names)))
    return append_rows(carried, lost, goals, paid, GIVE_UP).derive(world=carried.world)


def _counters(capacities: Sequence[Capacity], uses: FloatArray) -> Memory:
    """The levels of all capacities together; `uses` is an array ``[capacity, outcome]``."""
    sizes = [capacity.num_levels for capacity in capacities]
    joint = np.indices(sizes).reshape(len(sizes), -1)
    reached, exceeding = [], []
    allowed = np.ones((uses.shape[1], joint.shape[1]), dtype=np.bool_)
    for before, capacity, use in zip(joint, capacities, uses, strict=True):
        after = np.maximum(before + capacity.steps(use)[:, None], 0)
        over = (after > capacity.last) | (before > capacity.last)
        if capacity.probability > 0.0:
            exceeding.append((over & (before <= capacity.last)).astype(np.float64))
        else:
            allowed &= ~over
        reached.append(np.where(over, capacity.num_levels - 1, after))
    together = np.asarray(np.ravel_multi_index(tuple(reached), sizes), dtype=np.int64)
    may_exceed = [each for each in capacities if each.probability > 0.0]
    return Memory(
        texts=tuple(Level([*map(Amount, capacities, levels)]) for levels in joint.T.tolist()),
        first=int(np.ravel_multi_index([measured(each, each.used).level for each in capacities], sizes)),
        after=np.where(allowed, together, -1),
        costs=exceeding,
        cost_names=[each.exceeded for each in may_exceed],
        bounds=[each.probability for each in may_exceed],
    )


class Amount(NamedTuple):
    """How much of a capacity has been used, in steps."""

    capacity: Capacity
    level: int

    @property
    def used(self) -> float:
        """The amount; ``inf`` if more than the capacity has been used."""
        return inf if self.level > self.capacity.last else self.level * self.capacity.step


def measured(capacity: Capacity, used: float) -> Amount:
    """An amount that was measured, rounded up to whole steps.

    Raises
    ------
    InvalidProblem
        If it is not a number of at least 0, or more than there is.
    """
    if not used >= 0.0:
        raise InvalidProblem([f"{capacity.name} {used}: give how much of it is used, a number of at least 0"])
    level = int(capacity.steps(np.array([min(used, capacity.at_most + capacity.step)]))[0])
    if level > capacity.last and capacity.probability == 0.0:
        remedy = "state a larger capacity, or one that may be exceeded"
        raise InvalidProblem(
            [f"{capacity.name} {used:g}: more is used than the capacity of {capacity.at_most:g}; {remedy}"]
        )
    return Amount(capacity, min(level, capacity.last + 1))


class Level(str):
    """The text of a level of all capacities together, which also knows the amounts."""

    __slots__ = ("amounts",)
    amounts: tuple[Amount, ...]

    def __new__(cls, amounts: Sequence[Amount]) -> Level:
        level = super().__new__(cls, ", ".join(each.capacity.level_text(each.level) for each in amounts))
        level.amounts = tuple(amounts)
        return level

    def __reduce__(self) -> tuple[Any, ...]:
        return Level, (self.amounts,)


class LevelLabel(str):
    """The label of a state at some levels: a text, which also knows the state and the levels.

    It equals the same text, so that plans and problems refer to it by either.

    Attributes
    ----------
    base
        The label of the state without levels, such as a cell; None if there are levels only.
    levels
        The levels' texts; those of capacities are :class:`Level`.
    """

    __slots__ = ("base", "levels")
    base: Hashable
    levels: tuple[str, ...]

    def __new__(cls, base: Hashable, levels: tuple[str, ...]) -> LevelLabel:
        before = base if isinstance(base, LevelLabel) else None
        label = super().__new__(cls, ", ".join(levels if base is None else (str(base), *levels)))
        label.base = base if before is None else before.base
        label.levels = levels if before is None else (*before.levels, *levels)
        return label

    def __reduce__(self) -> tuple[Any, ...]:
        return LevelLabel, (self.base, self.levels)

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """What has been used of each capacity."""
        return tuple(each for level in self.levels if isinstance(level, Level) for each in level.amounts)

    def at(self, used: Mapping[str, float]) -> LevelLabel:
        """The label of the same state where other amounts have been used, rounded up to whole steps.

        Raises
        ------
        InvalidProblem
            If there is no such capacity, or it holds less.
        """
        unknown = used.keys() - {each.capacity.name for each in self.amounts}
        if unknown:
            known = ", ".join(repr(each.capacity.name) for each in self.amounts) or "none"
            raise InvalidProblem([f"there is no capacity {min(unknown)!r}; the capacities are {known}"])
        levels = [
            Level(
                [
                    measured(each.capacity, used[each.capacity.name]) if each.capacity.name in used else each
                    for each in level.amounts
                ]
            )
            if isinstance(level, Level)
            else level
            for level in self.levels
        ]
        return LevelLabel(self.base, tuple(levels))


class LevelLabels(LazyLabels):
    """The labels of states with their levels, as texts."""

    def __init__(self, base: Sequence[Hashable], levels: Sequence[str]) -> None:
        self.base = base
        self.levels = levels

    def __len__(self) -> int:
        return len(self.base) * len(self.levels)

    def _label(self, position: int) -> LevelLabel:
        state, level = divmod(position, len(self.levels))
        return level_label(self.base[state], self.levels[level])


def level_label(label: Hashable, level: str) -> LevelLabel:
    """The name of a state at a level."""
    return LevelLabel(label, (level,))


def base_of(label: Hashable) -> Hashable:
    """The label of a state without its levels."""
    return label.base if isinstance(label, LevelLabel) else label


def used_in(label: Hashable) -> dict[str, float]:
    """By the names of capacities, how much has been used in a state; empty if it has none."""
    amounts = label.amounts if isinstance(label, LevelLabel) else ()
    return {each.capacity.name: each.used for each in amounts}


def with_used(label: Hashable) -> str:
    """A label for people: the used amount of a capacity, and the rest.

    >>> battery = Capacity("battery", at_most=90.0)
    >>> with_used(LevelLabel((1, 2), (Level([Amount(battery, 55)]),)))
    '(1, 2), battery used 55 of 90 (35 left)'
    """
    return joined_by_level([label], [None])[0][0]


def joined_by_level(
    labels: Sequence[Hashable], kinds: Sequence[Hashable], base: bool = True
) -> list[tuple[str, list[int]]]:
    """States that differ in the level of a capacity only and are of one kind, together.

    >>> battery = Capacity("battery", at_most=9.0)
    >>> labels = [LevelLabel("dock", (Level([Amount(battery, level)]),)) for level in range(4)]
    >>> joined_by_level(labels, ["go", "charge", "charge", "charge"])
    [('dock, battery used 0 of 9 (9 left)', [0]), ('dock, battery used 1-3 of 9 (6-8 left)', [1, 2, 3])]

    Parameters
    ----------
    labels
        The labels of states.
    kinds
        For each, what it must share with its neighbours to stand with them, such as what is done there.
    base
        Whether the texts name the state, too.

    Returns
    -------
    list
        For people, the text of each group, and the positions of its members in `labels`.
    """
    found: list[tuple[str, list[int]]] = []
    for positions in _by_level(labels):
        for _, run in groupby(positions, key=lambda each: kinds[each]):
            members = list(run)
            found.append((_range_text(labels[members[0]], labels[members[-1]], base), members))
    return sorted(found, key=lambda each: min(each[1]))


def _range_text(first: Hashable, last: Hashable, base: bool) -> str:
    if not (isinstance(first, LevelLabel) and isinstance(last, LevelLabel)):
        return str(first) if base else ""
    parts = [str(first.base)] if base and first.base is not None else []
    parts += [level for level in first.levels if not isinstance(level, Level)]
    return ", ".join([*parts, *map(_amount_text, first.amounts, last.amounts)])


def _amount_text(first: Amount, last: Amount) -> str:
    capacity = first.capacity
    if first.used == inf:
        return capacity.exceeded
    used, left = f"{first.used:g}", f"{capacity.at_most - first.used:g}"
    if last.level > first.level:
        used, left = f"{used}-{last.used:g}", f"{capacity.at_most - last.used:g}-{left}"
    return f"{capacity.name} used {used} of {capacity.at_most:g} ({left} left)"


def listed_by_level(labels: Iterable[Hashable]) -> list[str]:
    """Labels as users write them, those at neighbouring levels together.

    >>> battery = Capacity("battery", at_most=9.0)
    >>> listed_by_level(LevelLabel("dock", (Level([Amount(battery, level)]),)) for level in (5, 0, 4, 6))
    ['dock, battery 0', 'dock, battery 4 to 6']
    """
    given, found = list(labels), []
    for positions in _by_level(given):
        # Neighbours have the same distance between their level and their position in the sorted group.
        apart = {each: _last_level(given[each]) - place for place, each in enumerate(positions)}
        for _, run in groupby(positions, key=apart.__getitem__):
            first, *others = run
            label = given[others[-1]] if others else None
            to = f" to {label.amounts[-1].used:g}" if isinstance(label, LevelLabel) else ""
            found.append(f"{given[first]}{to}")
    return found


def _by_level(labels: Sequence[Hashable]) -> Iterable[list[int]]:
    """The positions of labels that differ in the level of the last capacity only, together and by level."""
    same: dict[Hashable, list[int]] = {}
    for position, label in enumerate(labels):
        same.setdefault(_but_for_level(label, position), []).append(position)
    return [sorted(each, key=lambda position: _last_level(labels[position])) for each in same.values()]


def _but_for_level(label: Hashable, position: int) -> Hashable:
    """What labels share that differ in the level of the last capacity only; its position if it has none."""
    amounts = label.amounts if isinstance(label, LevelLabel) else ()
    if not (isinstance(label, LevelLabel) and amounts):
        return position
    others = tuple(level for level in label.levels if not isinstance(level, Level))
    return (label.base, others, amounts[:-1], amounts[-1].capacity, amounts[-1].used == inf)


def _last_level(label: Hashable) -> int:
    amounts = label.amounts if isinstance(label, LevelLabel) else ()
    return amounts[-1].level if amounts else 0
