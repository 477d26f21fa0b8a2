"""Problems and answers for people and for programs: curves, worst cases, simulations, reasons, best plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import inf, isfinite, isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hcssp.contract.plan import Plan, ProcedurePlan
from hcssp.contract.proof import Status
from hcssp.cssp.model import FloatArray
from hcssp.procedure import describe
from hcssp.procedure.description import Aim
from hcssp.reports.charts import JudgedCurve, judged_runs, limit, own
from hcssp.reports.figures import (
    Measure,
    an_expected,
    csv_text,
    document,
    given,
    in_table,
    percent,
    plain,
    rounded,
    rounded_down,
    rounded_up,
    table_down,
    table_up,
)
from hcssp.reports.page_data import influence_in_words, place_name
from hcssp.reports.plan_text import WIDTH, Style, aligned
from hcssp.scenarios.scenario import scenarios
from hcssp.solving.registry import METHODS
from hcssp.solving.why import Alternative, Reasons, reported_costs

if TYPE_CHECKING:
    from hcssp.evaluation.exact import ProcedureEvaluation
    from hcssp.evaluation.robustness import Robustness
    from hcssp.evaluation.simulation import Estimate, Leg, ProcedureSimulation
    from hcssp.procedure import HCSSP
    from hcssp.solving.best_plans import BestPlans
    from hcssp.solving.trade_off import CurvePoint, TradeOff


_COLUMNS = ("kind", "bound", "stochastic", "price", "lower_bound", "upper_bound", "gap", "expected")


_REWARD_COLUMNS = ("reward", "reward_at_most")
"""What is printed besides where a reward is maximised; the costs are then what is missed of it."""


def point_line(point: CurvePoint) -> str:
    """One point in a line of progress."""
    if not point.plan.found:
        return f"{given(point.bound)}   no plan"
    low, high = sorted((limit(point.plan), own(point.plan)))
    return (
        f"{given(point.bound)}   between {rounded_down(low, 4)} and {rounded_up(high, 4)}   "
        f"gap {percent(point.gap)}"
    )


def _expected(point: CurvePoint, constraint: str) -> float:
    """What the plan of a point uses of the bound; of a limit for each execution, whenever it is run."""
    plan = point.plan.as_procedure()
    limit = next((each for each in plan.costs.limits if each.name == constraint), None)
    return plan.cost(constraint) if limit is None else limit.usage_per_execution or 0.0


def curve_in_words(name: str, problem: HCSSP, curve: TradeOff, style: Style) -> str:
    """What ``hcssp curve`` prints for people."""
    shown, varied = JudgedCurve.of(curve), problem.called(curve.constraint)
    stated = Measure.of(problem, curve.constraint)
    unit = "100% more" if stated.is_probability else "one more unit of"
    rows = [["bound", "randomised", "price", "deterministic: from", "to", "gap", stated.expected]]
    for point in curve.points:
        known = point.plan.found
        randomised = shown.stochastic(point)
        rows.append(
            [
                stated.given(point.bound, 6),
                in_table(randomised) if isfinite(randomised) else "-",
                "-" if point.price is None else in_table(point.price),
                *_interval(point),
                percent(point.gap) if known else "-",
                stated.used(_expected(point, curve.constraint), point.bound) if known else "-",
            ]
        )
    others = [c for c in problem.constraints if c.name != curve.constraint and isfinite(c.at_most)]
    besides = "".join(
        f", {problem.called(c.name)} at most {Measure.of(problem, c.name).given(c.at_most)}" for c in others
    )
    title = f"{name}: {shown.best} as the bound on {varied} grows{besides}"
    blocks = [style.strong(title), aligned(rows)]
    pieces = len(curve.prices)
    if pieces:
        first, last = curve.breakpoints[0, 0], curve.breakpoints[-1, 0]
        exact = (
            "Over randomised policies the curve is exact"
            if curve.exact
            else f"No policy lies {shown.worse} the curve, randomised or not, but none may lie on it"
        )
        blocks.append(
            f"{exact}: {pieces} straight {'piece' if pieces == 1 else 'pieces'} "
            f"between {stated.given(first)} and {stated.given(last)}.\n"
            f"The best deterministic plan is proven to lie between the two figures.\n"
            f"The price is what {unit} {varied} {shown.gains}, in {shown.name}."
        )
    if isfinite(curve.least) and curve.least >= 1e-6:
        least = (
            f"{rounded_down(100 * curve.least, 4)}%"
            if stated.is_probability
            else rounded_down(curve.least, 6)
        )
        blocks.append(
            f"No plan has {'a' if stated.is_probability else 'an'} {stated.expected} below {least}."
        )
    return "\n\n".join(blocks)


def _interval(point: CurvePoint) -> tuple[str, str]:
    """From where to where the best is proven to lie."""
    found, proven = own(point.plan), limit(point.plan)
    if point.plan.reward is None:
        low = table_down(proven) if isfinite(proven) else "-"
        return low, table_up(found) if point.plan.found else "no plan"
    high = table_up(proven) if isfinite(proven) else "-"
    return table_down(found) if point.plan.found else "no plan", high


def curve_document(name: str, problem: HCSSP, curve: TradeOff) -> dict[str, Any]:
    """The object that ``hcssp curve --json`` prints."""
    return {
        "problem": name,
        "primary": problem.primary_name,
        **({} if problem.reward is None else {"reward": problem.reward.name}),
        "constraint": curve.constraint,
        **({"probability_of": of} if (of := problem.probability_of(curve.constraint)) else {}),
        "least": plain(curve.least),
        "exact": curve.exact,
        "points": [_point(curve, point) for point in curve.points],
        "breakpoints": curve.breakpoints.tolist(),
        "prices": curve.prices.tolist(),
        "seconds": plain(curve.seconds),
    }


def curve_csv(curve: TradeOff) -> str:
    """Points and breakpoints by ascending bound; the price is that of what lies above the bound."""
    rows: list[dict[str, Any]] = [{"kind": "point", **_point(curve, point)} for point in curve.points]
    for index, (bound, value) in enumerate(curve.breakpoints.tolist()):
        price = float(curve.prices[index]) if index < len(curve.prices) else None
        rows.append({"kind": "breakpoint", "bound": bound, "stochastic": value, "price": price})
    rows.sort(key=lambda row: (row["bound"], row["kind"]))
    return csv_text(rows, _COLUMNS if curve.problem.reward is None else (*_COLUMNS, *_REWARD_COLUMNS))


def _point(curve: TradeOff, point: CurvePoint) -> dict[str, float | None]:
    expected = _expected(point, curve.constraint) if point.plan.found else None
    reward = point.plan.reward
    figures = () if reward is None else (plain(reward.value), plain(reward.at_most))
    return {
        **document(point, *_COLUMNS[1:-1]),
        "expected": plain(expected),
        **({} if reward is None else dict(zip(_REWARD_COLUMNS, figures, strict=True))),
    }


def robustness_document(found: Robustness) -> dict[str, Any]:
    """The worst case as a JSON object."""
    costs = {}
    for index, name in enumerate(found.cost_names):
        costs[name] = {
            "expected": plain(float(found.expected[index])),
            "worst": plain(float(found.worst[index])),
            "at_most": plain(float(found.bounds[index - 1])) if index else None,
            "influences": [
                {
                    "state": place_name(each.state),
                    "action": place_name(each.action),
                    "successor": None if each.successor is None else place_name(each.successor),
                    "figure": each.figure,
                    "change": plain(each.change),
                }
                for each in found.influences[index]
            ],
        }
        if found.parameters:
            costs[name]["parameters"] = [
                {"name": str(each.state), "value": each.figure, "change": plain(each.change)}
                for each in found.parameters[index]
            ]
        if index:
            # JSON knows no infinity: the margin is at most one.
            costs[name]["margin"] = min(float(found.margins[index - 1]), 1.0)
    return {"within": found.within, "keeps_bounds": found.keeps_bounds(), "costs": costs}


def robustness_in_words(title: str, found: Robustness, problem: HCSSP, style: Style) -> str:
    """What ``hcssp robust`` prints for people."""
    share = _share_percent(found.within)
    measures = [Measure.of(problem, name) for name in found.cost_names]
    rows = [["", "expected", "worst case", "at most"]]
    for index, measure in enumerate(measures):
        bound = measure.given(float(found.bounds[index - 1])) if index else ""
        figures = (float(found.expected[index]), float(found.worst[index]))
        rows.append([measure.name, *map(measure.rounded, figures), bound])
    blocks = [
        style.strong(title),
        style.strong(f"If every probability may be wrong by a relative {share}") + "\n" + aligned(rows),
    ]
    verdicts = [
        f"  {measure.name}: {_verdict(float(margin))}"
        for measure, margin in zip(measures[1:], found.margins, strict=True)
    ]
    if verdicts:
        blocks.append(style.strong("Bounds") + "\n" + "\n".join(verdicts))
    parameters = found.parameters or ((),) * len(measures)
    for measure, settable, influences in zip(measures, parameters, found.influences, strict=True):
        if influences or settable:
            heading = style.strong(f"Largest sensitivities of {measure.name}")
            lines = [f"  {influence_in_words(each, measure)}" for each in (*settable, *influences)]
            blocks.append(heading + " (change if the figure is 1% larger)\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def _verdict(margin: float) -> str:
    if margin == inf:
        return "kept, however wrong the probabilities are"
    if margin == 0.0:
        return "no margin: any error may break it"
    return f"kept as long as no probability is wrong by more than a relative {_share_percent(margin)}"


def _share_percent(share: float) -> str:
    return f"{100.0 * share:.3g}%"


PERCENTILES = (5, 50, 95, 99)


_MOST_LEGS = 100
"""A run that passes more events is not printed to its end."""


_LONGEST = 40
"""Groups of equal actions of an activity that are listed; more are counted."""


def simulation_document(
    runs: ProcedureSimulation, evaluation: ProcedureEvaluation, legs: Sequence[Leg], problem: HCSSP
) -> dict[str, Any]:
    """The simulation as a JSON object."""
    aim = Aim.of(problem)
    runs, expected = _reported_of(aim, runs, evaluation)
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
    runs, expected = _reported_of(aim, runs, evaluation)
    blocks = [
        style.strong(title),
        style.strong("Costs")
        + " (mean with its 95% confidence interval; percentiles)\n"
        + _costs(runs, expected, problem),
        style.strong("Chance that a run exceeds the bound") + "\n" + _chances(runs, problem),
        style.strong("One run") + f" (seed {runs.seed})\n" + _narrated(legs, aim),
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


def _reported_of(
    aim: Aim, runs: ProcedureSimulation, evaluation: ProcedureEvaluation
) -> tuple[ProcedureSimulation, dict[str, float]]:
    """The runs and the expectations of what is reported: the aim, then the other costs."""
    expected = dict(zip(aim.names, aim.reported(evaluation.costs), strict=True))
    return judged_runs(aim, runs), expected


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    found: dict[str, float | None] = document(estimate, *estimate._fields)
    return found


def _costs(runs: ProcedureSimulation, expected: Mapping[str, float], problem: HCSSP) -> str:
    rows = [["cost", "expected", "mean", "from", "to", *(f"{p}%" for p in PERCENTILES)]]
    for name in runs.cost_names:
        mean = runs.mean(name)
        # A run has it or not; what its steps were likely to bring has no percentiles that mean anything.
        chance = bool(problem.probability_of(name))
        percentiles = ["-" if chance else _short(runs.percentile(name, percent)) for percent in PERCENTILES]
        rows.append(
            [
                problem.called(name),
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
            lines.append(f"  {problem.called(name)}: there is no bound")
            continue
        if problem.probability_of(name):
            # A run has it or not, so that it exceeds a share whenever it happens.
            stated, mean = Measure.of(problem, name), runs.mean(name)
            low, high = max(0.0, mean.low), min(1.0, mean.high)
            seen = f"in {_percent(mean.value)} of the runs (between {_percent(low)} and {_percent(high)})"
            lines.append(f"  {stated.name}: {seen}, at most {stated.given(bound)} allowed")
            continue
        share, low, high = runs.probability_of_exceeding(name)
        lines.append(
            f"  {problem.called(name)} above {given(bound)}: {_percent(share)} (between {_percent(low)} and "
            f"{_percent(high)})"
        )
    return "\n".join(lines) or "  there are no bounds"


def _narrated(legs: Sequence[Leg], aim: Aim) -> str:
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
        paragraphs.append(fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
    if len(legs) > _MOST_LEGS:
        paragraphs.append(f"  ... and {len(legs) - _MOST_LEGS:,} more events.")
    in_all = ", ".join(f"{name} {value:g}" for name, value in totals.items())
    paragraphs.append(f"  Total: {in_all or 'nothing'}.")
    return "\n".join(paragraphs)


def _activity(leg: Leg, aim: Aim) -> str:
    """How the sentence about a choice goes on where an activity is run."""
    name = "" if leg.activity == leg.choice else f" {leg.activity},"
    if not leg.actions:
        return f":{name} over at once."
    groups = condensed(leg)
    words = [f"{action} {count} times" if count > 1 else action for action, count in groups]
    rest = sum(count for _, count in groups[_LONGEST:])
    stated = ", ".join(words[:_LONGEST]) + (f" and {rest} more steps" if rest else "")
    steps = f"{len(leg.actions)} steps" if len(leg.actions) > 1 else "1 step"
    costs = ", ".join(f"{name} {cost:g}" for name, cost in leg_costs(leg, aim).items())
    return f":{name} {steps} from {leg.actions[0].state}, {stated} ({costs})."


def _figure(problem: HCSSP, name: str, value: float) -> str:
    return Measure.of(problem, name).in_table(value) if isfinite(value) else "inf"


def _short(value: float) -> str:
    return f"{value:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def alternatives_table(found: BestPlans) -> tuple[list[list[str]], str]:
    """The best plans in the order of their cost, in how many decisions each differs, and what is proven."""
    names = _costs_of_plan(found[0])
    rows = [["plan", *names, "place", "other decisions"]]
    for index, plan in enumerate(found):
        costs = _costs_of_plan(plan)
        differences = str(len(found.differences(index))) if index else ""
        place = "proven" if index < found.proven else "best known"
        rows.append([str(index + 1), *(rounded(costs[name]) for name in names), place, differences])
    has = ""
    if isfinite(found.others):
        has = (
            f" that keeps the bounds has {an_expected(next(iter(names)))} below {rounded_down(found.others)}"
        )
    return rows, f"No other plan{has or ' keeps the bounds'}."


def alternatives_in_words(found: BestPlans, style: Style) -> str:
    """The best plans for ``hcssp solve --alternatives``."""
    rows, note = alternatives_table(found)
    stated = f"{len(found)} best plans" if len(found) > 1 else "The only plan that was found"
    return "\n".join([style.strong(stated), aligned(rows), f"  {note}"])


def alternatives_document(found: BestPlans) -> list[dict[str, Any]]:
    """The best plans for ``hcssp solve --alternatives --json``."""
    return [
        {
            "costs": {name: plain(cost) for name, cost in _costs_of_plan(plan).items()},
            "proven": index < found.proven,
            "differences": [
                {"state": repr(state), "action": repr(action), "best": None if best is None else repr(best)}
                for state, (action, best) in found.differences(index).items()
            ],
        }
        for index, plan in enumerate(found)
    ]


def _costs_of_plan(plan: Plan) -> dict[str, float]:
    """The expected costs of a plan by their names."""
    evaluation = plan.as_procedure().costs
    return dict(zip(evaluation.cost_names, evaluation.costs.tolist(), strict=True))


def reasons_table(reasons: Reasons) -> tuple[list[list[str]], list[str]]:
    """What each alternative costs if it is taken once, the plan's own choice first; notes."""
    aim, measures = _measures(reasons)
    breaks, others = not reasons.plan.keeps_bounds(), reasons.alternatives
    chosen = f"{reasons.chosen} (*)" if breaks else reasons.chosen
    rows = [["", *(measure.name for measure in measures)]]
    rows.append([chosen, *_figures(measures, aim.reported(reported_costs(reasons.plan)))])
    for each in others:
        mark = "" if each.once is None or each.keeps_bounds else " (*)"
        once = ["-"] * len(measures) if each.once is None else _figures(measures, aim.reported(each.once))
        rows.append([f"{each.action}{mark}", *once])
    undefined = any(each.once is None for each in others)
    notes = ["(*) breaks a bound"] if any(row[0].endswith("(*)") for row in rows) else []
    return rows, [
        *notes,
        *(["- no action is defined there, or the policy would not end"] if undefined else []),
    ]


def _measures(reasons: Reasons) -> tuple[Aim, list[Measure]]:
    problem = reasons.plan.problem.procedure
    aim = Aim.of(problem)
    return aim, [Measure.of(problem, name) for name in aim.names]


def reasons_title(reasons: Reasons) -> str:
    """The decision of the plan at a place."""
    probability = reasons.reach_probability
    is_certain = probability > 1.0 - 1e-12
    reached = "always reached" if is_certain else f"reached with probability {_share(probability)}"
    return f"At {reasons.place}, {reached}, the plan takes {reasons.chosen}."


def reasons_in_words(reasons: Reasons, style: Style | None = None) -> str:
    """What ``hcssp why`` prints for people."""
    emphasis = style or Style()
    if not reasons.alternatives:
        return f"{emphasis.strong(reasons_title(reasons))}\n\nThere is no alternative."
    (aim, measures), (once, notes) = _measures(reasons), reasons_table(reasons)
    heading = emphasis.strong("Take the alternative once, then follow the plan")
    blocks = [
        emphasis.strong(reasons_title(reasons)),
        "\n  ".join([f"{heading}\n{aligned(once)}", *notes]),
    ]
    if any(each.best.found or each.best.lower_bound > -inf for each in reasons.alternatives):
        # Otherwise they were not computed.
        (_, (chosen, *figures), *_) = once
        own = [proven_limit(aim, reasons.plan.lower_bound), _share(reasons.reach_probability)]
        best = [["", *once[0][1:], f"{'upper' if aim.greatest else 'lower'} bound", "reached"]]
        best += [[chosen, *figures, *own], *(_forced(each, aim, measures) for each in reasons.alternatives)]
        heading = emphasis.strong("Always take the alternative: the best plan that keeps the bounds")
        blocks.append(f"{heading}\n{aligned(best)}")
        if chosen.endswith("(*)"):
            blocks[-1] += "\n  (*) the plan itself, which breaks a bound"
    return "\n\n".join(blocks)


def _share(probability: float) -> str:
    if 0.0 < probability < 1e-9:
        return "< 1e-9"
    return "never" if probability == 0.0 else f"{100.0 * probability:.4g}%"


def proven_limit(aim: Aim, bound: float) -> str:
    """What is proven of the best, by a lower bound on the primary cost."""
    if not isfinite(bound):
        return "-"
    return table_up(aim.limit(bound)) if aim.greatest else table_down(bound)


def _figures(measures: Sequence[Measure], costs: Sequence[float]) -> list[str]:
    return [
        "-" if isnan(cost) else measure.in_table(cost) if measure.is_probability else in_table(cost)
        for measure, cost in zip(measures, costs, strict=True)
    ]


def _forced(alternative: Alternative, aim: Aim, measures: Sequence[Measure]) -> list[str]:
    best = alternative.best
    proven = proven_limit(aim, best.lower_bound)
    if not best.found:
        none = "no plan" if best.status is Status.INFEASIBLE else "none found"
        return [alternative.action, none, *("" for _ in measures[1:]), proven, ""]
    figures = _figures(measures, aim.reported(reported_costs(best)))
    return [alternative.action, *figures, proven, _share(alternative.reach_probability)]


def _reward(plan: ProcedurePlan) -> dict[str, Any]:
    """What no such plan exceeds, where a reward is maximised."""
    return {} if plan.reward is None else {"reward_at_most": plain(plan.reward.at_most)}


def reasons_document(reasons: Reasons) -> dict[str, Any]:
    """The object that ``hcssp why --json`` prints."""
    aim = Aim.of(reasons.plan.problem)

    def named(costs: FloatArray) -> dict[str, float | None]:
        return dict(zip(aim.names, map(plain, aim.reported(costs)), strict=True))

    return {
        "at": reasons.place,
        "chosen": reasons.chosen,
        "keeps_bounds": reasons.plan.keeps_bounds(),
        "reach_probability": plain(reasons.reach_probability),
        "costs": named(reported_costs(reasons.plan)),
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
                    "costs": named(reported_costs(each.best)) if each.best.found else None,
                    "reach_probability": plain(each.reach_probability),
                },
            }
            for each in reasons.alternatives
        ],
    }


def problem_in_words(title: str, problem: HCSSP, style: Style) -> str:
    """What ``hcssp show`` prints for people."""
    flattening = problem.flattening
    wanted = Aim.of(problem)
    aim = f"{'maximise' if wanted.greatest else 'minimise'} the expected {problem.called(wanted.name)}"
    sizes = [["activity", "states", "actions", "transitions", "starts", "goals"]]
    for activity in problem.activities:
        cssp = activity.cssp
        counts = (
            cssp.num_states, cssp.num_rows, cssp.transitions.nnz, int((cssp.initial > 0).sum()),
            int(cssp.goals.sum()),
        )  # fmt: skip
        sizes.append([activity.name, *(f"{count:,}" for count in counts)])
    # The first line of the description counts what the title and the table count.
    tree = describe(problem).splitlines()[1:]
    flat = f"flattened: {flattening.num_states:,} states, {flattening.num_rows:,} actions"
    events = (
        f"{problem.num_events} events, {len(problem.choices)} choices, {problem.num_activities} activities"
    )
    return "\n\n".join(
        [
            style.strong(f"{title}: {aim}") + f"\n  {events}; {flat}",
            style.strong("Sizes") + "\n" + aligned(sizes),
            style.strong("Procedure") + "\n" + "\n".join(f"  {line}" for line in tree),
        ]
    )


def problem_document(name: str, problem: HCSSP) -> dict[str, Any]:
    """The object that ``hcssp show --json`` prints."""
    flattening = problem.flattening
    return {
        "problem": name,
        "primary": problem.primary_name,
        "start": problem.events[problem.start],
        "end": problem.events[problem.end],
        "events": list(problem.events),
        "choices": [
            {
                "event": problem.events[choice.event],
                "choice": choice.name,
                "outcomes": [
                    {
                        "probability": outcome.probability,
                        "runs": None if outcome.runs is None else problem.activities[outcome.runs].name,
                        "reaches": problem.events[outcome.event]
                        if not outcome.exits
                        else {str(label): problem.events[event] for label, event in outcome.exits.items()},
                    }
                    for outcome in choice.outcomes
                ],
            }
            for choice in problem.choices
        ],
        "activities": {
            activity.name: {
                "states": activity.cssp.num_states,
                "actions": activity.cssp.num_rows,
                "transitions": int(activity.cssp.transitions.nnz),
            }
            for activity in problem.activities
        },
        "constraints": {
            constraint.name: {
                "at_most": plain(constraint.at_most),
                "counts": {
                    problem.activities[index].name: problem.activities[index].cssp.cost_names[cost]
                    for index, cost in constraint.counts.items()
                },
            }
            for constraint in problem.constraints
        },
        "flattened": {"states": flattening.num_states, "actions": flattening.num_rows},
    }


def problems_document() -> dict[str, Any]:
    """The object that ``hcssp problems --json`` prints."""
    listed = [
        {
            **document(each, "name", "description"),
            "size": each.size,
            "parameters": [
                document(parameter, "name", "default", "meaning") for parameter in each.parameters
            ],
        }
        for each in scenarios().values()
    ]
    return {"problems": listed}


def problems_in_words() -> str:
    """The built-in problems, and under each its size and its parameters."""
    lines = []
    for each in scenarios().values():
        lines += [f"{each.name:<18} {each.description}", f"    {each.size}"]
        for parameter in each.parameters:
            lines.append(f"    {f'{parameter.name} = {parameter.default:g}':<20} {parameter.meaning}")
    return "\n".join(lines)


def methods_document() -> dict[str, Any]:
    """The object that ``hcssp methods --json`` prints."""
    return {"methods": [document(each, "name", "description", "gap") for each in METHODS.values()]}


def methods_in_words() -> str:
    """The methods, with the gap that each stops at."""
    lines = (
        fill(
            f"{each.name:<18} {each.description} (stops at a gap of {each.gap:g})",
            WIDTH,
            subsequent_indent=" " * 19,
        )
        for each in METHODS.values()
    )
    return "\n".join(lines)
