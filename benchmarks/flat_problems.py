"""Flat problems from several fields, from a few hundred to some thousand states, as arrays of any version.

Each maker yields rows: a state, its costs and where it leads. States are whatever can be a key; the goal is
``GOAL``. The bound lies between the use of the cheapest policy and the least use, so that it binds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

GOAL = "goal"

Row = tuple[Hashable, tuple[float, float], dict[Hashable, float]]


def inventory(periods: int, room: int) -> Iterator[Row]:
    """A shop: how much to order under random demand; money, and demand that is not met."""
    demand = {0: 0.15, 1: 0.3, 2: 0.3, 3: 0.15, 4: 0.1}
    for left in range(periods, 0, -1):
        for stock in range(room + 1):
            for order in range(min(6, room - stock) + 1):
                to: dict[Hashable, float] = {}
                unmet = 0.0
                for wanted, p in demand.items():
                    unmet += p * max(0, wanted - stock - order)
                    rest = max(0, stock + order - wanted)
                    head: Hashable = (left - 1, rest) if left > 1 else GOAL
                    to[head] = to.get(head, 0.0) + p
                held = 0.13 * (stock + order) + (1.7 + 0.9 * order if order else 0.0)
                yield (left, stock), (0.05 + held, unmet), to


def power(jobs: int, places: int) -> Iterator[Row]:
    """A device with a queue that may sleep, idle or work; energy, and waiting."""
    for left in range(jobs, -1, -1):
        for queue in range(places + 1):
            for mode in ("sleep", "on"):
                if left == 0 and queue == 0:
                    continue
                arrives = 0.45 if left and queue < places else 0.0
                for action, energy in (("sleep", 0.1), ("idle", 0.8), ("slow", 1.3), ("fast", 2.4)):
                    if mode == "sleep" and action in ("slow", "fast"):
                        continue
                    done = {"slow": 0.5, "fast": 0.85}.get(action, 0.0) if queue else 0.0
                    if (done == 0.0 and arrives == 0.0 and action != "idle") or (
                        action == "idle" and mode == "on"
                    ):
                        continue
                    to: dict[Hashable, float] = {}
                    for served, p in ((1, done), (0, 1.0 - done)):
                        for came, q in ((1, arrives), (0, 1.0 - arrives)):
                            rest, later = queue - served + came, left - came
                            awake = "sleep" if action == "sleep" else "on"
                            head: Hashable = GOAL if rest == 0 and later == 0 else (later, rest, awake)
                            if p * q > 0.0:
                                to[head] = to.get(head, 0.0) + p * q
                    yield (left, queue, mode), (energy + 0.02, 0.1 * queue), to


def scheduling(tasks: int, slack: int) -> Iterator[Row]:
    """Tasks one after the other, each fast, normal or careful, with a clock; money, and late tasks."""
    for task in range(tasks):
        for clock in range(slack + 1):
            for cost, odds in (
                (3.0 + 0.1 * (task % 3), (0.6, 0.4, 0.0)),
                (2.0, (0.2, 0.6, 0.2)),
                (1.3, (0.0, 0.5, 0.5)),
            ):
                to: dict[Hashable, float] = {}
                late = 0.0
                for step, p in zip((-1, 0, 1), odds, strict=True):
                    then = clock + step + (task % 5 == 4)
                    late += p * (then > slack)
                    then = min(max(then, 0), slack)
                    head: Hashable = (task + 1, then) if task + 1 < tasks else GOAL
                    to[head] = to.get(head, 0.0) + p
                yield (task, clock), (cost, late), {head: p for head, p in to.items() if p > 0.0}


def charging(hours: int, cells: int) -> Iterator[Row]:
    """A vehicle that is charged at changing prices and leaves at random; money, and an empty battery."""
    for left in range(hours, 0, -1):
        price = 1.0 + 0.6 * ((5 * left) % 7) / 7.0
        for charge in range(cells + 1):
            for power in range(min(4, cells - charge) + 1):
                full = charge + power
                to: dict[Hashable, float] = {}
                short = 0.0
                for trip, p in ((0, 0.6), (2, 0.2), (5, 0.15), (9, 0.05)):
                    short += p * max(0, trip - full)
                    head: Hashable = (left - 1, max(0, full - trip)) if left > 1 else GOAL
                    to[head] = to.get(head, 0.0) + p
                yield (left, charge), (0.02 + price * power + 0.05 * power**2 + 0.01 * full, short), to


def queueing(customers: int, places: int) -> Iterator[Row]:
    """A counter with one to three clerks and a queue; wages, and customers that are turned away."""
    for left in range(customers, -1, -1):
        for queue in range(places + 1):
            if left == 0 and queue == 0:
                continue
            arrives = 0.55 if left else 0.0
            for clerks, served in ((1, 0.35), (2, 0.6), (3, 0.75)):
                done = served if queue else 0.0
                to: dict[Hashable, float] = {}
                lost = 0.0
                for fewer, p in ((1, done), (0, 1.0 - done)):
                    for came, q in ((1, arrives), (0, 1.0 - arrives)):
                        rest = queue - fewer + came
                        lost += p * q * max(0, rest - places)
                        rest = min(rest, places)
                        head: Hashable = GOAL if left == came and rest == 0 else (left - came, rest)
                        if p * q > 0.0:
                            to[head] = to.get(head, 0.0) + p * q
                yield (left, queue), (clerks**1.2 + 0.03 * queue, lost), to


def slippery_grid(side: int) -> Iterator[Row]:
    """From corner to corner, slipping to either side now and then; steps, and damage on the diagonal."""
    end = (side - 1, side - 1)
    for x in range(side):
        for y in range(side):
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                to: dict[Hashable, float] = {}
                for (ex, ey), p in (((dx, dy), 0.9), ((dy, dx), 0.05), ((-dy, -dx), 0.05)):
                    inside = 0 <= x + ex < side and 0 <= y + ey < side
                    cell = (x + ex, y + ey) if inside else (x, y)
                    head: Hashable = GOAL if cell == end else cell
                    to[head] = to.get(head, 0.0) + p
                if (x, y) != end:
                    yield (x, y), (1.0, 1.0 if x == y > 0 else 0.0), to


GRIDS = {"slippery 6 x 6 at 0.5": (6, 0.5), "slippery 6 x 6 at 0.2": (6, 0.2)}
"""Slippery grids by name: the side, and the damage that is allowed."""

MAKERS: dict[str, tuple[Callable[[], Iterator[Row]], float]] = {
    "charging 120 x 40 at 37%": (lambda: charging(120, 40), 0.37),
    "inventory 30 x 20 at 40%": (lambda: inventory(30, 20), 0.4),
    "inventory 40 x 20 at 15%": (lambda: inventory(40, 20), 0.15),
    "inventory 40 x 20 at 37%": (lambda: inventory(40, 20), 0.37),
    "inventory 60 x 20 at 50%": (lambda: inventory(60, 20), 0.5),
    "inventory 120 x 30 at 37%": (lambda: inventory(120, 30), 0.37),
    "power 50 x 20 at 60%": (lambda: power(50, 20), 0.6),
    "power 60 x 30 at 60%": (lambda: power(60, 30), 0.6),
    "queueing 150 x 20 at 60%": (lambda: queueing(150, 20), 0.6),
    "scheduling 150 x 30 at 37%": (lambda: scheduling(150, 30), 0.37),
}
"""Problems by name, each with the share of the way from the least use to that of the cheapest policy that its
bound allows. All take more than ten seconds at commit ae8785b; others, such as routing and maintenance, did
not."""


def problem_of(name: str) -> Any:
    """The problem of a maker, under a bound that binds."""
    if name in GRIDS:
        side, allowed = GRIDS[name]
        return _problem(list(slippery_grid(side)), bound=allowed)
    maker, share = MAKERS[name]
    return _problem(list(maker()), share)


def _problem(given: list[Row], share: float = 0.0, bound: float | None = None) -> Any:
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp.cssp.model import CSSP

    number = {state: index for index, state in enumerate(dict.fromkeys(state for state, _, _ in given))}
    given.sort(key=lambda row: number[row[0]])
    number[GOAL] = len(number)
    entries = [(row, number[head], p) for row, (_, _, to) in enumerate(given) for head, p in to.items()]
    row, head, data = (np.array(part) for part in zip(*entries, strict=True))
    transitions = csr_array((data, (row, head)), shape=(len(given), len(number)))
    counts = np.bincount([number[state] for state, _, _ in given], minlength=len(number))
    row_start = np.concatenate([[0], np.cumsum(counts)])
    costs = np.array([paid for _, paid, _ in given]).T
    if bound is None:
        uses = [least_use(transitions, row_start, costs, weights) for weights in ((0.01, 1.0), (1.0, 0.0))]
        bound = uses[0] + share * (uses[1] - uses[0])
    return CSSP(
        transitions=transitions,
        row_start=row_start,
        costs=costs,
        initial=np.eye(1, len(number))[0],
        goals=np.arange(len(number)) == len(number) - 1,
        cost_names=("cost", "risk"),
        bounds=np.array([bound]),
    )


def least_use(transitions: Any, row_start: Any, costs: Any, weights: tuple[float, float]) -> float:
    """The secondary cost of a policy that is best under `weights`, by value iteration."""
    import numpy as np

    paid = np.array(weights) @ costs
    value, use = np.zeros(len(row_start) - 1), np.zeros(len(row_start) - 1)
    for _ in range(5_000):
        ahead = paid + transitions @ value
        least = np.minimum.reduceat(ahead, row_start[:-2])
        best = np.flatnonzero(ahead == np.repeat(least, np.diff(row_start[:-1])))
        owner = np.searchsorted(row_start, best, side="right") - 1
        first = best[np.append(True, owner[1:] != owner[:-1])]
        after = np.append((costs[1] + transitions @ use)[first], 0.0)
        change = np.max(np.abs(after - use)) + np.max(np.abs(least - value[:-1]))
        value, use = np.append(least, 0.0), after
        if change < 1e-12:
            break
    return float(use[0])
