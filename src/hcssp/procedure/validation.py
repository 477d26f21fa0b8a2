"""What can be wrong with a procedure; everything that is wrong is reported together.

Rules about the parts come first (names, numbers, references). Rules about the whole (what can be reached
from where) are looked at once the parts are right, since they would only repeat what is wrong there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import fsum
from numbers import Real

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, bound_violations
from hcssp.cssp.reachability import Backwards, can_reach_goal, reachable
from hcssp.errors import DeadEnd
from hcssp.numerics import PROBABILITY_TOLERANCE
from hcssp.procedure.model import HCSSP, Activity, Choice, Constraint, Outcome, reached_events


def violations(problem: HCSSP) -> list[str]:
    """One sentence for everything that is wrong with `problem`."""
    found = list(_parts(problem))
    if not found:
        found = [*_reachability(problem), *_ending(problem)]
    if not found:
        _, found = problem.entered_states
    return found


def is_index(candidate: object, size: int) -> bool:
    """Whether `candidate` is one of the numbers 0, ..., `size` - 1."""
    whole = isinstance(candidate, int | np.integer) and not isinstance(candidate, bool)
    return whole and candidate in range(size)


def _parts(problem: HCSSP) -> Iterator[str]:
    yield from _duplicates("event", problem.events)
    yield from _duplicates("activity", [activity.name for activity in problem.activities])
    yield from _duplicates("constraint", [constraint.name for constraint in problem.constraints])
    for role, event in (("start", problem.start), ("end", problem.end)):
        if not is_index(event, problem.num_events):
            yield f"{role}: there is no event {event!r}; pass what add_event returned"
    for activity in problem.activities:
        if not activity.cssp.goals.any():
            yield f"activity {activity.name!r}: it has no goal, so that it never ends; give it one"
        for label, state in activity.entries.items():
            if state not in activity.cssp.state_index:
                yield (
                    f"activity {activity.name!r}: entered with {label!r} it starts in {state!r}, which it "
                    "does not have; name one of its states"
                )
        yield from (
            f"activity {activity.name!r}: it hands over {handed!r} from {goal!r}, which is not one of its "
            "goals; name a goal"
            for goal, handed in activity.hands_over.items()
            if not _is_goal(activity.cssp, goal)
        )
    yield from _choices(problem)
    for constraint in problem.constraints:
        yield from _constraint(problem, constraint)


def _is_goal(cssp: CSSP, label: Hashable) -> bool:
    state = cssp.state_index.get(label)
    return state is not None and bool(cssp.goals[state])


def _duplicates(kind: str, names: Sequence[str], where: str = "") -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{where}{kind} {name!r}: {count} of them have that name; give each its own"


def _choices(problem: HCSSP) -> Iterator[str]:
    by_event: dict[int, list[str]] = {}
    for choice in problem.choices:
        yield from _choice(problem, choice)
        by_event.setdefault(choice.event, []).append(choice.name)
    for event, name in enumerate(problem.events):
        names = by_event.get(event, [])
        yield from _duplicates("choice", names, where=f"event {name!r}, ")
        if event == problem.end and names:
            listed = ", ".join(repr(each) for each in names)
            yield f"event {name!r}: the procedure ends here, but there is a choice: {listed}; remove it"
        elif event != problem.end and not names:
            yield f"event {name!r}: there is nothing to choose and it is not the end; add a choice"
    hangs_on: dict[int, list[str]] = {}
    for choice in problem.choices:
        for outcome in choice.outcomes:
            if outcome.runs is not None:
                hangs_on.setdefault(outcome.runs, []).append(choice_place(problem.events, choice))
    for index, activity in enumerate(problem.activities):
        places = hangs_on.get(index, [])
        if not places:
            yield f"activity {activity.name!r}: no outcome runs it; let one run it, or leave it out"
        elif len(places) > 1:
            yield (
                f"activity {activity.name!r}: {len(places)} outcomes run it ({'; '.join(places)}), but an "
                "activity has one policy and belongs to one outcome; add the same CSSP as a second activity"
            )


def choice_place(events: Sequence[str], choice: Choice) -> str:
    """A choice and its event, for an error message."""
    known = is_index(choice.event, len(events))
    return f"event {events[choice.event]!r}, choice {choice.name!r}" if known else f"choice {choice.name!r}"


def _choice(problem: HCSSP, choice: Choice) -> Iterator[str]:
    where = choice_place(problem.events, choice)
    if not is_index(choice.event, problem.num_events):
        yield f"{where}: there is no event {choice.event!r}; pass what add_event returned"
    if not choice.outcomes:
        yield f"{where}: it leads nowhere; give it an outcome"
        return
    probabilities = [outcome.probability for outcome in choice.outcomes]
    for outcome in choice.outcomes:
        if not _is_likely(outcome.probability):
            yield f"{where}: an outcome has probability {outcome.probability}; give a number from 0 to 1"
        if not is_index(outcome.event, problem.num_events):
            yield f"{where}: there is no event {outcome.event!r}; pass what add_event returned"
        if outcome.runs is not None and not is_index(outcome.runs, problem.num_activities):
            yield f"{where}: there is no activity {outcome.runs!r}; pass what add_activity returned"
        elif outcome.exits:
            yield from _exits(problem, where, outcome)
    if all(_is_likely(probability) for probability in probabilities):
        total = fsum(probabilities)
        if not abs(total - 1.0) <= PROBABILITY_TOLERANCE:
            yield f"{where}: probabilities sum to {total:.10g}, not 1"


def _exits(problem: HCSSP, where: str, outcome: Outcome) -> Iterator[str]:
    """What is wrong with the events that an outcome names for single exits of its activity."""
    if outcome.runs is None:
        listed = ", ".join(repr(label) for label in outcome.exits)
        yield f"{where}: an outcome that runs no activity has no exits, but names {listed}; leave them out"
        return
    activity = problem.activities[outcome.runs]
    known = activity.exit_labels
    for label, event in outcome.exits.items():
        if label not in known:
            yield (
                f"{where}: activity {activity.name!r} has no exit {label!r}; its exits are {_listed(known)}"
            )
        elif not is_index(event, problem.num_events):
            yield f"{where}, exit {label!r}: there is no event {event!r}; pass what add_event returned"


def _is_likely(probability: object) -> bool:
    return isinstance(probability, Real) and float(probability) >= 0.0


def _constraint(problem: HCSSP, constraint: Constraint) -> Iterator[str]:
    where = f"constraint {constraint.name!r}"
    yield from bound_violations(where, constraint.at_most)
    if constraint.name == problem.primary_name:
        yield f"{where}: that is the primary cost's name; give the constraint another"
    if not constraint.counts:
        yield f"{where}: it counts nothing; say which secondary cost of which activities it counts"
    for activity, cost in constraint.counts.items():
        if not is_index(activity, problem.num_activities):
            yield f"{where}: there is no activity {activity!r}; pass what add_activity returned"
            continue
        name, names = problem.activities[activity].name, problem.activities[activity].cssp.cost_names
        if not is_index(cost, len(names)):
            known = _listed(names[1:])
            yield f"{where}: activity {name!r} has no cost {cost!r}; its secondary costs are {known}"
        elif cost == 0:
            yield (
                f"{where}: {names[0]!r} is the primary cost of activity {name!r}; a constraint counts "
                f"secondary costs, which are {_listed(names[1:])}"
            )


def _listed(names: Iterable[Hashable]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def _reachability(problem: HCSSP) -> Iterator[str]:
    """Events, and so activities, that no choices lead to."""
    ways = ((choice.event, outcome) for choice in problem.choices for outcome in choice.outcomes)
    reached = reached_events(problem, ways)
    start = problem.events[problem.start]
    for event, name in enumerate(problem.events):
        if not reached[event]:
            yield f"event {name!r}: it cannot be reached from {start!r}, the start; lead to it, or drop it"
    for index, activity in enumerate(problem.activities):
        event = problem.choices[int(problem.activity_choice[index])].event
        if not reached[event]:
            yield (
                f"activity {activity.name!r}: it is on no path from the start {start!r}, since event "
                f"{problem.events[event]!r} cannot be reached"
            )


def _ending(problem: HCSSP) -> Iterator[str]:
    """Events from which the end is not reached with certainty, whatever is chosen there and later."""
    certain = search_for_end(problem).almost_sure().states
    for event, name in enumerate(problem.events):
        if not certain[event]:
            yield (
                f"event {name!r}: from here the end {problem.events[problem.end]!r} is not reached with "
                "certainty, whatever is chosen; add a way to it"
            )


def search_for_end(problem: HCSSP) -> Backwards:
    """The search among events for the end: states are the events first, rows the choices first.

    Of the exits of an activity that lead to several events, its policy is taken to decide. Where it cannot,
    that is a dead end for a solver to find.
    """
    moves = []
    owners = [choice.event for choice in problem.choices]
    num_states = problem.num_events
    for index, choice in enumerate(problem.choices):
        for outcome in choice.outcomes:
            if not outcome.probability > 0:
                continue
            if len(outcome.events) == 1:
                moves.append((index, outcome.event))
                continue
            # A state of its own, in which the event is chosen.
            moves.append((index, num_states))
            for event in outcome.events:
                moves.append((len(owners), event))
                owners.append(num_states)
            num_states += 1
    rows, targets = zip(*moves, strict=True) if moves else ((), ())
    transitions = csr_array((np.ones(len(moves)), (rows, targets)), shape=(len(owners), num_states))
    return Backwards(transitions, np.array(owners, dtype=np.int64), np.arange(num_states) == problem.end)


@contextmanager
def explaining_dead_ends(problem: object) -> Iterator[None]:
    """While a problem is solved: a dead end is reported by the names of its procedure, if there is one."""
    try:
        yield
    except DeadEnd as error:
        raise explained(problem, error) if isinstance(problem, HCSSP) else error from error


def explained(problem: HCSSP, error: DeadEnd) -> DeadEnd:
    """The same error by the names of the procedure: the activity, its place and the remedy.

    Parameters
    ----------
    problem
        The procedure that was to be solved.
    error
        What a method says about it, or about an activity or its flattened form.
    """
    text = None
    for activity, state in _candidates(problem, error.trapped):
        number = activity.cssp.state_index.get(state)
        if number is not None and _is_trap(activity, number):
            text = _in_activity(activity, state)
            break
    else:
        text = _behind_event(problem, error.trapped)
    if text is None:
        return error
    found = DeadEnd(text)
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
        f"{place}: every policy may be trapped, for example in state {state!r}, from which no "
        f"goal can be reached; allow giving up at a finite penalty {remedy}"
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
