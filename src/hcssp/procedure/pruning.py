"""A procedure without what no policy that ends can do.

An activity whose exits cannot be reached with certainty must not be run; a choice that may run it must not be
made, nor one that may lead to an event where nothing else is left to choose. What remains is the same
problem for whoever plans activities one by one, and its policies are policies of the whole.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.reachability import Backwards, almost_sure, reachable
from hcssp.errors import DeadEnd
from hcssp.procedure.model import HCSSP
from hcssp.procedure.part import Part, part_of


def without_dead_ends(problem: HCSSP) -> Part | None:
    """The procedure without activities that cannot end and choices that may run one; None if all can.

    Parameters
    ----------
    problem
        A procedure in which every event is entered in one state, so that every activity begins as it says.

    Raises
    ------
    DeadEnd
        If no policy ends without them; it names a state in which one may be trapped.
    """
    certain = np.array([_can_end(activity.cssp) for activity in problem.activities], dtype=np.bool_)
    if certain.all():
        return None
    kept = _choices_that_end(problem, certain)
    if kept is None:
        first = problem.activities[int(np.flatnonzero(~certain)[0])]
        try:
            prepare(first.cssp)
        except DeadEnd as error:
            located = DeadEnd(f"activity {first.name!r}, {error}")
            located.trapped = error.trapped
            raise located from error
        raise RuntimeError(f"activity {first.name!r} can end after all")
    return part_of(problem, kept, only_likely=True)


def _can_end(cssp: CSSP) -> bool:
    """Whether some policy reaches a goal almost surely from wherever the activity begins."""
    found = almost_sure(cssp, within=reachable(cssp))
    return bool(found.states[cssp.initial > 0.0].all())


def _moves(problem: HCSSP) -> csr_array:
    """From choices to the events that they may lead to."""
    moves = [
        (index, outcome.event)
        for index, choice in enumerate(problem.choices)
        for outcome in choice.outcomes
        if outcome.probability > 0.0
    ]
    choices, targets = zip(*moves, strict=True) if moves else ((), ())
    return csr_array(
        (np.ones(len(moves)), (choices, targets)), shape=(len(problem.choices), problem.num_events)
    )


def _choices_that_end(problem: HCSSP, certain: BoolArray) -> BoolArray | None:
    """The choices after which the end can still be reached with certainty; None if it never can."""
    allowed = np.array(
        [
            all(o.runs is None or certain[o.runs] for o in choice.outcomes if o.probability > 0.0)
            for choice in problem.choices
        ],
        dtype=np.bool_,
    )
    owners = np.array([choice.event for choice in problem.choices], dtype=np.int64)
    search = Backwards(_moves(problem), owners, np.arange(problem.num_events) == problem.end)
    found = search.almost_sure(rows=allowed)
    return found.rows if found.states[problem.start] else None
