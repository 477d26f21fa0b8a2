"""``hcssp methods`` lists the methods by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from hcssp.cli.exit_codes import SOLVED

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption

HELP = "list the methods"
DESCRIPTION = "List the methods of hcssp solve; the first is the default."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there is nothing to say about a list."""


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the methods."""
    from hcssp.solving.registry import METHODS

    for method in METHODS.values():
        print(f"{method.name:<18} {method.description} (stops at a gap of {method.gap:g})")
    return SOLVED
