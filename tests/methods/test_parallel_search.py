"""A search spread over workers proves what one process does, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from math import inf
from typing import Any, cast

import numpy as np
import pytest

from hazard_grid import stages
from hcssp.checker.checking import check
from hcssp.contract.progress import FirstPlan, MaxIterations, Progress
from hcssp.contract.proof import Reason
from hcssp.contract.solver import Context
from hcssp.cssp.model import CSSP
from hcssp.errors import UnsupportedProblem
from hcssp.methods import parallel_search
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.parallel_search import (
    Findings,
    Order,
    ParallelParameters,
    ParallelSearch,
    Setting,
    be_ready,
    work_on,
)
from hcssp.methods.policy_branching import Node, PolicyBranching
from hcssp.numerics import PRUNE_TOLERANCE
from hcssp.procedure.model import HCSSP
from hcssp.proofs.search_record import SearchRecord
from hcssp.scenarios.domains.evacuation import small_building
from hcssp.solving import proving
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region
from hcssp.workers import Task, Workers, open_workers
from random_problems import random_cssp
from random_procedures import random_procedure
from volume import some
from worker_tasks import lose_whoever_measures

Problem = CSSP | HCSSP


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are called at once and answer after one node each: small problems go back and forth."""
    rule = ParallelParameters(alone_seconds=0.0, alone_nodes=1, scarce_seconds=0.0)
    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", rule)


@pytest.fixture(scope="module")
def processes() -> Iterator[Workers]:
    with open_workers(jobs=2) as workers:
        # Searches as short as these would be over before a process is there.
        for call in workers.warm_up(be_ready):
            call.result()
        yield workers


@pytest.fixture
def inline() -> Iterator[Workers]:
    """The tasks of all workers are done in this process, one after the other."""
    with Unlucky(range(0)) as workers:
        yield workers


class Told:
    """The progress that a search tells; what it says must be true of the optimum."""

    def __init__(self, optimum: float) -> None:
        self.optimum = optimum
        self.steps: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        last = self.steps[-1] if self.steps else Progress()
        assert last.lower_bound <= progress.lower_bound <= self.optimum * (1.0 + 1e-9)
        assert last.upper_bound >= progress.upper_bound >= self.optimum * (1.0 - 1e-9)
        self.steps.append(progress)


def assert_same(problem: Problem, workers: Any, **options: Any) -> Told:
    alone = solve(problem, stop=[])
    told = Told(alone.upper_bound)
    plan = solve(problem, stop=[], executor=workers, on_progress=told, **options)
    assert (plan.status, plan.ending) == (alone.status, alone.ending)
    assert plan.upper_bound == pytest.approx(alone.upper_bound, rel=1e-9)
    # Bounds may be exceeded by a tolerance, and at high prices a proof that ends elsewhere tells that apart.
    assert plan.lower_bound == pytest.approx(alone.lower_bound, rel=1e-7)
    return told


PROBLEMS: list[Problem] = [
    stages(7, seed=1),
    stages(9, constraints=1, seed=2),
    stages(8, constraints=3, seed=3),
    stages(6, seed=4, tightness=0.1),
    stages(7, seed=4),
    *(random_cssp(seed, min_constraints=2) for seed in (42, 50)),
    *(random_procedure(seed) for seed in (1, 2, 3)),
]


@pytest.mark.parametrize("index", range(len(PROBLEMS)))
def test_two_processes_find_the_optimum_of_one(processes: Workers, index: int) -> None:
    assert_same(PROBLEMS[index], processes)


def test_progress_tells_of_workers_and_open_nodes(processes: Workers) -> None:
    told = assert_same(stages(8, seed=5), processes)
    assert {step.workers for step in told.steps} == {None, 2}
    assert max(step.open_nodes or 0 for step in told.steps) > 1
    assert any("open, 2 workers" in str(step) for step in told.steps)


def test_a_worker_that_is_killed_costs_nothing_but_time(processes: Workers) -> None:
    lost = processes.lost
    problem = stages(30, constraints=3, seed=1)
    alone = solve(problem, stop=[])
    victims: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.workers and not victims and processes.process_ids:
            victims.append(processes.process_ids[0])
            os.kill(victims[0], signal.SIGKILL)

    plan = solve(problem, stop=[], executor=processes, on_progress=kill_one)
    assert processes.lost > lost
    assert plan.upper_bound == pytest.approx(alone.upper_bound, rel=1e-9)
    assert plan.lower_bound == pytest.approx(alone.lower_bound, rel=1e-9)
    assert plan.ending.reason is Reason.PROVED


@pytest.mark.parametrize("problem", [small_building(2.0), stages(7, seed=1), random_procedure(1)])
def test_a_worker_prunes_a_region_at_the_bound_that_it_proves(problem: Problem) -> None:
    """It has not solved the dual itself, and knows a better plan than whoever has."""
    plan = solve(problem, stop=[])
    prices = plan.record.claim(plan.record.root).weights[1:]
    for leaf in plan.record.leaves():
        claim = plan.record.claim(leaf)
        if claim.weights is None or claim.bound == inf:
            continue
        root = Node(plan.record.region(leaf), claim.weights[1:], 0.0)
        order = Order(((0.0, root),), 0.9 * claim.bound, 0, seconds=inf)
        findings = work_on(problem, Setting("", PolicyBranching(), prices), order)
        known_cost = min(order.known_cost, findings.cost)
        left = [bound for bound, _ in findings.open_nodes]
        assert min([findings.pruned_bound, *left]) >= known_cost * (1.0 - PRUNE_TOLERANCE)


@pytest.mark.parametrize("seed", range(2))
def test_what_workers_wrote_down_is_a_certificate(inline: Workers, seed: int) -> None:
    problem = stages(7, seed=seed)
    plan = solve(problem, stop=[], executor=inline)
    verdict = check(problem, plan.certificate)
    assert verdict.lower_bound >= plan.lower_bound * (1.0 - 1e-9)
    assert verdict.upper_bound == pytest.approx(plan.upper_bound)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_random_problems(inline: Workers, seed: int) -> None:
    assert_same(random_cssp(seed), inline)


@pytest.mark.parametrize("seed", range(4, 6))
def test_random_procedures(inline: Workers, seed: int) -> None:
    assert_same(random_procedure(seed), inline)


class Unlucky(Workers):
    """Workers that die over every task of which the number is among the given ones."""

    def __init__(self, deadly: range) -> None:
        super().__init__(None)
        self.deadly, self.number = deadly, 0

    @property
    def count(self) -> int:
        return 3

    def submit(self, function: Callable[..., Any], *arguments: Any, retries: int = 3) -> Task:
        self.number += 1
        deadly = self.number in self.deadly
        return super().submit(lose_whoever_measures if deadly else function, *arguments, retries=retries)


def test_what_was_lost_is_done_again() -> None:
    for deadly in (range(1, 3), range(2, 20, 2)):
        assert_same(stages(7, seed=4), Unlucky(deadly))


def test_what_workers_have_is_open_as_well() -> None:
    told = assert_same(stages(8, seed=5), Unlucky(range(0)))
    counts = [step.open_nodes or 0 for step in told.steps if step.workers and step.gap > 1e-9]
    # As long as something is to be found out, somebody has to look for it.
    assert counts
    assert min(counts) > 0


def test_what_kills_every_worker_is_left_and_its_bound_with_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A problem as small as this is decided in rational numbers otherwise.
    monkeypatch.setattr(proving, "MOST_STATES", 0)
    problem = stages(8, seed=4)
    optimum = solve(problem, stop=[]).upper_bound
    told = Told(optimum)
    plan = solve(problem, stop=[], executor=Unlucky(range(1, 10**6)), on_progress=told)
    assert plan.ending.reason is Reason.ROUNDING
    assert plan.lower_bound < optimum < inf
    assert "4 workers have died over it" in caplog.text


def test_a_search_that_is_stopped_leaves_nothing_behind(inline: Workers) -> None:
    plan = solve(stages(8, seed=4), stop=MaxIterations(12), executor=inline)
    assert plan.ending.reason is Reason.ITERATIONS
    assert inline.outstanding == 0


def test_a_known_plan_is_improved_on_or_proved(inline: Workers) -> None:
    problem = stages(7, seed=4)
    known = solve(problem, stop=FirstPlan())
    assert_same(problem, inline, start=known)


def test_a_method_that_works_alone_says_so(inline: Workers) -> None:
    with pytest.raises(UnsupportedProblem, match="'lp' does its work in one process"):
        solve(stages(3), LinearProgram(), executor=inline)


def test_a_worker_s_word_on_what_a_policy_costs_is_not_taken(
    inline: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = stages(5, seed=2)
    optimum = solve(problem, stop=[]).upper_bound
    honest = parallel_search.work_on

    def boast(*order: Any) -> Any:
        findings = honest(*order)
        quickest = problem.costs[0].reshape(-1, 3).argmin(axis=1) + 3 * np.arange(5)
        return replace(findings, cost=0.0, rows=np.append(quickest, -1))

    monkeypatch.setattr(parallel_search, "work_on", boast)
    plan = solve(problem, stop=[], executor=inline, on_progress=Told(optimum))
    assert plan.upper_bound == pytest.approx(optimum, rel=1e-9)


class Borrower:
    """Takes orders, and never does anything."""

    count, helpers, takes_part = 3, 2, True

    def __init__(self) -> None:
        self.orders: list[Order] = []

    def submit(self, work: object, shared: object, setting: object, order: Order, retries: int) -> Any:
        self.orders.append(order)
        return len(self.orders)


def searching(workers: Any, known_cost: float = 100.0) -> ParallelSearch:
    search = ParallelSearch(PolicyBranching(), PROBLEMS[0], Context(known_cost), workers, 0.0)
    search.record.begin(search.oracle)
    return search


def test_what_is_lent_together_holds_the_bound_back_by_the_lowest_of_it() -> None:
    workers, nothing = Borrower(), cast(Any, None)
    search = searching(workers)
    queue = search.queue
    for number in range(24):
        queue.push(1.0 + number, Node(Region([number]), np.zeros(1), 0.5 + number, number))
    search._lend(nothing, nothing)
    bundles = [[bound for bound, _ in order.roots] for order in workers.orders]
    assert len(bundles) == 2
    assert len(bundles[0]) > 1
    # One after the other in the order of their bounds, each with its region, numbered from 0.
    assert list(chain(*bundles)) == [1.0 + number for number in range(sum(map(len, bundles)))]
    assert [node.region for _, node in workers.orders[0].roots][:2] == [Region([0]), Region([1])]
    assert [node.number for _, node in workers.orders[1].roots] == list(range(len(bundles[1])))
    assert (queue.lent_bound, queue.lower_bound) == (1.0, 1.0)
    assert queue.next_bound == 1.0 + sum(map(len, bundles))
    lent: Any = 1
    queue.return_from(lent)
    assert queue.lent_bound == bundles[1][0]


class Done:
    """A task that is done."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings

    def result(self) -> Findings:
        return self._findings


@pytest.mark.parametrize(("cost", "offered"), [(5.0, 1), (99.0, 1), (100.0, 0), (inf, 0)])
def test_what_a_worker_found_is_offered_if_it_is_better(cost: float, offered: int) -> None:
    search = searching(Borrower())
    queue, reporter = search.queue, search.reporter
    policies: list[Any] = []
    reporter.offer_policy = policies.append  # type: ignore[method-assign]
    rows = None if cost == inf else np.array([3, 1])
    root = Node(Region(), np.zeros(1), 2.0)
    found = SearchRecord.of_parts(search.oracle, 1)
    left = replace(root, number=found.split(0, 1)[1])
    task: Any = Done(Findings(found, ((2.5, left),), 4.0, cost, rows, 6, 0.1))
    search._lent[task] = [(1.0, root)]
    queue.lend(task, 1.0)
    search._take_back(task)
    assert [each.tolist() for each in policies] == [[3, 1]] * offered
    # What is left is open again under its new number, and what was pruned holds the bound back.
    assert [(bound, node.number) for bound, node in queue] == [(2.5, 2)]
    assert (queue.pruned_bound, queue.lent_bound, queue.lower_bound) == (4.0, inf, 2.5)
    assert (reporter.iterations, search.expanded) == (6, 6)


def test_a_short_search_is_made_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", ParallelParameters())
    told = assert_same(stages(8, seed=5), Unlucky(range(0)))
    assert {step.workers for step in told.steps} == {None}


@pytest.mark.parametrize(
    ("rule", "time_limit", "lends"),
    [
        (ParallelParameters(alone_seconds=0.0, alone_nodes=1), inf, True),
        (ParallelParameters(alone_seconds=0.0, alone_nodes=1), 36_000.0, True),
        (ParallelParameters(alone_seconds=0.0, alone_nodes=1, scarce_seconds=36_000.0), 36_000.0, False),
    ],
)
def test_nodes_are_lent_only_if_they_return_before_the_time_limit(
    monkeypatch: pytest.MonkeyPatch, inline: Workers, rule: ParallelParameters, time_limit: float, lends: bool
) -> None:
    orders: list[Order] = []

    def counted(problem: Problem, setting: Setting, order: Order) -> Findings:
        orders.append(order)
        return work_on(problem, setting, order)

    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", rule)
    monkeypatch.setattr(parallel_search, "work_on", counted)
    assert_same(stages(8, seed=5), inline, time_limit=time_limit)
    assert bool(orders) == lends


def test_no_worker_is_started_shortly_before_the_time_limit(
    monkeypatch: pytest.MonkeyPatch, inline: Workers
) -> None:
    # The search has taken longer than this from the beginning, but less than this is left.
    monkeypatch.setattr(ParallelSearch, "_seconds_left", lambda search: 0.9)
    rule = ParallelParameters(alone_seconds=1.0, alone_nodes=1, scarce_seconds=0.0, least_seconds=0.0)
    monkeypatch.setattr(parallel_search, "DEFAULT_PARAMETERS", rule)
    monkeypatch.setattr(parallel_search.time, "process_time", iter(range(0, 10**9, 10)).__next__)
    told = assert_same(stages(8, seed=5), inline)
    assert {step.workers for step in told.steps} == {None}
    monkeypatch.setattr(ParallelSearch, "_seconds_left", lambda search: 1.1)
    told = assert_same(stages(8, seed=5), inline)
    assert {step.workers for step in told.steps} == {None, 3}
