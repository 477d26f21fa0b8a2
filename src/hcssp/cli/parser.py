"""The command line's grammar: commands, their options and their help.

What is wrong with the arguments becomes a :class:`UsageError`, a single message without a page of usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from hcssp.cli import (
    bench,
    check,
    curve,
    evaluate,
    methods,
    new,
    problems,
    replan,
    report,
    robust,
    schema,
    show,
    simulate,
    solve,
    sweep,
    table,
    why,
)
from hcssp.cli.arguments import UsageError
from hcssp.errors import UnknownName
from hcssp.version import __version__

_COMMANDS = {
    "solve": solve,
    "evaluate": evaluate,
    "check": check,
    "simulate": simulate,
    "robust": robust,
    "why": why,
    "replan": replan,
    "curve": curve,
    "sweep": sweep,
    "show": show,
    "report": report,
    "new": new,
    "table": table,
    "bench": bench,
    "methods": methods,
    "problems": problems,
    "schema": schema,
}

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
  hcssp show mine.yaml --png procedure.png
  hcssp report mine.yaml plan.json -o report.html
  hcssp table --bounds 2 5

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
    for name, module in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    # argparse would list the commands but not guess which was meant.
    if argv and not argv[0].startswith("-") and argv[0] not in _COMMANDS:
        raise UnknownName("command", argv[0], _COMMANDS)
    for each in argv:
        # argparse would take it for nothing at all, and hand on an empty list.
        if each.startswith("--") and each.endswith("=--"):
            raise UsageError(f"argument {each[:-3]}: '--' is no value")
    return parser.parse_args(argv)
