"""A plan in figures with names, and as one JSON object; ``null`` where a figure is unknown or infinite.

An activity's ``cost``, ``usage`` and ``budget`` are those of *one* execution, in expectation (the paper's
f, g and allotted budget), and ``null`` if it is never executed. Weighted with ``expected_executions``, costs
and usages add up to those of the whole plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Infeasible, Status
from hcssp.procedure import HCSSP
from hcssp.procedure.units import probability_of
from hcssp.reports.decisions import decision_summaries
from hcssp.reports.figures import plain
from hcssp.reports.words import verification_of

MOST_DECISIONS = 1000
"""Decisions of one activity that a JSON object tells; more are counted."""


@dataclass(frozen=True)
class ConstraintSummary:
    """A constraint: what the plan is expected to use, the bound, and what a unit of it is worth.

    `per` is the use that it is a limit of, if it is one. Then what is used and allowed is that of one
    execution; nothing is used if there is none.
    """

    name: str
    expected: float | None
    at_most: float
    price: float | None
    per: str | None = None


@dataclass(frozen=True)
class ActivitySummary:
    """An activity in the plan: how often it is executed, and what *one* execution costs, in expectation.

    Weighted with the expected executions, costs and usages add up to those of the whole plan. They are
    the paper's :math:`f^E`, :math:`g^E` and allotted budgets; None where the activity is never executed.

    Attributes
    ----------
    name, expected_executions
        Its name, and how often it is executed; None if there is no plan.
    cost
        The primary cost of an execution.
    usage
        What an execution uses of each constraint that counts the activity.
    budget
        What an execution may use of each of those: its usage, unless the method allots more.
    """

    name: str
    expected_executions: float | None
    cost: float | None
    usage: Mapping[str, float | None]
    budget: Mapping[str, float | None]


@dataclass(frozen=True)
class ChoiceSummary:
    """What the plan chooses at an event that it reaches, and what else there was.

    Attributes
    ----------
    event
        The event, and the state in which it was entered where that makes a difference.
    choice, rejected
        What is chosen, and what is not.
    place, entry
        The event alone, and the state alone; None where there is none.
    """

    event: str
    choice: str
    rejected: tuple[str, ...]
    place: str = ""
    entry: str | None = None


def constraint_summaries(plan: ProcedurePlan) -> tuple[ConstraintSummary, ...]:
    """The constraints, in the problem's order."""
    # Of a proof that nothing is feasible the multipliers are no prices.
    prices = None if plan.status is Status.INFEASIBLE else plan.prices
    executed = {each.name: each.usage_per_execution for each in plan.costs.limits} if plan.found else {}
    summaries = []
    for constraint in plan.problem.constraints:
        name, price = constraint.name, None if prices is None else prices.get(constraint.name)
        if constraint.per is None:
            expected = plan.costs.cost(name) if plan.found else None
            summaries.append(ConstraintSummary(name, expected, constraint.at_most, price))
        else:
            use = plan.problem.uses[constraint.per.use].name
            summaries.append(ConstraintSummary(name, executed.get(name), constraint.limit, price, use))
    return tuple(summaries)


def activity_summaries(plan: ProcedurePlan) -> tuple[ActivitySummary, ...]:
    """The activities, in the problem's order."""
    summaries = []
    for index, activity in enumerate(plan.problem.activities):
        if not plan.found:
            unknown = {c.name: None for c in plan.problem.constraints if index in c.counts}
            summaries.append(ActivitySummary(activity.name, None, None, unknown, unknown))
            continue
        share = plan.costs.activities[index]
        usage = share.usage_per_execution or dict.fromkeys(share.usage)
        allotted = plan.budgets.get(activity.name, {})
        budget = {**usage, **allotted} if share.expected_executions else usage
        summaries.append(
            ActivitySummary(activity.name, share.expected_executions, share.cost_per_execution, usage, budget)
        )
    return tuple(summaries)


def choice_summaries(plan: ProcedurePlan) -> tuple[ChoiceSummary, ...]:
    """The choices at the events that the plan reaches, in the problem's order."""
    if not plan.found:
        return ()
    problem, choices, visits = plan.problem, plan.policy.choices, plan.costs.visits
    summaries = []
    for state, (event, entry) in enumerate(problem.flattening.event_states):
        chosen = choices.get((event, entry))
        if chosen is None or not visits[state] > 0.0:
            continue
        name = problem.events[event] if entry is None else f"{problem.events[event]} (entered in {entry})"
        others = [problem.choices[other].name for other in problem.choices_at(event) if other != chosen]
        entered = None if entry is None else str(entry)
        summaries.append(
            ChoiceSummary(name, problem.choices[chosen].name, tuple(others), problem.events[event], entered)
        )
    return tuple(summaries)


def joined_choices(choices: Iterable[ChoiceSummary]) -> list[ChoiceSummary]:
    """The same, with equal choices at one event together: nobody reads a line for every level of a battery.

    Together are those whose entries differ only in the last word, such as "(7, 2), battery 3" to "9".
    """
    alike: dict[tuple[str, str], list[ChoiceSummary]] = {}
    for each in choices:
        stem = "" if each.entry is None else each.entry.rpartition(" ")[0]
        alike.setdefault((each.place, stem), []).append(each)
    joined = []
    for (place, stem), listed in alike.items():
        for _, same in groupby(listed, key=lambda each: each.choice):
            first, *others = same
            if others and stem and first.entry is not None:
                last = str(others[-1].entry).rpartition(" ")[2]
                first = replace(first, event=f"{place} (entered in {first.entry} to {last})")
                others = []
            joined += [first, *others]
    return joined


def plan_document(plan: Plan) -> dict[str, Any]:
    """The object that ``hcssp solve --json`` prints."""
    return {
        "problem": plan.name,
        "method": plan.method,
        "status": str(plan.status),
        "infeasible_because": plan.proof.because if isinstance(plan.proof, Infeasible) else None,
        "message": plan.message or None,
        "stopped_by": str(plan.ending.reason),
        "stop_detail": plan.ending.detail or None,
        "lower_bound": plain(plan.lower_bound),
        "upper_bound": plain(plan.upper_bound),
        "gap": plain(plan.gap),
        **_reward(plan),
        **plan_figures(plan),
        "seconds": plain(plan.seconds),
        "trace": [[plain(value) for value in point] for point in plan.trace],
    }


def _reward(plan: Plan) -> dict[str, Any]:
    """The reward, for a problem that maximises one: the plan's own, and what no plan exceeds."""
    proven = plan.reward
    if proven is None:
        return {}
    told = {"expected": plain(proven.value), "at_most": plain(proven.at_most), "gap": plain(proven.gap)}
    return {"reward": {"name": proven.name, **told}}


def verified_document(plan: Plan) -> dict[str, Any] | None:
    """The interval that a certificate was found to prove, and by what; None if none was checked."""
    verification = verification_of(plan)
    if verification is None:
        return None
    return {
        "status": str(plan.status),
        "lower_bound": plain(plan.lower_bound),
        "upper_bound": plain(plan.upper_bound),
        **asdict(verification),
    }


def plan_figures(plan: Plan) -> dict[str, Any]:
    """The part of an object that is about the plan itself: constraints, choices and activities."""
    solved = plan.as_procedure()
    return {
        "constraints": {
            constraint.name: {
                "expected": plain(constraint.expected),
                "at_most": plain(constraint.at_most),
                "price": plain(constraint.price),
                **({} if constraint.per is None else {"for_each_execution_of": constraint.per}),
                **_probability(solved.problem, constraint.name),
            }
            for constraint in constraint_summaries(solved)
        },
        "choices": {choice.event: choice.choice for choice in choice_summaries(solved)},
        "activities": {
            activity.name: {
                "expected_executions": plain(activity.expected_executions),
                "cost": plain(activity.cost),
                "usage": {name: plain(used) for name, used in activity.usage.items()},
                "budget": {name: plain(allotted) for name, allotted in activity.budget.items()},
                **_decisions(solved, index),
            }
            for index, activity in enumerate(activity_summaries(solved))
        },
    }


def _probability(problem: HCSSP, name: str) -> dict[str, str]:
    """What a constraint is the probability of, if it is one."""
    what = probability_of(problem, name)
    return {"probability_of": what} if what else {}


def _decisions(plan: ProcedurePlan, index: int) -> dict[str, Any]:
    """What is done inside an activity that is no grid; a grid's actions are in the plan's file."""
    found = decision_summaries(plan, index)
    return {
        "decisions": [
            {
                "state": each.state,
                "action": each.action,
                "expected_visits": plain(each.visits),
                "rather_than": list(each.rejected),
            }
            for each in found[:MOST_DECISIONS]
        ],
        "decisions_left_out": max(0, len(found) - MOST_DECISIONS),
    }
