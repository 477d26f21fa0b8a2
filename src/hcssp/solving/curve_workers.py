"""The points of a trade-off curve, side by side: this process and its workers each solve one at a time.

They are given out in ascending order, each with the best policy that is known by then and keeps its bound;
of the last few, those that are expected to take longest come first.
Whoever solves a point keeps what it has learnt about the activities for its next one; a policy that a worker
has found is evaluated anew here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf

from hcssp.contract.ending import Reason
from hcssp.contract.memory import Memory, Problem
from hcssp.contract.plan import Plan
from hcssp.contract.stop import StopCriterion
from hcssp.cssp.model import IntArray
from hcssp.procedure.policy import policy_of
from hcssp.solving.curve_point import CurvePoint, Enough, finished_point, unkept
from hcssp.solving.expected_times import LAST_PER_WORKER, ExpectedTimes
from hcssp.solving.side_by_side import SideBySide
from hcssp.solving.solve import solve
from hcssp.solving.travelled_plan import TravelledPlan
from hcssp.workers import Task, Workers, open_workers
from hcssp.workers.at_work import kept

Curve = Mapping[float, tuple[float, float | None]]
"""From bounds, ascending, to the stochastic optimum there and the price."""

_Start = tuple[IntArray, Mapping[str, float] | None]
"""The rows of a policy to begin with, and the prices that it came with."""


def points_by_workers(
    problem: Problem,
    memory: Memory,
    constraint: str,
    curve: Curve,
    below_least: Mapping[float, float],
    gap: float,
    deadline: float,
    executor: object,
    tell: Callable[[CurvePoint], object],
) -> None:
    """Solve the points, and tell each as it is done.

    Parameters
    ----------
    problem, constraint
        What is solved, and whose bound varies.
    memory
        What this process has learnt about it.
    curve
        The bounds with what is known there.
    below_least
        The bounds that nobody can keep, with the least that can be kept.
    gap, deadline
        When a point is done, and when nobody listens any more, by ``time.perf_counter()``.
    executor
        Who works.
    tell
        Called with every point.
    """
    for bound, least in below_least.items():
        plan = unkept(problem.with_bounds({constraint: bound}), constraint, bound, least, Memory())
        tell(finished_point(constraint, bound, plan, *curve[bound]))
    with open_workers(executor=executor) as workers:
        asked = [bound for bound in curve if bound not in below_least]
        points = _Points(problem, memory, constraint, curve, asked, gap, deadline, workers, tell)
        SideBySide(workers, points).run()


def be_ready() -> None:
    """Nothing; whoever is asked for it has imported what a point needs."""


class _Points:
    """The work: every point is a piece of it."""

    def __init__(
        self,
        problem: Problem,
        memory: Memory,
        constraint: str,
        curve: Curve,
        asked: list[float],
        gap: float,
        deadline: float,
        workers: Workers,
        tell: Callable[[CurvePoint], object],
    ) -> None:
        self._problem, self._memory = problem, memory
        self._constraint, self._curve = constraint, curve
        self._waiting = asked
        self._place = {bound: place for place, bound in enumerate(asked)}
        self._times = ExpectedTimes((len(asked),))
        self._open = len(asked)
        self._gap, self._deadline = gap, deadline
        self._workers = workers
        self._tell = tell
        self._known: dict[float, TravelledPlan] = {}

    def following(self, done: float | None) -> float | None:
        """The next bound; whoever asks."""
        if not self._waiting:
            return None
        if len(self._waiting) <= LAST_PER_WORKER * self._workers.count:
            longest = max(self._waiting, key=lambda bound: self._times.of(self._place[bound]))
            self._waiting.remove(longest)
            return longest
        return self._waiting.pop(0)

    def send(self, piece: float) -> Task:
        value, _ = self._curve[piece]
        return self._workers.submit(
            _solve_point,
            self._workers.share(self._problem),
            self._constraint,
            piece,
            value,
            self._gap,
            self._seconds(),
            self._start(piece),
        )

    def do(self, piece: float, attend: StopCriterion) -> Plan:
        value, _ = self._curve[piece]
        under = self._problem.with_bounds({self._constraint: piece})
        stop: list[StopCriterion] = [_enough(value, self._gap, self._seconds()), attend]
        plan = _solved(under, stop, self._start(piece), self._memory)
        if plan.ending.reason is Reason.INTERRUPTED:
            # Ctrl-C is an ordinary end of one search, but it means all of them.
            raise KeyboardInterrupt
        return plan

    def learn(self, piece: float, answer: Plan | TravelledPlan) -> None:
        self._open -= 1
        known = TravelledPlan.of(answer) if isinstance(answer, Plan) else answer
        self._known[piece] = known
        self._times.took(self._place[piece], known.parts["seconds"])

    def take(self, piece: float, answer: Plan | TravelledPlan) -> None:
        plan = answer
        if isinstance(plan, TravelledPlan):
            plan = plan.arrived(self._problem.with_bounds({self._constraint: piece}))
        self._tell(finished_point(self._constraint, piece, plan, *self._curve[piece]))

    def _seconds(self) -> float:
        """Whoever works at the same time has the same time: what is left is shared by rounds."""
        return max(0.0, self._deadline - time.perf_counter()) / max(1, -(-self._open // self._workers.count))

    def _start(self, bound: float) -> _Start | None:
        """The best policy known that keeps a bound, since it keeps a smaller one, and its prices."""
        known = [plan for smaller, plan in self._known.items() if smaller <= bound]
        best = min(known, key=lambda plan: plan.upper_bound, default=None)
        return None if best is None or best.rows is None else (best.rows, best.parts["prices"])


def _enough(value: float, gap: float, seconds: float) -> Enough:
    return Enough(value, gap, time.perf_counter() + seconds if seconds < inf else inf)


def _solved(under: Problem, stop: Sequence[StopCriterion], start: _Start | None, memory: Memory) -> Plan:
    """The plan of a point, begun with that of another."""
    begun = None if start is None else Plan(under, policy_of(under, start[0]), prices=start[1])
    return solve(under, stop=stop, start=begun, memory=memory)


def _solve_point(
    problem: Problem,
    constraint: str,
    bound: float,
    value: float,
    gap: float,
    seconds: float,
    start: _Start | None,
) -> TravelledPlan:
    """What a worker does for a point."""
    memory: Memory = kept("memory", Memory)
    under = problem.with_bounds({constraint: bound})
    return TravelledPlan.of(_solved(under, [_enough(value, gap, seconds)], start, memory))
