"""Searches in threads, in an event loop and in other processes: stopped from elsewhere, and handed around."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import FirstPlan, Gap, Interrupter, MaxIterations, Progress
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.contract.solver import Context, Problem
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.highs.running import HighsParameters
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve
from known_optima import knapsack, roads
from running_processes import HANG_GUARD
from small_procedures import forking, retrying


@dataclass
class Endless:
    """The exact method, which after its end goes on to say the same until somebody stops it."""

    begun: Callable[[], object]
    name: str = "endless"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        last = Progress()
        for last in PolicyBranching().iterate(problem, context):
            if last.ending is None:
                yield last
        self.begun()
        while True:
            yield Progress(
                last.seconds, last.iterations, last.lower_bound, last.upper_bound, last.incumbent, last.prices
            )


def test_a_search_is_interrupted_from_another_thread() -> None:
    interrupter = Interrupter()
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(solve, knapsack(6.0), Endless(begun.set), interrupter)
        begun.wait()
        assert not searching.done()
        interrupter.interrupt()
        plan = searching.result()
    assert plan.ending == Ending(Reason.INTERRUPTED)
    # What was found and proven by then is kept.
    assert (plan.status, plan.upper_bound) == (Status.OPTIMAL, 31.0)


def test_one_interrupter_stops_many_searches_and_can_be_reset() -> None:
    interrupter = Interrupter()
    all_begun = threading.Barrier(3)
    problems = [knapsack(6.0), roads(damage=4.0)]
    with ThreadPoolExecutor(2) as pool:
        searching = [pool.submit(solve, each, Endless(all_begun.wait), [interrupter]) for each in problems]
        all_begun.wait()
        interrupter.interrupt()
        plans = [each.result() for each in searching]
    assert [plan.ending.reason for plan in plans] == [Reason.INTERRUPTED, Reason.INTERRUPTED]
    assert [plan.upper_bound for plan in plans] == [31.0, 6.0]
    # Until it is reset, it stops whatever is begun, at its first step.
    at_once = solve(knapsack(6.0), stop=interrupter)
    assert (at_once.ending.reason, at_once.status) == (Reason.INTERRUPTED, Status.UNKNOWN)
    interrupter.reset()
    assert solve(knapsack(6.0), stop=[interrupter]).ending.reason is Reason.PROVED


def test_highs_is_interrupted_while_it_works() -> None:
    method = MixedInteger(parameters=HighsParameters(stop_seconds=HANG_GUARD))
    interrupter = Interrupter()
    threads = threading.active_count()
    plan = solve(small_building(2.0), method, interrupter, on_progress=lambda _: interrupter.interrupt())
    assert plan.ending == Ending(Reason.INTERRUPTED)
    assert threading.active_count() <= threads


def test_searches_side_by_side_do_not_disturb_each_other() -> None:
    bounds = [1.5, 2.0, 3.0, 4.0]
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(lambda bound: solve(small_building(bound), stop=Gap(0.2)), bounds))
    assert plans == [solve(small_building(bound), stop=Gap(0.2)) for bound in bounds]


def test_searches_in_an_event_loop() -> None:
    async def solve_all() -> list[Plan]:
        problems: list[Problem] = [knapsack(6.0), roads(damage=4.0), retrying()]
        return await asyncio.gather(*(asyncio.to_thread(solve, problem) for problem in problems))

    assert [plan.upper_bound for plan in asyncio.run(solve_all())] == pytest.approx([31.0, 6.0, 6.75])


def test_a_cancelled_task_leaves_its_plan() -> None:
    async def cancellable(begun: Callable[[], object]) -> Plan:
        interrupter = Interrupter()
        work = asyncio.ensure_future(
            asyncio.to_thread(solve, knapsack(6.0), Endless(begun), stop=interrupter)
        )
        try:
            # A thread cannot be cancelled, so that it is asked to stop instead.
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            interrupter.interrupt()
            return await work

    async def cancelled() -> Plan:
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        task = asyncio.create_task(cancellable(lambda: loop.call_soon_threadsafe(begun.set)))
        await begun.wait()
        task.cancel()
        return await task

    plan = asyncio.run(cancelled())
    assert plan.ending == Ending(Reason.INTERRUPTED)
    assert plan.upper_bound == 31.0


def test_searches_in_other_processes() -> None:
    problems: list[Problem] = [knapsack(6.0), retrying(), forking(), roads(damage=-1.0)]
    # A new interpreter for each: nothing but what is pickled comes along.
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        plans = list(pool.map(solve, problems))
        early = pool.submit(solve, small_building(2.0), PolicyBranching(), FirstPlan()).result()
        shared = pool.submit(partial(solve, stop=[MaxIterations(2)]), small_building(2.0)).result()
    assert plans == [solve(problem) for problem in problems]
    assert [plan.status for plan in plans] == [*[Status.OPTIMAL] * 3, Status.INFEASIBLE]
    assert early == solve(small_building(2.0), stop=FirstPlan())
    assert shared == solve(small_building(2.0), stop=MaxIterations(2))
    # They are whole plans: they judge themselves, speak, and go on.
    assert plans[0].evaluate().keeps_bounds()
    assert plans[1].resolve(damage=8.0).upper_bound == pytest.approx(5.75)
    assert early.name == "small-building"
    assert str(early).startswith("small-building: least expected time, damage at most 2")
