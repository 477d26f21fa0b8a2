"""A plan in sentences for those who answer for it: what it costs, what is proven, why the search ended."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from hcssp.contract.plan import Plan
from hcssp.numerics import OPTIMALITY_TOLERANCE, relative_gap
from hcssp.procedure import HCSSP
from hcssp.reports.figures import given, rounded, rounded_down, rounded_up


def what_it_costs(problem: HCSSP, costs: Mapping[str, float]) -> str:
    """The expected costs against their bounds, in a sentence."""
    sentence = f"Following this plan has an expected {problem.primary_name} of "
    sentence += rounded(costs[problem.primary_name])
    kept = [_against_bound(name, costs[name], bound) for name, bound in _bounds(problem).items()]
    return sentence + (f", with {_listed(kept)}." if kept else ".")


def what_is_proven(problem: HCSSP, lower_bound: float, upper_bound: float) -> str:
    """The proven interval, in a sentence or two."""
    primary = problem.primary_name
    if not isfinite(lower_bound):
        return "Nothing is proven about how much better another plan could be."
    kept = " that keeps the same bounds" if _bounds(problem) else ""
    sentence = (
        f"It is proven that no deterministic plan{kept} has an expected {primary} below "
        f"{rounded_down(lower_bound)}; this plan's is {rounded_up(upper_bound)} at most. "
    )
    gap = relative_gap(lower_bound, upper_bound)
    if gap <= OPTIMALITY_TOLERANCE:
        return sentence + "To that precision no better plan exists: the plan is optimal."
    return sentence + f"A better plan, if there is one, saves {_percent(gap)} at most."


def why_it_stopped(plan: Plan) -> str:
    """Why the search ended, in a sentence."""
    return (
        f"The search (method {plan.method}) ended after {plan.seconds:.1f} s because {plan.ending.in_words}."
    )


def what_more_would_save(problem: HCSSP, prices: Mapping[str, float] | None) -> str:
    """What loosening each bound by a unit is worth, in a sentence; nothing where that is unknown."""
    if not prices:
        return ""
    parts = []
    for name in _bounds(problem):
        price = prices.get(name)
        if price is None:
            continue
        if price > 0.0:
            parts.append(
                f"about {rounded(price, 3)} of expected {problem.primary_name} for each unit of {name}"
            )
        else:
            parts.append(f"nothing for {name}, which is not scarce")
    if not parts:
        return ""
    return (
        f"Allowing a little more would save plans that may draw lots {_listed(parts)}; a deterministic plan "
        "improves in steps."
    )


def in_brief(problem: HCSSP, costs: Mapping[str, float], lower_bound: float, upper_bound: float) -> str:
    """The plan and what is proven about it in one line, for a title."""
    figures = [f"expected {problem.primary_name} {rounded(costs[problem.primary_name])}"]
    for name, bound in _bounds(problem).items():
        figures.append(f"expected {name} {rounded(costs[name])} of at most {given(bound)}")
    gap = relative_gap(lower_bound, upper_bound)
    if gap <= OPTIMALITY_TOLERANCE:
        figures.append("proven optimal")
    elif isfinite(gap):
        figures.append(f"proven within {_percent(gap)}")
    return ", ".join(figures)


def _bounds(problem: HCSSP) -> dict[str, float]:
    return {each.name: each.at_most for each in problem.constraints if isfinite(each.at_most)}


def _against_bound(name: str, cost: float, bound: float) -> str:
    if cost > bound + 1e-9 * max(1.0, abs(bound)):
        return f"an expected {name} of {rounded(cost)}, which breaks the bound of {given(bound)}"
    return f"an expected {name} of {rounded(cost)} where {given(bound)} is allowed"


def _percent(share: float) -> str:
    return f"{rounded_up(100 * share, 2 if share >= 1e-4 else 4)}%"


def _listed(parts: list[str]) -> str:
    """A list in words.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
