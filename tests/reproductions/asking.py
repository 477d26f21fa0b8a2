"""Asking the methods about a problem, and problems that are stated again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from referee.exact_policies import every_policy
from referee.judgement import judge
from referee.pending import PENDING_KINDS
from referee.wild_problems import Case

Problem = CSSP | HCSSP

BOTH = ("exact", "anytime")

FEW_STEPS = 200
"""More than any of these problems should take."""


def verdicts(
    problems: Iterable[tuple[str, Problem]], methods: Sequence[str] = BOTH, steps: int = FEW_STEPS
) -> list[str]:
    """All that is wrong with what the methods say, and all that they leave open."""
    findings = []
    for name, problem in problems:
        case = Case(name, 0, problem, every_policy(problem), inf)
        findings += [finding for method in methods for finding in judge(case, method, steps)]
    return [str(finding) for finding in findings if finding.kind not in PENDING_KINDS]


def one_state(actions: dict[str, tuple[float, Sequence[float]]], **bounds: float) -> CSSP:
    """A state that is left by one of some actions, each with its probability of success and its costs."""
    names = ("time", "damage", "energy")[: len(next(iter(actions.values()))[1])]
    plan = CSSPBuilder(cost_names=names, bounds=bounds)
    here, out = plan.add_state("here"), plan.add_goal("out")
    for name, (success, costs) in actions.items():
        to = out if success == 1.0 else {out: success, here: 1.0 - success}
        plan.add_action(here, name, to=to, costs=tuple(costs))
    return plan.build()


def run_once(room: CSSP, *, damage: float) -> HCSSP:
    """The procedure that runs a room, under a bound on its damage."""
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    cross = plan.add_activity("cross", room)
    plan.add_choice(start, "cross", to=[Outcome(1.0, end, runs=cross)])
    plan.add_constraint("damage", at_most=damage, counts={cross: "damage"})
    return plan.build(start=start, end=end)
