"""A simulation for people and for programs: how the costs are spread, and one run told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import inf, isfinite
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hcssp.procedure.aim import Aim
from hcssp.procedure.units import called, probability_of
from hcssp.reports.figures import given, in_table, plain
from hcssp.reports.judged import judged_runs
from hcssp.reports.measures import Measure
from hcssp.reports.plan_words import Style, aligned

if TYPE_CHECKING:
    from hcssp.evaluation.procedure_simulation import Leg, ProcedureSimulation
    from hcssp.evaluation.records import ProcedureEvaluation
    from hcssp.evaluation.simulation import Estimate
    from hcssp.procedure import HCSSP

PERCENTILES = (5, 50, 95, 99)
_WIDTH = 100
_MOST_LEGS = 100
"""A run that passes more events is not told to its end."""

_LONGEST = 40
"""Groups of equal actions of an activity that are told; more are counted."""


def simulation_document(
    runs: ProcedureSimulation, evaluation: ProcedureEvaluation, legs: Sequence[Leg], problem: HCSSP
) -> dict[str, Any]:
    """The simulation as a JSON object."""
    aim = Aim.of(problem)
    runs, expected = _told_of(aim, runs, evaluation)
    return {
        "runs": runs.num_runs,
        "seed": runs.seed,
        "truncated": runs.num_truncated,
        "costs": {
            name: {
                "expected": plain(expected[name]),
                "mean": _estimate(runs.mean(name)),
                "percentiles": {str(p): plain(runs.percentile(name, p)) for p in PERCENTILES},
                "at_most": None if index == 0 else plain(float(runs.bounds[index - 1])),
                "chance_of_exceeding": None if index == 0 else _estimate(runs.probability_of_exceeding(name)),
            }
            for index, name in enumerate(runs.cost_names)
        },
        "activities": {
            name: {"expected_executions": plain(exact.expected_executions), "mean_executions": float(mean)}
            for name, mean, exact in zip(
                runs.activity_names, runs.mean_executions, evaluation.activities, strict=True
            )
        },
        "one_run": [
            {
                "event": leg.event,
                "entered_in": None if leg.entry is None else str(leg.entry),
                "choice": leg.choice,
                "activity": leg.activity,
                "actions": [[action, count] for action, count in condensed(leg)],
                "costs": leg_costs(leg, aim),
                "reaches": leg.reaches,
            }
            for leg in legs
        ],
    }


def simulation_in_words(
    title: str,
    runs: ProcedureSimulation,
    evaluation: ProcedureEvaluation,
    legs: Sequence[Leg],
    style: Style,
    problem: HCSSP,
) -> str:
    """What ``hcssp simulate`` prints for people."""
    aim = Aim.of(problem)
    runs, expected = _told_of(aim, runs, evaluation)
    blocks = [
        style.strong(title),
        style.strong("Costs")
        + " (mean with its 95% confidence interval; percentiles)\n"
        + _costs(runs, expected, problem),
        style.strong("Chance that a run exceeds the bound") + "\n" + _chances(runs, problem),
        style.strong("One run") + f" (seed {runs.seed})\n" + _told(legs, aim),
    ]
    if runs.num_truncated:
        blocks.append(
            f"{runs.num_truncated} of {runs.num_runs} runs were cut off before their end, after "
            f"{int(runs.steps.max()):,} steps; their costs count as infinite. "
            "With fewer runs (--runs), each may go on for longer."
        )
    return "\n\n".join(blocks)


def condensed(leg: Leg) -> list[tuple[str, int]]:
    """The actions of a leg, with those that follow each other and are equal counted."""
    return [(str(action), len(list(group))) for action, group in groupby(each.action for each in leg.actions)]


def leg_costs(leg: Leg, aim: Aim) -> dict[str, float]:
    """What the actions of a leg cost in all, and what they gain where a reward is maximised."""
    totals: dict[str, float] = {}
    for action in leg.actions:
        for name, cost in action.costs.items():
            totals[name] = totals.get(name, 0.0) + cost
    if not aim.greatest or not totals:
        return totals
    gained = sum(weight * totals.get(name, 0.0) for name, weight in aim.weights.items())
    return {aim.name: gained, **{name: totals[name] for name in aim.others if name in totals}}


def _told_of(
    aim: Aim, runs: ProcedureSimulation, evaluation: ProcedureEvaluation
) -> tuple[ProcedureSimulation, dict[str, float]]:
    """The runs and the expectations of what people are told: the aim, then the other costs."""
    expected = dict(zip(aim.names, aim.told(evaluation.costs), strict=True))
    return judged_runs(aim, runs), expected


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {name: plain(value) for name, value in estimate._asdict().items()}


def _costs(runs: ProcedureSimulation, expected: Mapping[str, float], problem: HCSSP) -> str:
    rows = [["cost", "expected", "mean", "from", "to", *(f"{p}%" for p in PERCENTILES)]]
    for name in runs.cost_names:
        mean = runs.mean(name)
        # A run has it or not; what its steps were likely to bring has no percentiles that mean anything.
        chance = bool(probability_of(problem, name))
        percentiles = ["-" if chance else _short(runs.percentile(name, percent)) for percent in PERCENTILES]
        rows.append(
            [
                called(problem, name),
                *(_figure(problem, name, value) for value in (expected[name], mean.value)),
                # Of a single run nothing follows about the others.
                *("-" if mean.low == -inf else _figure(problem, name, end) for end in mean[1:]),
                *percentiles,
            ]
        )
    return aligned(rows)


def _chances(runs: ProcedureSimulation, problem: HCSSP) -> str:
    lines = []
    for name, bound in zip(runs.cost_names[1:], runs.bounds, strict=True):
        if not isfinite(bound):
            lines.append(f"  {called(problem, name)}: there is no bound")
            continue
        if probability_of(problem, name):
            # A run has it or not, so that it exceeds a share whenever it happens.
            told, mean = Measure.of(problem, name), runs.mean(name)
            low, high = max(0.0, mean.low), min(1.0, mean.high)
            seen = f"in {_percent(mean.value)} of the runs (between {_percent(low)} and {_percent(high)})"
            lines.append(f"  {told.name}: {seen}, at most {told.given(bound)} allowed")
            continue
        share, low, high = runs.probability_of_exceeding(name)
        lines.append(
            f"  {called(problem, name)} above {given(bound)}: {_percent(share)} (between {_percent(low)} and "
            f"{_percent(high)})"
        )
    return "\n".join(lines) or "  there are no bounds"


def _told(legs: Sequence[Leg], aim: Aim) -> str:
    """One run, a paragraph for each event."""
    totals: dict[str, float] = {}
    paragraphs = []
    for number, leg in enumerate(legs):
        entered = "" if leg.entry is None else f", entered in {leg.entry},"
        text = f"At event {leg.event!r}{entered} the plan chooses {leg.choice}"
        text += "." if leg.activity is None else _activity(leg, aim)
        for name, cost in leg_costs(leg, aim).items():
            totals[name] = totals.get(name, 0.0) + cost
        if number >= _MOST_LEGS:
            continue
        text += f" It reaches {leg.reaches!r}." if leg.reaches else " The run was cut off here."
        paragraphs.append(fill(text, _WIDTH, initial_indent="  ", subsequent_indent="    "))
    if len(legs) > _MOST_LEGS:
        paragraphs.append(f"  ... and {len(legs) - _MOST_LEGS:,} more events.")
    in_all = ", ".join(f"{name} {value:g}" for name, value in totals.items())
    paragraphs.append(f"  In all: {in_all or 'nothing'}.")
    return "\n".join(paragraphs)


def _activity(leg: Leg, aim: Aim) -> str:
    """How the sentence about a choice goes on where an activity is run."""
    name = "" if leg.activity == leg.choice else f" {leg.activity},"
    if not leg.actions:
        return f":{name} over at once."
    groups = condensed(leg)
    words = [f"{action} {count} times" if count > 1 else action for action, count in groups]
    rest = sum(count for _, count in groups[_LONGEST:])
    told = ", ".join(words[:_LONGEST]) + (f" and {rest} more steps" if rest else "")
    steps = f"{len(leg.actions)} steps" if len(leg.actions) > 1 else "1 step"
    costs = ", ".join(f"{name} {cost:g}" for name, cost in leg_costs(leg, aim).items())
    return f":{name} {steps} from {leg.actions[0].state}, {told} ({costs})."


def _figure(problem: HCSSP, name: str, value: float) -> str:
    return Measure.of(problem, name).in_table(value) if isfinite(value) else "inf"


def _number(value: float) -> str:
    return in_table(value) if isfinite(value) else "inf"


def _short(value: float) -> str:
    return f"{value:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
