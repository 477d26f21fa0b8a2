"""The rows of a policy with every probability by itself, and what of their costs depends on them.

A bound on a probability is kept as a cost of entering: the cost of a row is the probability that it leads to
what is counted. If probabilities may be wrong, so may that cost. Here each way that a row can turn out stands
alone, with whether it is counted; in the flat problem, exits of an activity that lead to one event are one.

A limit for each execution of a use says that what is spent inside is at most so much for each execution; the
flat problem says the same by what choices lose of the executions to come (:mod:`hcssp.procedure.limits`),
which is true only of the stated probabilities. Here the executions themselves are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.evaluation.chain import InducedChain
from hcssp.procedure.limits import enters
from hcssp.procedure.model import HCSSP


@dataclass(frozen=True, eq=False)
class UncertainRows:
    """How the rows of a policy can turn out.

    Attributes
    ----------
    row
        Of each way, the row that it belongs to, as a position among the states in question.
    heads
        The states that the ways lead to.
    nominal
        Their probabilities, which sum to one in each row.
    counted
        By the positions of costs that count a probability, 1 for each way that is counted and 0 for others.
    executions
        By the positions of costs that are limits, 1 for each way that begins an execution of the use.
    name
        What to call where a way leads to.
    """

    row: IntArray
    heads: IntArray
    nominal: FloatArray
    counted: Mapping[int, FloatArray]
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
    counting = _counting(problem) if isinstance(problem, HCSSP) else {}
    if isinstance(problem, HCSSP) and counting:
        return _written_out(chain, inner, problem, taken, counting)
    rows = chain.transitions[inner]
    row = np.repeat(np.arange(len(inner)), np.diff(rows.indptr))
    heads = rows.indices.astype(np.int64)
    labels = chain.problem.state_labels
    runs = _executions(problem, inner[row], heads) if isinstance(problem, HCSSP) else {}
    return _proportional(row, heads, rows.data, len(inner), {}, runs, lambda way: labels[int(heads[way])])


def _executions(problem: HCSSP, tails: IntArray, heads: IntArray) -> dict[int, FloatArray]:
    """By the positions of limits, which ways begin an execution of the use."""
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


def _counting(problem: HCSSP) -> dict[int, dict[int, str]]:
    """By the positions of costs that count a probability: for each activity the name of its own cost.

    A cost whose activities do not know what they count, as one that was written to a file and read again, is
    taken as stated.
    """
    found = {}
    for position, constraint in enumerate(problem.constraints, 1):
        if not constraint.probability_of:
            continue
        names = {
            activity: problem.activities[activity].cssp.cost_names[cost]
            for activity, cost in constraint.counts.items()
        }
        known = (
            len(cssp.entered.get(name, ())) == cssp.num_states
            for cssp, name in ((problem.activities[activity].cssp, name) for activity, name in names.items())
        )
        if all(known):
            found[position] = names
    return found


def _written_out(
    chain: InducedChain,
    inner: IntArray,
    problem: HCSSP,
    taken: IntArray,
    counting: Mapping[int, Mapping[int, str]],
) -> UncertainRows:
    """The rows of a procedure's policy, those of activities by their own states."""
    flattening = problem.flattening
    at_events = inner[inner < flattening.num_event_states]
    first = chain.transitions[at_events]
    rows = [np.repeat(np.arange(len(at_events)), np.diff(first.indptr))]
    heads, data = [first.indices.astype(np.int64)], [first.data]
    counted = {position: [np.zeros(first.nnz)] for position in counting}
    owners, locals_ = [np.full(first.nnz, -1)], [np.zeros(first.nnz, dtype=np.int64)]
    for index, activity in enumerate(problem.activities):
        begin, end = flattening.state_offset[index : index + 2]
        places = np.flatnonzero((inner >= begin) & (inner < end))
        if not len(places):
            continue
        cssp = activity.cssp
        own_states = np.flatnonzero(~cssp.goals)[inner[places] - begin]
        local = taken[inner[places]] - flattening.row_offset[index]
        part = cssp.transitions[local]
        width = np.diff(part.indptr)
        targets = part.indices.astype(np.int64)
        rows.append(np.repeat(places, width))
        heads.append(flattening.flat_state(index)[targets])
        data.append(part.data)
        owners.append(np.full(part.nnz, index))
        locals_.append(targets)
        for position, names in counting.items():
            happens = np.zeros(part.nnz)
            if index in names:
                after = cssp.entered[names[index]]
                happens = (after[targets] & ~after[np.repeat(own_states, width)]).astype(np.float64)
            counted[position].append(happens)
    owner, local_state, all_heads = (np.concatenate(each) for each in (owners, locals_, heads))
    happening = {position: np.concatenate(each) for position, each in counted.items()}
    labels = chain.problem.state_labels

    def name(way: int) -> Hashable:
        if any(each[way] for each in happening.values()):
            # Exits that lead to the same event are told apart by what they are.
            activity = problem.activities[int(owner[way])]
            return (activity.name, activity.cssp.state_labels[int(local_state[way])])
        return labels[int(all_heads[way])]

    row = np.concatenate(rows)
    runs = _executions(problem, inner[row], all_heads)
    return _proportional(row, all_heads, np.concatenate(data), len(inner), happening, runs, name)


def _proportional(
    row: IntArray,
    heads: IntArray,
    data: FloatArray,
    count: int,
    counted: Mapping[int, FloatArray],
    executions: Mapping[int, FloatArray],
    name: Callable[[int], Hashable],
) -> UncertainRows:
    # Rows may miss a sum of one by rounding; they are proportions.
    totals = np.bincount(row, data, count)
    return UncertainRows(row, heads, data / totals[row], counted, executions, name)
