"""Notebook displays of results: the page in a frame, or a card with one small table.

Plans, curves and sweeps have a page; it stands in an ``<iframe srcdoc=...>`` that needs no network and no
other file. Every other answer has a card, which takes its colours from the notebook. All texts are escaped:
names come from users.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from html import escape
from math import inf, isfinite

from hcssp.contract.plan import Plan
from hcssp.cssp.model import CSSP
from hcssp.display import Card
from hcssp.evaluation.exact import Evaluation, ProcedureEvaluation
from hcssp.evaluation.robustness import Robustness
from hcssp.evaluation.simulation import Simulation
from hcssp.procedure import HCSSP
from hcssp.procedure.description import Aim
from hcssp.reports import page
from hcssp.reports.charts import bound_on
from hcssp.reports.figures import Measure, given, percent, rounded, rounded_down, rounded_up
from hcssp.reports.page_data import page_data
from hcssp.reports.plan_text import what_is_proven
from hcssp.reports.results_text import alternatives_table, proven_limit, reasons_table
from hcssp.solving.best_plans import BestPlans
from hcssp.solving.lagrangian import Lagrangian
from hcssp.solving.sweep import Sweep
from hcssp.solving.trade_off import TradeOff
from hcssp.solving.why import Reasons, reported_costs

_MOST_ROWS = 15
_MOST_LETTERS = 60
_HEIGHT = 720
"""Pixels of a frame; its page scrolls."""
_IN_FRAME = "html{font-size:81%}header.page{padding-top:.6rem}.lead,h1{margin-bottom:.2rem}"
_CURVE_FIRST = "main{display:flex;flex-direction:column}main>section{order:1}main>#trade-off{order:0}"
_RUNS, _SAMPLES = 12, 2000
"""Simulated runs of a page in a notebook: fewer than in a file, since they are drawn whenever it is shown."""
_MOST_STATES = 200_000
"""A plan with more states is shown as a card; its page would take longer than one waits for an answer."""

Cells = Sequence[object]


def card(heading: str, head: Cells, rows: Sequence[Cells], note: str = "") -> str:
    """A heading, one small table and a note, as HTML.

    >>> "&lt;b&gt;" in card("<b>", ["cost"], [["time"]])
    True

    Parameters
    ----------
    heading, note
        What stands above the table and below it.
    head
        The names of the columns.
    rows
        The cells; the first column is text. Rows beyond the first 15 are counted.
    """
    more = len(rows) - _MOST_ROWS
    lines = [_line("th", head), *(_line("td", row) for row in rows[:_MOST_ROWS])]
    notes = [f"{more:,} more rows are not shown."] if more > 0 else []
    return _shielded(
        f'<p style="margin:0 0 .4em"><strong>{_text(heading, 200)}</strong></p>'
        f'<table style="border-collapse:collapse;margin:0">{"".join(lines)}</table>',
        *notes,
        note,
    )


def _line(tag: str, cells: Cells) -> str:
    style = "padding:.15em .8em .15em 0;border-bottom:1px solid #8886;background:none;vertical-align:top;"
    sides = ["left", *("right" for _ in cells[1:])]
    drawn = (
        f'<{tag} style="{style}text-align:{side}">{_text(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"


def _text(value: object, most: int = _MOST_LETTERS) -> str:
    text = str(value)
    return _escaped(text if len(text) <= most else f"{text[: most - 1]}…")


def _escaped(text: str) -> str:
    # A lone surrogate cannot be written to a notebook's file.
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _shielded(markup: str, *notes: str) -> str:
    below = "".join(f'<p style="margin:.4em 0 0;opacity:.8">{_escaped(note)}</p>' for note in notes if note)
    # Names may hold dollars, which notebooks would take for formulas.
    shield = "hcssp tex2jax_ignore mathjax_ignore"
    return f'<div class="{shield}" style="overflow-x:auto">{markup}{below}</div>'


def framed(document: str, summary: str, more_style: str = "") -> str:
    """A page in a frame; the summary below it remains where a notebook shows no frames."""
    style = f"width:100%;height:{_HEIGHT}px;box-sizing:border-box;border:1px solid #8886;border-radius:4px"
    document = document.replace("</head>", f"<style>{_IN_FRAME}{more_style}</style></head>", 1)
    return _shielded(
        f'<iframe title="{_text(summary)}" sandbox="allow-scripts allow-downloads allow-modals" '
        f'style="{style}" srcdoc="{_escaped(document)}"></iframe>',
        summary,
    )


@singledispatch
def html(result: Card) -> str:
    """The notebook display of a result: its page in a frame, or a card."""
    raise TypeError(f"there is no card of {type(result).__name__}")


@html.register
def plan_html(plan: Plan) -> str:
    """The page of a plan; a card if there is none, or if it is too large."""
    aim, solved = Aim.of(plan.problem), plan.as_procedure()
    problem = solved.problem
    if plan.found and solved.costs.visits.size <= _MOST_STATES:
        return framed(page.page_html(page_data(plan, runs=_RUNS, samples=_SAMPLES)), repr(plan))
    figures = aim.reported(reported_costs(solved)) if plan.found else None
    rows = [
        (measure.name, wanted, "-" if figures is None else measure.rounded(figures[index]))
        for index, (measure, wanted) in enumerate(_wanted(problem, aim))
    ]
    if plan.found:
        note = f"{what_is_proven(plan)} plan.report(path) writes the whole page."
    else:
        note = f"{plan.message[:1].upper()}{plan.message[1:]}"
    return card(f"{plan.name or 'plan'}: {plan.status}", ("cost", "wanted", "expected"), rows, note)


@html.register
def problem_html(problem: CSSP | HCSSP) -> str:
    """A problem: its size, its objective and its bounds."""
    procedure = problem.procedure
    states = sum(activity.cssp.num_states for activity in procedure.activities)
    if isinstance(problem, CSSP):
        sizes = f"{states:,} states, {problem.num_rows:,} state-action pairs"
    else:
        sizes = (
            f"{problem.num_events:,} events, {len(problem.choices):,} choices, "
            f"{problem.num_activities:,} activities with {states:,} states"
        )
    heading = f"{problem.name or type(problem).__name__}: {sizes}"
    rows = [(measure.name, wanted) for measure, wanted in _wanted(procedure, Aim.of(procedure))]
    return card(heading, ("expected cost", "wanted"), rows, problem.description)


def _wanted(problem: HCSSP, aim: Aim) -> list[tuple[Measure, str]]:
    """Each cost with its objective or bound; the objective first."""
    bounds = {each.name: each.at_most for each in problem.constraints}
    found = [(Measure.of(problem, aim.name), "maximised" if aim.greatest else "minimised")]
    for name in aim.others:
        measure, bound = Measure.of(problem, name), bounds[name]
        found.append((measure, f"at most {measure.given(bound)}" if isfinite(bound) else "no bound"))
    return found


@html.register
def curve_html(curve: TradeOff) -> str:
    """The page of the plan at the problem's own bound, or else at the middle one, with the curve."""
    found = [point for point in curve.points if point.plan.found]
    if not found:
        rows = [(given(point.bound), point.plan.status) for point in curve.points]
        return card(repr(curve), (f"{curve.constraint} at most", "plan"), rows)
    bound = dict(zip(curve.problem.constraint_names, curve.problem.bounds, strict=True))[curve.constraint]
    own = next((point for point in found if point.bound == bound), found[len(found) // 2])
    data = page_data(own.plan, curve, runs=_RUNS, samples=_SAMPLES)
    return framed(page.page_html(data), repr(curve), _CURVE_FIRST)


@html.register
def sweep_html(sweep: Sweep) -> str:
    """The page of a sweep."""
    return framed(page.sweep_html(sweep), repr(sweep))


@html.register
def evaluation_html(evaluation: Evaluation) -> str:
    """The expected costs against their bounds, then the activities that cost most."""
    rows = [
        (name, rounded(cost), _at_most(bound))
        for name, cost, bound in zip(
            evaluation.cost_names, evaluation.costs, (inf, *evaluation.bounds), strict=True
        )
    ]
    if isinstance(evaluation, ProcedureEvaluation):
        busiest = sorted(evaluation.activities, key=lambda each: -each.cost)[: _MOST_ROWS - len(rows)]
        primary = evaluation.cost_names[0]
        rows += [(f"{primary} of {each.name}", rounded(each.cost), "-") for each in busiest if each.cost]
    broken = ", ".join(evaluation.violations())
    return card(
        "Exact evaluation", ("cost", "expected", "at most"), rows, broken and f"Broken bounds: {broken}."
    )


def _at_most(bound: float) -> str:
    return given(bound) if isfinite(bound) else "-"


@html.register
def simulation_html(runs: Simulation) -> str:
    """The distribution of each cost over the runs."""
    rows = []
    for index, name in enumerate(runs.cost_names):
        mean, bound = runs.mean(name), bound_on(runs, index)
        above = percent(runs.probability_of_exceeding(name).value) if isfinite(bound) else "-"
        spread = (rounded(runs.percentile(name, share)) for share in (5, 50, 95))
        interval = f"{rounded(mean.low)} to {rounded(mean.high)}"
        rows.append((name, rounded(mean.value), interval, *spread, _at_most(bound), above))
    head = ("cost", "mean", "95% interval", "5%", "50%", "95%", "at most", "runs above")
    cut_off = f"{runs.num_truncated:,} runs were cut off; their costs count as infinite."
    return card(
        f"{runs.num_runs:,} simulated runs, seed {runs.seed}",
        head,
        rows,
        cut_off if runs.num_truncated else "",
    )


@html.register
def robustness_html(found: Robustness) -> str:
    """Each cost in its worst case."""
    rows = [
        (name, rounded(expected), rounded(worst), _at_most(bound), "-" if share is None else _share(share))
        for name, expected, worst, bound, share in zip(
            found.cost_names,
            found.expected,
            found.worst,
            (inf, *found.bounds),
            (None, *found.margins),
            strict=True,
        )
    ]
    heading = f"If every probability may be wrong by a relative {100 * found.within:.3g}%"
    return card(heading, ("cost", "expected", "worst case", "at most", "kept up to an error of"), rows)


def _share(share: float) -> str:
    return f"{100 * share:.3g}%" if isfinite(share) else "any"


@html.register
def reasons_html(reasons: Reasons) -> str:
    """The cost of each alternative if it is taken once, and the proven bound if it is always taken."""
    aim, plans = Aim.of(reasons.plan.problem), [reasons.plan, *(each.best for each in reasons.alternatives)]
    (head, *rows), notes = reasons_table(reasons)
    head = ["taken once", *head[1:], f"taken always: proven not {'above' if aim.greatest else 'below'}"]
    rows = [[*row, proven_limit(aim, plan.lower_bound)] for row, plan in zip(rows, plans, strict=True)]
    return card(f"At {reasons.place} the plan takes {reasons.chosen}", head, rows, "; ".join(notes))


@html.register
def alternatives_html(found: BestPlans) -> str:
    """The best plans, each with its costs."""
    if not found.plans:
        return card(repr(found), ("plan",), ())
    (head, *rows), note = alternatives_table(found)
    return card(f"{len(found)} best plans", head, rows, note)


@html.register
def lagrangian_html(found: Lagrangian) -> str:
    """The policies over the multiplier of a bound."""
    rows = [
        ("-" if line.rank is None else line.rank, rounded(line.cost), rounded(line.use), _yes(line.feasible))
        for line in found.lines
    ]
    head = (
        "policy of stage 2",
        f"expected {found.cost_name}",
        f"expected {found.constraint}",
        "keeps bounds",
    )
    interval = f"[{rounded_down(found.lower_bound)}, {rounded_up(found.upper_bound)}]"
    return card(repr(found)[1:-1], head, rows, f"The optimum is in {interval}. plot() draws them.")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
