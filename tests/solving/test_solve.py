"""What :func:`solve` makes of any solver's progress; the solvers here are made up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import FirstPlan, Gap, MaxIterations, MaxRuntime, NoImprovement, Progress, Target
from hcssp.contract.proof import Ending, Infeasible, Interval, Reason, Status, Trace
from hcssp.contract.solver import Context, Problem, Solver
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import Infeasibility, StochasticOptimum
from hcssp.errors import HcsspError, InvalidPlan, InvalidProblem, NoSolution, UnknownName
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.highs.linear_program import LinearProgram
from hcssp.methods.highs.mixed_integer import MixedInteger
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.solving.solve import UnsoundResult, solve
from known_optima import knapsack, roads
from small_procedures import retrying

ROADS = roads(damage=4.0)
ROUND, THROUGH, DASH = (DeterministicPolicy(ROADS, np.array([row, -1])) for row in range(3))
"""Policies of :func:`known_optima.roads`, which cost 10, 6 and 4, with damage 0, 2 and 6."""


@dataclass
class Told:
    """A solver that tells a prepared story."""

    story: list[Progress]
    name: str = "told"
    closed: list[bool] = field(default_factory=list)
    context: Context = field(default_factory=Context)

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        self.context = context
        try:
            yield from self.story
        finally:
            self.closed.append(True)


def problem() -> CSSP:
    return roads(damage=4.0)


def from_before(policy: DeterministicPolicy, lower_bound: float = -inf, **parts: Any) -> Plan:
    """A plan of an earlier run; what it says of its cost is not believed."""
    return Plan(problem(), policy, proof=Interval(lower_bound, 99.0), **parts)


def test_a_solver_that_says_nothing_has_proved_nothing() -> None:
    result = solve(problem(), Told([]))
    assert result.status is Status.UNKNOWN
    assert result.ending.reason == "exhausted"
    assert (result.lower_bound, result.upper_bound, result.trace) == (-inf, inf, Trace())
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
    result = solve(problem(), Told(story), stop=(), on_progress=seen.append)
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
    assert result.policy == THROUGH
    assert (result.lower_bound, result.upper_bound) == (5.0, 6.0)
    assert result.status is Status.FEASIBLE


def test_what_was_known_once_is_not_forgotten() -> None:
    mixture = StochasticOptimum(5.0, np.ones(1), (THROUGH.rows,), np.array([[6.0, 2.0, 3.0]]))
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
        ([], "converged", 4),
        (MaxIterations(2), "iterations", 2),
        ([MaxIterations(2)], "iterations", 2),
        ([Gap(0.5)], "gap", 3),
        ([MaxRuntime(1.5)], "time limit", 2),
        ([Target(6.0)], "target", 3),
        ([Gap(0.5), MaxIterations(1)], "iterations", 1),
        ([Gap(0.0), Target(1.0)], "converged", 4),
        (FirstPlan(), "first plan", 2),
        ([NoImprovement(1.0), Gap(0.0)], "converged", 4),
        (NoImprovement(0.0), "no improvement", 2),
    ],
)
def test_the_first_criterion_that_holds_stops_the_solver(criteria: Any, reason: str, iterations: int) -> None:
    story = [
        Progress(seconds=1.0, iterations=1, lower_bound=1.0),
        Progress(seconds=2.0, iterations=2, lower_bound=4.0, upper_bound=10.0, incumbent=ROUND),
        Progress(seconds=3.0, iterations=3, lower_bound=4.0, upper_bound=6.0, incumbent=THROUGH),
        Progress(
            seconds=4.0, iterations=4, lower_bound=5.0, upper_bound=6.0, ending=Ending(Reason.CONVERGED)
        ),
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
        (Progress(upper_bound=5.9, incumbent=THROUGH), "the policy costs 6.0, not 5.9 as the solver reports"),
        (
            Progress(lower_bound=6.1, upper_bound=6.0, incumbent=THROUGH),
            "the lower bound 6.1 is above a feasible policy's cost 6.0",
        ),
        # A wrong policy may be wrong by little; two solves of the same one differ by far less.
        (Progress(upper_bound=5.99999, incumbent=THROUGH), "the policy costs 6.0, not 5.99999"),
        (Progress(upper_bound=6.00001, incumbent=THROUGH), "the policy costs 6.0, not 6.00001"),
        (
            Progress(lower_bound=6.00001, upper_bound=6.0, incumbent=THROUGH),
            "the lower bound 6.00001 is above a feasible policy's cost 6.0",
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
    proof = Infeasible(Infeasibility(np.array([0.0, 1.0]), 3.0, 2.0))
    ending = Ending(Reason.INFEASIBLE)
    proved = solve(problem(), Told([Progress(lower_bound=inf, infeasible=proof, ending=ending)]))
    assert proved.status is Status.INFEASIBLE
    assert proved.proof is proof
    assert proved.ending == ending
    assert proved.message == (
        "no policy keeps the bound on 'fuel': the least achievable fuel is 3, above the bound 2; "
        "raise the bound"
    )


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
    reference = solve(knapsack(6.0), solver, stop=())
    result = solve(knapsack(6.0), solver, stop=(), on_progress=InterruptedAt(call))
    assert result.ending.reason in ("interrupted", reference.ending.reason)
    assert result.lower_bound <= 31.0 + 1e-9
    optimum = 31.0 if result.policies == "deterministic" else reference.upper_bound
    assert result.upper_bound >= optimum - 1e-9
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

        def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
            yield Progress(lower_bound=4.0, upper_bound=10.0, incumbent=ROUND)
            raise KeyboardInterrupt

    result = solve(problem(), Interrupted())
    assert result.ending.reason == "interrupted"
    assert result.status is Status.FEASIBLE
    assert result.policy == ROUND


def test_other_errors_are_not_swallowed() -> None:
    def fail(progress: Progress) -> None:
        raise ZeroDivisionError

    told = Told([Progress()])
    with pytest.raises(ZeroDivisionError):
        solve(problem(), told, on_progress=fail)
    assert told.closed == [True]


def test_a_plan_from_before_is_the_first_incumbent() -> None:
    story = [
        Progress(seconds=1.0, lower_bound=5.0),
        Progress(seconds=2.0, lower_bound=7.0, ending=Ending(Reason.CONVERGED)),
    ]
    result = solve(problem(), Told(story), start=from_before(ROUND))
    assert (result.status, result.lower_bound, result.upper_bound) == (Status.FEASIBLE, 7.0, 10.0)
    assert result.policy == ROUND
    assert result.trace == Trace([(0.0, -inf, 10.0), (1.0, 5.0, 10.0), (2.0, 7.0, 10.0)])
    better = solve(
        problem(), Told([Progress(upper_bound=6.0, incumbent=THROUGH)]), start=from_before(ROUND, 3.0)
    )
    assert (better.lower_bound, better.upper_bound) == (3.0, 6.0)
    assert better.policy == THROUGH


def test_a_plan_from_before_may_suffice() -> None:
    told = Told([Progress(lower_bound=6.0)])
    result = solve(problem(), told, [Gap(0.01)], start=from_before(THROUGH, 6.0))
    assert (result.status, result.ending.reason, told.closed) == (Status.OPTIMAL, Reason.GAP, [])


def test_what_was_proven_under_other_bounds_is_not_taken_over() -> None:
    looser = from_before(ROUND, 8.0).under(problem().with_bounds(damage=1.0))
    looser = replace(looser, proof=Interval(8.0, 10.0))
    result = solve(problem(), Told([Progress(upper_bound=6.0, incumbent=THROUGH)]), start=looser)
    assert (result.lower_bound, result.upper_bound) == (-inf, 6.0)


def test_a_plan_that_breaks_the_bounds_is_not_begun_with() -> None:
    told = Told([Progress(lower_bound=5.0)])
    result = solve(problem(), told, start=from_before(DASH, 4.0))
    assert (result.status, result.lower_bound, result.found) == (Status.UNKNOWN, 5.0, False)
    assert told.context.known_cost == inf


def test_a_plan_from_before_is_judged_like_any_other() -> None:
    better = Told([Progress(upper_bound=6.0, incumbent=THROUGH)])
    with pytest.raises(InvalidPlan, match=r"the plan's lower bound 8\.0 is not true: a plan of cost 6\.0"):
        solve(problem(), better, start=from_before(ROUND, 8.0))
    with pytest.raises(InvalidProblem, match="the plan to start with is one for another problem"):
        solve(knapsack(6.0), better, start=from_before(ROUND))


def test_a_solver_is_told_what_is_known() -> None:
    told = Told([])
    plan = from_before(ROUND)
    solve(problem(), told, [Gap(0.1), MaxRuntime(7.0)], start=plan)
    assert told.context == Context(10.0, 7.0, plan.memory, wanted_gap=0.1)
    solve(problem(), told, ())
    assert (told.context.known_cost, told.context.time_limit) == (inf, inf)
    assert told.context.memory is not plan.memory


def test_by_default_a_search_ends_once_the_plan_is_called_optimal() -> None:
    story = [
        Progress(lower_bound=6.0 - 1e-5, upper_bound=6.0, incumbent=THROUGH),
        Progress(lower_bound=6.0 - 1e-6, upper_bound=6.0, incumbent=THROUGH),
        Progress(lower_bound=6.0, upper_bound=6.0, incumbent=THROUGH, ending=Ending(Reason.PROVED)),
    ]
    result = solve(problem(), Told(story))
    assert (result.ending.reason, result.lower_bound) == (Reason.GAP, 6.0 - 1e-6)
    assert solve(problem(), Told(story), ()).ending.reason is Reason.PROVED


def test_by_default_the_solver_is_the_exact_one() -> None:
    result = solve(problem())
    assert (result.method, result.status, result.upper_bound) == ("exact", Status.OPTIMAL, 6.0)


def test_budgets_stay_with_the_policy_that_they_are_about() -> None:
    own = Progress(upper_bound=10.0, incumbent=ROUND, budgets={"cross": {"damage": 0.0}})
    given = from_before(THROUGH, budgets={"cross": {"damage": 2.0}})
    assert solve(problem(), Told([own]), start=given).budgets == {"cross": {"damage": 2.0}}
    assert solve(problem(), Told([own])).budgets == {"cross": {"damage": 0.0}}


@pytest.mark.parametrize(("damage", "known"), [(4.0, ROUND), (4.0, THROUGH), (0.0, ROUND)])
def test_branching_goes_on_from_a_known_cost(damage: float, known: DeterministicPolicy) -> None:
    bounded = roads(damage=damage)
    start = Plan(bounded, known.under(bounded))
    result = solve(bounded, PolicyBranching(), (), start=start)
    assert (result.status, result.upper_bound) == (Status.OPTIMAL, {4.0: 6.0, 0.0: 10.0}[damage])
    assert result.ending.reason == "proved"
    assert evaluate(bounded, result.policy).keeps_bounds()


@pytest.mark.parametrize(
    "answer",
    [
        "infeasible",
        "proved",
        Reason.INFEASIBLE,
        Reason.PROVED,
        Ending(Reason.PROVED),
        Ending(Reason.INFEASIBLE),
    ],
    ids=repr,
)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_no_stop_criterion_can_prove_anything(answer: Any, after: int) -> None:
    story = [
        Progress(iterations=1, lower_bound=1.0),
        Progress(iterations=2, lower_bound=3.0, upper_bound=6.0, incumbent=THROUGH),
        Progress(iterations=3, lower_bound=6.0, upper_bound=6.0, ending=Ending(Reason.PROVED)),
    ]
    result = solve(
        problem(), Told(story), stop=lambda progress: answer if progress.iterations > after else None
    )
    if after == 2:
        # The solver's own end comes first.
        assert (result.status, result.ending) == (Status.OPTIMAL, Ending(Reason.PROVED))
        return
    assert result.status is (Status.UNKNOWN if after == 0 else Status.FEASIBLE)
    assert result.ending == Ending(Reason.CRITERION, str(answer))
    assert (result.lower_bound, result.upper_bound) == ((1.0, inf) if after == 0 else (3.0, 6.0))
    words = str(result)
    assert f"Stopped because a stop criterion was met ({answer})" in words
    for claim in (
        "the proof was complete",
        "it was proven that there is no plan",
        "optimal (",
        "no policy keeps",
    ):
        assert claim not in words + result.message


@pytest.mark.parametrize(
    "answer", ["infeasible", Reason.INFEASIBLE, Reason.PROVED, Ending(Reason.PROVED)], ids=repr
)
@pytest.mark.parametrize("task", [knapsack(6.0), retrying()], ids=["flat", "procedure"])
def test_a_feasible_problem_stays_feasible_whatever_a_criterion_says(task: Problem, answer: Any) -> None:
    result = solve(task, stop=lambda progress: answer if progress.incumbent is not None else None)
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert result.policy is not None
    assert result.ending.reason is Reason.CRITERION
    assert "a stop criterion was met" in str(result)
    assert "proven that there is no plan" not in str(result)


def test_a_solver_that_calls_a_feasible_problem_infeasible_is_found_out() -> None:
    liar = [
        Progress(lower_bound=3.0, upper_bound=6.0, incumbent=THROUGH),
        Progress(lower_bound=inf, infeasible=Infeasible(), ending=Ending(Reason.INFEASIBLE)),
    ]
    with pytest.raises(
        UnsoundResult, match=r"the solver reports that no plan is feasible, but a policy of cost 6\.0 is"
    ):
        solve(problem(), Told(liar))
    # A plan from before knows better, too.
    with pytest.raises(UnsoundResult, match=r"but a policy of cost 10\.0 is"):
        solve(problem(), Told(liar[1:]), start=from_before(ROUND))


def test_a_solvers_word_alone_makes_nothing_infeasible() -> None:
    """Only a proof does: why a search ended is another question."""
    word = Progress(lower_bound=2.0, ending=Ending(Reason.INFEASIBLE))
    with pytest.raises(UnsoundResult, match=r"without a proof; it must set Progress\.infeasible"):
        solve(problem(), Told([word]))
    with pytest.raises(UnsoundResult, match=r"but a policy of cost 6\.0 is"):
        solve(problem(), Told([replace(word, upper_bound=6.0, incumbent=THROUGH)]))


def test_a_method_is_given_by_its_name() -> None:
    problem = knapsack(6.0)
    for name in ("exact", "milp", "lp"):
        assert solve(problem, name).method == solve(problem, method=name).method == name
    plan = solve(problem, "exact")
    assert plan.resolve(damage=7.5, method="milp").method == "milp"
    assert plan.replan(method="milp").method == "milp"
    with pytest.raises(UnknownName, match="there is no method 'exat'; did you mean 'exact'"):
        solve(problem, "exat")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": 7}, r"^method=7: give the name of a method, such as 'exact'"),
        (
            {"method": PolicyBranching},
            r"^method=PolicyBranching: give an instance, such as PolicyBranching\(\)",
        ),
        ({"stop": 10}, r"^stop=10: .*time_limit=10"),
    ],
)
def test_an_option_of_a_wrong_kind_is_refused_with_a_remedy(options: dict[str, Any], message: str) -> None:
    plan = solve(ROADS)
    for call in (
        lambda: solve(ROADS, **options),
        lambda: plan.resolve(**options),
        lambda: plan.replan(**options),
    ):
        with pytest.raises(HcsspError, match=message) as caught:
            call()
        assert isinstance(caught.value, TypeError)


def test_limits_are_short_for_criteria() -> None:
    plan = solve(knapsack(6.0), gap=0.5)
    assert (plan.ending.reason, plan.gap <= 0.5) == (Reason.GAP, True)
    assert solve(knapsack(6.0), time_limit=0.0).ending.reason is Reason.TIME_LIMIT
    # A time limit alone leaves the default gap in place.
    assert solve(knapsack(6.0), time_limit=1e9).status is Status.OPTIMAL
    told = Told([Progress(seconds=3.0)])
    assert solve(ROADS, told, NoImprovement(9.0), time_limit=2.0, gap=0.1).ending.reason is Reason.TIME_LIMIT
    assert (told.context.time_limit, told.context.wanted_gap) == (2.0, 0.1)
