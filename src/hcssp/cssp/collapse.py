r"""Loops that cost nothing, and how to make a scalar problem without them.

*Problem*: where actions cost nothing under the weights in use, a policy may go round in circles for
free. The Bellman equation then has many solutions and value iteration may converge to a wrong one,
below the optimum over policies that reach a goal.

*Method*: the free loops are the maximal end components among the rows of zero cost: sets of states
together with free actions that never leave them and connect all of them. They are found by strongly
connected components, dropping the actions that leave their component until none does. Inside one, every
state can get to every other for nothing, so all of them have the same value; each is collapsed into one
state that keeps the actions which cost something or may leave.

*Guarantee*: the collapsed problem has no free loop left, and its optimal values are those of the
original. :meth:`Collapsed.expand` turns its proper policies into proper policies of the same cost: the
members of a loop head, for free and almost surely, for the state where the chosen action leaves.

References: de Alfaro 1997; Bonet and Geffner 2003.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time",))
>>> left, right, out = plan.add_state("left"), plan.add_state("right"), plan.add_goal("out")
>>> to_right = plan.add_action(left, "slide", to=right)
>>> to_left = plan.add_action(right, "slide", to=left)
>>> leave = plan.add_action(right, "leave", to=out, costs=2.0)
>>> problem = plan.build()
>>> free_loops(problem, [1.0]).component.tolist()
[0, 0, -1]
>>> collapsed = collapse_free_loops(problem, problem.costs[0])
>>> collapsed.problem.num_states, collapsed.problem.num_rows
(2, 1)
>>> collapsed.expand(np.array([0, -1])).tolist()  # slide to the right, then leave
[0, 2, -1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hcssp.cssp.assembly import tidy
from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reachability import Backwards

NO_LOOP = -1


@dataclass(frozen=True, eq=False)
class FreeLoops:
    """The maximal sets of states among which one can go round for nothing.

    Attributes
    ----------
    component
        For each state the number of its loop, :data:`NO_LOOP` if it is in none.
    rows
        Which rows stay inside a loop for free.
    """

    component: IntArray
    rows: BoolArray

    @property
    def count(self) -> int:
        """The number of loops."""
        return int(self.component.max(initial=NO_LOOP)) + 1


def free_loops(problem: CSSP, weights: npt.ArrayLike) -> FreeLoops:
    """The loops that cost nothing under non-negative `weights`, one for each cost."""
    scalar: FloatArray = np.asarray(weights, dtype=np.float64) @ problem.costs
    return end_components(problem, scalar == 0.0)


def end_components(problem: CSSP, rows: BoolArray) -> FreeLoops:
    """The maximal end components made of the given rows."""
    num_states = problem.num_states
    rows = rows.copy()
    lengths = np.diff(problem.transitions.indptr)
    number = np.full(num_states, NO_LOOP, dtype=np.int64)
    while rows.any():
        kept = np.flatnonzero(np.repeat(rows, lengths) & (problem.transitions.data > 0.0))
        row_of_entry = np.repeat(np.arange(problem.num_rows), lengths)[kept]
        origin, target = problem.row_state[row_of_entry], problem.transitions.indices[kept]
        graph = csr_array((np.ones(len(kept)), (origin, target)), shape=(num_states, num_states))
        number = connected_components(graph, connection="strong")[1].astype(np.int64)
        leaving = number[origin] != number[target]
        if not leaving.any():
            break
        rows[row_of_entry[leaving]] = False
    # A state that has no row left is a component only in name.
    inside = np.zeros(num_states, dtype=np.bool_)
    inside[problem.row_state[rows]] = True
    component = np.full(num_states, NO_LOOP, dtype=np.int64)
    component[inside] = np.unique(number[inside], return_inverse=True)[1]
    return FreeLoops(component, rows)


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A scalar problem in which every free loop is one state.

    Attributes
    ----------
    problem
        The collapsed problem, with the scalar cost alone. A loop without an action that leaves it
        is a state without rows: a dead end.
    original
        The problem it came from.
    state_map
        For each state of the original, its state in the collapsed problem.
    row_map
        For each row of the collapsed problem, the row of the original.
    loops
        The loops that were collapsed.
    """

    problem: CSSP
    original: CSSP
    state_map: IntArray
    row_map: IntArray
    loops: FreeLoops

    def expand(self, rows: IntArray) -> IntArray:
        """A policy of the collapsed problem, one row for each of its states, for the original."""
        original = self.original
        expanded = np.full(original.num_states, NO_ROW, dtype=np.int64)
        chosen = self.row_map[rows[rows != NO_ROW]]
        settled = original.row_state[chosen]
        expanded[settled] = chosen
        if not self.loops.count:
            return expanded
        # From the states where loops are left, backwards: each layer heads for the layer before it
        # with positive probability, and no free row leaves the loop, so the exit is reached surely.
        backwards = Backwards(original)
        layer = settled[self.loops.component[settled] != NO_LOOP]
        while len(layer):
            into = backwards.rows_into(layer)
            into = into[self.loops.rows[into]]
            into = into[expanded[original.row_state[into]] == NO_ROW]
            layer, first = np.unique(original.row_state[into], return_index=True)
            expanded[layer] = into[first]
        return expanded


def collapse_free_loops(problem: CSSP, scalar_costs: FloatArray) -> Collapsed:
    """Collapse the loops that cost nothing under `scalar_costs`, one cost for each row."""
    loops = end_components(problem, scalar_costs == 0.0)
    # Each loop counts as its first member, so that states keep their order.
    num_states = problem.num_states
    first_member = np.arange(num_states)
    inside = np.flatnonzero(loops.component != NO_LOOP)
    if len(inside):
        first_of_loop = np.unique(loops.component[inside], return_index=True)[1]
        first_member[inside] = inside[first_of_loop][loops.component[inside]]
    members, state_map = np.unique(first_member, return_inverse=True)

    row_map = np.flatnonzero(~loops.rows)
    row_map = row_map[np.argsort(state_map[problem.row_state[row_map]], kind="stable")]
    row_states = state_map[problem.row_state[row_map]]
    row_start = np.zeros(len(members) + 1, dtype=np.int64)
    np.cumsum(np.bincount(row_states, minlength=len(members)), out=row_start[1:])
    transitions = problem.transitions
    if loops.count:
        part = transitions[row_map]
        shape = (len(row_map), len(members))
        transitions = csr_array((part.data, state_map[part.indices], part.indptr), shape=shape)
        tidy(transitions)
    initial = np.zeros(len(members))
    np.add.at(initial, state_map, problem.initial)
    collapsed = CSSP(
        transitions=transitions,
        row_start=row_start,
        costs=scalar_costs[row_map][np.newaxis],
        initial=initial,
        goals=problem.goals[members],
        cost_names=("weighted",),
        bounds=np.zeros(0),
        state_labels=SelectedLabels(problem.state_labels, members),
        action_labels=SelectedLabels(problem.action_labels, row_map),
    )
    return Collapsed(collapsed, problem, state_map, row_map, loops)
