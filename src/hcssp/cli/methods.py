"""``hcssp methods`` lists the methods by name."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from hcssp.cli.arguments import add_json_argument
from hcssp.cli.exit_codes import SOLVED

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption

HELP = "list the methods"
DESCRIPTION = "List the methods of hcssp solve; the first is the default."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how the list is told."""
    add_json_argument(parser)


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the methods."""
    from hcssp.solving.registry import METHODS

    if arguments.json:
        listed = [
            {"name": each.name, "description": each.description, "gap": each.gap} for each in METHODS.values()
        ]
        print(json.dumps({"methods": listed}, allow_nan=False))
        return SOLVED
    for method in METHODS.values():
        print(f"{method.name:<18} {method.description} (stops at a gap of {method.gap:g})")
    return SOLVED
