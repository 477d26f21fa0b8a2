r"""Memory that all activities of a procedure carry in their states and hand over at their exits.

Every activity becomes its product with the memory (:mod:`hcssp.cssp.product`), so that choices and policies
may depend on it. What an activity handed over before, it still does.

*Capacities*: what one activity has used is missing in the next.

*Bounds on probabilities*: "crash with at most 1%". What may happen is that an event of the procedure is
reached, or a state of an activity is entered; its probability is that of all runs in which it happens at
least once. Entering costs 1: the expected cost of a row is the probability that it leads there from
elsewhere.

A sum of such costs counts entries. It is the probability wherever no run can enter twice, which the graph of
the whole procedure shows: from nowhere that entering leads to can one enter again. Where one can, every state
carries a mark, whether it has happened yet, and only the first entry counts; then there are twice as many
states. So what is bounded is always a probability. Activities hand the mark over, and nothing else that they
did not hand over before: choices may depend on the mark, and on the exit by which an event was entered only
where they may without a bound.

An outcome that reaches an event without running anything gets an activity of one step and no cost, such as
``reach locked``, whose cost it is.

>>> from hcssp.scenarios import small_building
>>> building = with_probability(small_building(), "locked out", of="door-locked", at_most=0.25)
>>> building.constraints[-1].probability_of, building.constraints[-1].at_most
('door-locked', 0.25)
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray
from hcssp.cssp.product import (
    Capacity,
    LevelLabel,
    LevelLabels,
    Memory,
    Uses,
    level_label,
    product,
    used_in,
    with_levels,
)
from hcssp.cssp.reachability import reachable
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.cssp.validation import validated
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.procedure.model import (
    CAPACITY_MODEL,
    HCSSP,
    Activity,
    Constraint,
    Outcome,
    entry_distribution,
    free_step,
    goal_event_states,
)
from hcssp.procedure.nesting import Nesting
from hcssp.procedure.rest import UNDER_WAY, Position, rest_of


def with_capacities(
    problem: CSSP | HCSSP,
    capacities: Sequence[Capacity],
    uses: Mapping[str, Uses | FloatArray] | None = None,
    give_up: Mapping[str, Mapping[str, float]] | None = None,
    give_up_to: Mapping[str, Hashable] | None = None,
) -> HCSSP:
    """The same procedure, in no run of which more is used than there is.

    Parameters
    ----------
    problem
        The procedure, or a single problem as one.
    capacities
        What there is. One that may be exceeded with some probability adds a constraint.
    uses
        For each activity, by name, how much of each capacity each of its rows uses, or gives back if
        negative: an array with a row for each capacity, or uses that depend on the state that is reached. By
        default the cost that has the capacity's name.
    give_up
        For some activities, by name, what it costs to end where no goal can be reached with what is left.
    give_up_to
        For some of these, the label of the goal where they end then; by default the first.

    Raises
    ------
    InvalidProblem
        If an activity has no cost or goal of that name, or begins in one of several states after another.
    """
    problem = problem.procedure
    if uses is None:
        # Activities that share their arrays share their uses.
        own = {id(each.cssp): _own_uses(each, capacities) for each in problem.activities}
        uses = {each.name: own[id(each.cssp)] for each in problem.activities}
    prices, ends = give_up or {}, give_up_to or {}
    handing_over = _HandingOver(problem, every_exit=True)
    made: dict[tuple[int, int, int, Hashable], CSSP] = {}
    cssps = []
    for activity in problem.activities:
        # Activities that share their arrays still do.
        use, price, end = uses[activity.name], prices.get(activity.name), ends.get(activity.name)
        key = (id(activity.cssp), id(use), id(price), end)
        if key not in made:
            made[key] = validated(with_levels(activity.cssp, capacities, use, price, end))
        cssps.append(made[key])
    exceeded = [
        Constraint(
            capacity.exceeded,
            capacity.probability,
            {
                index: len(activity.cssp.cost_names) + number
                for index, activity in enumerate(problem.activities)
            },
            probability_of=f"using more than {capacity.at_most:g} of {capacity.name}",
        )
        for number, capacity in enumerate(each for each in capacities if each.probability > 0.0)
    ]
    levelled = handing_over.procedure(cssps, exceeded)
    # A problem that is derived from this one keeps it as long as its structure is the same.
    kept = {each.name: Uses.of(each.cssp, uses[each.name]) for each in problem.activities}
    levelled.__dict__[CAPACITY_MODEL] = CapacityModel(problem, tuple(capacities), kept, prices, ends)
    return levelled


@dataclass(frozen=True, eq=False)
class CapacityModel:
    """A procedure without levels, and the capacities that another one carries in its states.

    Attributes
    ----------
    problem
        The procedure without levels.
    capacities, uses, give_up, give_up_to
        As for :func:`with_capacities`.
    """

    problem: HCSSP
    capacities: tuple[Capacity, ...]
    uses: Mapping[str, Uses]
    give_up: Mapping[str, Mapping[str, float]]
    give_up_to: Mapping[str, Hashable]


def capacity_model(problem: HCSSP) -> CapacityModel | None:
    """What `problem` was made from by :func:`with_capacities`, under its own bounds and names.

    None if it carries no capacities, or its parts or constraints have been changed since.
    """
    model: CapacityModel | None = problem.__dict__.get(CAPACITY_MODEL)
    if model is None:
        return None
    exceeded = [each.exceeded for each in model.capacities if each.probability > 0.0]
    if problem.constraint_names != (*model.problem.constraint_names, *exceeded):
        return None
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    # A probability is never above 1.
    capacities = tuple(
        replace(each, probability=min(bounds.pop(each.exceeded), 1.0)) if each.probability > 0.0 else each
        for each in model.capacities
    )
    stated = model.problem.with_bounds(bounds).named(problem.name, problem.description, problem.positions)
    return replace(model, problem=stated.measured_in(problem.units), capacities=capacities)


def rest_with_capacities(problem: HCSSP, position: Position, left: Mapping[str, float]) -> HCSSP:
    """As :func:`~hcssp.procedure.rest.rest_of`; the rest carries its capacities from the level reached on.

    So it can be written to a file as it is stated. Once a capacity has been exceeded, the rest is a part of
    the problem with levels.
    """
    model = capacity_model(problem)
    if model is None:
        return rest_of(problem, position, left)
    label, place = _without_levels(problem, model, position)
    amounts = used_in(label) if label is not None else {each.name: each.used for each in model.capacities}
    if inf in amounts.values():
        return rest_of(problem, position, left)
    rest = rest_of(model.problem, place, left)
    # What may be exceeded is still exceeded with what is left of its probability.
    chances = [min(max(left.get(each.exceeded, 0.0), 0.0), 1.0) for each in model.capacities]
    capacities = [
        replace(each, used=amounts[each.name], probability=chance if each.probability > 0.0 else 0.0)
        for each, chance in zip(model.capacities, chances, strict=True)
    ]
    names = {
        each.name: each.name if each.name in model.uses else each.name.removesuffix(UNDER_WAY)
        for each in rest.activities
    }
    # An activity that only enters an event uses nothing.
    uses = {
        each.name: model.uses.get(names[each.name], np.zeros((len(capacities), each.cssp.num_rows)))
        for each in rest.activities
    }
    give_up = {new: model.give_up[old] for new, old in names.items() if old in model.give_up}
    give_up_to = {new: model.give_up_to[old] for new, old in names.items() if old in model.give_up_to}
    return with_capacities(rest, capacities, uses, give_up, give_up_to)


def _without_levels(
    problem: HCSSP, model: CapacityModel, position: Position
) -> tuple[Hashable | None, Position]:
    """The label at a position, and the position in the procedure without levels."""
    if position.activity is not None and position.state is not None:
        labels = problem.activities[position.activity].cssp.state_labels
        count = len(labels) // model.problem.activities[position.activity].cssp.num_states
        return labels[position.state], replace(position, state=position.state // count)
    base = position.entry
    if isinstance(base, LevelLabel):
        # The capacities are the last level.
        base = LevelLabel(base.base, base.levels[:-1]) if len(base.levels) > 1 else base.base
    is_entered = (position.event, base) in model.problem.entered_states[0]
    return position.entry, replace(position, entry=base if is_entered else None)


def _own_uses(activity: Activity, capacities: Sequence[Capacity]) -> Uses:
    names = activity.cssp.cost_names
    for capacity in capacities:
        if capacity.name not in names:
            what = (
                f"activity {activity.name!r}: it has no cost {capacity.name!r}, of which there is a capacity"
            )
            raise InvalidProblem([f"{what}; say what it uses with `uses`"])
    return Uses.of_costs(activity.cssp, [capacity.name for capacity in capacities])


_Handed = tuple[Hashable | None, bool]
"""What is handed over besides a level, and whether the next activity starts in its state of that label."""


class _HandingOver:
    """A procedure whose activities carry levels in their states and hand them over at their exits.

    Parameters
    ----------
    problem
        The procedure without levels.
    every_exit
        Whether every exit is handed over with its level. Otherwise exits are handed over only where they were
        before: an activity that handed over nothing then hands over its level alone, and still nothing at the
        first one.

    Raises
    ------
    InvalidProblem
        If an activity begins in one of several states after another.
    """

    def __init__(self, problem: HCSSP, every_exit: bool) -> None:
        self._problem, self._every_exit = problem, every_exit
        self._handed = [self._handed_by(index) for index in range(problem.num_activities)]
        entered = self._entered()
        events = [problem.choices[choice].event for choice in problem.activity_choice.tolist()]
        self._entries = [entered[event] for event in events]
        found = list(self._violations())
        if found:
            raise InvalidProblem(found)

    def procedure(self, cssps: Sequence[CSSP], constraints: Sequence[Constraint] = ()) -> HCSSP:
        """The procedure of these activities, which start at the first level, and with further constraints."""
        problem, labels = self._problem, cssps[0].state_labels
        if not isinstance(labels, LevelLabels):
            raise TypeError("an activity with levels has labels with levels")
        levels = labels.levels
        activities = tuple(
            replace(
                each,
                cssp=cssps[index],
                entries=self._starts(index, levels),
                hands_over=self._over(index, levels),
            )
            for index, each in enumerate(problem.activities)
        )
        choices = tuple(
            replace(choice, outcomes=tuple(self._outcome(each, levels) for each in choice.outcomes))
            for choice in problem.choices
        )
        every = (*problem.constraints, *constraints)
        return replace(
            problem, activities=activities, choices=choices, constraints=every, nesting=None, reward=None
        )

    def _handed_by(self, activity: int) -> dict[int, tuple[int, _Handed]]:
        """For each goal of an activity the event that it leads to, and what it hands over besides a level."""
        labels = self._problem.activities[activity].cssp.state_labels
        found: dict[int, tuple[int, _Handed]] = {}
        for goal, (event, label) in goal_event_states(self._problem, activity).items():
            # The end may be an event of another procedure, to which every exit is handed over.
            named = label is None and (self._every_exit or event == self._problem.end)
            found[goal] = event, (labels[goal] if named else label, label is not None)
        return found

    def _entered(self) -> list[set[_Handed]]:
        """What each event can be entered with, but for the very beginning."""
        found: list[set[_Handed]] = [set() for _ in self._problem.events]
        for goals in self._handed:
            for event, handed in goals.values():
                found[event].add(handed)
        passing = [
            (choice.event, outcome.event)
            for choice in self._problem.choices
            for outcome in choice.outcomes
            if outcome.runs is None
        ]
        while any(not found[before] <= found[after] for before, after in passing):
            for before, after in passing:
                found[after] |= found[before]
        return found

    def _violations(self) -> Iterator[str]:
        for activity, handed in zip(self._problem.activities, self._entries, strict=True):
            if any(not kept for _, kept in handed) and np.count_nonzero(activity.cssp.initial) > 1:
                yield (
                    f"activity {activity.name!r}: it begins in one of several states after another activity; "
                    "where something is carried in the state let it begin in one, and let its first action "
                    "choose at random"
                )
            for label, kept in sorted(handed, key=str):
                if kept and (label, False) in handed:
                    yield (
                        f"activity {activity.name!r}: {label!r} is handed over to it by one activity and "
                        "only ends another; where something is carried in the state give them different names"
                    )

    def _starts(self, index: int, levels: Sequence[str]) -> dict[Hashable, Hashable]:
        """Where an activity starts, by what is handed over to it."""
        activity = self._problem.activities[index]
        start = activity.cssp.state_labels[int(np.argmax(activity.cssp.initial))]
        owns = (
            (label, activity.entries.get(label, label) if kept else start)
            for label, kept in self._entries[index]
        )
        return self._at_levels([(label, own, label) for label, own in owns if own != label], levels)

    def _over(self, index: int, levels: Sequence[str]) -> dict[Hashable, Hashable]:
        """What an activity hands over, by the labels of its goals; empty if these labels."""
        labels = self._problem.activities[index].cssp.state_labels
        handed = [(labels[goal], label, label) for goal, (_, (label, _)) in self._handed[index].items()]
        if all(goal == label for goal, label, _ in handed):
            return {}
        return self._at_levels(handed, levels)

    def _at_levels(
        self, pairs: Sequence[tuple[Hashable, Hashable, Hashable | None]], levels: Sequence[str]
    ) -> dict[Hashable, Hashable]:
        """From one label to another at every level; not at the first where nothing (None) is handed over."""
        return {
            level_label(one, level): level_label(other, level)
            for one, other, handed in pairs
            for number, level in enumerate(levels)
            if handed is not None or self._every_exit or number
        }

    def _outcome(self, outcome: Outcome, levels: Sequence[str]) -> Outcome:
        if not outcome.exits or outcome.runs is None:
            return outcome
        before = self._problem.activities[outcome.runs].exit_labels
        exits: dict[Hashable, int] = {
            level_label(each, level): outcome.event_after(each) for each in before for level in levels
        }
        return replace(outcome, exits=exits)


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
    procedure = problem.procedure
    _check_probability(procedure, name, at_most)
    event = procedure.events.index(of) if isinstance(of, str) and of in procedure.events else None
    if event is not None:
        procedure = _with_steps_to(procedure, event)
        marked = [_goals_to(procedure, index, event) for index in range(procedure.num_activities)]
        what = procedure.events[event]
        _check_entries(procedure, marked, by_label=False)
    else:
        marked = _states(procedure, of)
        what = of if isinstance(of, str) else ", ".join(str(each) for each in of.values())
    if not any(each.any() for each in marked):
        raise InvalidProblem([f"probability {name!r}: nothing leads to {what!r}, so it never happens"])
    counted = _counted(procedure, name, marked)
    if _enters_twice(counted, marked, name):
        if at_most == 1.0:
            # With marks plans could remember more, and a bound that binds nothing must change nothing.
            logger.warning("probability %r: at most 100%% is no bound; left out, give inf to keep it", name)
            return problem.procedure
        counted = _marked(procedure, name, marked, what)
    at = {
        index: activity.cssp.cost_names.index(name)
        for index, activity in enumerate(counted.activities)
        if name in activity.cssp.cost_names
    }
    bound = Constraint(name, float(at_most), at, probability_of=what)
    return counted.derive(constraints=(*counted.constraints, bound))


def _check_probability(problem: HCSSP, name: str, at_most: float) -> None:
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
                    what = f"activity {activity.name!r} may begin in {label!r}, to which no step leads"
                    raise InvalidProblem([f"a probability cannot be counted: {what}; add a step before it"])


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
        what = "the procedure begins there, so it has always happened"
        raise InvalidProblem([f"the probability of {problem.events[event]!r}: {what}"])
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
                    what = "a procedure that has limits begins there; bound an event or a state inside it"
                    raise InvalidProblem([f"the probability of {problem.events[event]!r}: {what}"])
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
    """The nesting if limits for each execution need it; otherwise the procedure is written out."""
    return problem.nesting if any(each.per is not None for each in problem.constraints) else None


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


def _counted(problem: HCSSP, name: str, marked: Sequence[BoolArray]) -> HCSSP:
    """The procedure in which entering costs 1, as often as it happens."""
    cssps = _products(problem, name, marked, (), only_marked=True)
    activities = tuple(replace(each, cssp=cssp) for each, cssp in zip(problem.activities, cssps, strict=True))
    return replace(problem, activities=activities, nesting=_kept_nesting(problem))


def _marked(problem: HCSSP, name: str, marked: Sequence[BoolArray], what: str) -> HCSSP:
    """The procedure whose states say whether it has happened yet; only the first time costs 1."""
    texts = (f"no {what} yet", f"after {what}")
    cssps = _products(problem, name, marked, texts, only_marked=False)
    carried = _HandingOver(problem, every_exit=False).procedure(cssps)
    return replace(carried, nesting=_kept_nesting(problem))


def _products(
    problem: HCSSP, name: str, marked: Sequence[BoolArray], texts: Sequence[str], only_marked: bool
) -> list[CSSP]:
    """The activities with a cost of entering what is marked; activities that share their arrays still do."""
    made: dict[tuple[int, bytes], CSSP] = {}
    cssps = []
    for activity, states in zip(problem.activities, marked, strict=True):
        key = (id(activity.cssp), states.tobytes())
        if only_marked and not states.any():
            made[key] = activity.cssp
        elif key not in made:
            made[key] = _product(activity.cssp, states, name, texts)
        cssps.append(made[key])
    return cssps


def _product(cssp: CSSP, marked: BoolArray, name: str, texts: Sequence[str]) -> CSSP:
    """Entering what is marked costs 1: the first time if there are `texts`, else every time."""
    rows = np.arange(cssp.num_rows)
    every = outcomes_of_rows(cssp, rows)
    happens = marked[every.states]
    if texts:
        after = np.column_stack([happens, np.ones_like(happens)])
        costs = np.column_stack([happens, np.zeros_like(happens)])
    else:
        after = np.zeros((len(happens), 1), dtype=np.bool_)
        costs = (happens & ~marked[np.repeat(cssp.row_state, every.lengths)])[:, np.newaxis]
    memory = Memory(texts, 0, after.astype(np.int64), [costs.astype(np.float64)], [name], [inf])
    return product(cssp, every, every.costs(rows, cssp.costs, cssp.transition_costs), memory)
