"""A plan for people, as sentences and text with tables, and for programs, as a JSON object or a frame.

An activity's ``cost``, ``usage`` and ``budget`` are those of *one* execution, in expectation (the paper's
f, g and allocated budget), and ``null`` if it is never executed. Weighted with ``expected_executions``, costs
and usages add up to those of the whole plan. Unknown and infinite figures are ``null``, and so are budgets if
the method allocates none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, isfinite, log10, nan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Infeasible, Interval, Reason, Status, Trace, Verification
from hcssp.cssp.model import CSSP, FloatArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.product import base_of, joined_by_level
from hcssp.display import frame
from hcssp.evaluation.exact import expected_remaining
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.reports.figures import (
    DIGITS,
    Measure,
    an_expected,
    between,
    breaks,
    document,
    in_table,
    in_unit,
    percent,
    plain,
    rounded,
    rounded_down,
    rounded_up,
    times,
)
from hcssp.solving.registry import METHODS

if TYPE_CHECKING:
    from pandas import DataFrame


def what_is_wanted(problem: HCSSP) -> str:
    """The objective, as a short text."""
    aim = Aim.of(problem)
    return f"{'greatest' if aim.greatest else 'least'} expected {problem.called(aim.name)}"


def what_it_costs(problem: HCSSP, costs: Mapping[str, float]) -> str:
    """The expected costs against their bounds, in a sentence."""
    aim = Aim.of(problem)
    value = in_unit(problem, aim.name, rounded(aim.value(costs)))
    sentence = f"This plan has {an_expected(aim.name)} of {value}"
    kept = [
        _against_bound(problem, name, costs[name], bound)
        for name, bound in _bounds(problem).items()
        if name in aim.others
    ]
    return sentence + (f", with {_listed(kept)}." if kept else ".")


def what_is_proven(plan: Plan) -> str:
    """The proof as printed on a terminal, as one text; the claim of the plan's file if nothing is proven."""
    if not isfinite(plan.lower_bound) and (claimed := what_is_claimed(plan)):
        return claimed
    return f"{proof_heading(plan)}: {'; '.join(each.rstrip('.') for each in proven_lines(plan))}."


def proof_heading(plan: Plan) -> str:
    """Whether the solver has proven something, or the checker has verified it."""
    return "Proven" if verification_of(plan) is None else "Verified"


def what_is_claimed(plan: Plan) -> str:
    """The interval in the plan's file, stated as a claim; empty if there is none."""
    claim, problem = plan.claim, plan.problem.procedure
    if claim is None or not isfinite(claim.lower_bound):
        return ""
    name, limit = Aim.of(problem).name, worse_than(Aim.of(problem), claim.lower_bound)
    worse = f"{an_expected(name)} {in_unit(problem, name, limit)}"
    return (
        f"The plan's file claims that no {plan.policies} plan that keeps the bounds has {worse}. That was "
        "not checked here: a certificate, or a search, would do."
    )


def worse_than(aim: Aim, lower_bound: float) -> str:
    """What no plan reaches, given a lower bound: ``below 3.2``, or ``above`` where a reward is maximised."""
    limit = aim.limit(lower_bound)
    return f"above {rounded_up(limit, 6)}" if aim.greatest else f"below {rounded_down(limit, 6)}"


def random_choices(plan: Plan) -> dict[str, dict[str, float]]:
    """Where a randomised plan chooses at random: from places to the probabilities of actions."""
    if not plan.found or not plan.policy.is_randomised:
        return {}
    policy = plan.as_procedure().policy
    found: dict[str, dict[str, float]] = {}
    for options in policy.mixed().values():
        activity, state, _ = policy.name_of(options[0][0])
        found[_place("" if isinstance(plan.problem, CSSP) else activity, state)] = {
            str(policy.name_of(row)[2]): chance for row, chance in options
        }
    return found


def _place(activity: Hashable, state: Hashable) -> str:
    return f"in {activity}, state {state}" if activity else f"at {state}"


def _at_random(options: Mapping[str, float]) -> str:
    """Actions with their probabilities."""
    return " or ".join(f"{action} ({100 * chance:.4g}%)" for action, chance in options.items())


def randomised_optimum(plan: Plan) -> str:
    """The cost of a randomised policy, if one was found, or the bound on all of them."""
    # Without bounds a deterministic policy is the best of all policies.
    if plan.stochastic is None or not np.isfinite(plan.problem.bounds).any():
        return ""
    # The randomised optimum is over policies that choose per state.
    if plan.policies == "randomised" or plan.problem.procedure.limits_choices:
        return ""
    found = plan.stochastic
    reached, least = plan.randomised_cost, float(found.value)
    aim = Aim.of(plan.problem)
    most = rounded_up(aim.limit(least), 6)
    limit = f"above {most}" if aim.greatest else f"below {rounded_down(least, 6)}"
    below = f"no policy is {limit}, randomised or not"
    if reached is None:
        return below
    own = aim.total(found.weights @ found.costs)
    if relative_gap(least, reached) > OPTIMALITY_TOLERANCE:
        return f"a randomised policy reaches {rounded(own, 6)}; {below}"
    stated = f"the best randomised policy reaches {rounded(own, 6)}"
    if plan.status is Status.OPTIMAL and plan.reward is None and (lost := plan.upper_bound - reached) > 0.0:
        stated += f"; determinism costs {rounded(lost, 3)} ({percent(lost / plan.upper_bound)})"
    return stated


def how_to_take_it(seconds: float, gap: float) -> str:
    """How good the plan of a running search is, and how to have it now or the next time.

    >>> how_to_take_it(10.2, 0.0042)
    'after 10 s the plan is within 0.42% of the best; take it with Ctrl-C now, or with --gap 1e-2'
    """
    power = ceil(log10(gap))
    enough = f"1e{power}" if power < 0 else percent(gap)
    return (
        f"after {seconds:.0f} s the plan is within {percent(gap)} of the best; take it with Ctrl-C now, or "
        f"with --gap {enough}"
    )


def verification_of(plan: Plan) -> Verification | None:
    """By what the plan's interval was verified, if it was."""
    return plan.proof.verification if isinstance(plan.proof, Interval) else None


def other_bounds(plan: Plan) -> str:
    """The bounds that a plan's file names where the problem has others, and the problem's; empty if none."""
    problem, judged = plan.problem.procedure, plan.bounds
    named = plan.made_for or {}
    other = [name for name, bound in named.items() if bound != judged[name]]
    if not other:
        return ""
    made_for, judged_by = (
        _listed([_at_most(Measure.of(problem, name), bounds[name]) for name in other])
        for bounds in (named, judged)
    )
    return f"made for {made_for}, and is judged by {judged_by}"


def _at_most(measure: Measure, bound: float) -> str:
    if not isfinite(bound):
        return f"no bound on {measure.name}"
    return f"{measure.name} at most {measure.given(bound)}"


def why_it_stopped(plan: Plan) -> str:
    """Why the search ended, in a sentence."""
    if plan.ending.reason is Reason.UNKNOWN and not plan.seconds:
        other = other_bounds(plan)
        was = f": it was {other}" if other else ""
        return f"The method {plan.method} made this plan; no search was made under these bounds{was}."
    said = "According to the file, the search" if plan.claim is not None else "The search"
    return f"{said} (method {plan.method}) ended after {plan.seconds:.1f} s because {plan.ending.in_words}."


def history_of(plan: Plan) -> tuple[Trace, str]:
    """The interval over time, and what to call it: what was proven, or what the plan's file claims."""
    if plan.claim is not None and not plan.trace:
        return plan.claim.trace, "claimed"
    return plan.trace, "proven"


def what_more_would_save(problem: HCSSP, prices: Mapping[str, float] | None) -> str:
    """What loosening each bound by a unit is worth, in a sentence; nothing where that is unknown."""
    if not prices:
        return ""
    parts = []
    aim = Aim.of(problem)
    for name in _bounds(problem):
        price = prices.get(name)
        if price is None:
            continue
        measure = Measure.of(problem, name)
        if price > 0.0:
            unit, worth = ("percent", price / 100.0) if measure.is_probability else ("unit", price)
            amount = f"about {in_unit(problem, aim.name, rounded(worth, 3))} of expected {aim.name}"
            parts.append(f"{amount} for each {unit} of {measure.name}")
        else:
            parts.append(f"nothing for {measure.name}, whose bound is not binding")
    if not parts:
        return ""
    would = "gain" if aim.greatest else "save"
    return (
        f"For randomised policies, a looser bound would {would} {_listed(parts)}; a deterministic "
        "plan improves in steps."
    )


def in_brief(plan: ProcedurePlan) -> str:
    """The plan and its proof in one line, for a title."""
    problem, costs = plan.problem, {name: plan.cost(name) for name in plan.costs.cost_names}
    aim = Aim.of(problem)
    figures = [f"expected {problem.called(aim.name)} {rounded(aim.value(costs))}"]
    for name, bound in _bounds(problem).items():
        stated = Measure.of(problem, name)
        figures.append(
            f"{stated.expected} {stated.used(costs[name], bound)} of at most {stated.given(bound)}"
        )
    figures.append(quality_of(plan))
    return ", ".join(filter(None, figures))


def quality_of(plan: Plan) -> str:
    """How good the plan is, and whether that is proven or claimed; empty if unknown."""
    word = "proven" if verification_of(plan) is None else "verified"
    if plan.status is Status.OPTIMAL:
        return f"{word} optimal"
    if isfinite(plan.gap):
        return f"{word} within {percent(plan.gap)}"
    if plan.claim is not None and isfinite(plan.claim.gap):
        return f"claimed, not checked: within {percent(plan.claim.gap)}"
    return ""


def _bounds(problem: HCSSP) -> dict[str, float]:
    return {each.name: each.at_most for each in problem.constraints if isfinite(each.at_most)}


def _against_bound(problem: HCSSP, name: str, cost: float, bound: float) -> str:
    stated = Measure.of(problem, name)
    called = f"a {stated.expected}" if stated.is_probability else an_expected(name)
    what = f"{called} of {in_unit(problem, name, stated.used(cost, bound))}"
    allowed = in_unit(problem, name, stated.given(bound))
    if breaks(cost, bound):
        return f"{what}, which breaks the bound of {allowed}"
    return f"{what} where {allowed} is allowed"


def _listed(parts: list[str]) -> str:
    """A list as a text.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class DecisionSummary:
    """What is done in one state of an activity.

    Attributes
    ----------
    state, action
        The label of the state, and the name of the action.
    visits
        How often the state is visited in expectation, over all executions.
    rejected
        What could have been done instead.
    """

    state: Hashable
    action: str
    visits: float
    rejected: tuple[str, ...]


def by_state(problem: HCSSP, index: int, flat: FloatArray) -> FloatArray:
    """Figures of the states of activity `index`, from those of the flat states; 0 in its goals."""
    goals = problem.activities[index].cssp.goals
    first, last = problem.flattening.state_offset[index : index + 2]
    found = np.zeros(len(goals))
    found[~goals] = flat[first:last]
    return found


def decision_summaries(plan: ProcedurePlan, index: int) -> tuple[DecisionSummary, ...]:
    """What the plan does in the states of activity `index` that it reaches, the most visited first.

    Empty if the activity is a grid or is never executed.
    """
    problem = plan.problem
    executed = plan.found and plan.costs.activities[index].expected_executions > 0.0
    if not executed or problem.world(index) is not None:
        return ()
    cssp, rows = problem.activities[index].cssp, plan.policy.activities[index]
    visits = by_state(problem, index, plan.costs.visits)
    reached = np.flatnonzero((visits > 0.0) & (rows != NO_ROW))
    found, mixed = [], random_choices(plan)
    for state in reached[np.argsort(-visits[reached], kind="stable")].tolist():
        label, chosen = cssp.state_labels[state], str(cssp.action_labels[int(rows[state])])
        own = slice(int(cssp.row_start[state]), int(cssp.row_start[state + 1]))
        taken = mixed.get(_place(problem.activities[index].name, label), {chosen: 1.0})
        rejected = tuple(each for each in map(str, cssp.action_labels[own]) if each not in taken)
        action = _at_random(taken) if len(taken) > 1 else chosen
        found.append(DecisionSummary(label, action, float(visits[state]), rejected))
    return tuple(found)


def joined_decisions(decisions: Iterable[DecisionSummary]) -> list[DecisionSummary]:
    """The same for people, with equal decisions at neighbouring levels of a capacity together."""
    listed = list(decisions)
    kinds = [(each.action, each.rejected) for each in listed]
    return [
        replace(listed[members[0]], state=text, visits=sum(listed[each].visits for each in members))
        for text, members in joined_by_level([each.state for each in listed], kinds)
    ]


MOST_DECISIONS = 1000
"""Decisions of one activity in a JSON object; more are counted."""


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
    the paper's :math:`f^E`, :math:`g^E` and allocated budgets; None where the activity is never executed.

    Attributes
    ----------
    name, expected_executions
        Its name, and how often it is executed; None if there is no plan.
    cost
        The primary cost of an execution.
    usage
        What an execution uses of each constraint that counts the activity.
    budget
        What the method allocated to an execution of each of those; None if it allocates nothing.
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
        The event alone, and the label of the state alone; None where there is none.
    """

    event: str
    choice: str
    rejected: tuple[str, ...]
    place: str = ""
    entry: Hashable | None = None


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
        allocated = plan.budgets.get(activity.name, {}) if share.expected_executions else {}
        budget = {name: allocated.get(name) for name in usage}
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
        summaries.append(
            ChoiceSummary(name, problem.choices[chosen].name, tuple(others), problem.events[event], entry)
        )
    return tuple(summaries)


def joined_choices(choices: Iterable[ChoiceSummary]) -> list[ChoiceSummary]:
    """The same for people, with equal choices at neighbouring levels of a capacity together.

    A state is only named if the event can be entered in several that differ in more than a level.
    """
    by_place: dict[str, list[ChoiceSummary]] = {}
    for each in choices:
        by_place.setdefault(each.place, []).append(each)
    joined = []
    for place, listed in by_place.items():
        one_base = len({base_of(each.entry) for each in listed}) == 1
        for text, members in joined_by_level([e.entry for e in listed], [e.choice for e in listed], False):
            first = listed[members[0]]
            base = base_of(first.entry)
            is_named = base is not None and not (one_base and text)
            entered = f"{place} (entered in {base})" if is_named else place
            joined.append(replace(first, event=f"{entered}, {text}" if text else entered))
    return joined


def unread_document(
    problem: str, method: str, message: str, stopped_by: str, seconds: float
) -> dict[str, Any]:
    """The object that ``hcssp solve --json`` prints if the problem was not read to its end.

    That no policy ends is proved by then; otherwise `stopped_by` says what ended the reading.
    """
    proved = stopped_by == "proved"
    return {
        "problem": problem,
        "method": method,
        "status": "infeasible" if proved else "unknown",
        "infeasible_because": "no policy ends" if proved else None,
        "message": message,
        "stopped_by": stopped_by,
        "stop_detail": "while the problem was read",
        **dict.fromkeys(("lower_bound", "upper_bound", "gap")),
        **{name: {} for name in ("constraints", "choices", "activities")},
        "kept": False,
        "policies": "deterministic",
        "seconds": plain(seconds),
        "trace": [],
    }


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
        **document(plan, "kept", "lower_bound", "upper_bound", "gap"),
        **_reward(plan),
        **plan_figures(plan),
        "policies": plan.policies,
        **_both_optima(plan),
        "seconds": plain(plan.seconds),
        "trace": document([*plan.trace]),
    }


def _both_optima(plan: Plan) -> dict[str, float | None]:
    """The optimum over randomised plans, where a search for a deterministic one has found it."""
    if plan.policies == "randomised" or plan.randomised_cost is None:
        return {}
    return {"randomised_optimum": plain(plan.randomised_cost)}


def _reward(plan: Plan) -> dict[str, Any]:
    """The reward, for a problem that maximises one: the plan's own, and what no plan exceeds."""
    proven = plan.reward
    if proven is None:
        return {}
    stated = {"expected": plain(proven.value), "at_most": plain(proven.at_most), "gap": plain(proven.gap)}
    return {"reward": {"name": proven.name, **stated}}


def verified_document(plan: Plan) -> dict[str, Any] | None:
    """The interval that a certificate was found to prove, and by what; None if none was checked."""
    verification = verification_of(plan)
    if verification is None:
        return None
    return {
        **document(plan, "status", "lower_bound", "upper_bound"),
        **asdict(verification),
    }


def plan_figures(plan: Plan) -> dict[str, Any]:
    """The part of an object that is about the plan itself: constraints, choices and activities."""
    solved = plan.as_procedure()
    return {
        "constraints": {
            constraint.name: {
                **document(constraint, "expected", "at_most", "price"),
                **({} if constraint.per is None else {"for_each_execution_of": constraint.per}),
                **_probability(solved.problem, constraint.name),
            }
            for constraint in constraint_summaries(solved)
        },
        "choices": {choice.event: choice.choice for choice in choice_summaries(solved)},
        "activities": {
            activity.name: {
                **document(activity, "expected_executions", "cost", "usage", "budget"),
                **_decisions(solved, index),
            }
            for index, activity in enumerate(activity_summaries(solved))
        },
        **({"random_choices": found} if (found := random_choices(plan)) else {}),
    }


def _probability(problem: HCSSP, name: str) -> dict[str, str]:
    """What a constraint is the probability of, if it is one."""
    what = problem.probability_of(name)
    return {"probability_of": what} if what else {}


def _decisions(plan: ProcedurePlan, index: int) -> dict[str, Any]:
    """What is done inside an activity that is no grid; a grid's actions are in the plan's file."""
    found = decision_summaries(plan, index)
    return {
        "decisions": [
            {
                "state": str(each.state),
                "action": each.action,
                "expected_visits": plain(each.visits),
                "rather_than": list(each.rejected),
            }
            for each in found[:MOST_DECISIONS]
        ],
        "decisions_left_out": max(0, len(found) - MOST_DECISIONS),
    }


WIDTH = 100
"""The columns that a table or a paragraph may have."""


MOST_STATES = 12
"""States of a single problem, or of one activity, that are listed; more are counted."""


MOST_LINES = 40
"""Lines about decisions after which no other activity is begun."""


@dataclass(frozen=True)
class Style:
    """Emphasis on a terminal, or none of it elsewhere."""

    enabled: bool = False

    def strong(self, text: str) -> str:
        """For headings and the figures that matter."""
        return f"\x1b[1m{text}\x1b[0m" if self.enabled else text


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
        f"{problem.called(c.name)} at most {Measure.of(problem, c.name).given(c.at_most)}"
        for c in problem.constraints
        if isfinite(c.at_most)
    )
    title = f"{name or plan.name or 'plan'}: {what_is_wanted(problem)}, {bounds or 'no bounds'}"
    blocks = [emphasis.strong(title)]
    if plan.found:
        blocks += plan_blocks(plan, emphasis)
    blocks.append(emphasis.strong("Bounds") + "\n" + bound_lines(solved))
    blocks.append(
        emphasis.strong(proof_heading(plan)) + "".join(f"\n  {each}" for each in proven_lines(plan))
    )
    claimed = what_is_claimed(plan) if plan.found and not isfinite(plan.lower_bound) else ""
    if claimed:
        blocks.append(emphasis.strong("Claimed") + f"\n  {claimed}")
    counts = METHODS[plan.method].counts if plan.method in METHODS else "iterations"
    blocks.append(
        f"Stopped because {plan.ending.in_words}: method {plan.method}, {plan.seconds:.2f} s, "
        f"{plan.iterations} {counts}."
    )
    if plan.kept:
        blocks.append("The plan that the search began with is kept: no better one was found.")
    return wrapped("\n\n".join(blocks))


def plan_blocks(plan: Plan, style: Style) -> list[str]:
    """The decisions of the plan: its choices and its activities, or the actions of a single problem."""
    if isinstance(plan.problem, CSSP):
        blocks = [style.strong("Actions") + "\n" + _actions(plan)]
    else:
        solved = plan.as_procedure()
        blocks = [
            style.strong("Choices") + "\n" + _choices(solved),
            style.strong("Activities")
            + " (expected, for one execution; share: of the whole)\n"
            + _activities(solved),
        ]
        if decisions := _decision_lines(solved):
            blocks.append(style.strong("Decisions inside activities") + "\n" + decisions)
    chances = [f"  {place}: {_at_random(options)}" for place, options in random_choices(plan).items()]
    if chances:
        blocks.append("\n".join([style.strong("Random choices"), *chances]))
    return blocks


def _actions(plan: Plan) -> str:
    """What a single problem's plan does in the states that it visits most, with how often."""
    policy, evaluation = plan.policy, plan.evaluation or plan.evaluate()
    labels = plan.problem.state_labels if isinstance(plan.problem, CSSP) else ()
    visits = evaluation.visits
    acting = np.flatnonzero((visits > 0.0) & (policy.rows != NO_ROW))
    order = acting[np.argsort(-visits[acting], kind="stable")]
    rows, mixed = [["state", "action", "visits"]], random_choices(plan)
    for state in order[:MOST_STATES].tolist():
        label = labels[state]
        taken = mixed.get(_place("", label))
        action = plan.action(label) if taken is None else _at_random(taken)
        rows.append([str(label), str(action), in_table(float(visits[state]))])
    text = aligned(rows)
    if len(order) > MOST_STATES:
        text += f"\n  and {len(order) - MOST_STATES:,} more states; plan.to_frame() has them all"
    return text


def _decision_lines(plan: ProcedurePlan) -> str:
    """What is done where something else could be done, in the activities that are no grids."""
    lines: list[str] = []
    executions = plan.costs.activities
    order = sorted(range(len(executions)), key=lambda index: -round(executions[index].expected_executions, 9))
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
        lines.append(f"  and {left_out:,} more decisions; --json and plan.to_frame() list them")
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
    allocated = bool(plan.budgets)
    header = ["activity", "executions", plan.problem.called(aim.name), "share"]
    for constraint in constraints:
        header += [plan.problem.called(constraint.name), *(["allocated"] if allocated else []), "share"]
    measures = [Measure.of(plan.problem, constraint.name) for constraint in constraints]
    rows = [header, *(_row(activity, aim, cost, constraints, measures, allocated) for activity in executed)]
    total = ["total", "", in_table(cost), ""]
    for constraint in constraints:
        stated = Measure.of(plan.problem, constraint.name)
        total += [stated.in_table(constraint.expected), *[""] * (1 + allocated)]
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
    allocated: bool,
) -> list[str]:
    executions = activity.expected_executions
    own = aim.share(activity.cost, activity.usage)
    row = [activity.name, in_table(executions), in_table(own), _share(executions, own, cost)]
    for constraint, measure in zip(constraints, measures, strict=True):
        used = activity.usage.get(constraint.name)
        row.append(measure.in_table(used))
        if allocated:
            row.append(measure.in_table(activity.budget.get(constraint.name)))
        row.append(_share(executions, used, constraint.expected))
    return row


def _share(executions: float | None, each: float | None, whole: float | None) -> str:
    """How much of the whole all executions together make up."""
    if executions is None or each is None or not whole:
        return "-"
    return f"{100 * executions * each / whole:.1f}%"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: names to the left, figures to the right; columns that do not fit go below."""
    name, *widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    parts: list[list[int]] = [[]]
    for column, width in enumerate(widths):
        taken = 2 + name + sum(2 + widths[each] for each in parts[-1])
        if parts[-1] and taken + 2 + width > WIDTH:
            parts.append([])
        parts[-1].append(column)
    tables = []
    for part in parts:
        lines = []
        for first, *others in rows:
            cells = [f"{others[column]:>{widths[column]}}" for column in part]
            lines.append("  " + "  ".join([f"{first:<{name}}", *cells]).rstrip())
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def wrapped(text: str) -> str:
    """The text with lines that are too long for a terminal continued below, further to the right."""
    lines = []
    for line in text.split("\n"):
        # Titles and paths at the margin are left to the terminal.
        if len(line) > WIDTH and line.startswith(" "):
            indent = " " * (len(line) - len(line.lstrip()))
            line = fill(
                line.lstrip(),
                WIDTH,
                initial_indent=indent,
                subsequent_indent=indent + "  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        lines.append(line)
    return "\n".join(lines)


def bound_lines(plan: ProcedurePlan, *, judged: bool = False) -> str:
    """The bounds, a line each, with what the plan uses of them and the price, or if `judged` the verdict."""
    lines, aim = [], Aim.of(plan.problem)
    broken = plan.costs.violations(plan.tolerances.feasibility) if judged else {}
    for constraint in constraint_summaries(plan):
        if constraint.name not in aim.others:
            continue
        stated = Measure.of(plan.problem, constraint.name)
        line = f"  {stated.name}: "
        if constraint.expected is not None:
            word = "" if stated.is_probability else " expected"
            digits = 6 if judged else DIGITS
            line += f"{stated.used(constraint.expected, constraint.at_most, digits)}{word}, "
        bounded = isfinite(constraint.at_most)
        if constraint.per is not None:
            line += "" if constraint.expected is not None or not plan.found else "not executed, "
            line += f"for each execution of {constraint.per} "
        line += f"at most {stated.given(constraint.at_most)} allowed" if bounded else "no bound"
        made_for = (plan.made_for or {}).get(constraint.name, constraint.at_most)
        if judged and bounded:
            if constraint.per is None and made_for != constraint.at_most:
                line += f" (the plan was made for {stated.given(made_for)})"
            excess = broken.get(constraint.name)
            line += ": kept" if excess is None else f": broken, by {excess:.6g}"
        elif constraint.price is not None and bounded:
            # Deterministic plans improve in steps; the price is that of the relaxation.
            unit, price = (
                ("percent", constraint.price / 100) if stated.is_probability else ("unit", constraint.price)
            )
            worth = f"{aim.name} {'gained' if aim.greatest else 'saved'} per additional {unit}"
            figure = in_unit(plan.problem, aim.name, f"{price:.4g}")
            line += f"; price {figure} ({worth}, for randomised policies)"
        elif plan.prices is not None and constraint.at_most == 0.0:
            line += "; a bound of 0 has no price: actions with such a cost are excluded"
        lines.append(line)
    return "\n".join(lines) or "  there are none"


def proven_lines(plan: Plan) -> list[str]:
    """The proven, verified or known facts about the best plan, a clause each."""
    problem = plan.problem.procedure
    aim = Aim.of(problem)
    own, limit = aim.judged(plan.upper_bound), aim.limit(plan.lower_bound)
    primary, known = an_expected(aim.name), isfinite(plan.upper_bound)
    if known and isfinite(limit):
        between_both = between(*sorted((own, limit)))
        lines = [
            f"the best {plan.policies} plan has {primary} {in_unit(problem, aim.name, between_both)}",
            f"this plan is {_quality(plan, aim)}",
        ]
    elif known:
        figure = in_unit(problem, aim.name, rounded(own, 6))
        lines = [f"only that this plan keeps its bounds and has {primary} of {figure}"]
    elif isfinite(limit):
        worse = in_unit(problem, aim.name, worse_than(aim, plan.lower_bound))
        lines = [f"no plan has {primary} {worse}; no plan is known yet"]
    else:
        lines = [plan.message if plan.status is Status.INFEASIBLE else "nothing yet"]
    verification = verification_of(plan)
    return [
        *lines,
        *filter(None, [randomised_optimum(plan), "" if verification is None else verification.in_words]),
    ]


def _quality(plan: Plan, aim: Aim) -> str:
    reward = plan.reward
    if reward is not None:
        if reward.gap <= OPTIMALITY_TOLERANCE:
            return "optimal to six digits"
        missing = rounded_up(reward.at_most - reward.value, 3)
        return f"feasible; its {aim.name} could be greater by at most {missing}"
    if plan.status is Status.OPTIMAL:
        return f"optimal (relative gap {plan.gap:.1g})"
    return f"feasible; its cost could be lower by at most {percent(plan.gap)}"


def policy_frame(plan: Plan) -> DataFrame:
    """What is done where, as a ``pandas.DataFrame``.

    The columns are the policy's own (state and action; in a procedure the activity before them, ``""`` at an
    event), the expected visits, and for each cost the expected cost from there to the
    end: ``"time to go"``. That is not a number where the plan never gets.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    MissingDependency
        If pandas is not installed.
    """
    policy = plan.policy
    made = policy.to_frame()
    # The frame has a line for each row that is taken.
    rows, _ = policy.taken
    acting = np.searchsorted(plan.problem.row_start, rows, side="right") - 1
    made["visits"] = (plan.evaluation or plan.evaluate()).visits[acting]
    names = (plan.problem.primary_name, *plan.problem.constraint_names)
    for name, values in zip(names, expected_remaining(plan.problem, policy), strict=True):
        made[f"{name} to go"] = values[acting]
    return made


def activities_frame(plan: Plan) -> DataFrame:
    """The activities of a plan, as a ``pandas.DataFrame`` by name.

    The columns are the expected executions and, expected *for one execution*, the primary cost and for each
    constraint that counts the activity its usage and, if the method allocates budgets, the budget allocated
    to it: ``"damage usage"``, ``"damage budget"``. Weighted with the executions, costs and usages add up to
    those of the plan. What does not apply is not a number.

    Raises
    ------
    NoSolution
        If the plan has no policy.
    MissingDependency
        If pandas is not installed.
    """
    solved = plan.as_procedure()
    names = solved.policy.problem.constraint_names
    summaries = activity_summaries(solved)
    columns: dict[str, list[Any]] = {
        "activity": [each.name for each in summaries],
        "executions": [each.expected_executions for each in summaries],
        "cost": [_figure(each.cost) for each in summaries],
    }
    for name in names:
        columns[f"{name} usage"] = [_figure(each.usage.get(name)) for each in summaries]
        if plan.budgets:
            columns[f"{name} budget"] = [_figure(each.budget.get(name)) for each in summaries]
    return frame(columns, index="activity")


def _figure(value: float | None) -> float:
    return nan if value is None else value
