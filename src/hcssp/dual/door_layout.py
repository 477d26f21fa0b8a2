"""A procedure taken apart: event states, activities with doors and exits, and an order to plan in.

The prepared problem has the event states first and then every activity's live states, so that an activity
is a stretch of its states and rows. What leads from one part to another is all that the parts know of each
other: an event row enters *doors* (live states of activities) and event states, an activity's row ends in
event states.

Parts that lead to one another in a circle belong together; all others are planned once, the last one first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.model import CSSP, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.preprocessing import Prepared
from hcssp.dual.door_planner import Block


@dataclass(frozen=True)
class Component:
    """Event states and activities that lead to one another; mostly it is one of either alone.

    Attributes
    ----------
    events, activities
        Their numbers.
    circular
        Whether it leads back to itself.
    """

    events: tuple[int, ...]
    activities: tuple[int, ...]
    circular: bool


class DoorLayout:
    """The parts of a prepared flat problem.

    Parameters
    ----------
    prepared
        The flat problem without what cannot be reached and what does not end.
    state_offset
        The first state of each activity in the flat problem that was prepared, and the number of states.

    Attributes
    ----------
    num_events, num_event_rows
        How many states and rows come before those of the activities.
    num_costs, event_costs
        How many costs the whole problem has, and what the event rows cost: nothing but for limits of uses.
    end
        The event state where the procedure is over; it owns no rows.
    begins
        With which probability the procedure begins in each event state.
    state_offset, row_offset
        The first state and row of each activity, and the totals.
    blocks
        The activities; None for one that has no live states.
    event_moves
        Shape ``(num_event_rows, num_events)``: how event rows lead to events directly.
    door_moves
        For each activity how event rows enter its doors, shape ``(num_event_rows, doors)``.
    components
        In the order in which they can be planned: what a component leads to comes before it.
    """

    def __init__(self, prepared: Prepared, state_offset: IntArray) -> None:
        problem = prepared.problem
        bounds = np.searchsorted(prepared.states, state_offset)
        self.num_events = int(bounds[0])
        self.state_offset: IntArray = bounds.astype(np.int64)
        self.row_offset: IntArray = problem.row_start[self.state_offset].astype(np.int64)
        self.num_event_rows = int(self.row_offset[0])
        self.num_costs = len(problem.costs)
        self.event_costs: FloatArray = problem.costs[:, : self.num_event_rows]
        self.row_start: IntArray = problem.row_start
        (self.end,) = np.flatnonzero(problem.goals).tolist()
        self.begins: FloatArray = problem.initial[: self.num_events]
        entering = problem.transitions[: self.num_event_rows]
        self.event_moves: SparseMatrix = _columns(entering, 0, self.num_events)
        self.door_moves: list[SparseMatrix] = []
        self.blocks: list[Block | None] = []
        for activity in range(len(state_offset) - 1):
            first, last = int(bounds[activity]), int(bounds[activity + 1])
            moves = _columns(entering, first, last)
            doors = np.unique(moves.indices).astype(np.int64)
            self.door_moves.append(moves[:, doors])
            self.blocks.append(_block(problem, first, last, self.num_events, doors) if last > first else None)
        self.components = self._in_order()

    @property
    def num_activities(self) -> int:
        return len(self.blocks)

    def rows_of_event(self, event: int) -> slice:
        """The event rows of an event state."""
        return slice(int(self.row_start[event]), int(self.row_start[event + 1]))

    def _in_order(self) -> list[Component]:
        """The components, those first that others lead to."""
        owner = np.repeat(np.arange(self.num_events), np.diff(self.row_start[: self.num_events + 1]))
        tails, heads = [], []
        rows, targets = self.event_moves.nonzero()
        tails.append(owner[rows])
        heads.append(targets)
        for activity, (block, moves) in enumerate(zip(self.blocks, self.door_moves, strict=True)):
            if block is None:
                continue
            node = self.num_events + activity
            entered = np.unique(owner[moves.nonzero()[0]])
            tails += [entered, np.full(len(block.exits), node)]
            heads += [np.full(len(entered), node), block.exits]
        tail, head = np.concatenate(tails), np.concatenate(heads)
        size = self.num_events + self.num_activities
        graph = csr_array((np.ones(len(tail)), (tail, head)), shape=(size, size))
        count, label = connected_components(graph, connection="strong")
        circular = np.zeros(count, dtype=np.bool_)
        circular[label[tail[label[tail] == label[head]]]] = True
        # A component is ready once all that it leads to are.
        leads_to: list[set[int]] = [set() for _ in range(count)]
        for one, other in zip(label[tail].tolist(), label[head].tolist(), strict=True):
            if one != other:
                leads_to[one].add(other)
        order: list[int] = []
        state = [0] * count
        for root in range(count):
            waiting = [root]
            while waiting:
                component = waiting[-1]
                if state[component] == 0:
                    state[component] = 1
                    waiting += [each for each in leads_to[component] if state[each] == 0]
                    continue
                waiting.pop()
                if state[component] == 1:
                    state[component] = 2
                    order.append(component)
        members: list[list[int]] = [[] for _ in range(count)]
        for node, component in enumerate(label.tolist()):
            members[component].append(node)
        return [
            Component(
                tuple(node for node in members[each] if node < self.num_events),
                tuple(
                    node - self.num_events
                    for node in members[each]
                    if node >= self.num_events and self.blocks[node - self.num_events] is not None
                ),
                bool(circular[each]),
            )
            for each in order
        ]


def _columns(matrix: SparseMatrix, first: int, last: int) -> SparseMatrix:
    """The columns from `first` on, before `last`, without zeros."""
    part = csr_array(matrix[:, first:last])
    part.eliminate_zeros()
    return part


def _block(problem: CSSP, first: int, last: int, num_events: int, doors: IntArray) -> Block:
    """The activity whose live states are those from `first` on, before `last`."""
    rows = slice(int(problem.row_start[first]), int(problem.row_start[last]))
    transitions = csr_array(problem.transitions[rows])
    transitions.eliminate_zeros()
    outside = transitions.indices < num_events
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
