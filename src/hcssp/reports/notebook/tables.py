"""The tables of a fragment; of a long one the first rows are shown, and the others counted."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.procedure import HCSSP
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.figures import given, rounded, rounded_down, rounded_up
from hcssp.reports.measures import Measure
from hcssp.reports.notebook.markup import Markup, joined, paragraphs, shortened, table, unfolding
from hcssp.reports.summary import (
    activity_summaries,
    choice_summaries,
    constraint_summaries,
    joined_choices,
)
from hcssp.reports.words import what_lots_could_do

MOST_ROWS = 24
_MOST_HEADS = 4


def figures_table(plan: ProcedurePlan) -> Markup:
    """The costs against their bounds, with prices, and what else is proven."""
    problem = plan.problem
    aim = Aim.of(problem)
    primary = called(problem, aim.name)
    cost = rounded(aim.total(plan.costs.costs)) if plan.found else "–"
    rows = [
        (primary, cost, _sought(aim), "–"),
        *(
            (
                shortened(called(problem, each.name)),
                "–" if each.expected is None else Measure.of(problem, each.name).rounded(each.expected),
                _wanted(problem, each.name, each.at_most),
                _number(each.price),
            )
            for each in constraint_summaries(plan)
            if each.name in aim.others
        ),
    ]
    shown = capped(("cost", "expected", "wanted", "price"), rows)
    told = ""
    if not plan.found and isfinite(plan.lower_bound):
        limit = aim.limit(plan.lower_bound)
        worse = f"above {rounded_up(limit)}" if aim.greatest else f"below {rounded_down(limit)}"
        told = f"It is proven that no plan has an expected {primary} {worse}."
    lots = what_lots_could_do(plan)
    if lots:
        told += f" {lots[0].upper()}{lots[1:]}."
    return joined([shown, paragraphs(told)])


def choices_table(plan: ProcedurePlan) -> Markup:
    """What is chosen where there was something to choose."""
    choices = joined_choices(choice for choice in choice_summaries(plan) if choice.rejected)
    rows = [(choice.event, choice.choice, ", ".join(choice.rejected)) for choice in choices]
    head = ("at the event", "the plan chooses", "rather than")
    if not rows:
        return paragraphs("There is nothing to choose.")
    return unfolding(f"Choices ({len(rows)})", capped(head, rows, texts=3))


def activities_table(plan: ProcedurePlan) -> Markup:
    """What each activity costs and uses, for one execution."""
    problem, aim = plan.problem, Aim.of(plan.problem)
    names = aim.others
    head = ["activity", "executions", called(problem, aim.name)]
    head += [title for name in names for title in (called(problem, name), f"budget of {name}")]
    summaries = sorted(activity_summaries(plan), key=lambda each: -(each.expected_executions or 0.0))
    rows = [
        [
            shortened(each.name),
            _number(each.expected_executions),
            _number(aim.share(each.cost, each.usage)),
            *(_number(figures.get(name)) for name in names for figures in (each.usage, each.budget)),
        ]
        for each in summaries
    ]
    title = f"Activities ({len(rows)}): expected figures of one execution"
    return unfolding(title, capped(head, rows))


def states_table(problem: CSSP, plan: Plan) -> Markup:
    """What a single problem's plan does in the states that it visits most."""
    rows, labels, actions = plan.policy.rows, problem.state_labels, problem.action_labels
    visits = (plan.evaluation or plan.evaluate()).visits
    acting = np.flatnonzero((visits > 0.0) & (rows != NO_ROW))
    busiest = acting[np.argsort(-visits[acting], kind="stable")]
    told = [
        (shortened(labels[state]), shortened(actions[int(rows[state])]), rounded(float(visits[state])))
        for state in busiest[:MOST_ROWS].tolist()
    ]
    title = f"Actions in {len(busiest):,} states, the most visited first"
    shown = capped(("state", "action", "expected visits"), told, 2, len(busiest))
    return unfolding(title, shown, opened=problem.world is None)


def costs_table(problem: HCSSP) -> Markup:
    """What is wanted of each cost."""
    aim = Aim.of(problem)
    rows = [
        (called(problem, aim.name), _sought(aim)),
        *(
            (shortened(called(problem, each.name)), _wanted(problem, each.name, each.at_most))
            for each in problem.constraints
            if each.name in aim.others
        ),
    ]
    return capped(("expected cost", "wanted"), rows, texts=2)


def _sought(aim: Aim) -> str:
    return "maximised" if aim.greatest else "minimised"


def _wanted(problem: HCSSP, name: str, at_most: float) -> str:
    return f"at most {Measure.of(problem, name).given(at_most)}" if isfinite(at_most) else "no bound"


def rows_table(problem: CSSP) -> Markup:
    """The first states, with what can be done there."""
    told = [
        (
            shortened(problem.state_labels[int(problem.row_state[row])]),
            shortened(problem.action_labels[row]),
            shortened(_leads_to(problem, row)),
            shortened(_costs(problem, row)),
        )
        for row in range(min(MOST_ROWS, problem.num_rows))
    ]
    title = f"State-action pairs ({problem.num_rows:,})"
    shown = capped(("state", "action", "leads to", "costs"), told, 4, problem.num_rows)
    return unfolding(title, shown, opened=problem.world is None)


def _leads_to(problem: CSSP, row: int) -> str:
    """Where a row leads, the likeliest first."""
    leads = problem.transitions[[row]]
    likely = sorted(zip(leads.data.tolist(), leads.indices.tolist(), strict=True), reverse=True)
    told = [f"{given(chance)}: {problem.state_labels[head]}" for chance, head in likely[:_MOST_HEADS]]
    return ", ".join([*told, "…"] if len(likely) > _MOST_HEADS else told)


def _costs(problem: CSSP, row: int) -> str:
    paired = zip(problem.cost_names, problem.costs[:, row].tolist(), strict=True)
    return ", ".join(f"{name} {given(cost)}" for name, cost in paired if cost)


def sizes_table(problem: HCSSP) -> Markup:
    """The activities, where they take place, and how large they are."""
    rows = []
    for index, activity in enumerate(problem.activities[:MOST_ROWS]):
        counted = [each.name for each in problem.constraints if index in each.counts]
        room = activity.room if problem.world(index) is not None else "–"
        rows.append(
            (
                shortened(activity.name),
                shortened(room),
                shortened(", ".join(counted)) or "–",
                f"{activity.cssp.num_states:,}",
                f"{activity.cssp.num_rows:,}",
            )
        )
    head = ("activity", "room", "counted by", "states", "state-action pairs")
    title = f"Activities ({problem.num_activities:,})"
    return unfolding(title, capped(head, rows, 3, problem.num_activities))


def capped(
    head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1, count: int | None = None
) -> Markup:
    """A table of the first rows; how many more there are is said below."""
    more = (len(rows) if count is None else count) - min(len(rows), MOST_ROWS)
    shown = table([shortened(each) for each in head], rows[:MOST_ROWS], texts)
    return joined([shown, paragraphs(f"{more:,} more are not shown." if more else "")])


def _number(value: float | None) -> str:
    return "–" if value is None else rounded(value)
