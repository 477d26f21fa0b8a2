"""Telling the user which activity of a procedure may be trapped, where its file says so, and what to do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import numpy as np

from hcssp.cssp.reachability import can_reach_goal, reachable
from hcssp.errors import DeadEnd
from hcssp.procedure.elements import Activity
from hcssp.procedure.model import HCSSP


@contextmanager
def explaining_dead_ends(problem: object) -> Iterator[None]:
    """While a problem is solved: a dead end is told in the words of its procedure, if there is one."""
    try:
        yield
    except DeadEnd as error:
        raise explained(problem, error) if isinstance(problem, HCSSP) else error from error


def explained(problem: HCSSP, error: DeadEnd) -> DeadEnd:
    """The same error, told in the words of the procedure: the activity, its place and the remedy.

    Parameters
    ----------
    problem
        The procedure that was to be solved.
    error
        What a method says about it, or about an activity or its flattened form.
    """
    told = None
    for activity, state in _candidates(problem, error.trapped):
        number = activity.cssp.state_index.get(state)
        if number is not None and _is_trap(activity, number):
            told = _in_activity(activity, state)
            break
    else:
        told = _behind_event(problem, error.trapped)
    if told is None:
        return error
    found = DeadEnd(told)
    found.trapped = error.trapped
    return found


def _is_trap(activity: Activity, number: int) -> bool:
    """Whether no goal of an activity can be reached from a state of it."""
    return not activity.cssp.goals[number] and not can_reach_goal(activity.cssp)[number]


def _in_activity(activity: Activity, state: Hashable) -> str:
    """That a run may be trapped in a state of an activity, and what to do."""
    cost = activity.cssp.cost_names[0]
    place, remedy = f"activity {activity.name!r}", "with with_giving_up(cssp, penalty=...)"
    remedy += f" or, on the command line, --give-up {cost}=500"
    if activity.source:
        place, remedy = activity.source, f"with the key 'give_up' there, as in 'give_up: {{{cost}: 500}}'"
    return (
        f"{place}: whatever is done it may be trapped, for example in state {state!r}, from which no "
        f"goal can be reached; let it give up at a finite price {remedy}"
    )


def _behind_event(problem: HCSSP, trapped: Hashable | None) -> str | None:
    """That a run is trapped in activities that follow an event, with all that need a way out.

    None if it is not trapped at an event. Every event of a valid procedure has a way to the end, so that
    there is such an activity: a capacity may leave too little for it.
    """
    if not (isinstance(trapped, tuple) and len(trapped) == 3 and trapped[0] == "event"):
        return None
    flattening = problem.flattening
    found = reachable(flattening.cssp)
    traps = []
    for index, activity in enumerate(problem.activities):
        flat = flattening.flat_state(index)
        own = np.flatnonzero(~activity.cssp.goals & ~can_reach_goal(activity.cssp) & (flat >= 0))
        own = own[found[flat[own]]]
        if len(own):
            traps.append((activity, activity.cssp.state_labels[int(own[0])]))
    if not traps:
        return None
    others = ", ".join(repr(activity.name) for activity, _ in traps[1:])
    return _in_activity(*traps[0]) + (f"; the same holds for {others}" if others else "")


def _candidates(problem: HCSSP, trapped: Hashable | None) -> Iterator[tuple[Activity, Hashable]]:
    """Activities and states that may be meant: a flattened procedure calls a state by its activity, too."""
    if isinstance(trapped, tuple) and len(trapped) == 2:
        yield from ((activity, trapped[1]) for activity in problem.activities if activity.name == trapped[0])
    if isinstance(trapped, tuple) and len(trapped) == 3 and trapped[0] == "event":
        for index, activity in enumerate(problem.activities):
            choice = problem.choices[int(problem.activity_choice[index])]
            if problem.events[choice.event] == trapped[1]:
                yield activity, activity.entries.get(trapped[2], trapped[2])
    yield from ((activity, trapped) for activity in problem.activities)
