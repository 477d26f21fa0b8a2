"""The plan in words: its choices, its activities, its bounds, what is proven and why the search stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Status
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.reward import RewardInterval
from hcssp.numerics import OPTIMALITY_TOLERANCE
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.decisions import decision_summaries, joined_decisions
from hcssp.reports.figures import between, in_table, percent, rounded, rounded_down, rounded_up, times
from hcssp.reports.measures import Measure
from hcssp.reports.summary import (
    ActivitySummary,
    ConstraintSummary,
    activity_summaries,
    choice_summaries,
    constraint_summaries,
    joined_choices,
)
from hcssp.reports.words import (
    verification_of,
    what_is_claimed,
    what_is_wanted,
    what_lots_could_do,
    with_lots_explained,
)
from hcssp.solving.registry import METHODS

MOST_STATES = 12
"""States of a single problem, or of one activity, that are told; more are counted."""

MOST_LINES = 40
"""Lines about decisions after which no other activity is begun."""


@dataclass(frozen=True)
class Style:
    """Emphasis on a terminal, or none of it elsewhere."""

    enabled: bool = False

    def strong(self, text: str) -> str:
        """For headings and the figures that matter."""
        return f"\x1b[1m{text}\x1b[0m" if self.enabled else text

    def faint(self, text: str) -> str:
        """For what may be overlooked."""
        return f"\x1b[2m{text}\x1b[0m" if self.enabled else text


def plan_in_words(plan: Plan, style: Style | None = None, name: str = "") -> str:
    """What ``hcssp solve`` prints for people, and ``print(plan)``.

    Parameters
    ----------
    plan
        The answer.
    style
        Whether headings may be bold; by default they are not.
    name
        What the user calls the problem, if that is not its name.
    """
    solved, emphasis = plan.as_procedure(), style or Style()
    problem = solved.problem
    bounds = ", ".join(
        f"{called(problem, c.name)} at most {Measure.of(problem, c.name).given(c.at_most)}"
        for c in problem.constraints
        if isfinite(c.at_most)
    )
    title = f"{name or plan.name or 'plan'}: {what_is_wanted(problem)}, {bounds or 'no bounds'}"
    blocks = [emphasis.strong(title)]
    if plan.found:
        blocks += plan_blocks(plan, emphasis)
    blocks.append(emphasis.strong("Bounds") + "\n" + _bounds(solved))
    verification = verification_of(plan)
    heading = "Proven" if verification is None else "Verified"
    blocks.append(emphasis.strong(heading) + "\n" + _proven(solved))
    claimed = what_is_claimed(plan) if plan.found and not isfinite(plan.lower_bound) else ""
    if claimed:
        blocks.append(emphasis.strong("Claimed") + f"\n  {claimed}")
    counts = METHODS[plan.method].counts if plan.method in METHODS else "iterations"
    blocks.append(
        f"Stopped because {plan.ending.in_words}: method {plan.method}, {plan.seconds:.2f} s, "
        f"{plan.iterations} {counts}."
    )
    return with_lots_explained("\n\n".join(blocks))


def plan_blocks(plan: Plan, style: Style) -> list[str]:
    """What the plan does: its choices and its activities, or the actions of a single problem."""
    if isinstance(plan.problem, CSSP):
        return [style.strong("Actions") + "\n" + _actions(plan)]
    solved = plan.as_procedure()
    blocks = [
        style.strong("Choices") + "\n" + _choices(solved),
        style.strong("Activities")
        + " (expected, for one execution; share: of the whole)\n"
        + _activities(solved),
    ]
    decisions = _decisions(solved)
    if decisions:
        blocks.append(style.strong("Decisions inside activities") + "\n" + decisions)
    return blocks


def _actions(plan: Plan) -> str:
    """What a single problem's plan does in the states that it visits most, with how often."""
    policy, evaluation = plan.policy, plan.evaluation or plan.evaluate()
    labels = plan.problem.state_labels if isinstance(plan.problem, CSSP) else ()
    visits = evaluation.visits
    acting = np.flatnonzero((visits > 0.0) & (policy.rows != NO_ROW))
    order = acting[np.argsort(-visits[acting], kind="stable")]
    rows = [["state", "action", "visits"]]
    for state in order[:MOST_STATES].tolist():
        label = labels[state]
        rows.append([str(label), str(plan.action(label)), in_table(float(visits[state]))])
    text = aligned(rows)
    if len(order) > MOST_STATES:
        text += f"\n  and {len(order) - MOST_STATES:,} more states; plan.to_frame() has them all"
    return text


def _decisions(plan: ProcedurePlan) -> str:
    """What is done where something else could be done, in the activities that are no grids."""
    lines: list[str] = []
    executions = plan.costs.activities
    order = sorted(range(len(executions)), key=lambda index: -executions[index].expected_executions)
    left_out = 0
    for index in order:
        made = joined_decisions(each for each in decision_summaries(plan, index) if each.rejected)
        if not made:
            continue
        if len(lines) >= MOST_LINES:
            left_out += len(made)
            continue
        lines.append(f"  {plan.problem.activities[index].name}")
        width = max(len(str(each.state)) for each in made[:MOST_STATES])
        for each in made[:MOST_STATES]:
            others = listed_briefly(each.rejected)
            often = f"visited {times(each.visits)}"
            lines.append(f"    in {each.state!s:<{width}}  {each.action} (rather than {others}), {often}")
        left_out += len(made[MOST_STATES:])
    if left_out:
        lines.append(f"  and {left_out:,} more decisions; --json and plan.to_frame() tell them")
    return "\n".join(lines)


def listed_briefly(names: Sequence[str], most: int = 4) -> str:
    """Names in a row; of many only the first.

    >>> listed_briefly(["a", "b", "c"], most=2)
    'a, b or 1 other'
    """
    if len(names) <= most:
        return ", ".join(names)
    rest = len(names) - most
    return f"{', '.join(names[:most])} or {rest} other{'s' if rest > 1 else ''}"


def _choices(plan: ProcedurePlan) -> str:
    """Where there was something to choose, what was chosen."""
    choices = joined_choices(choice for choice in choice_summaries(plan) if choice.rejected)
    if not choices:
        return "  there is nothing to choose"
    width = max(len(choice.event) for choice in choices)
    return "\n".join(
        f"  at {choice.event:<{width}}  {choice.choice} (rather than {listed_briefly(choice.rejected)})"
        for choice in choices
    )


def _activities(plan: ProcedurePlan) -> str:
    summaries = activity_summaries(plan)
    aim = Aim.of(plan.problem)
    # Limits are about whole uses; a column for each of them would be a wide table.
    constraints = [
        each for each in constraint_summaries(plan) if each.per is None and each.name in aim.others
    ]
    executed = [activity for activity in summaries if activity.expected_executions]
    cost = aim.total(plan.costs.costs)
    header = ["activity", "executions", called(plan.problem, aim.name), "share"]
    for constraint in constraints:
        header += [called(plan.problem, constraint.name), "budget", "share"]
    measures = [Measure.of(plan.problem, constraint.name) for constraint in constraints]
    rows = [header, *(_row(activity, aim, cost, constraints, measures) for activity in executed)]
    total = ["in all", "", in_table(cost), ""]
    for constraint in constraints:
        told = Measure.of(plan.problem, constraint.name)
        total += [told.in_table(constraint.expected), told.in_table(constraint.at_most), ""]
    rows.append(total)
    text = aligned(rows)
    idle = [activity.name for activity in summaries if not activity.expected_executions]
    if idle:
        text += f"\n  never executed: {', '.join(idle)}"
    return text


def _row(
    activity: ActivitySummary,
    aim: Aim,
    cost: float,
    constraints: Sequence[ConstraintSummary],
    measures: Sequence[Measure],
) -> list[str]:
    executions = activity.expected_executions
    own = aim.share(activity.cost, activity.usage)
    row = [activity.name, in_table(executions), in_table(own), _share(executions, own, cost)]
    for constraint, measure in zip(constraints, measures, strict=True):
        used = activity.usage.get(constraint.name)
        row += [
            measure.in_table(used),
            measure.in_table(activity.budget.get(constraint.name)),
            _share(executions, used, constraint.expected),
        ]
    return row


def _share(executions: float | None, each: float | None, whole: float | None) -> str:
    """How much of the whole all executions together make up."""
    if executions is None or each is None or not whole:
        return "-"
    return f"{100 * executions * each / whole:.1f}%"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: names to the left, figures to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  " + "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)


def _bounds(plan: ProcedurePlan) -> str:
    lines = []
    aim = Aim.of(plan.problem)
    for constraint in constraint_summaries(plan):
        if constraint.name not in aim.others:
            continue
        told = Measure.of(plan.problem, constraint.name)
        line = f"  {told.name}: "
        if constraint.expected is not None:
            word = "" if told.is_probability else " expected"
            line += f"{told.used(constraint.expected, constraint.at_most)}{word}, "
        bounded = isfinite(constraint.at_most)
        if constraint.per is not None:
            line += "" if constraint.expected is not None or not plan.found else "not executed, "
            line += f"for each execution of {constraint.per} "
        line += f"at most {told.given(constraint.at_most)} allowed" if bounded else "no bound"
        if constraint.price is not None and isfinite(constraint.at_most):
            # Deterministic plans improve in steps; the price is that of the relaxation.
            gained = called(plan.problem, aim.name)
            unit, price = (
                ("percent", constraint.price / 100) if told.is_probability else ("unit", constraint.price)
            )
            worth = f"{gained} that a little more would {'gain' if aim.greatest else 'save'} for each {unit}"
            line += f"; price {price:.4g}: {worth}, if plans could draw lots"
        elif plan.prices is not None and constraint.at_most == 0.0:
            line += "; a bound of 0 has no price: what costs any of it is left out"
        lines.append(line)
    return "\n".join(lines) or "  there are none"


def _proven(plan: ProcedurePlan) -> str:
    primary = called(plan.problem, plan.problem.primary_name)
    lower, upper = plan.lower_bound, plan.upper_bound
    if plan.reward is not None and isfinite(lower):
        lines = _reward(plan.reward, called(plan.problem, plan.reward.name))
    elif isfinite(upper) and isfinite(lower):
        lines = [
            f"  the best deterministic plan has an expected {primary} {between(lower, upper)}",
            f"  this plan is {_quality(plan)}",
        ]
    elif isfinite(upper):
        lines = [
            f"  nothing but that this plan keeps its bounds; its expected {primary} is {rounded(upper, 6)}"
        ]
    elif isfinite(lower):
        lines = [f"  no plan has an expected {primary} below {rounded_down(lower, 6)}; one may exist"]
    elif plan.status == Status.INFEASIBLE:
        lines = [f"  {plan.message}"]
    else:
        lines = ["  nothing yet"]
    lots = what_lots_could_do(plan)
    verification = verification_of(plan)
    if lots:
        lines.append(f"  {lots}")
    if verification is not None:
        lines.append(f"  {verification.in_words}")
    return "\n".join(lines)


def _reward(proven: RewardInterval, name: str) -> list[str]:
    """What is proven, in the words of the reward; what is missed of it is nobody's concern."""
    most = rounded_up(proven.at_most, 6)
    if not isfinite(proven.value):
        return [f"  no plan has an expected {name} above {most}; one may exist"]
    quality = "the best there is, to six digits"
    if proven.gap > OPTIMALITY_TOLERANCE:
        missing = proven.at_most - proven.value
        quality = f"feasible; its {name} could be greater by at most {rounded_up(missing, 3)}"
    return [
        f"  the best deterministic plan has an expected {name} {between(proven.value, proven.at_most)}",
        f"  this plan is {quality}",
    ]


def _quality(plan: ProcedurePlan) -> str:
    if plan.status is Status.OPTIMAL:
        return f"optimal (relative gap {plan.gap:.1g})"
    return f"feasible; its cost could be lower by at most {percent(plan.gap)}"
