"""``hcssp schema``: print the JSON Schema of problem files."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hcssp.cli.exit_codes import SOLVED

if TYPE_CHECKING:
    from hcssp.cli.interruption import Interruption

HELP = "print the JSON Schema of problem files"
DESCRIPTION = """\
Print the JSON Schema of problem files, for editors and other programs. YAML and JSON files have
the same schema. hcssp itself finds more mistakes than a schema can, and says where they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: there is one schema."""


def run(arguments: argparse.Namespace, interruption: Interruption) -> int:
    """Print the schema."""
    from hcssp.files.problem_file.format import schema_text

    sys.stdout.write(schema_text())
    return SOLVED
