r"""The oracle of any procedure: activities planned one by one, backwards, with values at their exits.

**Problem.** A procedure in which an activity may have several exits and several entrances, so that what
follows depends on how it ends. Wanted is the best plan of the whole under weights, within a region.

**Method.** Backwards through the procedure: the value of an event is that of its best choice, and an activity
is an SSP of its own, whose terminal costs are the values behind its exits
(:mod:`hcssp.dual.activity_planner`). So each activity is planned once for given weights, after all that can
follow it. Events and activities that lead back to one another, a strongly connected component, are planned as
one activity. What a region forbids in one activity changes nothing for those that come after it, and their
plans are looked up.

**Guarantee.** Every value is a certified lower bound, and what is planned with lower bounds at the exits has
one itself: the potentials of all parts make up one for the whole problem.

The decision states are those of the prepared flat problem, which is made once, to find out what can be
reached and what ends, and is not solved.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import Prepared, hollow, prepare
from hcssp.dual.activity_planner import Block, MultiExitPlanner
from hcssp.dual.flat import Evaluation, free_rows, system_of
from hcssp.dual.local_search import MultiExitLocalSearch
from hcssp.dual.oracle import AffordableOracle, Minimum, Strategies
from hcssp.dual.plan_point import Entry, MultiExitPoint
from hcssp.dual.potentials import WholePotentials
from hcssp.dual.value_cache import ActivityPlan
from hcssp.errors import DeadEnd
from hcssp.procedure.flattening import Flattening
from hcssp.ssp.potential import ROUNDINGS
from hcssp.ssp.scalar_problem import Region, tie_of


class EventRow(NamedTuple):
    """Where an event row leads.

    Attributes
    ----------
    events, chances
        The events that are reached at once, and their probabilities.
    entered
        The activities that are run, where they are entered, and the probabilities.
    """

    events: IntArray
    chances: FloatArray
    entered: tuple[Entry, ...]


class MultiExitLayout:
    """A prepared flat problem taken apart: events, activities, and an order to plan them in.

    A strongly connected component of events and activities counts as one activity, whose entrances and exits
    are those of all its parts. States are renumbered: the other events come first, then one activity after
    the other.

    Parameters
    ----------
    prepared
        The flat problem without what cannot be reached and what does not end.
    state_offset
        The first state of each activity in the flat problem that was prepared, and the number of states.

    Attributes
    ----------
    states, rows
        For each state and row the one of the flat problem.
    row_start
        The first row of each state, and the number of rows.
    num_events, num_costs
        The number of events that are not in a component, and of the costs of the whole problem.
    end
        The event where the procedure is over; it owns no rows.
    begin
        The number of a row that stands for the beginning of the procedure.
    event_rows, event_costs
        The successors and the cost of each event row; the cost is 0 except under limits of uses.
    state_offset, row_offset
        The first state and row of each activity, and the totals.
    blocks
        The activities.
    order
        The numbers of events, and those of activities after them, each after all that it leads to.
    """

    def __init__(self, prepared: Prepared, state_offset: IntArray) -> None:
        problem, self.states, self.rows = prepared.problem, prepared.states, prepared.rows
        bounds = np.searchsorted(prepared.states, state_offset)
        # The parts of the procedure: its events, then its activities.
        count, part = int(bounds[0]), np.arange(problem.num_states)
        part[count:] = count + np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        size = count + len(bounds) - 1
        tail, head = _moves(problem)
        tail, head = part[tail], part[head]
        crosses = (tail != head) | (tail < count)
        tail, head = tail[crosses], head[crosses]
        graph = csr_array((np.ones(len(tail)), (tail, head)), shape=(size, size))
        num_components, component = connected_components(graph, connection="strong")
        tail, head = component[tail], component[head]
        is_block = np.zeros(num_components, dtype=np.bool_)
        is_block[component[count:]] = True
        is_block[tail[tail == head]] = True
        # Events outside of components first, then the components in the order of their first states.
        owner = component[part]
        found, firsts, sizes = np.unique(owner, return_index=True, return_counts=True)
        rank = np.zeros(num_components, dtype=np.int64)
        blocks = found[is_block[found]]
        rank[blocks[np.argsort(firsts[is_block[found]])]] = 1 + np.arange(len(blocks))
        order = np.argsort(rank[owner], kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            problem = self._renumber(problem, order)
        self.num_events = int(np.count_nonzero(rank[owner] == 0))
        number = np.full(num_components, -1)
        number[owner[order[: self.num_events]]] = np.arange(self.num_events)
        number[blocks] = self.num_events + rank[blocks] - 1
        by_rank = np.zeros(len(blocks), dtype=np.int64)
        by_rank[rank[blocks] - 1] = sizes[is_block[found]]
        self.state_offset: IntArray = self.num_events + np.cumsum([0, *by_rank], dtype=np.int64)
        after: dict[int, set[int]] = {each: set() for each in number[found].tolist()}
        for one, other in zip(number[tail].tolist(), number[head].tolist(), strict=True):
            if one != other:
                after[one].add(other)
        self.order = list(TopologicalSorter(after).static_order())
        self._take_apart(problem)

    def _renumber(self, problem: CSSP, order: IntArray) -> CSSP:
        """The problem with its states in another order."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        rows = np.argsort(place[problem.row_state], kind="stable")
        self.states, self.rows = self.states[order], self.rows[rows]
        return CSSP.unchecked(
            transitions=csr_array(problem.transitions[rows][:, order]),
            row_start=np.append(0, np.cumsum(np.diff(problem.row_start)[order])),
            costs=problem.costs[:, rows],
            initial=problem.initial[order],
            goals=problem.goals[order],
            cost_names=problem.cost_names,
            bounds=problem.bounds,
            state_labels=range(len(order)),
            action_labels=range(len(rows)),
        )

    def _take_apart(self, problem: CSSP) -> None:
        self.row_start: IntArray = problem.row_start
        self.row_offset: IntArray = problem.row_start[self.state_offset].astype(np.int64)
        self.num_costs = len(problem.costs)
        (self.end,) = np.flatnonzero(problem.goals).tolist()
        self.initial: FloatArray = problem.initial
        offset = self.state_offset
        tail, head = _moves(problem)
        owners = np.searchsorted(offset, np.arange(problem.num_states), side="right")
        is_entered = self.initial > 0.0
        is_entered[head[owners[tail] != owners[head]]] = True
        self.blocks = [
            _block(problem, first, last, np.flatnonzero(is_entered[first:last]))
            for first, last in pairwise(offset.tolist())
        ]
        exits = [block.exits for block in self.blocks]
        self.behind_exits: IntArray = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *exits]))
        # The beginning is a row like others.
        self.begin = int(self.row_offset[0])
        moves = csr_array(problem.transitions[: self.begin])
        moves.eliminate_zeros()
        self.event_costs: FloatArray = np.append(
            problem.costs[:, : self.begin], np.zeros((self.num_costs, 1)), axis=1
        )
        spans = [slice(*moves.indptr[row : row + 2]) for row in range(self.begin)]
        ways = [(moves.indices[span].astype(np.int64), moves.data[span]) for span in spans]
        started = np.flatnonzero(self.initial)
        ways.append((started, self.initial[started]))
        self.event_rows = [self._event_row(*way) for way in ways]
        self.ways = ways
        terms = max(len(targets) for targets, _ in ways)
        self._rounding = 1.0 - (2 * (terms + self.num_costs) + 8) * ROUNDINGS

    def _event_row(self, targets: IntArray, chances: FloatArray) -> EventRow:
        owners = np.searchsorted(self.state_offset, targets, side="right") - 1
        entered = [
            Entry(activity, targets[own] - self.state_offset[activity], chances[own])
            for activity in np.unique(owners[owners >= 0]).tolist()
            for own in [owners == activity]
        ]
        return EventRow(targets[owners < 0], chances[owners < 0], tuple(entered))

    def value(self, row: int, prices: FloatArray, values: FloatArray) -> float:
        """The cost of an event row and of all that follows, not rounded down.

        Parameters
        ----------
        row
            The event row.
        prices, values
            The cost of each event row by itself, and the value of each state; ``inf`` where there is no way
            to the end.
        """
        targets, chances = self.ways[row]
        return float(prices[row] + chances @ values[targets])

    def rounded_down(self, value: float) -> float:
        """A lower bound on the exact value of a row, given the computed one."""
        return value * self._rounding

    def best(
        self, event: int, prices: FloatArray, values: FloatArray, forbidden: frozenset[int]
    ) -> tuple[int, float]:
        """The best allowed row of an event and the least value, rounded down; none and ``inf`` if none ends.

        Of rows that are equally good up to ties the first is taken, but the value is that of the best.
        """
        best, least, chosen = np.inf, np.inf, NO_ROW
        for row in range(int(self.row_start[event]), int(self.row_start[event + 1])):
            if row in forbidden:
                continue
            value = self.value(row, prices, values)
            if not isfinite(value):
                continue
            least = min(least, value)
            if value < best - tie_of(value):
                best, chosen = value, row
        return chosen, self.rounded_down(least) if chosen != NO_ROW else np.inf


def _moves(problem: CSSP) -> tuple[IntArray, IntArray]:
    """The states that each transition leads from and to."""
    transitions = problem.transitions
    rows = np.repeat(np.arange(problem.num_rows), np.diff(transitions.indptr))
    moves = transitions.data > 0.0
    return problem.row_state[rows[moves]], transitions.indices[moves]


def _block(problem: CSSP, first: int, last: int, doors: IntArray) -> Block:
    """The activity whose live states are those from `first` on, before `last`."""
    rows = slice(int(problem.row_start[first]), int(problem.row_start[last]))
    transitions = csr_array(problem.transitions[rows])
    transitions.eliminate_zeros()
    outside = (transitions.indices < first) | (transitions.indices >= last)
    exits = np.unique(transitions.indices[outside]).astype(np.int64)
    num_live = last - first
    columns = np.where(
        outside, num_live + np.searchsorted(exits, transitions.indices), transitions.indices - first
    )
    shape = (transitions.shape[0], num_live + len(exits))
    inner = csr_array((transitions.data, columns.astype(np.int32), transitions.indptr), shape=shape)
    inner.sort_indices()
    costs = problem.costs[:, rows]
    names = problem.cost_names
    if len(exits) > 1:
        costs = np.vstack([costs, inner[:, num_live:].toarray().T])
        names += tuple(f"exit {event}" for event in exits.tolist())
    initial = np.zeros(shape[1])
    initial[doors] = 1.0 / len(doors)
    return Block(
        problem=CSSP.unchecked(
            transitions=inner,
            row_start=np.append(
                problem.row_start[first : last + 1] - rows.start,
                np.full(len(exits), shape[0], dtype=np.int64),
            ),
            costs=costs,
            initial=initial,
            goals=np.arange(shape[1]) >= num_live,
            cost_names=names,
            bounds=np.full(len(names) - 1, np.inf),
            state_labels=range(shape[1]),
            action_labels=range(shape[0]),
        ),
        num_costs=len(problem.costs),
        doors=doors,
        exits=exits,
    )


class MultiExitOracle(AffordableOracle[MultiExitPoint]):
    """Minimises any HC-SSP under weights, activity by activity.

    Parameters
    ----------
    flattening
        The layout of the problem.
    evaluation
        How policies of the activities are evaluated, see :class:`~hcssp.dual.flat.FlatOracle`.
    affordable
        Whether to remove the rows with a cost whose bound is 0, see
        :func:`~hcssp.dual.oracle.zero_bounds`.
    """

    def __init__(
        self, flattening: Flattening, evaluation: Evaluation = "auto", *, affordable: bool = False
    ) -> None:
        self.flattening = flattening
        self._evaluation = evaluation
        bounds = flattening.problem.bounds
        self._leave_out(bounds, affordable)
        self.layout = MultiExitLayout(self._prepare(), flattening.state_offset)
        self.planners = [MultiExitPlanner(block, system_of(evaluation)) for block in self.layout.blocks]
        super().__init__(bounds, self.layout.row_start)

    def _prepare(self) -> Prepared:
        flat = self.flattening.assembled()
        self._is_hollow = False
        try:
            return prepare(flat, free_rows(flat, self._zeros))
        except DeadEnd:
            if not self._zeros:
                raise
            self._is_hollow = True
            return hollow(flat)

    def minimise(
        self, weights: FloatArray, region: Region, precision: float = 0.0, near: MultiExitPoint | None = None
    ) -> Minimum[MultiExitPoint] | None:
        if self._is_hollow:
            return None
        # A look-up takes about as long as a plan, so coarse answers would save nothing.
        layout, num_events, forbidden = self.layout, self.layout.num_events, self.split(region)
        prices: FloatArray = weights @ layout.event_costs
        values = np.full(layout.state_offset[-1], np.inf)
        values[layout.end] = 0.0
        plans: list[ActivityPlan | None] = [None] * len(self.planners)
        choices = np.full(num_events, NO_ROW, dtype=np.int64)
        for part in layout.order:
            if part < num_events:
                if part != layout.end:
                    choices[part], values[part] = layout.best(part, prices, values, forbidden[0])
                continue
            activity = part - num_events
            planner = self.planners[activity]
            answer = planner.plan(
                weights,
                values[planner.block.exits],
                forbidden[activity + 1],
                None if near is None else near.plans[activity],
            )
            if answer is not None:
                plans[activity], levels = answer
                values[layout.state_offset[activity] + planner.block.doors] = levels
        value = layout.value(layout.begin, prices, values)
        if not isfinite(value):
            return None
        point = MultiExitPoint(layout, self.planners, choices, tuple(plans))
        return Minimum(point, layout.rounded_down(value))

    def split(self, region: Region) -> list[frozenset[int]]:
        """The forbidden rows of the events, then those of each activity, in their own numbering."""
        offset = self.layout.row_offset
        parts: list[set[int]] = [set() for _ in range(len(offset))]
        for row in region.forbidden:
            block = int(np.searchsorted(offset, row, side="right"))
            parts[block].add(row - (int(offset[block - 1]) if block else 0))
        return [frozenset(part) for part in parts]

    def _alike(self, bounds: FloatArray) -> MultiExitOracle:
        return MultiExitOracle(self.flattening.under(bounds), self._evaluation, affordable=self._affordable)

    def release(self) -> None:
        for oracle in self._others.values():
            for planner in oracle.planners:
                planner.system.release()

    @property
    def strategies(self) -> Strategies[MultiExitPoint]:
        return Strategies(local_search=MultiExitLocalSearch(self.bounds), potentials=WholePotentials(self))

    def values_of(self, point: MultiExitPoint, weights: FloatArray) -> FloatArray:
        """The weighted costs to go from every flat state; nan where nothing is known."""
        values = np.full(self.flattening.num_states, np.nan)
        values[self.layout.states] = point.values_to_go(weights)
        values[self.flattening.end] = 0.0
        return values

    def original_row(self, row: int) -> int:
        """The flat row that a row of the oracle is."""
        return int(self.layout.rows[row])

    def lift(self, point: MultiExitPoint) -> IntArray:
        rows = np.full(self.flattening.num_states, NO_ROW, dtype=np.int64)
        taken = np.flatnonzero(point.reached)
        rows[self.layout.states[taken]] = self.layout.rows[point.rows[taken]]
        return rows
