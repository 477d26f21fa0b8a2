"""What can be observed next while a plan is followed, and which of it an observation tells.

After an action that is a state. After a choice it is an outcome, by the name of its activity or event, and
the state in which its activity begins: whichever tells it. What does not tell it, or cannot be, is refused
with a list of what can.

Where states carry capacities, the state without its levels will do, such as a cell. Amounts that were
measured need not be those of the model: the state is then the same one at the level that was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from hcssp.cssp.levels import LevelLabel, base_of
from hcssp.errors import ImpossibleObservation, InvalidProblem
from hcssp.procedure import HCSSP, Outcome, ProcedurePolicy
from hcssp.procedure.entries import entry_distribution

_SHOWN = 10

Begun = tuple[Outcome, int | None]
"""An outcome, and the local state in which its activity begins; None if it runs none."""


class Observations:
    """What the model allows to be observed under a policy.

    Parameters
    ----------
    policy
        What is done.
    single
        Whether the problem is a single one, which has no events that anybody could name.
    where
        Says where the run is, for error messages.
    """

    def __init__(self, policy: ProcedurePolicy, single: bool, where: Callable[[], str]) -> None:
        self._problem: HCSSP = policy.problem
        self._policy, self._single, self._where = policy, single, where

    def states(self, activity: int, local: int) -> list[int]:
        """The local states that the action in a state of an activity can lead to."""
        transitions = self._problem.activities[activity].cssp.transitions
        row = int(self._policy.activities[activity][local])
        span = slice(transitions.indptr[row], transitions.indptr[row + 1])
        return [int(state) for state in transitions.indices[span][transitions.data[span] > 0.0]]

    def outcomes(self, event: int, entry: Hashable | None) -> list[Begun]:
        """How the choice can turn out at an event that was entered in some state."""
        found: list[Begun] = []
        for each in self._problem.choices[self._policy.choices[event, entry]].outcomes:
            if not each.probability > 0.0:
                continue
            if each.runs is None:
                # Two ways to the same event without an activity are one: nobody can tell them apart, or need.
                if not any(other.runs is None and other.event == each.event for other, _ in found):
                    found.append((each, None))
            else:
                starts, _ = entry_distribution(self._problem.activities[each.runs], entry)
                found += [(each, int(start)) for start in starts]
        return found

    def named(self, possible: Begun) -> tuple[str | None, Hashable | None]:
        """What an outcome is called, which nobody can name in a single problem, and the state's label."""
        return None if self._single else self._name(possible[0]), self._start_label(possible)

    def state_of(
        self,
        activity: int,
        local: int,
        seen: Hashable | None,
        outcome: str | None,
        used: Mapping[str, float],
    ) -> int:
        """The local state that the robot is in after the action in a state of an activity.

        At the amounts that were measured, also if the action cannot lead there.
        """
        if outcome is not None:
            raise ImpossibleObservation(
                f"{self._where()}: an action has no outcome {outcome!r} but a next state; tell that"
            )
        labels = self._problem.activities[activity].cssp.state_labels
        successors = self.states(activity, local)
        matching = successors if seen is None else [each for each in successors if _is_at(labels[each], seen)]
        if used:
            matching = list(dict.fromkeys(self._measured(activity, each, used) for each in matching))
        if len(matching) != 1:
            unclear = seen is not None and bool(matching)
            raise self._impossible(seen, [repr(labels[each]) for each in matching or successors], unclear)
        return matching[0]

    def measured_label(self, label: Hashable, used: Mapping[str, float]) -> LevelLabel:
        """The label of the same state at the amounts that were measured."""
        try:
            if isinstance(label, LevelLabel):
                return label.at(used)
        except InvalidProblem as error:
            raise ImpossibleObservation(f"{self._where()}: {error.violations[0]}") from error
        raise ImpossibleObservation(f"{self._where()}: there is no capacity {min(used)!r}; measure none")

    def _measured(self, activity: int, local: int, used: Mapping[str, float]) -> int:
        cssp = self._problem.activities[activity].cssp
        return cssp.state_index[self.measured_label(cssp.state_labels[local], used)]

    def outcome_of(
        self,
        event: int,
        entry: Hashable | None,
        seen: Hashable | None,
        outcome: str | None,
        used: Mapping[str, float],
    ) -> Begun:
        """How the choice turned out; in a single problem, where it begins.

        At the amounts that were measured, also if the choice cannot lead there.
        """
        possible = self.outcomes(event, entry)
        if self._single and outcome is not None:
            raise ImpossibleObservation(
                f"{self._where()}: there is no outcome {outcome!r} but a first state; tell that"
            )

        def is_called(each: Begun, name: Hashable) -> bool:
            return name in (self._name(each[0]), *(self._problem.events[end] for end in each[0].events))

        # What happens at once says more than the event that an activity leads to in the end.
        matching = [each for each in possible if outcome is None or self._name(each[0]) == outcome]
        matching = matching or [each for each in possible if is_called(each, outcome)]
        if seen is not None:
            by_state = [each for each in matching if _is_at(self._start_label(each), seen)]
            exactly = [each for each in matching if self._name(each[0]) == seen]
            loosely = [each for each in matching if is_called(each, seen)]
            # An activity's own name says more than that of the event behind it.
            matching = by_state if self._single else by_state or exactly or loosely
        if len(matching) != 1:
            told = seen if outcome is None else (outcome if seen is None else (outcome, seen))
            shown = [self._shown(each) for each in (matching or possible)]
            raise self._impossible(told, shown, unclear=bool(matching))
        happened, start = matching[0]
        if used and happened.runs is not None and start is not None:
            start = self._measured(happened.runs, start, used)
        return happened, start

    def _name(self, outcome: Outcome) -> str:
        """What an outcome is called: its activity, or its event if it runs none."""
        if outcome.runs is None:
            return self._problem.events[outcome.event]
        return self._problem.activities[outcome.runs].name

    def _start_label(self, possible: Begun) -> Hashable | None:
        outcome, start = possible
        if outcome.runs is None or start is None:
            return None
        return self._problem.activities[outcome.runs].cssp.state_labels[start]

    def _shown(self, possible: Begun) -> str:
        """An outcome and the state that it begins in, for an error message."""
        if self._single:
            return repr(self._start_label(possible))
        where = "" if possible[1] is None else f" in {self._start_label(possible)!r}"
        return repr(self._name(possible[0])) + where

    def _impossible(
        self, seen: Hashable | None, possible: Sequence[str], unclear: bool = False
    ) -> ImpossibleObservation:
        listed = ", ".join(possible[:_SHOWN]) + (" and more" if len(possible) > _SHOWN else "")
        if seen is None:
            return ImpossibleObservation(f"{self._where()}: tell what was observed; possible: {listed}")
        if unclear:
            return ImpossibleObservation(
                f"{self._where()}: {seen!r} does not tell which happened; tell outcome and state; "
                f"possible: {listed}"
            )
        return ImpossibleObservation(f"{self._where()}: {seen!r} cannot be observed next; possible: {listed}")


def _is_at(label: Hashable | None, seen: Hashable) -> bool:
    """Whether a label is what was seen, or the state without its levels is."""
    return label == seen or base_of(label) == seen
