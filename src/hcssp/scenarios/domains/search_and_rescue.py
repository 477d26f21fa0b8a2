r"""Search and rescue: areas to look through, each left in one of two ways, with somebody or without.

A robot goes through the areas of a collapsed building, one after the other. In each there is somebody with a
known probability, in one of a few hideouts. The robot walks to hideouts, past rubble that may come down, and
glances (which may overlook somebody) or looks closely. What it has seen so far is a part of its state, so
every look is as likely to find somebody as Bayes' rule says: with the probability :math:`w_h` of hideout
:math:`h` and the share :math:`\sigma_h` of it that looks so far would have found, a look that raises the
share to :math:`\sigma'_h` finds somebody with probability

.. math:: w_h (\sigma'_h - \sigma_h) / (1 - \sum_k w_k \sigma_k).

A robot that leaves an area without a find may have overlooked a person, with the probability
that is left. An area ends by one of two exits: ``found``, and then the person is carried out or a medic is
called, who may not come at once; or "nobody", and the robot goes on. An area may also be passed by. Minutes
are minimised; the risk and the expected number of people who are overlooked are bounded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Annotated, Any

import numpy as np

from hcssp.cssp.grid import DIRECTIONS, Cell, GridWorld, Hazard, PlacedGrid
from hcssp.cssp.implicit import explore
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome
from hcssp.procedure.builder import EventHandle
from hcssp.scenarios.scenario import Mission, Range, Size, scenario, single_state

MINUTES, RISK, OVERLOOKED = "minutes", "risk", "overlooked"
COSTS = (MINUTES, RISK, OVERLOOKED)
FOUND, NOBODY = "found", "nobody"
_STEPS = dict(zip(DIRECTIONS, ((0, -1), (1, 0), (0, 1), (-1, 0)), strict=True))
_LOOKS = {"glance": (1.0, 0.6), "look closely": (4.0, 0.95)}
"""Minutes of a look, and the share of those who are there whom it finds."""


ABOUT = "search-and-rescue", "areas to look through, each left with somebody or without"


@scenario(
    *ABOUT,
    Size(481, 10, 2),
    lengths=("width", "height"),
    small={"areas": 1, "width": 4, "height": 3},
    large={"areas": 6, "width": 8, "height": 6, "hideouts": 3, "risk": 0.4, "overlooked": 0.5},
)
def search_and_rescue(
    *,
    areas: Annotated[int, Range("how many areas there are to look through", 1, 30)] = 2,
    width: Annotated[int, Range("the cells along an area", 4, 60)] = 6,
    height: Annotated[int, Range("the cells across it", 3, 60)] = 4,
    hideouts: Annotated[int, Range("the places in an area where somebody may be", 1, 4)] = 2,
    present: Annotated[float, Range("the probability that somebody is in an area", 0, 1)] = 0.4,
    slip: Annotated[float, Range("the probability that a step slips to a side", 0, 0.9)] = 0.1,
    collapse: Annotated[float, Range("the risk of every step through rubble", 0, 1)] = 0.01,
    delayed: Annotated[float, Range("the probability that a medic cannot come at once", 0, 1)] = 0.3,
    seed: Annotated[int, Range("where hideouts and rubble are", 0)] = 0,
    risk: Annotated[float, Range("the risk allowed", 0)] = 0.1,
    overlooked: Annotated[float, Range("how many people may be overlooked", 0)] = 0.15,
) -> HCSSP:
    """The mission as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    plan = Mission(*ABOUT, {f"area {number + 1}": (number * (width + 1), 0) for number in range(areas)})
    entrances = [plan.add_event(f"area-{number}") for number in range(1, areas + 1)]
    over = plan.add_event("over")
    carrying = single_state(COSTS, {"carry": {MINUTES: 9.0, RISK: 0.02}})
    arriving = single_state(COSTS, {"wait": {MINUTES: 12.0}})
    delay = single_state(COSTS, {"wait long": {MINUTES: 30.0}})
    passing = single_state(COSTS, {"pass by": {MINUTES: width / 2, OVERLOOKED: present}})
    for number, here in enumerate(entrances, 1):
        behind = entrances[number] if number < areas else over
        area = _Area(width, height, hideouts, present, slip, collapse, np.random.default_rng([seed, number]))
        found = plan.add_event(f"found-{number}")
        exits: dict[Hashable, EventHandle] = {FOUND: found}
        plan.run(here, "search", f"search-{number}", area.to_cssp(), behind, f"area {number}", exits)
        plan.run(here, "pass by", f"pass-{number}", passing, behind)
        plan.run(found, "carry", f"carry-{number}", carrying, behind)
        medics = [
            Outcome(chance, behind, runs=plan.add(f"{name}-{number}", wait))
            for chance, name, wait in ((1.0 - delayed, "medic", arriving), (delayed, "late-medic", delay))
        ]
        plan.add_choice(found, "call a medic", to=medics)
    return plan.under({RISK: risk, OVERLOOKED: overlooked}).build(start=entrances[0], end=over)


class _Area:
    """An area; a state is a cell and the share of people in each hideout whom looks would have found."""

    def __init__(
        self,
        width: int,
        height: int,
        hideouts: int,
        present: float,
        slip: float,
        collapse: float,
        rng: np.random.Generator,
    ) -> None:
        self._slip = slip
        cells = [(column, row) for column in range(2, width) for row in range(1, height + 1)]
        chosen = rng.choice(len(cells), size=min(hideouts, len(cells)), replace=False)
        self._hideouts = [cells[each] for each in sorted(chosen.tolist())]
        weights = rng.dirichlet(np.full(len(self._hideouts), 4.0)) * present
        self._weights: list[float] = weights.round(3).tolist()
        rubble = [(column, row) for column, row in cells if rng.random() < 0.3]
        middle = (height + 1) // 2
        self._world = GridWorld(
            width=width,
            height=height,
            start=(0, middle),
            goal=(width + 1, middle),
            hazards=[Hazard(column, row, 1, 1, {RISK: collapse}) for column, row in rubble],
            cost_names=COSTS,
            exits={FOUND: 0.0},
        )
        self._risk = dict.fromkeys(rubble, collapse)

    def to_cssp(self) -> CSSP:
        """The problem: what can be reached, with texts for labels and the map for pictures."""
        start, unseen = next(iter(self._world.starts)), (0.0,) * len(self._hideouts)
        explored = explore(
            (start, unseen),
            self._actions,
            self._transitions,
            self._costs,
            lambda state: state in (FOUND, NOBODY),
            COSTS,
        )
        labels: list[Any] = list(explored.state_labels)
        goal = self._world.goals[0]
        places = [goal if label in (FOUND, NOBODY) else label[0] for label in labels]
        world = PlacedGrid.on(self._world, np.array(places))
        return explored.derive(state_labels=tuple(self._text(label) for label in labels), world=world)

    def _actions(self, state: Any) -> Iterator[str]:
        cell, shares = state
        if cell == self._world.goals[0]:
            yield "leave"
            return
        yield from DIRECTIONS
        if cell in self._hideouts:
            seen = shares[self._hideouts.index(cell)]
            yield from (look for look, (_, share) in _LOOKS.items() if share > seen)

    def _transitions(self, state: Any, action: str) -> dict[Any, float]:
        cell, shares = state
        if action == "leave":
            return {NOBODY: 1.0}
        if action in _LOOKS:
            here = self._hideouts.index(cell)
            after = (*shares[:here], _LOOKS[action][1], *shares[here + 1 :])
            found = self._weights[here] * (after[here] - shares[here]) / self._left(shares)
            return {FOUND: found, (cell, after): 1.0 - found}
        reached: dict[Any, float] = {}
        turn = DIRECTIONS.index(action)
        for aside, chance in ((0, 1.0 - self._slip), (-1, self._slip / 2), (1, self._slip / 2)):
            there = self._step(cell, DIRECTIONS[(turn + aside) % 4])
            reached[there, shares] = reached.get((there, shares), 0.0) + chance
        return reached

    def _costs(self, state: Any, action: str) -> dict[str, float]:
        cell, shares = state
        if action == "leave":
            unseen = sum(w * (1.0 - share) for w, share in zip(self._weights, shares, strict=True))
            return {OVERLOOKED: unseen / self._left(shares)}
        minutes = _LOOKS[action][0] if action in _LOOKS else 1.0
        return {MINUTES: minutes, RISK: self._risk.get(cell, 0.0)}

    def _left(self, shares: tuple[float, ...]) -> float:
        """The probability that looks so far have found no person."""
        return 1.0 - sum(weight * share for weight, share in zip(self._weights, shares, strict=True))

    def _step(self, cell: Cell, direction: str) -> Cell:
        across, down = _STEPS[direction]
        column, row = cell[0] + across, cell[1] + down
        free = self._world.free
        inside = 0 <= row < free.shape[0] and 0 <= column < free.shape[1]
        return (column, row) if inside and free[row, column] else cell

    def _text(self, label: Any) -> str:
        if label in (FOUND, NOBODY):
            return str(label)
        cell, shares = label
        words = {0.0: "unseen", _LOOKS["glance"][1]: "glanced at", _LOOKS["look closely"][1]: "searched"}
        seen = ", ".join(f"hideout {number} {words[share]}" for number, share in enumerate(shares, 1))
        return f"{cell}, {seen}"
