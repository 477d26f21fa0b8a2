"""Commands that list, describe and begin problems: ``show``, ``new``, ``import``, ``problems`` ..."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hcssp.cli.arguments import UsageError
from hcssp.cli.running import SOLVED
from hcssp.cli.session import Session, settings_of, with_bounds
from hcssp.files.atomic import check_writable, write_atomically

STDOUT = Path("-")


def show(session: Session) -> int:
    """``hcssp show``."""
    from hcssp.reports.procedure_graph import procedure_dot
    from hcssp.reports.results_text import problem_document, problem_in_words

    arguments = session.arguments
    plot: Path | None = arguments.plot
    is_dot = plot is not None and plot.suffix == ".dot"
    if plot is not None and is_dot:
        check_writable(plot)
    elif plot != STDOUT:
        session.check_outputs("plot")
    with session.working() as printer:
        problem = with_bounds(session.read(), arguments.bound)
        if plot is not None and plot != STDOUT and not is_dot:
            from hcssp.reports.charts import save_picture
            from hcssp.reports.procedure_picture import draw_procedure

            printer.note(f"drawing {plot}")
            save_picture(plot, draw_procedure(problem, arguments.problem))
    if plot == STDOUT:
        sys.stdout.write(procedure_dot(problem, arguments.problem))
        return SOLVED
    if plot is not None and is_dot:
        write_atomically(plot, procedure_dot(problem, arguments.problem))
    session.answer(
        lambda: problem_document(arguments.problem, problem),
        lambda style: problem_in_words(session.title, problem, style),
    )
    if plot is not None:
        session.say(f"The graph is in {plot}.")
    return SOLVED


def new(session: Session) -> int:
    """``hcssp new``."""
    session.check_outputs("out")
    return _write(
        session, _blank(session.arguments) if session.arguments.blank else _built_in(session.arguments)
    )


def _write(session: Session, text: str) -> int:
    """Write a problem file where it was asked for."""
    if session.arguments.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(session.arguments.out, text)
    return SOLVED


def _blank(arguments: argparse.Namespace) -> str:
    if arguments.problem is not None or arguments.settings or arguments.scale != 1 or arguments.json:
        raise UsageError("--blank: leave PROBLEM, --json, --set and --scale out; the file is always the same")
    from hcssp.scenarios.scenario import BLANK

    return BLANK.read_text(encoding="utf-8")


def _built_in(arguments: argparse.Namespace) -> str:
    import yaml

    from hcssp.files.problem_file.dumping import to_json
    from hcssp.scenarios.scenario import find_scenario

    if arguments.problem is None:
        raise UsageError("name a built-in PROBLEM (hcssp problems lists them), or use --blank")
    scenario = find_scenario(arguments.problem)
    text, note = scenario.file_to_begin(arguments.scale, **settings_of(arguments))
    if note:
        print(note, file=sys.stderr)
    return to_json(yaml.safe_load(text)) if arguments.json else text


def import_site(session: Session) -> int:
    """``hcssp import``."""
    from hcssp.exchange.sites import Zone, mission, read_building, read_route_graph

    arguments = session.arguments
    session.check_outputs("out")
    zones = [Zone.parse(text, named=True) for text in arguments.zone]
    zones += [Zone.parse(text, named=False) for text in arguments.keep_out]
    if arguments.kind == "rmf":
        site = read_building(arguments.file, graph=arguments.graph, zones=zones)
    elif arguments.graph is not None:
        raise UsageError("--graph: a route graph of Nav2 has no fleets; leave it out")
    else:
        site = read_route_graph(arguments.file, zones=zones)
    if arguments.start is None or not arguments.to:
        raise UsageError(f"name the stops with --from and --to; the places are {', '.join(site.places)}")
    text = mission(site, [arguments.start, *arguments.to], battery_step=arguments.battery_step)
    return _write(session, text)


def problems(session: Session) -> int:
    """``hcssp problems``."""
    from hcssp.reports.results_text import problems_document, problems_in_words

    session.answer(problems_document, lambda _: problems_in_words())
    return SOLVED


def methods(session: Session) -> int:
    """``hcssp methods``."""
    from hcssp.reports.results_text import methods_document, methods_in_words

    session.answer(methods_document, lambda _: methods_in_words())
    return SOLVED


def schema(session: Session) -> int:
    """``hcssp schema``."""
    from hcssp.files.problem_file.format import schema_text

    sys.stdout.write(schema_text())
    return SOLVED
