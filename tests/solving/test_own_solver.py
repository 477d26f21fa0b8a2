"""A solver of one's own, by public names only: it gets all that ours get, and is believed as little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

from hcssp import (
    CSSP,
    HCSSP,
    DeterministicPolicy,
    FirstPlan,
    Interrupter,
    MaxIterations,
    Reason,
    Status,
    evaluate,
    load_plan,
    solve,
)
from hcssp.extend import Context, Ending, Infeasible, Progress, Solver, UnsoundResult, is_proper
from known_optima import KNOWN, knapsack, roads


@dataclass(frozen=True)
class Exhaustive:
    """Looks at every deterministic policy of a small C-SSP, one after another."""

    name = "exhaustive"

    def iterate(self, problem: CSSP | HCSSP, context: Context) -> Iterator[Progress]:
        assert isinstance(problem, CSSP)
        best, cost = None, context.known_cost
        count = 0
        rows_of = [
            range(*problem.row_start[state : state + 2]) or [-1] for state in range(problem.num_states)
        ]
        for rows in product(*rows_of):
            policy = DeterministicPolicy(problem, np.array(rows))
            count += 1
            if is_proper(problem, policy):
                evaluation = evaluate(problem, policy)
                if evaluation.keeps_bounds() and evaluation.costs[0] < cost:
                    best, cost = policy, float(evaluation.costs[0])
            yield Progress(iterations=count, upper_bound=inf if best is None else cost, incumbent=best)
        if cost == inf:
            yield Progress(
                iterations=count,
                lower_bound=inf,
                infeasible=Infeasible(),
                ending=Ending(Reason.INFEASIBLE),
            )
        else:
            yield Progress(
                iterations=count,
                lower_bound=cost,
                upper_bound=inf if best is None else cost,
                incumbent=best,
                ending=Ending(Reason.PROVED),
            )


SOLVER: Solver = Exhaustive()
FLAT = [
    name for name, known in KNOWN.items() if isinstance(known.problem, CSSP) and known.problem.num_states < 10
]


@pytest.mark.parametrize("name", FLAT)
def test_it_finds_what_is_known(name: str) -> None:
    known = KNOWN[name]
    plan = solve(known.problem, SOLVER, stop=())
    assert plan.method == "exhaustive"
    if known.optimum == inf:
        assert (plan.status, plan.ending.reason) == (Status.INFEASIBLE, Reason.INFEASIBLE)
        assert plan.message == "no deterministic policy keeps the bounds (proved by search)"
    else:
        assert (plan.status, plan.ending.reason) == (Status.OPTIMAL, Reason.PROVED)
        assert plan.upper_bound == pytest.approx(known.optimum)
        assert plan.lower_bound == plan.upper_bound


def test_it_can_be_stopped_resumed_saved_and_told_like_ours(tmp_path: Path) -> None:
    problem = knapsack(6.0)
    early = solve(problem, SOLVER, FirstPlan())
    assert (early.ending.reason, early.status) == (Reason.FIRST_PLAN, Status.FEASIBLE)
    assert "method exhaustive" in str(early)
    assert "iterations" in str(early)
    early.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json", problem)
    assert again.policy == early.policy
    assert again.method == "exhaustive"
    # The solver is told what is known, and looks for better policies only.
    whole = solve(problem, SOLVER, start=again)
    assert (whole.status, whole.upper_bound) == (Status.OPTIMAL, 31.0)
    assert solve(problem, SOLVER, start=whole, stop=()) == whole
    assert early.resolve(damage=7.5, method=SOLVER).upper_bound == 27.0
    interrupter = Interrupter()
    interrupter.interrupt()
    assert solve(problem, SOLVER, [interrupter]).iterations == 1
    assert solve(problem, SOLVER, MaxIterations(5)).iterations == 5


@dataclass(frozen=True)
class Liar:
    """Knows a feasible policy and tells something else."""

    told: Progress
    name = "liar"

    def iterate(self, problem: CSSP | HCSSP, context: Context) -> Iterator[Progress]:
        yield from FirstFound().iterate(problem, context)
        yield self.told


@dataclass(frozen=True)
class FirstFound:
    """Stops looking at the first policy."""

    name = "first found"

    def iterate(self, problem: CSSP | HCSSP, context: Context) -> Iterator[Progress]:
        for step in Exhaustive().iterate(problem, context):
            if step.incumbent is not None:
                yield step
                return


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            Progress(infeasible=Infeasible(), ending=Ending(Reason.INFEASIBLE)),
            r"the solver reports that no plan is feasible, but a policy of cost 10\.0 is",
        ),
        (
            Progress(infeasible=Infeasible()),
            r"the solver reports that no plan is feasible, but a policy of cost 10\.0 is",
        ),
        (
            Progress(ending=Ending(Reason.INFEASIBLE)),
            r"the solver reports that no plan is feasible, but a policy",
        ),
        (Progress(lower_bound=11.0), r"the lower bound 11\.0 is above a feasible policy's cost 10\.0"),
    ],
)
def test_what_it_says_against_its_own_policy_is_found_out(told: Progress, message: str) -> None:
    with pytest.raises(UnsoundResult, match=message):
        solve(roads(damage=4.0), Liar(told), stop=())


def test_an_end_without_a_reason_proves_nothing() -> None:
    plan = solve(roads(damage=4.0), FirstFound(), stop=())
    assert plan.ending == Ending(Reason.EXHAUSTED)
    assert plan.status is Status.FEASIBLE
