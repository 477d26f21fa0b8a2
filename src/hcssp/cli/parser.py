"""The command line's grammar: commands, their options and their help.

What is wrong with the arguments becomes a :class:`UsageError`, a single message without a page of usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, NoReturn

from hcssp.cli.arguments import UsageError
from hcssp.errors import UnknownName
from hcssp.version import __version__

if TYPE_CHECKING:
    from hcssp.cli.running import Interruption

COMMANDS = {
    "solve": "solve a problem",
    "evaluate": "recompute what a saved plan costs, and whether it keeps the bounds",
    "check": "verify a proof that a plan is the best, or that there is none",
    "simulate": "follow a saved plan many times: means, percentiles, and one run in words",
    "robust": "the worst case of a saved plan if the probabilities are wrong",
    "why": "why a saved plan does what it does at an event or in a state",
    "replan": "a new plan for the rest of a saved one, from where its execution is",
    "curve": "trade a bound off against the cost: a table, CSV, JSON and a plot",
    "sweep": "solve for all combinations of parameters and bounds: a table, CSV, Parquet, a plot, a page",
    "show": "show what a problem is made of: sizes, and the procedure as a tree or a graph",
    "report": "write a plan as one page: its costs, its map, its proof, and what other bounds would mean",
    "serve": "edit a problem and watch its plan in the browser; an API for robots and scripts",
    "new": "write a built-in problem as a file, to begin your own with",
    "import": "write a mission in a building of Open-RMF or on a route graph of Nav2 as a file",
    "table": "run the paper's table and print it beside the published one",
    "bench": "compare methods and other tools over a suite of problems: a page, CSV and a table of ratios",
    "methods": "list the methods",
    "problems": "list the built-in problems",
    "schema": "print the JSON Schema of problem files",
}
"""Every command and its help."""

_HOMES = {
    **dict.fromkeys(("evaluate", "check", "simulate", "robust", "why"), "saved_plans"),
    **dict.fromkeys(("show", "new", "import", "methods", "problems", "schema"), "listings"),
}
"""The modules of commands that share one; any other command has the module of its name."""

_EPILOG = """\
examples:
  hcssp solve evacuation --bound damage=2
  hcssp solve evacuation --bound damage=2 --method budget-allocation --gap 1e-3 --time-limit 30
  hcssp solve small-building --bound damage=1.5 --json
  hcssp new small-building > mine.yaml
  hcssp solve mine.yaml
  hcssp solve mine.yaml --out plan.json
  hcssp evaluate mine.yaml plan.json
  hcssp solve mine.yaml --certificate proof.cert
  hcssp check mine.yaml proof.cert
  hcssp simulate mine.yaml plan.json --runs 100000
  hcssp replan mine.yaml plan.json --at hallway --spent damage=0.5 --out rest.json
  hcssp why mine.yaml plan.json --at start
  hcssp curve evacuation --constraint damage --from 0 --to 20 --plot curve.png
  hcssp sweep small-building --set locked=0.1:0.5:0.1 --bound damage=1,2,5
  hcssp show mine.yaml --plot procedure.png
  hcssp report mine.yaml plan.json --out report.html
  hcssp serve mine.yaml
  hcssp table --bound damage=2,5

exit codes: 0 solved; 1 no feasible plan exists, none was found in time, the one evaluated breaks its
bounds, or the proof checked does not hold; 2 bad input, or an output that cannot be written; 3 a fault of
this program; 130 interrupted
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; ``run`` is the command's function.

    Raises
    ------
    UsageError, UnknownName
        If they make no sense.
    """
    parser = _Parser(
        prog="hcssp",
        description="Plans under uncertainty that keep their budgets, with a proof of how good they are.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hcssp {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    asked = next(iter(argv), "")
    if not asked.startswith("-") and argv and asked not in COMMANDS:
        raise UnknownName("command", asked, COMMANDS)
    for each in argv:
        # argparse would pass an empty list on.
        if each.startswith("--") and each.endswith("=--"):
            raise UsageError(f"argument {each[:-3]}: '--' is no value")
    if asked not in COMMANDS:
        for name, summary in COMMANDS.items():
            commands.add_parser(name, help=summary)
        return parser.parse_args(argv)
    wanted = find_command(asked)
    command = commands.add_parser(
        asked,
        description=wanted.description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    wanted.add_arguments(command)
    command.set_defaults(run=wanted.run)
    _refuse_unknown_options(argv[1:], command)
    arguments, unexpected = parser.parse_known_args(argv)
    if unexpected:
        raise UsageError(f"unexpected argument {unexpected[0]!r}; see {command.prog} --help")
    return arguments


def _refuse_unknown_options(given: Sequence[str], command: argparse.ArgumentParser) -> None:
    """Refuse an option that there is not, before argparse says that something else is missing."""
    known = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
    for option in (each.partition("=")[0] for each in takewhile(lambda each: each != "--", given)):
        if option.startswith("--") and " " not in option and option not in known:
            from difflib import get_close_matches

            nearest = get_close_matches(option.strip("-"), [name.strip("-") for name in known], n=1)
            guess = f"; did you mean --{nearest[0]}?" if nearest else ""
            raise UsageError(f"unknown option {option}{guess}; see {command.prog} --help")


@dataclass(frozen=True)
class Command:
    """A command: what it is for, what adds its options, and what runs it and returns the exit code."""

    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Interruption], int]


def find_command(name: str) -> Command:
    """A command, whose module is imported only now.

    A module of several commands has each under its name in capitals; the only command of a module is the
    module's ``DESCRIPTION``, ``add_arguments`` and ``run``.
    """
    module = import_module(f"hcssp.cli.{_HOMES.get(name, name)}")
    if name in _HOMES:
        command: Command = getattr(module, name.upper())
        return command
    return Command(module.DESCRIPTION, module.add_arguments, module.run)
