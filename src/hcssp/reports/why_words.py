"""Why a plan does what it does, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isnan
from typing import Any

from hcssp.contract.plan import ProcedurePlan
from hcssp.contract.proof import Status
from hcssp.cssp.model import FloatArray
from hcssp.procedure.aim import Aim
from hcssp.reports.figures import in_table, plain, rounded_down, rounded_up
from hcssp.reports.measures import Measure
from hcssp.reports.plan_words import Style, aligned
from hcssp.solving.deviation import told_costs
from hcssp.solving.why import Alternative, Reasons


def reasons_in_words(reasons: Reasons, style: Style | None = None) -> str:
    """What ``hcssp why`` prints for people."""
    emphasis = style or Style()
    problem = reasons.plan.problem
    aim = Aim.of(problem)
    measures = [Measure.of(problem, name) for name in aim.names]
    names = [measure.name for measure in measures]
    comes = "which it always comes to" if reasons.comes_there > 1.0 - 1e-12 else _comes(reasons.comes_there)
    title = f"At {reasons.place}, {comes}, the plan takes {reasons.chosen}."
    if not reasons.alternatives:
        return f"{emphasis.strong(title)}\n\nThere is nothing else to do."
    costs = aim.told(told_costs(reasons.plan))
    # A plan from a file may break the bounds of the problem that it is read for.
    breaks = not reasons.plan.keeps_bounds()
    chosen = f"{reasons.chosen} (*)" if breaks else reasons.chosen
    once = [["", *names], [chosen, *_figures(measures, costs)]]
    once += [_deviating(each, aim, measures) for each in reasons.alternatives]
    notes = [breaks] + [each.once is not None and not each.keeps_bounds for each in reasons.alternatives]
    blocks = [
        emphasis.strong(title),
        emphasis.strong("If one deviated there once, and then followed the plan") + "\n" + aligned(once),
    ]
    if any(notes):
        blocks[-1] += "\n  (*) breaks a bound"
    if any(each.once is None for each in reasons.alternatives):
        blocks[-1] += "\n  - nobody says what to do then, or it would not end"
    if not any(each.best.found or each.best.lower_bound > -inf for each in reasons.alternatives):
        # Nobody has looked for them.
        return "\n\n".join(blocks)
    best = [["", *names, f"proven: not {'above' if aim.greatest else 'below'}", "comes there"]]
    best.append(
        [
            chosen,
            *_figures(measures, costs),
            _limit(aim, reasons.plan.lower_bound),
            _share(reasons.comes_there),
        ]
    )
    best += [_forced(each, aim, measures) for each in reasons.alternatives]
    blocks.append(
        emphasis.strong("The best plan that keeps the bounds and always does so there") + "\n" + aligned(best)
    )
    if breaks:
        blocks[-1] += "\n  (*) the plan itself, which breaks a bound"
    return "\n\n".join(blocks)


def _comes(probability: float) -> str:
    return f"which it comes to with a probability of {_share(probability)}"


def _share(probability: float) -> str:
    return "never" if probability == 0.0 else f"{100.0 * probability:.4g}%"


def _limit(aim: Aim, bound: float) -> str:
    """What is proven of the best, by a lower bound on the primary cost."""
    if not isfinite(bound):
        return "-"
    return rounded_up(aim.limit(bound)) if aim.greatest else rounded_down(bound)


def _figures(measures: Sequence[Measure], costs: Sequence[float]) -> list[str]:
    return [
        "-" if isnan(cost) else measure.in_table(cost) if measure.is_probability else in_table(cost)
        for measure, cost in zip(measures, costs, strict=True)
    ]


def _deviating(alternative: Alternative, aim: Aim, measures: Sequence[Measure]) -> list[str]:
    if alternative.once is None:
        return [alternative.action, *("-" for _ in measures)]
    mark = "" if alternative.keeps_bounds else " (*)"
    return [f"{alternative.action}{mark}", *_figures(measures, aim.told(alternative.once))]


def _forced(alternative: Alternative, aim: Aim, measures: Sequence[Measure]) -> list[str]:
    best = alternative.best
    if not best.found:
        none = "there is none" if best.status is Status.INFEASIBLE else "none found"
        return [alternative.action, none, *("" for _ in measures[1:]), _limit(aim, best.lower_bound), ""]
    costs = aim.told(told_costs(best))
    return [
        alternative.action,
        *_figures(measures, costs),
        _limit(aim, best.lower_bound),
        _share(alternative.comes_there),
    ]


def _reward(plan: ProcedurePlan) -> dict[str, Any]:
    """What no such plan exceeds, where a reward is maximised."""
    return {} if plan.reward is None else {"reward_at_most": plain(plan.reward.at_most)}


def reasons_document(reasons: Reasons) -> dict[str, Any]:
    """The object that ``hcssp why --json`` prints."""
    aim = Aim.of(reasons.plan.problem)

    def named(costs: FloatArray) -> dict[str, float | None]:
        return dict(zip(aim.names, map(plain, aim.told(costs)), strict=True))

    return {
        "at": reasons.place,
        "chosen": reasons.chosen,
        "keeps_bounds": reasons.plan.keeps_bounds(),
        "comes_there": plain(reasons.comes_there),
        "costs": named(told_costs(reasons.plan)),
        "alternatives": [
            {
                "action": each.action,
                "once": None if each.once is None else named(each.once),
                "once_keeps_bounds": each.keeps_bounds,
                "best": {
                    "status": str(each.best.status),
                    "lower_bound": plain(each.best.lower_bound),
                    "upper_bound": plain(each.best.upper_bound),
                    **_reward(each.best),
                    "costs": named(told_costs(each.best)) if each.best.found else None,
                    "comes_there": plain(each.comes_there),
                },
            }
            for each in reasons.alternatives
        ],
    }
