"""A plan in sentences for those who answer for it: what it costs, what is proven, why the search ended."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

import numpy as np

from hcssp.contract.ending import Reason
from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Interval, Status, Verification
from hcssp.contract.trace import Trace
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import HCSSP, as_procedure
from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called
from hcssp.reports.figures import breaks, percent, rounded, rounded_down, rounded_up
from hcssp.reports.measures import Measure


def what_is_wanted(problem: HCSSP) -> str:
    """What is minimised or maximised, in a few words."""
    aim = Aim.of(problem)
    return f"{'greatest' if aim.greatest else 'least'} expected {called(problem, aim.name)}"


def what_it_costs(problem: HCSSP, costs: Mapping[str, float]) -> str:
    """The expected costs against their bounds, in a sentence."""
    aim = Aim.of(problem)
    value = rounded(aim.value(costs))
    sentence = f"Following this plan has an expected {called(problem, aim.name)} of {value}"
    kept = [
        _against_bound(Measure.of(problem, name), costs[name], bound)
        for name, bound in _bounds(problem).items()
        if name in aim.others
    ]
    return sentence + (f", with {_listed(kept)}." if kept else ".")


def what_is_proven(plan: Plan) -> str:
    """The interval, and whether it was proven, verified or merely claimed, in a sentence or two."""
    lower_bound, upper_bound = plan.lower_bound, plan.upper_bound
    if not isfinite(lower_bound):
        return what_is_claimed(plan) or "Nothing is proven about how much better another plan could be."
    verification = verification_of(plan)
    reward = plan.reward
    own = f"{rounded_up(upper_bound)} at most" if reward is None else rounded(reward.value)
    sentence = (
        f"It is {'proven' if verification is None else 'verified'} that {_no_plan_below(plan, lower_bound)}; "
        f"this plan's is {own}. "
    )
    if reward is not None and reward.gap > OPTIMALITY_TOLERANCE:
        sentence += (
            f"A better plan, if there is one, has {rounded_up(reward.at_most - reward.value)} more at most."
        )
    elif plan.status is Status.OPTIMAL or reward is not None:
        sentence += "To that precision no better plan exists: the plan is optimal."
    else:
        sentence += f"A better plan, if there is one, saves {percent(plan.gap)} at most."
    return sentence if verification is None else f"{sentence} {verification.in_words}"


def what_is_claimed(plan: Plan) -> str:
    """What the plan's file says was proven, as what it is: a claim. Nothing if it says nothing."""
    claim = plan.claim
    if claim is None or not isfinite(claim.lower_bound):
        return ""
    return (
        f"The plan's file claims that {_no_plan_below(plan, claim.lower_bound)}. That was not checked here: "
        "a certificate, or a search, would do."
    )


def _no_plan_below(plan: Plan, lower_bound: float) -> str:
    problem = plan.problem
    kept = " that keeps the same bounds" if np.isfinite(problem.bounds).any() else ""
    least = rounded_down(lower_bound)
    if problem.reward is not None:
        reward = problem.reward
        name = called(problem, reward.name) if isinstance(problem, HCSSP) else reward.name
        most = rounded_up(reward.at_most(lower_bound))
        return f"no deterministic plan{kept} has an expected {name} above {most}"
    primary = called(problem, problem.primary_name) if isinstance(problem, HCSSP) else problem.primary_name
    return f"no deterministic plan{kept} has an expected {primary} below {least}"


LOTS = "to draw lots is to leave a decision to chance, at odds that keep the bounds on average"


def with_lots_explained(text: str) -> str:
    """The text with what drawing lots means, in a line of its own below the first that speaks of it."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if "draw lots" in line or "draws lots" in line:
            indent = line[: len(line) - len(line.lstrip())]
            return "\n".join([*lines[: index + 1], f"{indent}({LOTS})", *lines[index + 1 :]])
    return text


def what_lots_could_do(plan: Plan) -> str:
    """What a plan that draws lots costs, if one was found, or that none is below a bound."""
    # Without bounds nobody gains by drawing lots.
    if plan.stochastic is None or not np.isfinite(plan.problem.bounds).any():
        return ""
    found = plan.stochastic
    reached, least = plan.randomised_cost, float(found.value)
    aim = Aim.of(plan.problem)
    most = rounded_up(aim.limit(least), 6)
    limit = f"above {most}" if aim.greatest else f"below {rounded_down(least, 6)}"
    below = f"no plan can be {limit}, not even one that draws lots"
    if reached is None:
        return below
    own = aim.total(found.weights @ found.costs)
    told = f"a plan that draws lots could reach {rounded(own, 6)}"
    return told if relative_gap(least, reached) <= OPTIMALITY_TOLERANCE else f"{told}; {below}"


def verification_of(plan: Plan) -> Verification | None:
    """By what the plan's interval was verified, if it was."""
    return plan.proof.verification if isinstance(plan.proof, Interval) else None


def other_bounds(plan: Plan) -> str:
    """The bounds that a plan's file names where the problem has others, and the problem's; empty if none."""
    problem, judged = as_procedure(plan.problem), plan.bounds
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
        return f"This plan, made by the method {plan.method}, was not searched for under these bounds{was}."
    said = "The file says that the search" if plan.claim is not None else "The search"
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
            amount = f"about {rounded(worth, 3)} of expected {called(problem, aim.name)}"
            parts.append(f"{amount} for each {unit} of {measure.name}")
        else:
            parts.append(f"nothing for {measure.name}, which is not scarce")
    if not parts:
        return ""
    would = "gain" if aim.greatest else "save"
    return (
        f"Allowing a little more would {would} plans that may draw lots {_listed(parts)}; a deterministic "
        "plan improves in steps."
    )


def in_brief(plan: ProcedurePlan, costs: Mapping[str, float]) -> str:
    """The plan and what is proven about it in one line, for a title."""
    problem = plan.problem
    aim = Aim.of(problem)
    figures = [f"expected {called(problem, aim.name)} {rounded(aim.value(costs))}"]
    for name, bound in _bounds(problem).items():
        told = Measure.of(problem, name)
        figures.append(f"{told.expected} {told.used(costs[name], bound)} of at most {told.given(bound)}")
    figures.append(quality_of(plan))
    return ", ".join(filter(None, figures))


def quality_of(plan: Plan) -> str:
    """How good the plan is, and on whose word, in a few words; nothing if nobody says."""
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


def _against_bound(told: Measure, cost: float, bound: float) -> str:
    what = f"{'a' if told.is_probability else 'an'} {told.expected} of {told.used(cost, bound)}"
    if breaks(cost, bound):
        return f"{what}, which breaks the bound of {told.given(bound)}"
    return f"{what} where {told.given(bound)} is allowed"


def _listed(parts: list[str]) -> str:
    """A list in words.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
