"""Elevators: people wait on floors, their destinations are known only inside, and energy is limited.

In every rush hour some people wait, each on a floor. A lift moves floor by floor, gently or fast, stops to
let people in and out. Only then it learns their destinations: the ground floor more often than
any other. Before each rush hour the house decides whether one lift runs or two, whose motors cost energy as
long as they run. Person-minutes of waiting and riding are minimised; the energy of the whole day is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Any

import numpy as np

from hcssp.cssp.implicit import explore
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import Mission, Range, Size, scenario

WAITING, ENERGY = "waiting", "energy"
COSTS = (WAITING, ENERGY)
DONE = "all where they want to be"
_MOVES = {"up": (1, 1.0), "down": (-1, 0.6), "fast up": (2, 3.0), "fast down": (-2, 1.8)}
"""Floors of a move, and its energy."""
_IDLE = 0.4
"""The energy of a lift that runs, each minute."""


ABOUT = "elevators", "rush hours with one lift or two, and people who want to go anywhere"


@scenario(
    *ABOUT,
    Size(3_427, 4, 1),
    small={"floors": 3},
    large={"rushes": 6, "floors": 5, "people": 3, "energy": 120.0},
)
def elevators(
    *,
    rushes: Annotated[int, Range("how many rush hours the day has", 1, 50)] = 2,
    floors: Annotated[int, Range("how many floors there are", 2, 20)] = 4,
    people: Annotated[int, Range("how many people wait in a rush hour", 1, 4)] = 2,
    home: Annotated[
        float, Range("the probability that somebody wants to go to the ground floor", 0, 1)
    ] = 0.6,
    late: Annotated[float, Range("the probability that somebody holds the door for a minute", 0, 0.9)] = 0.2,
    seed: Annotated[int, Range("who waits where", 0)] = 0,
    energy: Annotated[float, Range("the energy allowed", 0)] = 25.0,
) -> HCSSP:
    """The day as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    plan = Mission(*ABOUT)
    events = [plan.add_event(f"rush-{number}") for number in range(1, rushes + 1)]
    events.append(plan.add_event("night"))
    rng = np.random.default_rng(seed)
    for number, here in enumerate(events[:-1], 1):
        waiting = tuple(sorted(int(floor) for floor in rng.integers(0, floors, people)))
        for lifts, choice in ((1, "one lift"), (2, "both lifts")):
            rush = _Rush(floors, waiting, lifts, home, late).to_cssp()
            plan.run(here, choice, f"{choice.replace(' ', '-')}-{number}", rush, events[number])
    return plan.under({ENERGY: energy}).build(start=events[0], end=events[-1])


class _Rush:
    """A rush hour. A state is the floors of the lifts, and of each person where they are.

    A person is ``("on", floor)`` while waiting, ``(lift, floor)`` while riding to a floor, and None
    afterwards. Lifts take turns, so that a step decides about one of them: the last number of a state says
    about which.
    """

    def __init__(self, floors: int, waiting: tuple[int, ...], lifts: int, home: float, late: float) -> None:
        self._floors, self._waiting, self._lifts = floors, waiting, lifts
        self._home, self._late = home, late

    def to_cssp(self) -> CSSP:
        """The problem, with texts for labels."""
        start = ((0,) * self._lifts, tuple(("on", floor) for floor in self._waiting), 0)
        explored = explore(
            start, self._actions, self._transitions, self._costs, lambda state: state == DONE, COSTS
        )
        return explored.derive(state_labels=tuple(self._text(label) for label in explored.state_labels))

    def _actions(self, state: Any) -> Iterator[str]:
        lifts, people, turn = state
        here = lifts[turn]
        if any(person in (("on", here), (turn, here)) for person in people):
            yield "stop"
        yield from (move for move, (step, _) in _MOVES.items() if 0 <= here + step < self._floors)
        if self._lifts > 1:
            yield "stay"

    def _transitions(self, state: Any, action: str) -> dict[Any, float]:
        lifts, people, turn = state
        after = (turn + 1) % self._lifts
        if action != "stop":
            step = _MOVES[action][0] if action in _MOVES else 0
            moved = (*lifts[:turn], lifts[turn] + step, *lifts[turn + 1 :])
            return {(moved, people, after): 1.0}
        here = lifts[turn]
        ways: list[list[tuple[Any, float]]] = []
        for person in people:
            if person == ("on", here):
                ways.append([((turn, floor), chance) for floor, chance in self._wanted(here)])
            else:
                ways.append([(None if person == (turn, here) else person, 1.0)])
        reached: dict[Any, float] = {}
        for together in product(*ways):
            # Who is who makes no difference from now on.
            then = tuple(sorted((person for person, _ in together), key=str))
            ended = all(person is None for person in then)
            to = DONE if ended else (lifts, then, after)
            chance = float(np.prod([chance for _, chance in together]))
            reached[to] = reached.get(to, 0.0) + (1.0 - self._late) * chance
        held = (lifts, people, after)
        reached[held] = reached.get(held, 0.0) + self._late
        return reached

    def _costs(self, state: Any, action: str) -> dict[str, float]:
        unhappy = sum(person is not None for person in state[1])
        moving = _MOVES[action][1] if action in _MOVES else 0.0
        return {WAITING: unhappy / self._lifts, ENERGY: _IDLE + moving}

    def _wanted(self, here: int) -> list[tuple[int, float]]:
        """The destination of a person who enters here."""
        others = [floor for floor in range(1, self._floors) if floor != here]
        if here == 0:
            return [(floor, 1.0 / len(others)) for floor in others]
        shares = [(0, self._home if others else 1.0)]
        shares += [(floor, (1.0 - self._home) / len(others)) for floor in others]
        return [(floor, share) for floor, share in shares if share > 0.0]

    def _text(self, label: Any) -> str:
        if label == DONE:
            return DONE
        lifts, people, turn = label
        at = ", ".join(f"lift {number} at {floor}" for number, floor in enumerate(lifts, 1))
        message = [_person(person) for person in people if person is not None]
        return "; ".join([at, *message, *([f"lift {turn + 1} decides"] if self._lifts > 1 else [])])


def _person(person: tuple[Any, int]) -> str:
    where, floor = person
    return f"waits at {floor}" if where == "on" else f"rides in {where + 1} to {floor}"
