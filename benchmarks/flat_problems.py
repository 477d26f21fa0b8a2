"""Flat problems from several fields, from a few hundred to some thousand states, as arrays of any version.

Each maker yields rows: a state, its costs and where it leads. States are whatever can be a key; the goal is
``GOAL``. The bound lies between the use of the cheapest policy and the least use, so that it binds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

GOAL = "goal"
SHARE = 0.37  # of the way from the least use to that of the cheapest policy

Row = tuple[Hashable, tuple[float, float], dict[Hashable, float]]


def maintenance(horizon: int, levels: int) -> Iterator[Row]:
    """A machine that wears: run it, service it or replace it; cost, and failures."""
    for left in range(horizon, 0, -1):
        for wear in range(levels):
            fails = 0.002 + 0.25 * (wear / levels) ** 2
            worse = min(wear + 1, levels - 1)
            run: dict[Hashable, float] = {}
            for then, p in ((worse, 0.7 * (1 - fails)), (wear, 0.3 * (1 - fails)), (0, fails)):
                run[_next(left, then)] = run.get(_next(left, then), 0.0) + p
            yield (left, wear), (1.0 + 6.0 * fails, fails), run
            yield (left, wear), (2.1 + 0.01 * wear, 0.001), {_next(left, max(0, wear - 4)): 1.0}
            yield (left, wear), (4.7, 0.0), {_next(left, 0): 1.0}


def _next(left: int, state: int) -> Hashable:
    return (left - 1, state) if left > 1 else GOAL


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


def routing(side: int, radius: int) -> Iterator[Row]:
    """A packet through a mesh of radio links: long hops are quick and get lost; time, and losses."""
    for x in range(side):
        for y in range(side):
            if (x, y) == (side - 1, side - 1):
                continue
            for dx, dy in ((1, 0), (0, 1), (radius, 0), (0, radius), (1, 1), (radius - 1, 1)):
                head: Hashable = (x + dx, y + dy)
                if x + dx >= side or y + dy >= side:
                    continue
                lost = min(0.6, 0.01 + 0.06 * (dx + dy - 1) + 0.05 * ((7 * x + 3 * y) % 5 == 0))
                aside: Hashable = (x, min(side - 1, y + 1)) if y + 1 < side else (min(side - 1, x + 1), y)
                to = {GOAL if head == (side - 1, side - 1) else head: 1.0 - lost}
                aside = GOAL if aside == (side - 1, side - 1) else aside
                to[aside] = to.get(aside, 0.0) + lost
                yield (x, y), (1.0 + 0.03 * ((x * y) % 7), lost), to


MAKERS: dict[str, Callable[[], Iterator[Row]]] = {
    "maintenance 40 x 20": lambda: maintenance(40, 20),
    "maintenance 100 x 30": lambda: maintenance(100, 30),
    "inventory 40 x 20": lambda: inventory(40, 20),
    "inventory 120 x 30": lambda: inventory(120, 30),
    "power 30 x 12": lambda: power(30, 12),
    "power 80 x 20": lambda: power(80, 20),
    "scheduling 60 x 20": lambda: scheduling(60, 20),
    "scheduling 150 x 30": lambda: scheduling(150, 30),
    "routing 25": lambda: routing(25, 4),
    "routing 60": lambda: routing(60, 5),
}


def problem_of(name: str) -> Any:
    """The problem of a maker, under a bound that binds."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp.cssp.model import CSSP

    given = list(MAKERS[name]())
    number = {state: index for index, state in enumerate(dict.fromkeys(state for state, _, _ in given))}
    given.sort(key=lambda row: number[row[0]])
    number[GOAL] = len(number)
    entries = [(row, number[head], p) for row, (_, _, to) in enumerate(given) for head, p in to.items()]
    row, head, data = (np.array(part) for part in zip(*entries, strict=True))
    transitions = csr_array((data, (row, head)), shape=(len(given), len(number)))
    counts = np.bincount([number[state] for state, _, _ in given], minlength=len(number))
    row_start = np.concatenate([[0], np.cumsum(counts)])
    costs = np.array([paid for _, paid, _ in given]).T
    uses = [least_use(transitions, row_start, costs, weights) for weights in ((0.01, 1.0), (1.0, 0.0))]
    return CSSP(
        transitions=transitions,
        row_start=row_start,
        costs=costs,
        initial=np.eye(1, len(number))[0],
        goals=np.arange(len(number)) == len(number) - 1,
        cost_names=("cost", "risk"),
        bounds=np.array([uses[0] + SHARE * (uses[1] - uses[0])]),
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
