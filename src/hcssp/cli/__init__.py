"""The command ``hcssp``: one file a command, and nothing heavy imported before it is needed.

Answers go to stdout (with ``--json`` exactly one object), progress and messages to stderr. Exit codes:
0 solved; 1 no feasible plan exists, none was found in time, the one that was evaluated breaks its bounds, or
the proof that was checked does not hold (the message says which); 2 bad input; 130 interrupted, after what
was found so far has been printed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hcssp.cli.exit_codes import BAD_INPUT, BROKEN_PIPE, INTERRUPTED
from hcssp.cli.interruption import Interruption
from hcssp.cli.parser import parse
from hcssp.errors import HcsspError

__all__ = ["main"]

# The matrices that a search multiplies are small: threads inside the linear algebra would only wait for one
# another. Large activities are planned side by side instead. What the user has set stays.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv
        The arguments after the command's name; None: those of the process.
    """
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        with Interruption() as interruption:
            code: int = arguments.run(arguments, interruption)
            sys.stdout.flush()
            return code
    except HcsspError as error:
        print(f"hcssp: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("hcssp: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (hcssp ... | head); the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as asked:
        # argparse leaves this way after --help and --version.
        return int(asked.code or 0)
