"""``hcssp report``: a plan as one page of HTML."""

from __future__ import annotations

import argparse
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.cli.arguments import UsageError, add, add_output, add_problem, seconds, whole
from hcssp.cli.plans import plan_heading, read_plan, verified
from hcssp.cli.problems import load_problem, settings_of, with_bounds
from hcssp.cli.running import INTERRUPTED, NO_PLAN, SOLVED, work
from hcssp.cli.terminal import ProgressPrinter
from hcssp.errors import UnknownName

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption
    from hcssp.contract.plan import Plan
    from hcssp.contract.progress import StopCriterion
    from hcssp.procedure import HCSSP
    from hcssp.solving.trade_off import CurvePoint, TradeOff

DESCRIPTION = """\
Write one page of HTML that needs no network: what the plan costs and what is proven about it,
where it goes and how often, what it chooses, how the budget is spread, simulated runs, and a
slider over each bound with a plan for each of its positions.

PLAN is a file that hcssp solve --out saved; without it the problem is solved first. What the file says was
proven is shown as a claim, unless --certificate proves it.

Exit code 0 if the page is written, 1 if there is no plan, the plan does not keep the bounds (the page is
written) or the certificate does not prove what it claims, 2 if PLAN or the certificate is none for this
problem."""

_MAX_POINTS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp report``."""
    add_problem(parser)
    add(parser, "plan", nargs="?")
    add(parser, "--bounds-of", "--certificate", "--exact")
    add(parser, "--out", default=Path("report.html"), help="where to write the page (default: report.html)")
    add(parser, "--gap", default=1e-6, help="solve to this relative gap (default: 1e-6)")
    add(parser, "--time-limit", default=60.0, help="solve for at most S seconds (default: 60)")
    add(
        parser,
        "--constraint",
        help="the constraint whose bound the slider moves at first (default: the scarcest)",
    )
    add(
        parser,
        "--points",
        type=whole("number of points"),
        help="about how many positions the slider has (default: 11; 0: no slider)",
    )
    parser.add_argument(
        "--curve-time-limit",
        type=seconds,
        default=20.0,
        metavar="S",
        help="work on the plans of the slider for about S seconds (default: 20)",
    )
    add(parser, "--seed")
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="also draw the plan as PNG files (needs matplotlib)"
    )
    add_output(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Solve if there is no plan, write the page, and answer with the exit code."""
    from hcssp.contract.proof import Reason
    from hcssp.files.atomic import check_writable, make_folder

    check_writable(arguments.out)
    if arguments.pictures is not None:
        make_folder(arguments.pictures)
    if arguments.certificate is not None and arguments.plan is None:
        raise UsageError("--certificate: name the PLAN that it is about")
    if arguments.points > _MAX_POINTS:
        raise UsageError(f"--points {arguments.points}: a page can hold the plans of {_MAX_POINTS} at most")
    printer = ProgressPrinter.wanted(arguments, hint=True)
    try:
        interruption.begin()
        printer.note(f"reading {arguments.problem}")
        problem = load_problem(arguments)
        if arguments.constraint is not None and arguments.constraint not in problem.constraint_names:
            raise UnknownName("constraint", arguments.constraint, problem.constraint_names)
        plan = _plan(arguments, problem, printer, interruption)
        interruption.end()
        if not plan.found:
            printer.close()
            print(f"hcssp: no plan: {plan.message}", file=sys.stderr)
            return INTERRUPTED if plan.ending.reason is Reason.INTERRUPTED else NO_PLAN
        checked = verified(plan, arguments.certificate, arguments.exact)
        if checked is None:
            printer.close()
            return NO_PLAN
        plan = checked
        written = _write(arguments, plan, printer, interruption)
    finally:
        printer.close()
    _tell(arguments, plan, written)
    if interruption.requested:
        return INTERRUPTED
    if not plan.keeps_bounds():
        print("hcssp: the plan does not keep the bounds; the page says which", file=sys.stderr)
        return NO_PLAN
    return SOLVED


def _plan(
    arguments: argparse.Namespace, problem: HCSSP, printer: ProgressPrinter, interruption: Interruption
) -> Plan:
    """The plan that was given, or a new one."""
    from hcssp.contract.progress import Gap
    from hcssp.methods.policy_branching import PolicyBranching

    if arguments.plan is not None:
        return read_plan(arguments, arguments.plan, problem)
    bounded = with_bounds(problem, arguments.bound)
    stop: list[StopCriterion] = [Gap(arguments.gap)]
    limit = arguments.time_limit
    return work(bounded, PolicyBranching(), stop, printer, interruption, time_limit=limit)


def _write(
    arguments: argparse.Namespace, plan: Plan, printer: ProgressPrinter, interruption: Interruption
) -> list[Path]:
    """Write the page and the pictures; what was written."""
    from hcssp.files.named_problem import parameters_of
    from hcssp.reports.figures import given
    from hcssp.reports.page import save_page
    from hcssp.reports.page_data import page_data

    curves = _curves(arguments, plan, printer, interruption)
    printer.note("simulating and writing")
    settings = settings_of(arguments.settings)
    # What comes from standard input cannot be read again.
    values = settings if arguments.problem == "-" else parameters_of(arguments.problem, settings)
    parameters = {name: given(float(value)) for name, value in values.items()}
    save_page(arguments.out, page_data(plan, *curves, seed=arguments.seed, parameters=parameters))
    written = [arguments.out]
    if arguments.pictures is not None:
        printer.note("drawing pictures")
        written += _draw(arguments.pictures, plan, arguments.seed)
    return written


def _curves(
    arguments: argparse.Namespace, plan: Plan, printer: ProgressPrinter, interruption: Interruption
) -> list[TradeOff]:
    """The trade-off curves around the plan's bounds, as far as they get; none if they are not wanted."""
    from hcssp.reports.charts import own
    from hcssp.reports.figures import given, rounded
    from hcssp.reports.page import curves_around

    if not arguments.points or interruption.requested:
        return []

    has = "costs" if plan.reward is None else f"has {plan.reward.name}"

    def report(constraint: str, point: CurvePoint) -> None:
        if isfinite(point.upper_bound):
            text = f"another plan: {constraint} at most {given(point.bound)} {has} {rounded(own(point.plan))}"
        else:
            text = f"no plan yet for {constraint} at most {given(point.bound)}"
        printer.note(text)

    try:
        interruption.begin()
        printer.note("looking at other bounds")
        interruption.allow(arguments.curve_time_limit)
        return curves_around(plan, arguments.constraint, arguments.points, arguments.curve_time_limit, report)
    except KeyboardInterrupt:
        # So early that there is no curve; the plan itself is still worth a page.
        return []
    finally:
        interruption.end()


def _draw(folder: Path, plan: Plan, seed: int) -> list[Path]:
    """Draw everything that can be drawn of a plan."""
    from hcssp.reports.charts import save_picture
    from hcssp.reports.plots import plan_pictures

    written = []
    for name, figure in plan_pictures(plan, seed):
        path = folder / f"{name}.png"
        save_picture(path, figure)
        written.append(path)
    return written


def _tell(arguments: argparse.Namespace, plan: Plan, written: list[Path]) -> None:
    import json

    from hcssp.reports.figures import plain
    from hcssp.reports.plan_text import verified_document

    if arguments.json:
        document: dict[str, Any] = {
            "problem": arguments.problem,
            "status": str(plan.status),
            "lower_bound": plain(plan.lower_bound),
            "upper_bound": plain(plan.upper_bound),
            "keeps_bounds": plan.keeps_bounds(),
            "made_for": plan_heading(arguments, plan)["made_for"],
            "claimed_lower_bound": None if plan.claim is None else plain(plan.claim.lower_bound),
            "verified": verified_document(plan),
            "written": [str(path) for path in written],
        }
        print(json.dumps(document, allow_nan=False))
        return
    page, *pictures = written
    print(f"The report is in {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser.")
    for path in pictures:
        print(f"A picture is in {path}.")
