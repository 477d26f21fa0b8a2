"""In which states an event can be entered: the states that the procedure itself can be in.

An activity with one goal always hands over in the same way, and what follows starts in its own initial
distribution. An activity with several goals hands over the goal it ended in: the exit state is the entry
state of what follows, identified by its label. So the procedure's own states are pairs of an event and
an entry label (None where there is nothing to hand over), and the choice at an event may depend on the
state it was entered in.

- The start is entered with None; all entries to the end are one and the same.
- An activity with one goal enters its event with None, one with several with its goal's label.
- An activity run from an event entered with None starts in its own initial distribution; entered with a
  label, it starts in its state of that label.
- An outcome without an activity passes the label on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.reachability import reachable
from hcssp.procedure.model import HCSSP

EventState = tuple[int, Hashable | None]
"""An event, and the label of the state it was entered in (None where there is none)."""


def reachable_event_states(problem: HCSSP) -> tuple[tuple[EventState, ...], list[str]]:
    """The event states that some choices and policies can reach, sorted by event, and what is wrong.

    The end is always among them. A violation is an entry label that the next activity does not have, or
    an exit that is labelled None.
    """
    end: EventState = (problem.end, None)
    found: dict[EventState, None] = {(problem.start, None): None, end: None}
    violations: dict[str, None] = {}
    waiting: deque[EventState] = deque([(problem.start, None)] if problem.start != problem.end else [])
    while waiting:
        event, entry = waiting.popleft()
        for index in problem.choices_at(event):
            for outcome in problem.choices[index].outcomes:
                if outcome.runs is None:
                    exits: list[Hashable | None] = [entry]
                else:
                    cssp = problem.activities[outcome.runs].cssp
                    if entry is not None and entry not in cssp.state_index:
                        violations[_missing_entry(problem, event, index, outcome.runs, entry)] = None
                        continue
                    exits = exit_labels(cssp, entry)
                    if None in exits and int(cssp.goals.sum()) > 1:
                        violations[_unnamed_exit(problem, outcome.runs)] = None
                for label in exits:
                    entered = end if outcome.event == problem.end else (outcome.event, label)
                    if entered not in found:
                        found[entered] = None
                        waiting.append(entered)
    return tuple(sorted(found, key=lambda state: state[0])), list(violations)


def entry_distribution(cssp: CSSP, entry: Hashable | None) -> tuple[IntArray, FloatArray]:
    """Where an activity starts when its event was entered with the label `entry`: states, probabilities."""
    if entry is None:
        states = np.flatnonzero(cssp.initial)
        return states, cssp.initial[states]
    return np.array([cssp.state_index[entry]], dtype=np.int64), np.ones(1)


def exit_labels(cssp: CSSP, entry: Hashable | None) -> list[Hashable | None]:
    """The labels with which an activity that is entered with `entry` can enter the next event."""
    goals = np.flatnonzero(cssp.goals)
    if len(goals) == 1:
        return [None]
    states, probabilities = entry_distribution(cssp, entry)
    initial = np.zeros(cssp.num_states)
    initial[states] = probabilities
    reached = reachable(cssp.derive(initial=initial))
    return [cssp.state_labels[int(goal)] for goal in goals if reached[goal]]


def _missing_entry(problem: HCSSP, event: int, choice: int, activity: int, entry: Hashable) -> str:
    name = problem.activities[activity].name
    return (
        f"activity {name!r}, run by choice {problem.choices[choice].name!r} at event "
        f"{problem.events[event]!r}: the event can be entered in state {entry!r}, which the activity does "
        "not have; exits and entries are matched by label, so give it a state of that label, or give the "
        "activity before it a single goal"
    )


def _unnamed_exit(problem: HCSSP, activity: int) -> str:
    name = problem.activities[activity].name
    return f"activity {name!r}: it has several goals and one is labelled None; label it otherwise"
