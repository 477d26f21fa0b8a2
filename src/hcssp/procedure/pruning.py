"""A procedure without what no policy that ends can do.

An activity whose exits cannot be reached with certainty must not be run; a choice that may run it must not be
made, nor one that may lead to an event where nothing else is left to choose. What remains is the same
problem for whoever plans activities one by one, and its policies are policies of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.reachability import Backwards, almost_sure, closure, reachable
from hcssp.errors import DeadEnd
from hcssp.procedure.model import HCSSP, PerExecution
from hcssp.procedure.policy import ProcedurePolicy


@dataclass(frozen=True, eq=False)
class Pruned:
    """The part of a procedure that policies which end can use.

    Attributes
    ----------
    problem, original
        The part, and the whole.
    events, choices, activities
        Which of the whole's there are, in its order.
    """

    problem: HCSSP
    original: HCSSP
    events: tuple[int, ...]
    choices: tuple[int, ...]
    activities: tuple[int, ...]

    def lift(self, policy: ProcedurePolicy) -> ProcedurePolicy:
        """A policy of the part as one of the whole; elsewhere it has nothing to do."""
        choices = {
            (self.events[event], entry): self.choices[choice]
            for (event, entry), choice in policy.choices.items()
        }
        rows = [
            np.full(activity.cssp.num_states, NO_ROW, dtype=np.int64) for activity in self.original.activities
        ]
        for index, local in zip(self.activities, policy.activities, strict=True):
            rows[index] = local
        return ProcedurePolicy.compose(self.original, choices, rows)


def without_dead_ends(problem: HCSSP) -> Pruned | None:
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
    events = _reached(problem, kept)
    choices = [c for c in np.flatnonzero(kept).tolist() if events[problem.choices[c].event]]
    outcomes = [[each for each in problem.choices[c].outcomes if each.probability > 0.0] for c in choices]
    activities = sorted({each.runs for listed in outcomes for each in listed if each.runs is not None})
    event_place = {event: place for place, event in enumerate(np.flatnonzero(events).tolist())}
    activity_place = {activity: place for place, activity in enumerate(activities)}
    choice_place = {choice: place for place, choice in enumerate(choices)}
    part = problem.restricted(
        events=tuple(problem.events[event] for event in event_place),
        start=event_place[problem.start],
        end=event_place[problem.end],
        activities=tuple(problem.activities[activity] for activity in activities),
        choices=tuple(
            replace(
                problem.choices[c],
                event=event_place[problem.choices[c].event],
                outcomes=tuple(
                    replace(
                        each,
                        event=event_place[each.event],
                        runs=None if each.runs is None else activity_place[each.runs],
                    )
                    for each in listed
                ),
            )
            for c, listed in zip(choices, outcomes, strict=True)
        ),
        constraints=tuple(
            replace(
                constraint,
                counts={
                    activity_place[a]: cost for a, cost in constraint.counts.items() if a in activity_place
                },
                per=None if constraint.per is None else _moved(constraint.per, choice_place),
            )
            for constraint in problem.constraints
        ),
    )
    return Pruned(part, problem, tuple(event_place), tuple(choices), tuple(activities))


def _moved(per: PerExecution, choice_place: Mapping[int, int]) -> PerExecution:
    """What makes a limit of a use, in the choices that are left."""
    losses = {choice_place[c]: loss for c, loss in per.losses.items() if c in choice_place}
    return replace(per, losses=losses)


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


def _reached(problem: HCSSP, kept: BoolArray) -> BoolArray:
    """The events that the kept choices lead to from the start."""
    edges = [
        (choice.event, outcome.event)
        for index, choice in enumerate(problem.choices)
        if kept[index]
        for outcome in choice.outcomes
        if outcome.probability > 0.0
    ]
    tails, heads = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array((np.ones(len(edges)), (tails, heads)), shape=(problem.num_events,) * 2)
    reached = closure(graph, np.arange(problem.num_events) == problem.start)
    reached[problem.end] = True
    return reached
