"""What is said in the end: that there is no plan, and why; that a proof is complete only if it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pytest

from hcssp.contract.progress import Gap, Progress
from hcssp.contract.proof import Ending, Infeasible, Reason, Status
from hcssp.contract.solver import Context, Problem, Solver
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import StochasticOptimum
from hcssp.errors import DeadEnd
from hcssp.evaluation import evaluate
from hcssp.methods.anytime import Anytime
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.reports.plan_text import plan_document, randomised_optimum
from hcssp.solving import proving
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from known_optima import roads
from small_procedures import jump_or_walk

ROADS = roads(damage=4.0)
ROUND, THROUGH, DASH = (DeterministicPolicy(ROADS, np.array([row, -1])) for row in range(3))
"""Policies of :func:`known_optima.roads`, which cost 10, 6 and 4, with damage 0, 2 and 6."""


@dataclass(frozen=True)
class Says:
    """A method that has nothing to say but this."""

    step: Progress
    name: str = "says"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        yield self.step


@pytest.mark.parametrize(
    "method",
    [PolicyBranching(), BudgetAllocation(), BudgetAllocation(iterations=inf)],
    ids=["exact", "sharp", "proof"],
)
def test_an_activity_that_cannot_end_need_not_be_run(method: Solver) -> None:
    plan = solve(jump_or_walk(), method, stop=Gap(1e-6))
    assert (plan.status, plan.upper_bound) == (Status.OPTIMAL, pytest.approx(5.0))
    assert plan.action("walk", "in") == "go"
    if plan.stochastic is not None:
        sizes = {len(rows) for rows in plan.stochastic.policies}
        assert sizes == {jump_or_walk().flattening.num_states}


@pytest.mark.parametrize("method", [PolicyBranching(), BudgetAllocation()], ids=lambda each: each.name)
def test_bounds_that_cannot_be_kept_are_not_a_want_of_policies_that_end(method: Solver) -> None:
    with pytest.raises(DeadEnd, match="every policy may be trapped, for example in state"):
        solve(jump_or_walk(walk=False), method)
    strict = solve(jump_or_walk().with_bounds(damage=0.5), method)
    assert isinstance(strict.proof, Infeasible)
    assert strict.proof.ends
    assert "no policy keeps the bound on 'damage'" in strict.message
    assert plan_document(strict)["infeasible_because"] == "bounds"
    assert plan_document(solve(jump_or_walk(), method))["infeasible_because"] is None


def test_the_graph_says_why_a_search_found_nothing() -> None:
    told = Says(Progress(infeasible=Infeasible(), ending=Ending(Reason.INFEASIBLE)))
    unending = solve(jump_or_walk(walk=False), told)
    assert unending.proof == Infeasible(ends=False)
    assert unending.message.startswith(
        "no policy ends: every policy may reach a state from which the end cannot"
    )
    document = plan_document(unending)
    assert (document["status"], document["infeasible_because"]) == ("infeasible", "no policy ends")
    kept = solve(roads(damage=-1.0), told)
    assert kept.proof == Infeasible()
    assert kept.message == "no deterministic policy keeps the bounds (proved by search)"


def test_without_bounds_a_policy_that_ends_refutes_that_there_is_none() -> None:
    told = Says(Progress(infeasible=Infeasible(), ending=Ending(Reason.INFEASIBLE)))
    plan = solve(roads(damage=inf), told)
    assert (plan.status, plan.ending.reason) == (Status.UNKNOWN, Reason.ROUNDING)
    assert "some policies end" in plan.message


@pytest.mark.parametrize(
    ("lower_bound", "stop", "reason"),
    [
        (5.9, None, Reason.ROUNDING),
        (5.9, Gap(0.1), Reason.GAP),
        (5.9, (), Reason.ROUNDING),
        (6.0 - 3e-6, (), Reason.PROVED),
        (6.0 - 3e-6, Gap(1e-9), Reason.ROUNDING),
        (6.0 - 3e-9, Gap(0.0), Reason.PROVED),
    ],
)
def test_no_search_ends_proved_beside_a_gap(
    lower_bound: float, stop: Any, reason: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A problem as small as this is decided in rational numbers otherwise.
    monkeypatch.setattr(proving, "MOST_STATES", 0)
    steps = Says(
        Progress(lower_bound=lower_bound, upper_bound=6.0, incumbent=THROUGH, ending=Ending(Reason.PROVED))
    )
    plan = solve(ROADS, steps, stop)
    if reason is Reason.GAP:
        assert plan.gap <= 0.1
    else:
        assert plan.ending.reason is reason
    if plan.ending.reason is Reason.ROUNDING:
        assert "within rounding errors" in plan.ending.in_words


def mixed(weights: list[float], value: float, bound: float = 4.0) -> Any:
    """The plan of a search that ends with such a mixture of the second and the third road."""
    optimum = StochasticOptimum(
        value, np.array(weights), (THROUGH.rows, DASH.rows), np.array([[6.0, 2.0, 0.0], [4.0, 6.0, 0.0]])
    )
    step = Progress(upper_bound=6.0, incumbent=THROUGH, stochastic=optimum)
    return solve(roads(damage=bound), Says(step))


def test_lots_are_promised_only_if_they_were_found() -> None:
    found = mixed([0.5, 0.5], 5.0)
    assert found.randomised_cost == 5.0
    assert randomised_optimum(found) == "the best randomised policy reaches 5"
    assert "the best randomised policy reaches 5" in str(found)
    # The bound is loose: what was found is not what no plan is below.
    loose = randomised_optimum(mixed([0.5, 0.5], 3.0))
    assert loose == ("a randomised policy reaches 5; no policy is below 3.000000, randomised or not")
    # The mixture breaks the bound: nothing was found.
    broken = mixed([0.25, 0.75], 3.0)
    assert broken.randomised_cost is None
    assert randomised_optimum(broken) == "no policy is below 3.000000, randomised or not"
    assert "could reach" not in str(broken)


@pytest.mark.parametrize("bound", [1e-12, 1e-3, 1.0])
def test_a_mixture_keeps_a_tiny_bound_to_a_share_of_it(bound: float) -> None:
    room = CSSPBuilder(cost_names=("time", "risk"), bounds={"risk": bound})
    inside, out = room.add_state("inside"), room.add_goal("out")
    room.add_action(inside, "walk", to=out, costs={"time": 10.0})
    room.add_action(inside, "run", to=out, costs={"time": 1.0, "risk": 2.0 * bound})
    for method in (PolicyBranching(), Anytime()):
        plan = solve(room.build(), method)
        assert plan.stochastic is not None
        assert float(plan.stochastic.weights @ plan.stochastic.costs[:, 1]) <= bound * (1.0 + 2e-9)
        assert plan.randomised_cost == pytest.approx(5.5)


def careful_or_fast(chance: float, damage: float, last: float) -> tuple[CSSP, DeterministicPolicy]:
    """A problem, and its most careful policy."""
    built = CSSPBuilder(cost_names=("time", "damage"))
    here, there, out = built.add_state("here"), built.add_state("there"), built.add_goal("out")
    built.add_action(here, "careful", to={there: 1 - chance, here: chance}, costs=(5.0, damage))
    built.add_action(here, "fast", to=there, costs=(1.0, 9 * damage / (1 - chance)))
    built.add_action(there, "go", to={out: 0.8, there: 0.2}, costs=(1.0, last))
    problem = built.build()
    return problem, DeterministicPolicy(problem, np.array([0, 2, -1]))


@pytest.mark.parametrize("chance", [0.1, 0.3, 0.7, 0.9])
@pytest.mark.parametrize(("damage", "last"), [(1.0, 0.1), (3.0, 0.7), (5.0, 0.3)])
def test_a_curve_keeps_whatever_a_search_keeps(chance: float, damage: float, last: float) -> None:
    problem, careful = careful_or_fast(chance, damage, last)
    least = evaluate(problem, careful).cost("damage")
    for bound in (least, least * (1.0 - 1e-12), least * (1.0 - 1e-8)):
        alone = solve(problem.with_bounds(damage=bound))
        (point,) = trade_off(problem, "damage", [bound]).points
        assert point.plan.status is alone.status
        assert point.upper_bound == pytest.approx(alone.upper_bound)


def test_a_curve_says_whether_lots_reach_it() -> None:
    assert trade_off(ROADS, "damage", [2.0, 4.0]).exact
