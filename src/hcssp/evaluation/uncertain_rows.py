"""The rows of a policy with every probability by itself, and what of their costs depends on them.

Where costs depend on the state that is reached, and a bounded probability is such a cost, the expected cost
of a row is as wrong as its probabilities are. Here each outcome of a row stands alone, with what it costs; in
the flat problem, exits of an activity that lead to one event are one.

A limit for each execution of a use says that what is spent inside is at most so much for each execution; the
flat problem says the same by what choices lose of the executions to come (:mod:`hcssp.procedure.limits`),
which is true only of the stated probabilities. Here the executions themselves are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.evaluation.chain import InducedChain
from hcssp.procedure.limits import enters
from hcssp.procedure.model import HCSSP


@dataclass(frozen=True, eq=False)
class UncertainRows:
    """How the rows of a policy can turn out.

    Attributes
    ----------
    row
        Of each outcome, the row that it belongs to, as a position among the states in question.
    heads
        The states that the outcomes reach.
    nominal
        Their probabilities, which sum to one in each row.
    differs
        Which rows cost differently by outcome.
    paid
        Shape ``(num_costs, num_outcomes)``: what the outcomes of such rows cost; 0 for others.
    counted
        The positions of costs that count a probability.
    executions
        By the positions of costs that are limits, 1 for each outcome that begins an execution of the use.
    name
        What to call the state that an outcome reaches.
    """

    row: IntArray
    heads: IntArray
    nominal: FloatArray
    differs: BoolArray
    paid: FloatArray
    counted: tuple[int, ...]
    executions: Mapping[int, FloatArray]
    name: Callable[[int], Hashable]


def uncertain_rows(
    chain: InducedChain, inner: IntArray, problem: CSSP | HCSSP, taken: IntArray
) -> UncertainRows:
    """The rows of a policy in the states `inner`, ascending.

    Parameters
    ----------
    chain
        The policy's chain.
    inner
        The states in question.
    problem
        What it is a policy of.
    taken
        The row that the policy takes in each state.
    """
    flat = chain.problem
    # The chain of a procedure's policy has no other rows than the policy's.
    rows = flat.row_start[inner] if isinstance(problem, HCSSP) else taken[inner]
    found = outcomes_of_rows(flat, rows).possible()
    row = np.repeat(np.arange(len(inner)), found.lengths)
    listed = found.entry >= 0
    paid = np.zeros((len(flat.costs), len(row)))
    if flat.transition_costs is not None:
        paid[:, listed] = flat.transition_costs.costs[:, found.entry[listed]]
    differs = np.zeros(len(inner), dtype=np.bool_)
    differs[row[listed]] = True
    labels = flat.state_labels

    def name(way: int) -> Hashable:
        head, state = int(found.states[way]), int(inner[row[way]])
        exit_label = None
        if listed[way] and isinstance(problem, HCSSP):
            exit_label = _exit(problem, state, int(taken[state]), head, paid[:, way])
        return labels[head] if exit_label is None else exit_label

    # Rows may miss a sum of one by rounding; they are proportions.
    totals = np.bincount(row, found.probabilities, len(inner))
    return UncertainRows(
        row=row,
        heads=found.states,
        nominal=found.probabilities / totals[row],
        differs=differs,
        paid=paid,
        counted=_counted(problem) if isinstance(problem, HCSSP) else (),
        executions=_executions(problem, inner[row], found.states) if isinstance(problem, HCSSP) else {},
        name=name,
    )


def _counted(problem: HCSSP) -> tuple[int, ...]:
    return tuple(at for at, constraint in enumerate(problem.constraints, 1) if constraint.probability_of)


def _exit(problem: HCSSP, state: int, row: int, head: int, costs: FloatArray) -> Hashable | None:
    """An exit by its own label, with its activity: in the flat problem it is the event that it leads to."""
    flattening = problem.flattening
    if head >= flattening.num_event_states:
        return None
    index = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
    activity = problem.activities[index]
    local = np.array([row - flattening.row_offset[index]])
    own = outcomes_of_rows(activity.cssp, local)
    paid = flattening.counted_costs(
        index, own.costs(local, activity.cssp.costs, activity.cssp.transition_costs)
    )
    same = (flattening.flat_state(index)[own.states] == head) & (paid == costs[:, None]).all(axis=0)
    return (activity.name, activity.cssp.state_labels[int(own.states[same][0])])


def _executions(problem: HCSSP, tails: IntArray, heads: IntArray) -> dict[int, FloatArray]:
    """By the positions of limits, which outcomes begin an execution of the use."""
    events = np.array([event for event, _ in problem.flattening.event_states])
    found = {}
    for position, constraint in enumerate(problem.constraints, 1):
        if constraint.per is None or not isfinite(constraint.at_most):
            continue
        use = problem.uses[constraint.per.use]
        begins = np.zeros(len(heads))
        between = np.flatnonzero((tails < len(events)) & (heads < len(events)))
        begins[between] = [
            float(enters(use, int(events[tails[way]]), int(events[heads[way]]))) for way in between.tolist()
        ]
        found[position] = begins
    return found
