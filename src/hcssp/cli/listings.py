"""Commands that list, describe and begin problems: ``show``, ``new``, ``import``, ``problems`` ..."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hcssp.cli.arguments import UsageError, add, add_output, add_problem, amount
from hcssp.cli.parser import Command
from hcssp.cli.plans import check_picture
from hcssp.cli.problems import reading, settings_of, title_of, with_bounds
from hcssp.cli.running import SOLVED
from hcssp.cli.terminal import answer

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption

STDOUT = Path("-")


def _add_show(parser: argparse.ArgumentParser) -> None:
    add_problem(parser)
    add(
        parser,
        "--plot",
        help="draw the procedure as a graph (.png, .svg, .pdf; needs matplotlib), or write it for Graphviz "
        "(.dot); - writes that to stdout instead of the tree",
    )
    add_output(parser)


def _show(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.files.atomic import check_writable, write_atomically
    from hcssp.reports.problem_text import problem_document, problem_in_words
    from hcssp.reports.procedure_graph import procedure_dot

    plot: Path | None = arguments.plot
    is_dot = plot is not None and (plot == STDOUT or plot.suffix == ".dot")
    if plot is not None and not is_dot:
        check_picture("--plot", plot)
    elif plot is not None and plot != STDOUT:
        check_writable(plot)
    with reading(arguments, interruption) as (printer, unbounded):
        problem = with_bounds(unbounded, arguments.bound)
        if plot is not None and not is_dot:
            from hcssp.reports.charts import save_picture
            from hcssp.reports.procedure_picture import draw_procedure

            printer.note(f"drawing {plot}")
            save_picture(plot, draw_procedure(problem, arguments.problem))
    if plot == STDOUT:
        sys.stdout.write(procedure_dot(problem, arguments.problem))
        return SOLVED
    if plot is not None and is_dot:
        write_atomically(plot, procedure_dot(problem, arguments.problem))
    answer(
        arguments,
        lambda: problem_document(arguments.problem, problem),
        lambda style: problem_in_words(title_of(arguments), problem, style),
    )
    if plot is not None and not arguments.json:
        print(f"\nThe graph is in {plot}.")
    return SOLVED


SHOW = Command(
    """\
Show the sizes of a problem and its procedure as a tree: events, what can be chosen there, how it
can turn out, and the activities on the way. --plot draws the same as a graph, or writes it
for Graphviz.""",
    _add_show,
    _show,
)


def _add_new(parser: argparse.ArgumentParser) -> None:
    add(parser, "problem", nargs="?", help="a built-in problem; hcssp problems lists them")
    parser.add_argument("--blank", action="store_true", help="a minimal problem with comments")
    add(parser, "--out", help="write the file there instead of to stdout")
    add(parser, "--json", help="write JSON instead of YAML")
    add(parser, "--set", "--scale")


def _new(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.files.atomic import check_writable, write_atomically

    if arguments.out is not None:
        check_writable(arguments.out)
    text = _blank(arguments) if arguments.blank else _built_in(arguments)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(arguments.out, text)
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
    text, note = scenario.file_to_begin(arguments.scale, **settings_of(arguments.settings))
    if note:
        print(note, file=sys.stderr)
    return to_json(yaml.safe_load(text)) if arguments.json else text


NEW = Command(
    """\
Write a built-in problem as a problem file on stdout, to begin your own with; or, with --blank,
a small one with comments that explain every line:

  hcssp new small-building --out mine.yaml
  hcssp new --blank --out mine.yaml
  hcssp solve mine.yaml

Solving the file gives the same figures as solving the built-in problem; of those that would be tables
of thousands of lines a small or simpler one is written, unless --set or --scale says how large. Files
that people have written have parameters, so that --set works with them as well.""",
    _add_new,
    _new,
)


_WRITERS = {"rmf": "a building of Open-RMF (*.building.yaml)", "nav2": "a route graph of Nav2 (*.geojson)"}


def _add_import(parser: argparse.ArgumentParser) -> None:
    kinds = "; ".join(f"{kind}: {what}" for kind, what in _WRITERS.items())
    parser.add_argument("kind", choices=tuple(_WRITERS), metavar="KIND", help=kinds)
    parser.add_argument("file", type=Path, metavar="FILE", help="the map")
    parser.add_argument("--from", dest="start", metavar="PLACE", help="where the mission begins")
    parser.add_argument("--to", nargs="+", default=[], metavar="PLACE", help="the stops, in order")
    parser.add_argument(
        "--zone",
        action="append",
        default=[],
        metavar="NAME=[LEVEL:]X,Y,W,H",
        help="a rectangle in the coordinates of the map where more people are met; NAME becomes a parameter",
    )
    parser.add_argument(
        "--keep-out",
        action="append",
        default=[],
        metavar="[LEVEL:]X,Y,W,H",
        help="a rectangle that no lane may touch",
    )
    parser.add_argument("--graph", type=int, metavar="N", help="rmf: the lanes of one fleet only")
    parser.add_argument(
        "--battery-step",
        type=amount,
        metavar="PERCENT",
        help="make the battery a capacity that no run exceeds, counted in these steps",
    )
    add(parser, "--out", help="write the file there instead of to stdout")


def _import(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.exchange.sites import Zone, mission, read_building, read_route_graph
    from hcssp.files.atomic import check_writable, write_atomically

    zones = [Zone.parse(text, named=True) for text in arguments.zone]
    zones += [Zone.parse(text, named=False) for text in arguments.keep_out]
    if arguments.out is not None:
        check_writable(arguments.out)
    if arguments.kind == "rmf":
        site = read_building(arguments.file, graph=arguments.graph, zones=zones)
    elif arguments.graph is not None:
        raise UsageError("--graph: a route graph of Nav2 has no fleets; leave it out")
    else:
        site = read_route_graph(arguments.file, zones=zones)
    if arguments.start is None or not arguments.to:
        raise UsageError(f"name the stops with --from and --to; the places are {', '.join(site.places)}")
    text = mission(site, [arguments.start, *arguments.to], battery_step=arguments.battery_step)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(arguments.out, text)
    return SOLVED


IMPORT = Command(
    """\
Write a mission on the map of a robot fleet as a problem file, to edit and to solve. The map is a
building of Open-RMF or a route graph of Nav2; the mission visits some of its places in order:

  hcssp import rmf office.building.yaml --from charger --to pantry lounge --out mission.yaml
  hcssp import nav2 graph.geojson --from 0 --to 12 --out mission.yaml
  hcssp solve mission.yaml

Doors may be locked, lifts may be out of order, and people may be met on the lanes. How often, and
what it costs, are parameters of the file.""",
    _add_import,
    _import,
)


def _add_list(parser: argparse.ArgumentParser) -> None:
    add(parser, "--json")


def _problems(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.reports.problem_text import problems_document, problems_in_words

    answer(arguments, problems_document, lambda _: problems_in_words())
    return SOLVED


PROBLEMS = Command(
    """\
List the built-in problems, which can be solved by their names and written as files (hcssp new), with
their sizes, and under each its parameters: numbers that --set changes.

  hcssp solve evacuation --set locked=5% --set intended=0.95""",
    _add_list,
    _problems,
)


def _methods(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.reports.problem_text import methods_document, methods_in_words

    answer(arguments, methods_document, lambda _: methods_in_words())
    return SOLVED


METHODS = Command("List the methods of hcssp solve; the first is the default.", _add_list, _methods)


def _schema(arguments: argparse.Namespace, interruption: Interruption) -> int:
    from hcssp.files.problem_file.format import schema_text

    sys.stdout.write(schema_text())
    return SOLVED


SCHEMA = Command(
    """\
Print the JSON Schema of problem files, for editors and other programs. YAML and JSON files have
the same schema. hcssp itself finds more mistakes than a schema can, and says where they are.""",
    lambda parser: None,
    _schema,
)
