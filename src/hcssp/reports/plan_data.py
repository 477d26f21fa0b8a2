"""One plan for a page: what it chooses, where it goes, what it costs, and how it may turn out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hcssp.contract.plan import ProcedurePlan
from hcssp.cssp.model import FloatArray
from hcssp.cssp.policy import NO_ROW
from hcssp.procedure.aim import Aim
from hcssp.reports.cells import CellPool
from hcssp.reports.decisions import decision_summaries, joined_decisions
from hcssp.reports.figures import plain, short
from hcssp.reports.influences import influence_data
from hcssp.reports.judged import limit, own
from hcssp.reports.outlook import CostOutlook, Outlook, look_ahead
from hcssp.reports.summary import choice_summaries, joined_choices
from hcssp.reports.trajectories import draw_runs, run_data
from hcssp.reports.words import (
    in_brief,
    verification_of,
    what_is_proven,
    what_it_costs,
    what_more_would_save,
)

_STATES_SHOWN = 12


@dataclass(eq=False)
class PlanWriter:
    """Writes plans of one problem; equal activities are written once.

    Attributes
    ----------
    runs
        How many runs of each plan are told step by step.
    samples
        How many runs the distribution of costs is drawn from.
    seed
        Names the runs for good.
    pool
        The grids written so far.
    """

    runs: int = 24
    samples: int = 4000
    seed: int = 0
    pool: CellPool = field(default_factory=CellPool)

    def write(self, plan: ProcedurePlan) -> dict[str, Any]:
        """A plan as data for the page."""
        problem, evaluation = plan.problem, plan.costs
        flattening = problem.flattening
        costs = {name: evaluation.cost(name) for name in evaluation.cost_names}
        aim, claim = Aim.of(problem), plan.claim
        drawn = draw_runs(plan.policy, self.runs, self.seed) if self.runs else []
        return {
            "bounds": {each.name: plain(each.at_most) for each in problem.constraints},
            "costs": dict(zip(aim.names, map(plain, aim.told(evaluation.costs)), strict=True)),
            "limit": plain(limit(plan)),
            "own": plain(own(plan)),
            "word": "proven" if verification_of(plan) is None else "verified",
            "claimed": None if claim is None else plain(aim.limit(claim.lower_bound)),
            "prices": None
            if plan.prices is None
            else {name: short(price) for name, price in plan.prices.items()},
            "brief": in_brief(plan, costs),
            "words": [
                sentence
                for sentence in (
                    what_it_costs(problem, costs),
                    what_is_proven(plan),
                    what_more_would_save(problem, plan.prices),
                )
                if sentence
            ],
            "choices": [short(count, 9) for count in choice_counts(plan)],
            "conditions": choice_conditions(plan),
            "activities": [self._activity(plan, aim, index) for index in range(problem.num_activities)],
            "runs": [run_data(flattening, run) for run in drawn],
            "outlook": self._outlook(plan),
            "influences": influence_data(plan),
        }

    def _activity(self, plan: ProcedurePlan, aim: Aim, index: int) -> dict[str, Any]:
        flattening, share = plan.problem.flattening, plan.costs.activities[index]
        allotted = plan.budgets.get(share.name, {})
        written: dict[str, Any] = {
            "executions": short(share.expected_executions, 9),
            "cost": short(aim.share(share.cost, share.usage) or 0.0, 9),
            "usage": {name: short(used, 9) for name, used in share.usage.items() if name in aim.others},
            "allotted": {
                name: short(each * share.expected_executions, 9)
                for name, each in allotted.items()
                if name in share.usage and name in aim.others
            },
        }
        if not share.expected_executions > 0.0:
            return written
        cssp = plan.problem.activities[index].cssp
        visits = np.zeros(cssp.num_states)
        first, last = flattening.state_offset[index : index + 2]
        visits[~cssp.goals] = plan.costs.visits[first:last] / share.expected_executions
        world = cssp.world
        if world is None:
            written["states"] = _busiest(plan, index, share.expected_executions)
        else:
            written["grid"] = self.pool.add(world, cssp, plan.policy.activities[index], visits)
        return written

    def _outlook(self, plan: ProcedurePlan) -> dict[str, Any] | None:
        if self.samples < 2:
            return None
        return outlook_data(look_ahead(plan, self.samples, self.seed))


def outlook_data(outlook: Outlook) -> dict[str, Any]:
    """The distribution of costs as data for the page."""
    return {
        "runs": outlook.runs,
        "unfinished": outlook.unfinished,
        "costs": [_cost_data(cost) for cost in outlook.costs],
    }


def _cost_data(cost: CostOutlook) -> dict[str, Any]:
    return {
        "name": cost.name,
        "mean": [short(each) for each in cost.mean],
        "percentiles": [short(value) for value in cost.percentiles],
        "greatest": short(cost.greatest),
        "exceeding": None if cost.exceeding is None else [short(each) for each in cost.exceeding],
        "edges": [short(edge, 9) for edge in cost.edges],
        "counts": cost.counts.tolist(),
        "values": cost.by_value,
    }


def choice_counts(plan: ProcedurePlan) -> FloatArray:
    """How often each choice is made, in expectation."""
    flattening = plan.problem.flattening
    counts = np.zeros(len(plan.problem.choices))
    for state, event_state in enumerate(flattening.event_states):
        choice = plan.policy.choices.get(event_state, NO_ROW)
        if choice != NO_ROW:
            counts[choice] += plan.costs.visits[state]
    return counts


def choice_conditions(plan: ProcedurePlan) -> list[str]:
    """For each choice, in which states of its event it is made; empty where that is all of them."""
    told: list[list[str]] = [[] for _ in plan.problem.choices]
    index = {(each.event, each.name): number for number, each in enumerate(plan.problem.choices)}
    for each in joined_choices(choice_summaries(plan)):
        condition = each.event.removeprefix(each.place).removeprefix(",").strip()
        if condition:
            told[index[plan.problem.event_index(each.place), each.choice]].append(condition)
    return ["; ".join(each) for each in told]


def _busiest(plan: ProcedurePlan, index: int, executions: float) -> list[list[Any]]:
    """What is done in the states of a table that are visited most: state, action, visits of an execution."""
    made = joined_decisions(decision_summaries(plan, index))
    busiest = sorted(made, key=lambda each: -each.visits)[:_STATES_SHOWN]
    return [[str(each.state), each.action, short(each.visits / executions)] for each in busiest]
