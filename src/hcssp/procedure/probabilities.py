r"""Bounds on probabilities: "crash with at most 1%" is said as such.

What may happen is that an event of the procedure is reached, or a state of an activity is entered; its
probability is that of all runs in which it happens at least once. Inside, it is a cost of 1 for entering: the
expected cost of a row is the probability that it leads there from elsewhere.

A sum of such costs counts entries. It is the probability wherever no run can enter twice, which is looked at
in the graph of the whole procedure: from nowhere that entering leads to can one enter again. Where one can,
every state of every activity carries a mark, whether it has happened yet, and only the first entry counts;
then there are twice as many states. So what is bounded is always a probability. Activities hand the mark
over, and nothing else that they did not hand over before: choices may depend on the mark, and on the exit by
which an event was entered only where they may without a bound.

An outcome that reaches an event without running anything gets an activity of one step and no cost, such as
``reach locked``, whose cost it is.

>>> from hcssp.scenarios import small_building
>>> building = with_probability(small_building(), "locked out", of="door-locked", at_most=0.25)
>>> building.constraints[-1].probability_of, building.constraints[-1].at_most
('door-locked', 0.25)
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.labels import SelectedLabels
from hcssp.cssp.levels import LevelLabels, LevelledGrid
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.reachability import reachable
from hcssp.cssp.transition_costs import TransitionCosts, outcomes_of_rows
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.procedure.capacities import carried_over
from hcssp.procedure.elements import Activity, Constraint, Outcome
from hcssp.procedure.entries import entry_distribution
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import Nesting
from hcssp.procedure.single import as_procedure

logger = logging.getLogger(__name__)

What = str | Mapping[str, Hashable | Sequence[Hashable]]
"""What may happen: an event, or states of any activity that are called so; or states by activities."""


def with_probability(problem: HCSSP | CSSP, name: str, *, of: What, at_most: float = inf) -> HCSSP:
    """The same problem with a bound on the probability that something happens.

    Parameters
    ----------
    problem
        A procedure, or a single problem, which becomes the procedure that runs it once.
    name
        What to call the constraint, and the cost of the activities that it counts.
    of
        An event that is reached; or a state, cell or exit that is entered, of whichever activities have one
        of that label; or states that have a name together, such as a place or a label of a model; or from the
        names of activities to labels, a label or a list of them.
    at_most
        The most that is allowed, from 0 to 1; ``inf`` for no bound yet. A bound of 1 binds nothing: where
        states would have to carry a mark, it is left out with a warning in the log.

    Raises
    ------
    InvalidProblem
        If the bound or the name cannot be, or it has happened when the procedure begins.
    UnknownName
        If nothing is called so.
    """
    procedure = as_procedure(problem)
    _check(procedure, name, at_most)
    event = procedure.events.index(of) if isinstance(of, str) and of in procedure.events else None
    if event is not None:
        procedure = _with_steps_to(procedure, event)
        marked = [_goals_to(procedure, index, event) for index in range(procedure.num_activities)]
        told = procedure.events[event]
        _check_entries(procedure, marked, by_label=False)
    else:
        marked = _states(procedure, of)
        told = of if isinstance(of, str) else ", ".join(str(each) for each in of.values())
    if not any(each.any() for each in marked):
        raise InvalidProblem([f"probability {name!r}: nothing leads to {told!r}, so it never happens"])
    counted = _counted(procedure, name, marked)
    if _enters_twice(counted, marked, name):
        if at_most == 1.0:
            # With marks plans could remember more, and a bound that binds nothing must change nothing.
            logger.warning("probability %r: at most 100%% is no bound; left out, give inf to keep it", name)
            return as_procedure(problem)
        counted = _marked(procedure, name, marked, told)
    at = {
        index: activity.cssp.cost_names.index(name)
        for index, activity in enumerate(counted.activities)
        if name in activity.cssp.cost_names
    }
    return counted.with_limits([Constraint(name, float(at_most), at, probability_of=told)])


def _check(problem: HCSSP, name: str, at_most: float) -> None:
    found = []
    if not (0.0 <= at_most <= 1.0 or at_most == inf):
        found.append(f"probability {name!r}: at most {at_most:g}; give a number from 0 to 1, or inf for none")
    if name in problem.constraint_names:
        found.append(f"probability {name!r}: there is a constraint of that name; give it another")
    taken = [each.name for each in problem.activities if name in each.cssp.cost_names]
    if taken:
        found.append(f"probability {name!r}: activity {taken[0]!r} has a cost of that name; give it another")
    if found:
        raise InvalidProblem(found)


def _states(problem: HCSSP, of: What) -> list[BoolArray]:
    """Which states of each activity are meant."""
    if isinstance(of, Mapping):
        for name in of:
            problem.activity_index(name)
    marked = []
    for activity in problem.activities:
        wanted: Sequence[Hashable] = (of,) if not isinstance(of, Mapping) else ()
        if isinstance(of, Mapping) and activity.name in of:
            given = of[activity.name]
            wanted = given if isinstance(given, list) else (given,)
        found = _labelled(activity.cssp, wanted)
        if isinstance(of, Mapping) and wanted and not found.any():
            labels = [str(label) for label in activity.cssp.state_labels]
            raise UnknownName(f"state of {activity.name!r}", str(wanted[0]), labels)
        marked.append(found)
    _check_entries(problem, marked, by_label=not isinstance(of, Mapping))
    if isinstance(of, str) and not any(each.any() for each in marked):
        parts = [each.cssp for each in problem.activities]
        labels = [str(label) for part in parts for label in (*part.groups, *part.state_labels)]
        raise UnknownName("event or state", of, [*problem.events, *dict.fromkeys(labels)])
    return marked


def _check_entries(problem: HCSSP, marked: Sequence[BoolArray], *, by_label: bool) -> None:
    """Refuse what an activity may begin in: no step leads there that could be counted."""
    for event, entry in problem.entered_states[0]:
        for choice in problem.choices_at(event):
            for index in (outcome.runs for outcome in problem.choices[choice].outcomes):
                if index is None:
                    continue
                activity = problem.activities[index]
                states, _ = entry_distribution(activity, entry)
                # The activity that hands a label over has a state of that label, which is marked as well.
                handed = by_label and entry is not None and entry not in activity.entries
                if marked[index][states].any() and not handed:
                    label = activity.cssp.state_labels[int(states[marked[index][states]][0])]
                    told = f"activity {activity.name!r} may begin in {label!r}, to which no step leads"
                    raise InvalidProblem([f"a probability cannot be counted: {told}; add a step before it"])


def _labelled(cssp: CSSP, wanted: Sequence[Hashable]) -> BoolArray:
    """The states of these labels; with levels, at every level."""
    labels: Sequence[Hashable] = cssp.state_labels
    count = 1
    while isinstance(labels, LevelLabels):
        count *= len(labels.levels)
        labels = labels.base
    found = np.zeros(len(labels), dtype=np.bool_)
    if wanted:
        number = {label: index for index, label in enumerate(labels)}
        meant = [label for each in wanted for label in _meant(cssp, each, number)]
        found[[number[label] for label in meant if label in number]] = True
    return np.repeat(found, count)


def _meant(cssp: CSSP, wanted: Hashable, known: Mapping[Hashable, int]) -> Sequence[Hashable]:
    """The labels that are meant: one, one that is written so, as ``(4, 1)``, or those of a group's name."""
    if wanted in known or not isinstance(wanted, str):
        return (wanted,)
    if wanted in cssp.groups:
        return cssp.groups[wanted]
    return [label for label in known if not isinstance(label, str) and str(label) == wanted]


def _goals_to(problem: HCSSP, activity: int, event: int) -> BoolArray:
    """The goals of an activity from which an event is reached."""
    cssp, outcome = problem.activities[activity].cssp, problem.activity_outcome[activity]
    marked = np.zeros(cssp.num_states, dtype=np.bool_)
    for goal in np.flatnonzero(cssp.goals).tolist():
        marked[goal] = outcome.event_after(cssp.state_labels[goal]) == event
    return marked


def _with_steps_to(problem: HCSSP, event: int) -> HCSSP:
    """The procedure in which every outcome that reaches an event runs an activity."""
    if event == problem.start:
        told = "the procedure begins there, so it has always happened"
        raise InvalidProblem([f"the probability of {problem.events[event]!r}: {told}"])
    entered: dict[int, list[Hashable | None]] = {}
    for each, label in problem.entered_states[0]:
        entered.setdefault(each, []).append(label)
    kept = _kept_nesting(problem)
    activities = [*problem.activities]
    names = {activity.name for activity in activities}
    choices = []
    for choice in problem.choices:
        outcomes = []
        for outcome in choice.outcomes:
            if outcome.runs is None and outcome.event == event:
                if kept is not None and any(event == use.start for use in problem.uses):
                    told = "a procedure that has limits begins there; bound an event or a state inside it"
                    raise InvalidProblem([f"the probability of {problem.events[event]!r}: {told}"])
                name, number = f"reach {problem.events[event]}", 1
                while name in names:
                    number += 1
                    name = f"reach {problem.events[event]} {number}"
                names.add(name)
                labels = [label for label in entered.get(choice.event, ()) if label is not None]
                activities.append(free_step(name, problem.primary_name, labels))
                outcome = Outcome(outcome.probability, event, runs=len(activities) - 1)
            outcomes.append(outcome)
        choices.append(replace(choice, outcomes=tuple(outcomes)))
    if len(activities) == problem.num_activities:
        return problem
    return replace(problem, activities=tuple(activities), choices=tuple(choices), nesting=kept)


def _kept_nesting(problem: HCSSP) -> Nesting | None:
    """Who belongs to which use, as far as limits for each execution need it; else it is written out."""
    return problem.nesting if any(each.per is not None for each in problem.constraints) else None


def free_step(name: str, primary: str, labels: Sequence[Hashable]) -> Activity:
    """An activity of one free step, which hands over one of `labels`, or nothing, as it is entered."""
    unlabelled = "there"
    while unlabelled in labels:
        unlabelled += "'"
    goals: list[Hashable] = [*labels, unlabelled]
    count = len(goals)
    states = np.arange(2 * count + 1)
    steps = csr_array((np.ones(count), states[count:-1], np.arange(count + 1)), shape=(count, 2 * count))
    cssp = CSSP(
        transitions=steps,
        row_start=np.minimum(states, count),
        costs=np.zeros((1, count)),
        initial=states[:-1] == count - 1,
        goals=states[:-1] >= count,
        cost_names=(primary,),
        bounds=np.zeros(0),
        state_labels=[*(f"at {goal}" for goal in goals), *goals],
        action_labels=["step"] * count,
    )
    entries = {label: f"at {label}" for label in labels}
    return Activity(name, cssp, entries=entries, hands_over={label: label for label in labels})


def _entering(cssp: CSSP, marked: BoolArray) -> FloatArray:
    """The probability that each row leads to what is marked from elsewhere."""
    chances: FloatArray = np.minimum(cssp.transitions @ marked.astype(np.float64), 1.0)
    chances[marked[cssp.row_state]] = 0.0
    return chances


def _with_cost(cssp: CSSP, name: str, marked: BoolArray) -> CSSP:
    """The problem in which entering what is marked costs 1."""
    chances = _entering(cssp, marked)
    rows = _differing_rows(cssp, chances)
    found = outcomes_of_rows(cssp, rows)
    owners = np.repeat(rows, found.lengths)
    enters = marked[found.states] & ~marked[cssp.row_state[owners]]
    costs = found.costs(rows, cssp.costs, cssp.transition_costs)
    world = cssp.world
    if world is not None and not isinstance(world, LevelledGrid):
        # The grid does not know of this cost, so that it is a picture of the states and no more.
        world = LevelledGrid.of(world, 1)
    return cssp.derive(
        costs=np.vstack([cssp.costs, chances]),
        cost_names=(*cssp.cost_names, name),
        bounds=np.append(cssp.bounds, inf),
        world=world,
        transition_costs=TransitionCosts.of(
            owners, found.states, found.probabilities, np.vstack([costs, enters])
        ),
    )


def _differing_rows(cssp: CSSP, chances: FloatArray) -> IntArray:
    """The rows whose outcomes cost differently, or of which only some happen with these chances."""
    differs: BoolArray = (chances > 0.0) & (np.diff(cssp.transitions.indptr) > 1)
    if cssp.transition_costs is not None:
        differs[cssp.transition_costs.rows] = True
    return np.flatnonzero(differs)


def _counted(problem: HCSSP, name: str, marked: Sequence[BoolArray]) -> HCSSP:
    """The procedure in which entering costs 1, as often as it happens."""
    made: dict[tuple[int, bytes], CSSP] = {}
    activities = []
    for activity, states in zip(problem.activities, marked, strict=True):
        if states.any():
            # Activities that share their arrays still do.
            key = (id(activity.cssp), states.tobytes())
            if key not in made:
                made[key] = _with_cost(activity.cssp, name, states)
            activity = replace(activity, cssp=made[key])
        activities.append(activity)
    return replace(problem, activities=tuple(activities), nesting=_kept_nesting(problem))


def _enters_twice(problem: HCSSP, marked: Sequence[BoolArray], name: str) -> bool:
    """Whether a run may enter what is marked after it has done so; sometimes also if it may not quite."""
    flattening = problem.flattening
    heads = np.zeros(flattening.num_states, dtype=np.bool_)
    tails = np.zeros(flattening.num_states, dtype=np.bool_)
    for index, (activity, states) in enumerate(zip(problem.activities, marked, strict=True)):
        if states.any():
            flat = flattening.flat_state(index)
            entered = flat[states]
            heads[entered[entered >= 0]] = True
            cssp = activity.cssp
            rows = cssp.costs[cssp.cost_names.index(name)] > 0.0
            tails[flat[cssp.row_state[rows]]] = True
    after = reachable(flattening.cssp.derive(initial=heads.astype(np.float64)))
    return bool((after & tails).any())


def _marked(problem: HCSSP, name: str, marked: Sequence[BoolArray], told: str) -> HCSSP:
    """The procedure whose states say whether it has happened yet; only the first time costs 1."""
    texts = (f"no {told} yet", f"after {told}")
    made: dict[tuple[int, bytes], CSSP] = {}
    cssps = []
    for activity, states in zip(problem.activities, marked, strict=True):
        key = (id(activity.cssp), states.tobytes())
        if key not in made:
            made[key] = _with_mark(activity.cssp, states, name, texts)
        cssps.append(made[key])
    return replace(carried_over(problem, cssps, (), unlabelled=texts[0]), nesting=_kept_nesting(problem))


def _with_mark(cssp: CSSP, marked: BoolArray, name: str, texts: tuple[str, str]) -> CSSP:
    """Two states for each: before it happens, and after."""
    # By state, then before and after, then in the order that the actions of a state had.
    rows = np.arange(cssp.num_rows)
    both = np.concatenate([rows, rows])
    level = np.repeat([0, 1], cssp.num_rows)
    order = np.argsort(2 * cssp.row_state[both] + level, kind="stable")
    chosen, before = both[order], level[order]
    part = cssp.transitions[chosen]
    entered = np.maximum(np.repeat(before, np.diff(part.indptr)), marked[part.indices])
    state = 2 * cssp.row_state[chosen] + before
    chances = np.minimum(cssp.transitions @ marked.astype(np.float64), 1.0)
    first = np.where(before == 0, chances[chosen], 0.0)
    places = np.flatnonzero(np.isin(chosen, _differing_rows(cssp, chances)))
    found = outcomes_of_rows(cssp, chosen[places])
    owners = np.repeat(places, found.lengths)
    happens = np.maximum(before[owners], marked[found.states])
    costs = found.costs(chosen[places], cssp.costs, cssp.transition_costs)
    paid = np.vstack([costs, (before[owners] == 0) & marked[found.states]])
    initial = np.zeros((cssp.num_states, 2))
    initial[:, 0] = cssp.initial
    world, cells = cssp.world, 2
    if isinstance(world, LevelledGrid):
        cells *= world.states_of_a_cell
    return CSSP.unchecked(
        transitions=csr_array(
            (part.data, 2 * part.indices.astype(np.int64) + entered, part.indptr),
            shape=(len(order), 2 * cssp.num_states),
        ),
        row_start=np.searchsorted(state, np.arange(2 * cssp.num_states + 1)).astype(np.int64),
        costs=np.vstack([cssp.costs[:, chosen], first]),
        initial=initial.ravel(),
        goals=np.repeat(cssp.goals, 2),
        cost_names=(*cssp.cost_names, name),
        bounds=np.append(cssp.bounds, inf),
        state_labels=LevelLabels(cssp.state_labels, texts),
        action_labels=SelectedLabels(cssp.action_labels, chosen),
        world=None if world is None else LevelledGrid.of(world, cells),
        groups=cssp.groups,
        transition_costs=TransitionCosts.of(owners, 2 * found.states + happens, found.probabilities, paid),
    )
