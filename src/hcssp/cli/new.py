"""``hcssp new``: write a built-in problem as a problem file, to begin one's own with."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from hcssp.cli.arguments import add_setting_arguments
from hcssp.cli.exit_codes import SOLVED
from hcssp.cli.problems import settings_of

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption

HELP = "write a built-in problem as a file, to begin your own with"
DESCRIPTION = """\
Write a built-in problem as a problem file on stdout, to begin your own with:

  hcssp new small-building > mine.yaml
  hcssp solve mine.yaml

Solving the file gives the same figures as solving the built-in problem; of those that would be tables
of many megabytes a small one is written, unless --set or --scale says how large. Dials that are numbers in it
are its parameters, so that --set works with the file as well, unless it is very large."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hcssp new``."""
    parser.add_argument("problem", metavar="PROBLEM", help="a built-in problem; hcssp problems lists them")
    parser.add_argument("--json", action="store_true", help="write JSON instead of YAML")
    add_setting_arguments(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the file."""
    from hcssp.files.problem_file.dumping import written
    from hcssp.files.problem_file.parametrising import parametrised
    from hcssp.scenarios.registry import find_scenario

    scenario, settings = find_scenario(arguments.problem), settings_of(arguments.settings)
    if not settings and arguments.scale == 1 and scenario.starter:
        settings = {name: Fraction(value) for name, value in scenario.starter.items()}
        told = " ".join(f"--set {name}={value:g}" for name, value in scenario.starter.items())
        print(f"a small one, to begin with: {told}", file=sys.stderr)
    dials = {dial.name: dial for dial in scenario.dials}
    document = parametrised(lambda given: scenario.make(arguments.scale, **given), dials, settings)
    sys.stdout.write(written(document, "json" if arguments.json else "yaml"))
    return SOLVED
