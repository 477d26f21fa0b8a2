"""What :func:`solve` makes of any solver's progress; the solvers here are made up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import pytest

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Status
from hcssp.contract.stop import Gap, MaxIterations, MaxRuntime, Target
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import Infeasibility
from hcssp.dual.stochastic import StochasticOptimum
from hcssp.errors import InvalidPlan, NoSolution
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.solving.solve import Known, Solver, UnsoundResult, explain, solve
from known_optima import knapsack, roads
from small_procedures import retrying

ROUND, THROUGH, DASH = (np.array([row, -1]) for row in range(3))
"""Policies of :func:`known_optima.roads`, which cost 10, 6 and 4, with damage 0, 2 and 6."""


@dataclass
class Told:
    """A solver that tells a prepared story."""

    story: list[Progress]
    name: str = "told"
    closed: list[bool] = field(default_factory=list)

    def iterate(self, problem: Any) -> Iterator[Progress]:
        try:
            yield from self.story
        finally:
            self.closed.append(True)


def problem() -> CSSP:
    return roads(damage=4.0)


def test_a_solver_that_says_nothing_has_proved_nothing() -> None:
    result = solve(problem(), Told([]))
    assert result.status is Status.UNKNOWN
    assert result.ending.reason == "exhausted"
    assert (result.lower_bound, result.upper_bound, result.trace) == (-inf, inf, ())
    with pytest.raises(NoSolution, match="no feasible policy was found before the stop"):
        _ = result.policy


def test_the_trace_only_tightens_whatever_the_solver_says() -> None:
    story = [
        Progress(seconds=1.0, lower_bound=1.0),
        Progress(seconds=2.0, lower_bound=3.0, upper_bound=10.0, incumbent=ROUND),
        Progress(seconds=3.0, lower_bound=2.0, upper_bound=6.0, incumbent=THROUGH),
        Progress(seconds=4.0, lower_bound=2.5, upper_bound=10.0, incumbent=ROUND),
        Progress(seconds=5.0, lower_bound=5.0, upper_bound=6.0, incumbent=THROUGH),
    ]
    seen: list[Progress] = []
    result = solve(problem(), Told(story), on_progress=seen.append)
    # What changes nothing leaves no point.
    assert [tuple(point) for point in result.trace] == [
        (1.0, 1.0, inf),
        (2.0, 3.0, 10.0),
        (3.0, 3.0, 6.0),
        (5.0, 5.0, 6.0),
    ]
    assert [(step.lower_bound, step.upper_bound) for step in seen] == [
        (1.0, inf),
        (3.0, 10.0),
        (3.0, 6.0),
        (3.0, 6.0),
        (5.0, 6.0),
    ]
    assert result.policy.rows.tolist() == THROUGH.tolist()
    assert (result.lower_bound, result.upper_bound) == (5.0, 6.0)
    assert result.status is Status.FEASIBLE


def test_what_was_known_once_is_not_forgotten() -> None:
    mixture = StochasticOptimum(5.0, np.ones(1), (THROUGH,), np.array([[6.0, 2.0, 3.0]]))
    story = [
        Progress(lower_bound=1.0, prices=np.array([0.5, 0.0]), stochastic=mixture),
        Progress(lower_bound=2.0),
    ]
    result = solve(problem(), Told(story))
    assert result.prices == {"damage": 0.5, "fuel": 0.0}
    assert result.stochastic is mixture


@pytest.mark.parametrize(
    ("criteria", "reason", "iterations"),
    [
        ([], "told to", 4),
        ([MaxIterations(2)], "iterations", 2),
        ([Gap(0.5)], "gap", 3),
        ([MaxRuntime(1.5)], "time limit", 2),
        ([Target(6.0)], "target", 3),
        ([Gap(0.5), MaxIterations(1)], "iterations", 1),
        ([Gap(0.0), Target(1.0)], "told to", 4),
    ],
)
def test_the_first_criterion_that_holds_stops_the_solver(
    criteria: list[Any], reason: str, iterations: int
) -> None:
    story = [
        Progress(seconds=1.0, iterations=1, lower_bound=1.0),
        Progress(seconds=2.0, iterations=2, lower_bound=4.0, upper_bound=10.0, incumbent=ROUND),
        Progress(seconds=3.0, iterations=3, lower_bound=4.0, upper_bound=6.0, incumbent=THROUGH),
        Progress(seconds=4.0, iterations=4, lower_bound=5.0, upper_bound=6.0, finished="told to"),
        Progress(seconds=5.0, iterations=5, lower_bound=6.0, upper_bound=6.0),
    ]
    told = Told(story)
    result = solve(problem(), told, stop=criteria)
    assert result.ending.reason == reason
    assert result.iterations == iterations
    assert result.seconds == float(iterations)
    # The solver could clean up behind itself.
    assert told.closed == [True]


def test_an_interval_that_has_closed_is_an_optimum() -> None:
    result = solve(problem(), Told([Progress(lower_bound=6.0 - 1e-6, upper_bound=6.0, incumbent=THROUGH)]))
    assert result.status is Status.OPTIMAL
    result = solve(problem(), Told([Progress(lower_bound=6.0 - 1e-4, upper_bound=6.0, incumbent=THROUGH)]))
    assert result.status is Status.FEASIBLE


def test_a_bound_a_hair_above_the_policys_cost_is_taken_back_to_it() -> None:
    result = solve(problem(), Told([Progress(lower_bound=6.0 + 1e-9, upper_bound=6.0, incumbent=THROUGH)]))
    assert (result.lower_bound, result.upper_bound) == (6.0, 6.0)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (Progress(upper_bound=4.0, incumbent=DASH), "the policy breaks its bounds: {'damage': 2.0}"),
        (Progress(upper_bound=5.9, incumbent=THROUGH), "the policy costs 6.0, not 5.9 as the solver says"),
        (
            Progress(lower_bound=6.1, upper_bound=6.0, incumbent=THROUGH),
            "the lower bound 6.1 is above a feasible policy's cost 6.0",
        ),
    ],
)
def test_a_claim_that_does_not_survive_the_evaluation_is_a_bug(claim: Progress, message: str) -> None:
    with pytest.raises(UnsoundResult, match=message.replace("{", r"\{")):
        solve(problem(), Told([claim]))


def test_infeasible_is_told_from_not_found() -> None:
    not_found = solve(problem(), Told([Progress(lower_bound=3.0, iterations=1)]), stop=[MaxIterations(1)])
    assert not_found.status is Status.UNKNOWN
    assert not_found.message == (
        "no feasible policy was found before the stop (iterations); one may still exist"
    )
    proof = Infeasibility(np.array([0.0, 1.0]), 3.0, 2.0)
    proved = solve(problem(), Told([Progress(lower_bound=inf, infeasibility=proof, finished="infeasible")]))
    assert proved.status is Status.INFEASIBLE
    assert proved.infeasibility is proof
    assert proved.message == (
        "no policy keeps the bound on 'fuel': the least achievable fuel is 3, above the bound 2; "
        "raise the bound"
    )


def test_several_offending_bounds_are_explained_together() -> None:
    proof = Infeasibility(np.array([0.25, 0.0, 0.75]), 3.0, 2.0)
    assert explain(("noise", "risk", "fuel"), proof) == (
        "no policy keeps the bounds together: the least achievable 0.25 * noise + 0.75 * fuel is 3, "
        "above what the bounds allow, 2; raise one of them"
    )
    assert explain(("noise",), None) == "no deterministic policy keeps the bounds (proved by search)"


class InterruptedAt:
    """Presses Ctrl-C at a given call."""

    def __init__(self, call: int) -> None:
        self._left = call

    def __call__(self, progress: Progress) -> None:
        self._left -= 1
        if self._left <= 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("call", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "solver",
    [PolicyBranching(), Anytime(), MixedInteger(), LinearProgram()],
    ids=["branching", "anytime", "milp", "lp"],
)
def test_ctrl_c_returns_what_is_known(solver: Solver, call: int) -> None:
    reference = solve(knapsack(6.0), solver)
    result = solve(knapsack(6.0), solver, on_progress=InterruptedAt(call))
    assert result.ending.reason in ("interrupted", reference.ending.reason)
    assert result.lower_bound <= 31.0 + 1e-9
    assert result.upper_bound >= 31.0 - 1e-9
    if result.evaluation is not None:
        assert result.policy is not None
        assert result.evaluation.keeps_bounds()
    if call == 1:
        assert result.ending.reason == "interrupted"


def test_ctrl_c_after_the_first_policy_returns_it() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.incumbent is not None:
            raise KeyboardInterrupt

    for task in (knapsack(6.0), retrying().with_bounds({"damage": 12.0})):
        result = solve(task, PolicyBranching(), on_progress=interrupt)
        assert result.ending.reason == "interrupted"
        assert result.policy is not None
        assert result.evaluation.keeps_bounds()


def test_ctrl_c_within_the_solver_is_an_ordinary_stop_too() -> None:
    class Interrupted:
        name = "interrupted"

        def iterate(self, problem: Any) -> Iterator[Progress]:
            yield Progress(lower_bound=4.0, upper_bound=10.0, incumbent=ROUND)
            raise KeyboardInterrupt

    result = solve(problem(), Interrupted())
    assert result.ending.reason == "interrupted"
    assert result.status is Status.FEASIBLE
    assert result.policy.rows.tolist() == ROUND.tolist()


def test_other_errors_are_not_swallowed() -> None:
    def fail(progress: Progress) -> None:
        raise ZeroDivisionError

    told = Told([Progress()])
    with pytest.raises(ZeroDivisionError):
        solve(problem(), told, on_progress=fail)
    assert told.closed == [True]


def test_what_is_known_from_before_is_the_first_incumbent() -> None:
    story = [Progress(seconds=1.0, lower_bound=5.0), Progress(seconds=2.0, lower_bound=7.0, finished="done")]
    result = solve(problem(), Told(story), known=Known(ROUND, 10.0))
    assert (result.status, result.lower_bound, result.upper_bound) == (Status.FEASIBLE, 7.0, 10.0)
    assert result.policy.rows.tolist() == ROUND.tolist()
    assert result.trace == ((0.0, -inf, 10.0), (1.0, 5.0, 10.0), (2.0, 7.0, 10.0))
    better = solve(
        problem(), Told([Progress(upper_bound=6.0, incumbent=THROUGH)]), known=Known(ROUND, 10.0, 3.0)
    )
    assert (better.lower_bound, better.upper_bound) == (3.0, 6.0)
    assert better.policy.rows.tolist() == THROUGH.tolist()


def test_what_is_known_may_suffice() -> None:
    told = Told([Progress(lower_bound=6.0)])
    result = solve(problem(), told, [Gap(0.01)], known=Known(THROUGH, 6.0, 6.0))
    assert (result.status, result.ending.reason, told.closed) == (Status.OPTIMAL, "gap", [])


def test_a_known_policy_is_judged_like_any_other() -> None:
    with pytest.raises(UnsoundResult, match="breaks its bounds"):
        solve(problem(), Told([]), known=Known(DASH, 4.0))
    with pytest.raises(InvalidPlan, match=r"the plan's lower bound 8\.0 is not true: a plan of cost 6\.0"):
        solve(problem(), Told([Progress(upper_bound=6.0, incumbent=THROUGH)]), known=Known(ROUND, 10.0, 8.0))


def test_details_stay_with_the_policy_that_they_are_about() -> None:
    own = Progress(upper_bound=10.0, incumbent=ROUND, details="of round")
    assert (
        solve(problem(), Told([own]), known=Known(THROUGH, 6.0, details="of through")).details == "of through"
    )
    assert solve(problem(), Told([own])).details == "of round"


@pytest.mark.parametrize(("damage", "known"), [(4.0, ROUND), (4.0, THROUGH), (0.0, ROUND)])
def test_branching_goes_on_from_a_known_cost(damage: float, known: np.ndarray) -> None:
    bounded = roads(damage=damage)
    cost = float(evaluate(bounded, DeterministicPolicy(bounded, known)).costs[0])
    result = solve(bounded, PolicyBranching(known_cost=cost), known=Known(known, cost))
    assert (result.status, result.upper_bound) == (Status.OPTIMAL, {4.0: 6.0, 0.0: 10.0}[damage])
    assert result.ending.reason == "proved"
