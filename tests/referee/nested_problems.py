"""Random procedures inside procedures for the referee, of two or three levels.

One procedure is used several times, so its uses share their arrays; there may be ways back, several exits, an
outcome that never happens, and limits for each execution of a use.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder

SHAPES = ("nested", "nested retries", "nested exits", "nested limits")

Room = Callable[[], CSSP]


def nested_procedure(rng: np.random.Generator, shape: str, num_costs: int, room: Room) -> HCSSP:
    """A procedure that uses another twice at least, without bounds of its own.

    Parameters
    ----------
    rng
        Draws everything.
    shape
        One of :data:`SHAPES`.
    num_costs
        Of each room.
    room
        Draws a room.
    """
    depth = int(rng.choice([2, 2, 3]))
    return _level(rng, shape, num_costs, room, depth, limited=False)


def _level(
    rng: np.random.Generator, shape: str, num_costs: int, room: Room, depth: int, *, limited: bool
) -> HCSSP:
    plan = ProcedureBuilder(f"level {depth}")
    events = [plan.add_event(f"e{index}") for index in range(3 if depth > 1 else int(rng.integers(2, 4)))]
    inner = None
    if depth > 1:
        inner = _level(rng, shape, num_costs, room, depth - 1, limited=shape == "nested limits")
    parts: list[int] = []

    def run(*, nested: bool) -> int:
        parts.append(plan.add_activity(f"A{len(parts)}", inner if nested and inner is not None else room()))
        return parts[-1]

    last = len(events) - 1
    for position, event in enumerate(events[:-1]):
        onwards = [Outcome(1.0, events[position + 1], runs=run(nested=True))]
        kind = rng.random()
        if kind < 0.4 and shape in ("nested retries", "nested limits"):
            # Back by chance only, or as often as one likes.
            again = 2.0 ** -float(rng.integers(1, 4))
            onwards = [Outcome(1.0 - again, events[position + 1], runs=parts[-1]), Outcome(again, event)]
        elif kind < 0.5:
            # It is stated, but never happens.
            onwards.append(Outcome(0.0, events[int(rng.integers(0, last + 1))]))
        elif kind < 0.7:
            onwards = [Outcome(0.75, events[position + 1], runs=parts[-1]), Outcome(0.25, events[last])]
        plan.add_choice(event, "c0", to=onwards)
        if rng.random() < 0.3 and len(parts) < 3:
            plan.add_choice(event, "c1", to=[Outcome(1.0, events[last], runs=run(nested=rng.random() < 0.3))])
    for index in range(1, num_costs):
        at_most = float(rng.integers(0, 10)) if limited and rng.random() < 0.7 else inf
        counted = [part for part in parts if rng.random() < 0.8] or parts[:1]
        plan.add_constraint(f"risk {index}", at_most=at_most, counts=dict.fromkeys(counted, f"risk {index}"))
    return plan.build(start=events[0], end=events[last])
