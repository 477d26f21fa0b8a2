"""Stop criteria on real searches: each gives its reason, and what it leaves is true."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hcssp.contract.progress import (
    FirstPlan,
    Gap,
    MaxIterations,
    MaxMemory,
    MaxRuntime,
    NoImprovement,
    Progress,
    Target,
    criteria_of,
    first_ending,
)
from hcssp.contract.proof import Ending, Reason, Status
from hcssp.contract.solver import Solver
from hcssp.methods.anytime import Anytime
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.scenarios import small_building
from hcssp.solving.solve import solve

OPTIMUM = 27.7191165
"""Of the small building under a bound of 2 on damage, as the mixed-integer program has it, too."""

BY_ALL = pytest.mark.parametrize(
    "solver", [PolicyBranching(), Anytime(), BudgetAllocation()], ids=lambda s: s.name
)


@BY_ALL
@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (FirstPlan(), Reason.FIRST_PLAN),
        (NoImprovement(0.0), Reason.NO_IMPROVEMENT),
        (MaxMemory(1), Reason.MEMORY),
        (MaxRuntime(0.0), Reason.TIME_LIMIT),
        (MaxIterations(1), Reason.ITERATIONS),
        (Target(1.5 * OPTIMUM), Reason.TARGET),
        (Gap(0.6), Reason.GAP),
        ([Gap(0.0), MaxMemory(1)], Reason.MEMORY),
    ],
    ids=repr,
)
def test_a_search_ends_for_the_reason_that_it_gives(solver: Solver, stop: Any, reason: Reason) -> None:
    seen: list[Progress] = []
    plan = solve(small_building(2.0), solver, stop, seen.append)
    assert plan.ending == Ending(reason)
    assert plan.lower_bound <= OPTIMUM + 1e-6
    assert plan.upper_bound >= OPTIMUM - 1e-6
    assert plan.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert plan.found == (plan.status is Status.FEASIBLE)
    if plan.found:
        assert plan.evaluate().keeps_bounds()
    # No earlier step gave a reason.
    criteria = criteria_of(stop)
    assert [first_ending(criteria, step) for step in seen] == [*[None] * (len(seen) - 1), Ending(reason)]


@BY_ALL
def test_the_first_plan_is_the_first(solver: Solver) -> None:
    seen: list[Progress] = []
    plan = solve(small_building(2.0), solver, FirstPlan(), seen.append)
    assert plan.found
    assert [step.incumbent is not None for step in seen] == [False] * (len(seen) - 1) + [True]


def test_what_has_not_improved_for_ever_is_never_given_up() -> None:
    assert solve(small_building(2.0), stop=NoImprovement(1e9)).ending.reason is Reason.PROVED


def test_memory_to_spare_stops_nothing() -> None:
    plan = solve(small_building(2.0), stop=[MaxMemory(1e15), Gap(1e-6)])
    assert (plan.status, plan.ending.reason) == (Status.OPTIMAL, Reason.GAP)
    assert plan.upper_bound == pytest.approx(OPTIMUM)


def test_the_time_of_the_last_improvement_is_kept() -> None:
    seen: list[Progress] = []
    solve(small_building(2.0), stop=(), on_progress=seen.append)
    for before, after in pairwise(seen):
        if after.upper_bound < before.upper_bound:
            assert after.improved == after.seconds
        else:
            assert after.improved == before.improved


SHORT_OF_MEMORY = """
import resource, sys
from pathlib import Path
from hcssp import solve
from hazard_grid import hazard_grid

problem = hazard_grid(100, 100, seed=1)
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    plan = solve(problem, stop=[])
    print(plan.ending.reason)
except MemoryError as error:
    print("memory", error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no limit on a process's memory")
@pytest.mark.parametrize("mebibytes", [20, 80])
def test_a_search_that_runs_out_of_memory_ends(mebibytes: int) -> None:
    """OpenBLAS asks for its memory again and again if it has none when a factorisation begins."""
    command = [sys.executable, "-c", SHORT_OF_MEMORY, str(mebibytes)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    # SuperLU prints a line of its own where its factorisation lacks memory.
    assert ran.stdout.splitlines()[-1].startswith("memory")
