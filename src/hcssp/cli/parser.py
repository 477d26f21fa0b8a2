"""The command line's grammar: what is given, checked against the declared commands.

What is wrong with the arguments becomes a :class:`UsageError`, a single message without a page of usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import takewhile
from typing import NoReturn

from hcssp.cli.arguments import UsageError
from hcssp.cli.commands import COMMANDS
from hcssp.errors import UnknownName
from hcssp.version import __version__

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
bounds, or the proof checked does not hold; 2 bad input, or an output that cannot be written; 3 a bug in
hcssp; 130 interrupted
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The parsed arguments; ``command`` is the name of the command.

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
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, dest="command")
    asked = next(iter(argv), "")
    if not asked.startswith("-") and argv and asked not in COMMANDS:
        raise UnknownName("command", asked, COMMANDS)
    for each in argv:
        # argparse would pass an empty list on.
        if each.startswith("--") and each.endswith("=--"):
            raise UsageError(f"argument {each[:-3]}: '--' is not a value")
    if asked not in COMMANDS:
        for name, each_command in COMMANDS.items():
            commands.add_parser(name, help=each_command.summary)
        return parser.parse_args(argv)
    command = commands.add_parser(
        asked,
        description=COMMANDS[asked].description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    COMMANDS[asked].add_arguments(command)
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
