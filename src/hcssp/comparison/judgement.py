r"""What the measurements say together: whether values agree, who is how much faster, how good plans are when.

The *primal integral* is the average, over the time limit, of how far the best plan so far is above the best
plan that anybody found: 0 is the best plan at once, 1 no plan at all (Berthold 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite, log
from statistics import median

from hcssp.comparison.contestants import CONTESTANTS
from hcssp.comparison.measurement import Measurement
from hcssp.numerics import relative_gap

OURS = "exact"
"""Whose time is the unit of the ratios."""

SHORTEST = 1e-3
"""Shorter times, in seconds, say nothing about growth."""

ABSOLUTE = 1e-9
"""Values of nearly nought that differ by this agree."""


def by_instance(measurements: Sequence[Measurement]) -> dict[str, dict[str, Measurement]]:
    """By problem, then by contestant."""
    found: dict[str, dict[str, Measurement]] = {}
    for each in measurements:
        found.setdefault(each.instance, {})[each.contestant] = each
    return found


def disagreements(measurements: Sequence[Measurement]) -> list[str]:
    """What cannot be true together, a sentence each; none if all agree."""
    return [
        f"{instance}: {told}"
        for instance, group in by_instance(measurements).items()
        for told in (*_below_bounds(group), *_different_optima(group), *_denied(group))
    ]


def _tolerance(*measurements: Measurement) -> float:
    """The relative error that some contestants together may have."""
    known = [CONTESTANTS.get(each.contestant) for each in measurements]
    return max(1e-6 if each is None else each.tolerance for each in known)


def _is_above(low: float, high: float, tolerance: float) -> bool:
    """Whether a lower bound is above an upper one by more than errors explain."""
    return isfinite(low) and isfinite(high) and low > high + tolerance * abs(high) + ABSOLUTE


def _below_bounds(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Plans that cost less than somebody says any does; each beside the highest such bound."""
    for plan in group.values():
        bounds = [(each.lower_bound, each) for each in group.values()]
        bounds += [(each.randomised, each) for each in group.values() if each.randomised is not None]
        wrong = [
            (bound, each)
            for bound, each in bounds
            if _is_above(bound, plan.upper_bound, _tolerance(plan, each))
        ]
        if wrong:
            bound, other = max(wrong, key=lambda pair: pair[0])
            yield (
                f"{plan.contestant} has a plan of {plan.upper_bound:.9g}, but {other.contestant} says that "
                f"none costs less than {bound:.9g}"
            )


def _different_optima(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Optima over plans that may draw lots that are not those of the first contestant that knows it."""
    known = [each for each in group.values() if each.randomised is not None]
    for other in known[1:]:
        low, high = sorted((known[0].randomised or 0.0, other.randomised or 0.0))
        if _is_above(high, low, _tolerance(known[0], other)):
            yield (
                f"with lots, {known[0].contestant} says {known[0].randomised:.9g} and "
                f"{other.contestant} {other.randomised:.9g}"
            )


def _denied(group: Mapping[str, Measurement]) -> Iterator[str]:
    """Plans where somebody says that there are none."""
    found = [each for each in group.values() if each.upper_bound < inf or each.randomised is not None]
    for each in group.values():
        if each.status == "infeasible" and found:
            yield f"{each.contestant} says that there is no plan, but {found[0].contestant} has one"


COARSER = {"budget-allocation": 1e-3, "storm-deterministic": 1e-3}
"""Those who answer within this gap, and are compared with the time that ours takes to the same."""


def compared_seconds(measurement: Measurement) -> float | None:
    """The seconds until the contestant's question was answered; None if it was not in time."""
    contestant = CONTESTANTS.get(measurement.contestant)
    if contestant is not None and not contestant.deterministic:
        return measurement.randomised_seconds if measurement.status == "optimal" else None
    done = measurement.proved or measurement.gap <= COARSER.get(measurement.contestant, 0.0)
    return measurement.seconds if done else None


def seconds_to(measurement: Measurement, gap: float) -> float | None:
    """The seconds until a contestant's interval was as narrow as `gap`; None if it never was."""
    for seconds, lower, upper in measurement.trace:
        if relative_gap(lower, upper) <= gap:
            return seconds
    return compared_seconds(measurement)


def ratio(ours: Measurement | None, measurement: Measurement) -> str:
    """A contestant's time over ours for the same question, for people.

    A contestant that did not answer in time is behind by more than what it had.
    """
    if measurement.status in ("missing", "unsupported", "failed"):
        return {"missing": "–", "unsupported": "no", "failed": "failed"}[measurement.status]
    contestant = CONTESTANTS.get(measurement.contestant)
    lots = contestant is not None and not contestant.deterministic
    reference = None
    if ours is not None and lots:
        reference = ours.randomised_seconds
    elif ours is not None and measurement.contestant in COARSER:
        reference = seconds_to(ours, COARSER[measurement.contestant])
    elif ours is not None:
        reference = compared_seconds(ours)
    theirs = compared_seconds(measurement)
    if theirs is not None and reference is not None:
        return f"{_figure(theirs / max(reference, 1e-9))}×"
    if theirs is None and reference is not None:
        return f"> {_figure(measurement.time_limit / max(reference, 1e-9))}×"
    return f"{_figure(theirs)} s, ours not" if theirs is not None else "neither"


def _figure(value: float) -> str:
    """Two digits say enough about a time.

    >>> _figure(0.0123), _figure(3.14159), _figure(1234.5)
    ('0.012', '3.1', '1,234')
    """
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"


def growth_power(measurements: Sequence[Measurement], contestant: str) -> tuple[float, int] | None:
    """The power of the number of states with which a contestant's time grows, and in how many domains.

    It is the median over the domains of which it answered a smaller and a larger problem; None if there is
    none.
    """
    answered: dict[str, list[tuple[int, float]]] = {}
    for each in measurements:
        seconds = compared_seconds(each) if each.contestant == contestant else None
        if seconds is not None and each.states:
            answered.setdefault(each.domain, []).append((each.states, max(seconds, SHORTEST)))
    powers = []
    for points in answered.values():
        (few, quick), (many, slow) = min(points), max(points)
        if many > few:
            powers.append(log(slow / quick) / log(many / few))
    return (median(powers), len(powers)) if powers else None


def best_known(group: Sequence[Measurement]) -> float:
    """The cost of the best deterministic plan that anybody found for a problem."""
    return min((each.upper_bound for each in group), default=inf)


def primal_integral(measurement: Measurement, best: float) -> float | None:
    """How far a contestant's plans were above the best one, on average over its time; None if it has none."""
    contestant = CONTESTANTS.get(measurement.contestant)
    if not isfinite(best) or not measurement.ran or (contestant is not None and not contestant.deterministic):
        return None
    steps = list(measurement.trace) or [(measurement.seconds, -inf, measurement.upper_bound)]
    total, since, gap = 0.0, 0.0, 1.0
    for seconds, _, upper in steps:
        now = min(max(seconds, since), measurement.time_limit)
        total += gap * (now - since)
        since = now
        if isfinite(upper):
            gap = min(1.0, max(0.0, (upper - best) / max(abs(upper), ABSOLUTE)))
    return (total + gap * (measurement.time_limit - since)) / measurement.time_limit
