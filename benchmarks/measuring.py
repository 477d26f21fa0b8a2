"""What the benchmarks share: measuring in a process of its own, aims, and tables.

Every measurement runs in a fresh Python, so that none of them profits from what another has cached and each
has its own peak memory. The parent names a function of a benchmark and its arguments; the child calls it and
answers with one line of JSON::

    answer = run_apart("bench_scale", "measure_scale", {"scale": 4}, timeout=600.0)

Benchmarks import nothing heavy at their top: Linux counts the memory of the parent into the peak of a child,
and so a light parent is what makes the figure the child's own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))  # for problems that tests solve, too

# A start of Python and the imports come on top of what is measured.
_START_ALLOWANCE = 30.0
_NOT_SHOWN = ("cores", "busy_cores_before")
_BUSY = 0.25  # more cores than this at work when nothing has been started yet


def run_apart(
    module: str,
    function: str,
    arguments: Mapping[str, Any],
    timeout: float | None = None,
    worktree: Path | None = None,
) -> dict[str, Any] | None:
    """Call a function of a benchmark in a fresh process; None if it took longer than `timeout`.

    Parameters
    ----------
    module, function
        What to call.
    arguments
        By name, as JSON can say them.
    timeout
        Seconds after which the child is ended; the start of Python is allowed for.
    worktree
        Where another commit is checked out whose sources are to be measured.

    Returns
    -------
    dict
        The function's answer, with ``"startup_seconds"`` (from the call to the child's first own line) added.
    """
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
    if worktree is not None:
        environment["PYTHONPATH"] = str(worktree / "src")
    command = [sys.executable, str(HERE / "measuring.py"), module, function, json.dumps(dict(arguments))]
    # The clock is the system's, the same for parent and child.
    command.append(repr(time.perf_counter()))
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=environment,
            timeout=None if timeout is None else timeout + _START_ALLOWANCE,
        )
    except subprocess.TimeoutExpired:
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def peak_memory() -> float:
    """The peak resident memory of this process so far, in MB (10^6 bytes)."""
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def time_factorisations(systems: Sequence[Any], repeats: int) -> list[float]:
    """Seconds of one sparse LU of every one of `systems` (scipy's ``splu``, as it comes), several times."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    columns = [csc_array(system) for system in systems]
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        for system in columns:
            splu(system)
        seconds.append(time.perf_counter() - began)
    return seconds


def figure(value: float) -> float | None:
    """A number that JSON can say: None for what is infinite or no number."""
    return float(value) if isfinite(value) else None


def verdict(value: float | None, aim: float, *, at_least: bool = False, exceeded: bool = False) -> str:
    """An aim, and whether it was reached.

    Parameters
    ----------
    value
        What was measured; None if it never came to that: beyond every limit, and no say about a minimum.
    aim
        A limit, or with `at_least` a minimum.
    exceeded
        All that is known is that the true value is above `value`.

    >>> verdict(12.0, 15), verdict(None, 15), verdict(90.0, 200, at_least=True, exceeded=True)
    ('<= 15: reached', '<= 15: missed', '>= 200: open')
    """
    says = f"{'>=' if at_least else '<='} {aim:g}: "
    if value is None:
        return says + ("open" if at_least else "missed")
    if (value >= aim) if at_least else (value <= aim and not exceeded):
        return says + "reached"
    return says + ("open" if at_least and exceeded else "missed")


def number(value: float | None, form: str = ".3g", *, exceeded: bool = False) -> str:
    """A figure for a table; ``> 120`` if all that is known is that it is more."""
    if value is None:
        return "-"
    return f"{'> ' if exceeded else ''}{value:{form}}"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in plain text: the first column to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def aligned(line: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(w) if k == 0 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join(["", title, "", aligned(lines[0]), rule, *(aligned(line) for line in lines[1:])])


def announce(what: str) -> None:
    """Tell on stderr what is being measured now."""
    print(f"measuring {what}", file=sys.stderr, flush=True)


def circumstances() -> dict[str, Any]:
    """The machine and the versions, for whoever compares figures."""
    return {
        "cores": os.cpu_count(),
        "busy_cores_before": _busy_cores(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "highspy", "hcssp")},
    }


def _busy_cores() -> float:
    """How many cores are at work while this process sleeps; elsewhere than on Linux the load, which lags."""
    path = Path("/proc/stat")
    if not path.exists():
        return os.getloadavg()[0]
    ticks = []
    for pause in (1.0, 0.0):
        # The first line: user, nice, system, idle, waiting, ... of all cores together.
        ticks.append(
            [int(count) for count in path.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        )
        time.sleep(pause)
    spent = [after - before for before, after in zip(*ticks, strict=True)]
    idle = spent[3] + spent[4]
    return (os.cpu_count() or 1) * (1.0 - idle / max(1, sum(spent)))


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with what every benchmark has."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--json", type=Path, metavar="FILE", help="write every figure to FILE too")
    return options


def run_benchmark(
    name: str, arguments: argparse.Namespace, measure: Callable[[argparse.Namespace], dict[str, Any]]
) -> None:
    """Say where it runs, measure (which prints its tables), and write the figures where they are wanted."""
    where = circumstances()
    shown = ", ".join(f"{key} {value}" for key, value in where.items() if key not in _NOT_SHOWN)
    print(f"\n=== {name}: {where['cores']} cores, {shown}")
    busy = where["busy_cores_before"]
    if busy > _BUSY:
        print(f"    The machine is busy ({busy:.1f} cores at work): the ratios are not to be trusted.")
    sys.stdout.flush()
    began = time.perf_counter()
    figures = measure(arguments)
    seconds = time.perf_counter() - began
    print(f"\n{name} took {seconds:.0f} s.", flush=True)
    if arguments.json is not None:
        document = {"benchmark": name, "machine": where, "seconds": seconds, **figures}
        arguments.json.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def median(values: Iterable[float]) -> float:
    """The median."""
    return float(statistics.median(values))


def _child(module: str, function: str, arguments: str, called: str) -> None:
    startup = time.perf_counter() - float(called)
    answer = getattr(importlib.import_module(module), function)(**json.loads(arguments))
    print(json.dumps({**answer, "startup_seconds": startup}, allow_nan=False))


if __name__ == "__main__":
    _child(*sys.argv[1:])
