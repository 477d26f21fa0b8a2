"""What a robot's code is told: what to do now, where, and with what left."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from hcssp.cssp.levels import LevelLabel, with_used


@dataclass(frozen=True)
class Decision:
    """What to do now, where, and with what left.

    Attributes
    ----------
    action
        The label of the action to take, or at an event the name of the choice; None once the run is over, and
        before it is told where a single problem begins.
    event
        The event that was reached last; empty in a single problem, which has none.
    activity
        The activity that is being executed; None at an event, and in a single problem.
    state
        The label of the activity's state; at an event that of the state it was entered in, if it can be
        entered in several; else None.
    spent
        The expected costs of all actions decided before this one since the plan began, by name; of a limit
        for each execution of a use, those in the execution that is under way.
    remaining
        The expected costs from here to the end, by name, this action's included.
    budget_left
        For each constraint the bound less what is spent; ``inf`` where there is no bound. If the rest was
        planned anew, the bound is what was left for it.
    over
        Whether the end is reached and nothing is left to do.
    cell
        The state without what is carried in it, such as a cell; the same as `state` where nothing is.
    used
        How much of each capacity has been used, by name: what was measured last, and what the model expects
        since then.
    replanned
        Whether what was measured led to where the plan says nothing, so that the rest was planned again.
    """

    action: Hashable | None
    event: str
    activity: str | None
    state: Hashable | None
    spent: Mapping[str, float]
    remaining: Mapping[str, float]
    budget_left: Mapping[str, float]
    over: bool = False
    cell: Hashable | None = None
    used: Mapping[str, float] = field(default_factory=dict)
    replanned: bool = False

    def __str__(self) -> str:
        if not self.event:
            where = "at the start" if self.action is None else f"in state {self._shown}: {self.action}"
            where = "over" if self.over else where
        elif self.activity is None:
            what = "over" if self.over else f"choose {self.action}"
            entered = "" if self.state is None else f" (entered in {self._shown})"
            where = f"at {self.event}{entered}: {what}"
        else:
            where = f"in {self.activity}, state {self._shown}: {self.action}"
        figures = f"spent: {_listed(self.spent)}" if self.over else f"to come: {_listed(self.remaining)}"
        left = f"; left: {_listed(self.budget_left)}" if self.budget_left else ""
        return f"{where}; {figures}{left}{'; planned again' if self.replanned else ''}"

    @property
    def _shown(self) -> str:
        return with_used(self.state) if isinstance(self.state, LevelLabel) else repr(self.state)


def _listed(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in figures.items())
