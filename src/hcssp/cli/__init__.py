"""The command ``hcssp``: one table declares all commands, and nothing heavy is imported before it is needed.

Answers go to stdout (with ``--json`` exactly one object), progress and messages to stderr. Exit codes:
0 solved; 1 no feasible plan exists, none was found in time, the one that was evaluated breaks its bounds, or
the proof that was checked does not hold (the message says which); 2 bad input, or an output that cannot be
written; 3 a bug in hcssp; 130 interrupted, after the best plan so far was printed.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from hcssp.cli.commands import COMMANDS, parse
from hcssp.cli.running import (
    BAD_INPUT,
    BROKEN_PIPE,
    FAULT,
    INTERRUPTED,
    NO_PLAN,
    Faulty,
    Interruption,
    fault_in_words,
)
from hcssp.cli.session import Session
from hcssp.cli.terminal import Streams
from hcssp.errors import CannotWrite, DeadEnd, HcsspError
from hcssp.start import is_command

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
    given = list(sys.argv[1:] if argv is None else argv)
    code = _main(given)
    if is_command():
        # All is written. Taking the interpreter apart takes a tenth of a short command, and is disturbed by a
        # factorisation whose result is no longer wanted.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            # One that is closed or full has been reported already.
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _main(given: list[str]) -> int:
    with Streams() as streams:
        try:
            return _run(given, streams)
        except CannotWrite as error:
            streams.drop()
            return _failed(f"hcssp: error: {error}", BAD_INPUT)
        except DeadEnd as error:
            return _failed(f"hcssp: no plan: no policy ends: {error}", NO_PLAN)
        except HcsspError as error:
            return _failed(f"hcssp: error: {error}", BAD_INPUT)
        except MemoryError as error:
            what = f" ({error})" if str(error) else ""
            return _failed(f"hcssp: error: there is not enough memory{what}; ask for less", BAD_INPUT)
        except KeyboardInterrupt:
            return _failed("hcssp: interrupted", INTERRUPTED)
        except BrokenPipeError:
            # The reader has gone (hcssp ... | head); the interpreter must not complain when it flushes.
            streams.drop()
            return BROKEN_PIPE
        except Faulty as fault:
            return _failed(fault_in_words(fault.__cause__ or fault, given), FAULT)
        except Exception as error:  # noqa: BLE001 - a traceback helps no user
            return _failed(fault_in_words(error, given), FAULT)


def _run(argv: list[str], streams: Streams) -> int:
    try:
        arguments = parse(argv)
    except SystemExit as asked:
        # argparse leaves this way after --help and --version.
        streams.finish()
        return int(asked.code or 0)
    with Interruption() as interruption:
        code = COMMANDS[arguments.command].run(Session(arguments, interruption))
        streams.finish()
        return code


def _failed(message: str, code: int) -> int:
    # Of a very long name, the beginning and the end say which one is meant.
    print(
        re.sub(r"\S{300,}", lambda found: f"{found[0][:100]}[...]{found[0][-60:]}", message), file=sys.stderr
    )
    return code
