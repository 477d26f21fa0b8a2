"""In which states an event can be entered: the states that the procedure itself can be in.

An activity with one goal always hands over in the same way, and what follows starts in its own initial
distribution. An activity with several goals that lead to one event hands over the goal it ended in: the exit
state is the entry state of what follows, identified by its label. So the procedure's own states are pairs of
an event and an entry label (None where there is nothing to hand over), and the choice at an event may depend
on the state it was entered in.

- The start is entered with None; all entries to the end are one and the same.
- A goal that is the only one of its activity to lead to its event enters it with None; where several do,
  each enters it with its label, or with what the activity's `hands_over` names instead.
- An activity run from an event entered with None starts in its own initial distribution; entered with a
  label, it starts in its state of that label, unless its `entries` name another.
- An outcome without an activity passes the label on.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import closure, state_graph
from hcssp.procedure.elements import Activity, Outcome
from hcssp.procedure.model import HCSSP

EventState = tuple[int, Hashable | None]
"""An event, and the label of the state it was entered in (None where there is none)."""


def reached_events(problem: HCSSP, ways: Iterable[tuple[int, Outcome]]) -> BoolArray:
    """The events that some outcomes, each of a choice at an event, lead to from the start."""
    edges = [(event, reached) for event, outcome in ways for reached in outcome.events]
    tails, heads = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array((np.ones(len(edges)), (tails, heads)), shape=(problem.num_events,) * 2)
    return closure(graph, np.arange(problem.num_events) == problem.start)


def reachable_event_states(problem: HCSSP) -> tuple[tuple[EventState, ...], list[str]]:
    """The event states that some choices and policies can reach, sorted by event, and what is wrong.

    The end is always among them. A violation is an entry label that the next activity does not have, or
    an exit that is labelled None. ``problem.entered_states`` keeps the answer.
    """
    end: EventState = (problem.end, None)
    found: dict[EventState, None] = {(problem.start, None): None, end: None}
    violations: dict[str, None] = {}
    known: dict[int, _Exits] = {}
    waiting: deque[EventState] = deque([(problem.start, None)] if problem.start != problem.end else [])
    while waiting:
        event, entry = waiting.popleft()
        for index in problem.choices_at(event):
            for outcome in problem.choices[index].outcomes:
                if outcome.runs is None:
                    reached = [end if outcome.event == problem.end else (outcome.event, entry)]
                else:
                    activity = problem.activities[outcome.runs]
                    if entry is not None and activity.entry_state(entry) is None:
                        violations[_missing_entry(problem, event, index, outcome.runs, entry)] = None
                        continue
                    if outcome.runs not in known:
                        known[outcome.runs] = _Exits(problem, outcome.runs)
                    reached, named = known[outcome.runs].after(entry)
                    if not named:
                        violations[_unnamed_exit(problem, outcome.runs)] = None
                for entered in reached:
                    if entered not in found:
                        found[entered] = None
                        waiting.append(entered)
    return tuple(sorted(found, key=lambda state: state[0])), list(violations)


class _Exits:
    """Where an activity can end, by how its event was entered."""

    def __init__(self, problem: HCSSP, activity: int) -> None:
        self._activity = problem.activities[activity]
        cssp = self._activity.cssp
        self._leads_to = goal_event_states(problem, activity)
        self._unnamed = [goal for goal in self._leads_to if cssp.state_labels[goal] is None]
        self._graph = None if len(self._leads_to) == 1 else state_graph(cssp)

    def after(self, entry: Hashable | None) -> tuple[list[EventState], bool]:
        """The event states that are reached, and whether each of several exits has a label."""
        if self._graph is None:
            return list(self._leads_to.values()), True
        sources = np.zeros(self._activity.cssp.num_states, dtype=np.bool_)
        sources[entry_distribution(self._activity, entry)[0]] = True
        reached = closure(self._graph, sources)
        goals = [goal for goal in self._leads_to if reached[goal]]
        named = len(goals) <= 1 or not any(reached[goal] for goal in self._unnamed)
        return [self._leads_to[goal] for goal in goals], named


def entry_distribution(activity: Activity, entry: Hashable | None) -> tuple[IntArray, FloatArray]:
    """Where an activity starts when its event was entered with the label `entry`: states, probabilities."""
    if entry is None:
        states = np.flatnonzero(activity.cssp.initial)
        return states, activity.cssp.initial[states]
    return np.array([activity.entry_state(entry)], dtype=np.int64), np.ones(1)


def goal_event_states(problem: HCSSP, activity: int) -> dict[int, EventState]:
    """For each goal of an activity the event state that is entered from it."""
    part, outcome = problem.activities[activity], problem.activity_outcome[activity]
    labels = {goal: part.cssp.state_labels[goal] for goal in np.flatnonzero(part.cssp.goals).tolist()}
    events = {goal: outcome.event_after(label) for goal, label in labels.items()}
    handed = {goal: part.handed_over(label) for goal, label in labels.items()}
    goals_before = Counter(events.values())
    return {
        goal: (event, None if event == problem.end or goals_before[event] == 1 else handed[goal])
        for goal, event in events.items()
    }


def _missing_entry(problem: HCSSP, event: int, choice: int, activity: int, entry: Hashable) -> str:
    name = problem.activities[activity].name
    return (
        f"activity {name!r}, run by choice {problem.choices[choice].name!r} at event "
        f"{problem.events[event]!r}: the event can be entered in state {entry!r}, which the activity does "
        "not have; exits and entries are matched by label, so give it a state of that label, or let each "
        "exit of the activity before it lead to an event of its own (in a file, 'to: {exit: event}')"
    )


def _unnamed_exit(problem: HCSSP, activity: int) -> str:
    name = problem.activities[activity].name
    return f"activity {name!r}: it has several goals and one is labelled None; label it otherwise"
