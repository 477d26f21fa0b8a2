"""``hcssp report``: a plan as one page of HTML."""

from __future__ import annotations

from math import isfinite

from hcssp.cli.arguments import UsageError
from hcssp.cli.plans import work
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED
from hcssp.cli.session import Session, load_problem, settings_of, with_bounds
from hcssp.contract.plan import Plan
from hcssp.contract.progress import Gap
from hcssp.contract.proof import Reason
from hcssp.errors import UnknownName
from hcssp.files.named_problem import parameters_of
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.reports.charts import own
from hcssp.reports.figures import document, given, plain, rounded
from hcssp.reports.films import films_of
from hcssp.reports.page import curves_around, save_page
from hcssp.reports.page_data import page_data
from hcssp.reports.plan_text import verified_document
from hcssp.solving.trade_off import CurvePoint, TradeOff

_MAX_POINTS = 60


def report(session: Session) -> int:
    """Solve if there is no plan, write the page, and answer with the exit code."""
    arguments = session.arguments
    session.check_outputs("out")
    if arguments.certificate is not None and arguments.plan is None:
        raise UsageError("--certificate: name the PLAN that it is about")
    if arguments.points > _MAX_POINTS:
        raise UsageError(f"--points {arguments.points}: a page can hold the plans of {_MAX_POINTS} at most")
    session.printer.hint = True
    with session.working() as printer:
        plan = _plan(session)
        session.interruption.end()
        if not plan.found:
            printer.close()
            session.fail(f"no plan: {plan.message}")
            return INTERRUPTED if plan.ending.reason is Reason.INTERRUPTED else NO_PLAN
        checked = session.verified(plan)
        if checked is None:
            return NO_PLAN
        _write(session, checked)
    _print(session, checked)
    if session.interruption.requested:
        return INTERRUPTED
    if not checked.keeps_bounds():
        session.fail("the plan does not keep the bounds; the page says which")
        return NO_PLAN
    return SOLVED


def _plan(session: Session) -> Plan:
    """The plan that was given, or a new one."""
    arguments = session.arguments
    session.printer.note(f"reading {arguments.problem}")
    problem = load_problem(arguments)
    if arguments.constraint is not None and arguments.constraint not in problem.constraint_names:
        raise UnknownName("constraint", arguments.constraint, problem.constraint_names)
    if arguments.plan is not None:
        return session.read_plan(problem)
    bounded = with_bounds(problem, arguments.bound)
    return work(session, bounded, PolicyBranching(), [Gap(arguments.gap)], arguments.time_limit)


def _write(session: Session, plan: Plan) -> None:
    """Write the page."""
    arguments, printer = session.arguments, session.printer
    curves = _curves(session, plan)
    printer.note("simulating and writing")
    settings = settings_of(arguments)
    # What comes from standard input cannot be read again.
    values = settings if arguments.problem == "-" else parameters_of(arguments.problem, settings)
    parameters = {name: given(float(value)) for name, value in values.items()}
    films = {} if session.interruption.requested else films_of(plan, arguments.curve_time_limit)
    data = page_data(plan, *curves, seed=arguments.seed, parameters=parameters, films=films)
    save_page(arguments.out, data)


def _curves(session: Session, plan: Plan) -> list[TradeOff]:
    """The trade-off curves around the plan's bounds, as far as they get; none if they are not wanted."""
    arguments, interruption = session.arguments, session.interruption
    if not arguments.points or interruption.requested:
        return []
    has = "costs" if plan.reward is None else f"has {plan.reward.name}"

    def report(constraint: str, point: CurvePoint) -> None:
        text = f"no plan yet for {constraint} at most {given(point.bound)}"
        if isfinite(point.upper_bound):
            text = f"another plan: {constraint} at most {given(point.bound)} {has} {rounded(own(point.plan))}"
        session.printer.note(text)

    try:
        interruption.begin()
        session.printer.note("looking at other bounds")
        limit = arguments.curve_time_limit
        interruption.allow(limit)
        return curves_around(plan, arguments.constraint, arguments.points, limit, report)
    except KeyboardInterrupt:
        # So early that there is no curve; the plan itself is still worth a page.
        return []
    finally:
        interruption.end()


def _print(session: Session, plan: Plan) -> None:
    page = session.arguments.out
    text = f"The report is in {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser."
    session.answer(
        lambda: {
            "problem": session.arguments.problem,
            **document(plan, "status", "lower_bound", "upper_bound"),
            "keeps_bounds": plan.keeps_bounds(),
            "made_for": session.plan_heading(plan)["made_for"],
            "claimed_lower_bound": None if plan.claim is None else plain(plan.claim.lower_bound),
            "verified": verified_document(plan),
            "written": [str(page)],
        },
        lambda _: text,
    )
