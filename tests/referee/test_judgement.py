"""Planted lies: whatever a method should not say, the referee hears."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Infeasible, Interval, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.ascent import StochasticOptimum
from hcssp.errors import DeadEnd
from referee import judgement
from referee.exact_policies import every_policy
from referee.judgement import METHODS, OPEN, Referee, Said, TookTooLong, judge
from referee.wild_problems import Case


def thirds() -> CSSP:
    """Three ways out, of cost 3, 4/3 and 1, with a damage of 0, 4/3 and 2; and one that never ends."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.5})
    here, out = plan.add_state("here"), plan.add_goal("out")
    plan.add_action(here, "walk", to=out, costs=(3.0, 0.0))
    plan.add_action(here, "run", to={out: 0.75, here: 0.25}, costs=(1.0, 1.0))
    plan.add_action(here, "jump", to=out, costs=(1.0, 2.0))
    plan.add_action(here, "wait", to=here, costs=(0.0, 0.0))
    return plan.build()


PROBLEM = thirds()
TRUTH = every_policy(PROBLEM)
WALK, RUN, JUMP, WAIT = (DeterministicPolicy(PROBLEM, np.array([row, -1])) for row in range(4))
OPTIMUM = 4.0 / 3.0
assert Fraction(OPTIMUM) < Fraction(4, 3)
TOO_HIGH = nextafter(OPTIMUM, inf)
"""The double next to the optimum, above it: it differs from 4/3 in the seventeenth digit."""


def referee() -> Referee:
    return Referee(PROBLEM, TRUTH, [1.5])


def kinds(said: Iterator[Said]) -> set[str]:
    return {each.kind for each in said}


TRUE = Progress(lower_bound=1.0, upper_bound=OPTIMUM, incumbent=RUN)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (replace(TRUE, lower_bound=TOO_HIGH, upper_bound=3.0, incumbent=WALK), "last digits"),
        (replace(TRUE, lower_bound=1.34, upper_bound=3.0, incumbent=WALK), "lower bound"),
        (Progress(lower_bound=inf), "lower bound"),
        (replace(TRUE, lower_bound=1.33334), "contradiction"),
        (replace(TRUE, upper_bound=1.3333333), "upper bound"),
        (Progress(upper_bound=2.0), "upper bound"),
        (replace(TRUE, upper_bound=1.0, incumbent=JUMP), "broken bound"),
        (replace(TRUE, upper_bound=1.0, incumbent=WAIT), "improper"),
        (Progress(lower_bound=1.0, infeasible=Infeasible()), "infeasible"),
    ],
)
def test_every_lie_of_a_snapshot_is_heard(step: Progress, kind: str) -> None:
    assert kind in kinds(referee().snapshots([step]))


def test_the_truth_is_believed() -> None:
    assert kinds(referee().snapshots([Progress(lower_bound=0.5), TRUE])) == set()
    exact = replace(TRUE, lower_bound=OPTIMUM)
    assert kinds(referee().snapshots([exact])) == set()


def test_an_interval_that_widens_is_heard() -> None:
    assert kinds(referee().snapshots([TRUE, replace(TRUE, lower_bound=0.5)])) == {"widened"}


def plan(proof: Interval | Infeasible, reason: Reason, policy: DeterministicPolicy | None = None) -> Plan:
    return Plan(PROBLEM, policy, proof=proof, ending=Ending(reason))


@pytest.mark.parametrize(
    ("claimed", "wrong"),
    [
        (plan(Interval(OPTIMUM, OPTIMUM), Reason.PROVED, RUN), set()),
        (plan(Interval(3.0, 3.0), Reason.PROVED, WALK), {"lower bound", "optimal"}),
        (plan(Interval(1.0, OPTIMUM), Reason.PROVED, RUN), {"ending", OPEN}),
        (plan(Interval(1.0, OPTIMUM), Reason.ROUNDING, RUN), {OPEN}),
        (plan(Interval(1.0), Reason.INFEASIBLE), {"ending", OPEN}),
        (plan(Infeasible(), Reason.INFEASIBLE), {"infeasible", "lower bound"}),
    ],
)
def test_every_lie_of_a_plan_is_heard(claimed: Plan, wrong: set[str]) -> None:
    assert kinds(referee().plan(claimed, complete=True)) == wrong


def test_a_stochastic_optimum_above_a_policy_is_heard() -> None:
    mixture = StochasticOptimum(1.34, np.ones(1), (RUN.rows,), np.array([[OPTIMUM, OPTIMUM]]))
    claimed = replace(plan(Interval(1.0, OPTIMUM), Reason.GAP, RUN), stochastic=mixture)
    assert kinds(referee().plan(claimed, complete=False)) == {"stochastic"}


def test_infeasible_is_believed_where_it_is_true() -> None:
    strict = PROBLEM.with_bounds(damage=-1.0)
    judge_of = Referee(strict, TRUTH, [-1.0])
    claimed = Plan(strict, proof=Infeasible(), ending=Ending(Reason.INFEASIBLE))
    assert kinds(judge_of.plan(claimed, complete=True)) == set()


@dataclass
class Raising:
    """A method that gives up."""

    error: Exception
    name: str = "raising"

    def iterate(self, problem: Problem, context: Context) -> Iterator[Progress]:
        raise self.error
        yield Progress()


@pytest.mark.parametrize(
    ("error", "kind"),
    [(RuntimeError("lost"), "exception"), (DeadEnd("no way"), "refused"), (TookTooLong(), "slow")],
)
def test_whatever_a_method_raises_is_heard(
    error: Exception, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "raising", Raising(error))
    case = Case("planted", 0, PROBLEM, TRUTH, inf)
    assert [finding.kind for finding in judge(case, "raising")] == [kind]


def test_a_dead_end_is_the_right_answer_where_no_policy_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "raising", Raising(DeadEnd("no way")))
    case = Case("planted", 0, PROBLEM, replace(TRUTH, policies=()), inf)
    assert judge(case, "raising") == []


def test_a_curve_that_calls_a_kept_bound_impossible_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("planted", 0, PROBLEM, TRUTH, inf)
    assert judge(case, judgement.CURVE) == []
    honest = judgement.trade_off

    def lying(*arguments, **options):  # type: ignore[no-untyped-def]
        curve = honest(*arguments, **options)
        points = [
            replace(each, plan=replace(each.plan, found_policy=None, proof=Infeasible()))
            for each in curve.points
        ]
        return replace(curve, points=tuple(points))

    monkeypatch.setattr(judgement, "trade_off", lying)
    assert {finding.kind for finding in judge(case, judgement.CURVE)} == {"infeasible", "lower bound"}
