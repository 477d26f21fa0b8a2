"""Is the engine slower than at another commit? Some 40 problems, solved by both, as ratios.

Every measurement is a fresh process with the sources of one tree: the working tree, or a temporary
``git worktree`` of the other commit. The two take turns. Compared are the processor time (with that of child
processes), the search nodes and the peak memory; a ratio above 1 means that the working tree needs more. Of
several repetitions the least time counts, since noise only adds. Building a problem and importing the package
are not timed, except in "cold start" and "reading". The answers are compared, too: the exit code is 1 if they
differ or if the working tree fails.

    make regression                                  # against the default commit
    make regression AGAINST=HEAD                     # what the uncommitted changes cost
    python benchmarks/regression.py --only evacuation --repeat 5
    python benchmarks/regression.py --certificates   # of the working tree's plans, checked in integers

Each entry of :data:`PROBLEMS` is a function that prepares the work, untimed, and returns it as a function,
which is timed. Problems use as little as possible of the public API, since both commits must have it. A
problem that one of the commits cannot run is reported and left out of the ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import announce, figure, number, run_apart, table

ROOT = Path(__file__).resolve().parent.parent
AGAINST = "384164d"
REPEAT = 3
GAP, ROUGH_GAP = 1e-6, 1e-3
TIME_LIMIT = 60.0  # seconds for a search; it then ends without a proof
HANG_GUARD = 600.0  # seconds for a process
ROUNDING = 1e-7  # the relative difference of two values that are meant to be the same
HEADER = "format: hcssp-problem\nversion: 1\ncosts: [time, damage]\n"
MEASURED = {"seconds": "time", "nodes": "nodes", "megabytes": "memory"}

Work = Callable[[], Any]
"""The timed part of a problem. It returns an object with a lower and an upper bound, such as a plan."""

Answer = dict[str, Any]
"""What one process measured; ``{"error": ...}`` if it failed."""


# The problems. hcssp is imported inside functions: only child processes need it.


def solving(problem: Any, gap: float = GAP) -> Work:
    """Solve a problem to a relative gap."""
    import hcssp

    return lambda: hcssp.solve(problem, stop=stop(gap))


def stop(gap: float = GAP) -> list[Any]:
    """The stop criteria of every search."""
    import hcssp

    return [hcssp.Gap(gap), hcssp.MaxRuntime(TIME_LIMIT)]


def named(name: str, bounds: Mapping[str, float] | None = None, **parameters: float) -> Any:
    """A built-in problem, or a problem file in the folder of examples."""
    import hcssp

    path = ROOT / "examples" / name
    problem = hcssp.find_problem(path if path.is_file() else name, parameters)
    return problem if bounds is None else problem.with_bounds(bounds)


def evacuation(bound: float, **parameters: float) -> Any:
    """The built-in evacuation."""
    return named("evacuation", {"damage": bound}, **parameters)


def loaded(text: str) -> Any:
    """The problem that a problem file with this text states."""
    import hcssp

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.yaml"
        path.write_text(text, encoding="utf-8")
        return hcssp.load(path)


def flat_grid(size: int, bounds: Iterable[float], seed: int) -> Any:
    """A flat slippery grid, from corner to corner, with rectangles of hazards: one cost for each bound."""
    import hcssp

    draw = random.Random(seed)
    limits = {f"damage {number}": bound for number, bound in enumerate(bounds)}
    hazards = []
    for name in limits:
        for _ in range(size // 2):
            column, row = draw.randint(1, size - 3), draw.randint(1, size - 3)
            hazards.append(hcssp.Hazard(column, row, draw.randint(1, 4), draw.randint(1, 4), {name: 1.0}))
    grid = hcssp.GridWorld(
        size, size, start=(1, 1), goal=(size, size), hazards=hazards, slip=0.1, bounds=limits
    )
    return grid.to_cssp()


def implicit(maker: str, *sizes: int, bound: float) -> Any:
    """A problem of ``flat_problems.py``, given by functions."""
    import flat_problems

    import hcssp

    rows: dict[Any, list[Any]] = {}
    for state, costs, successors in getattr(flat_problems, maker)(*sizes):
        rows.setdefault(state, []).append((costs, successors))
    return hcssp.ImplicitCSSP(
        next(iter(rows)),
        lambda state: range(len(rows[state])),
        lambda state, action: rows[state][action][1],
        lambda state, action: rows[state][action][0],
        lambda state: state == flat_problems.GOAL,
        cost_names=("cost", "risk"),
        bounds={"risk": bound},
    )


def flat(maker: str, *sizes: int, bound: float) -> Any:
    """The same problem with all its states listed."""
    return implicit(maker, *sizes, bound=bound).enumerated()


def shop() -> Any:
    """An inventory of 250 states that takes hundreds of nodes."""
    return flat("inventory", 20, 12, bound=15.0)


def implicit_grid(size: int) -> Any:
    """A grid given by functions of many states at once, from ``implicit_spaces.py``."""
    from implicit_spaces import slippery_grid

    return slippery_grid(size)


def drawn_room(width: int, height: int, seed: int) -> str:
    """A model for a problem file: a room with fires, two openings in the west and two in the east."""
    draw = random.Random(seed)
    openings = {0: "PX", height - 1: "QY"}
    lines = ["#" * (width + 2)]
    for row in range(height):
        west, east = openings.get(row, "##")
        lines.append(west + "".join(draw.choice("...~") for _ in range(width)) + east)
    drawing = "".join(f"        {line}\n" for line in [*lines, lines[0]])
    return (
        f"    grid:\n      map: |\n{drawing}      hazards: {{'~': {{damage: 1}}}}\n      slip: 0.1\n"
        "      places: {north west: P, south west: Q, north east: X, south east: Y}\n"
    )


def exits(kinds: int, uses: int, bound: float, size: int = 8) -> Any:
    """A chain of multi-exit activities: the plan of a room decides by which side it is left."""
    models = "".join(f"  room {kind}:\n{drawn_room(size, size, kind)}" for kind in range(kinds))
    activities, events = (
        "",
        "    begin: {enter: [{probability: 0.5, to: 0 n}, {probability: 0.5, to: 0 s}]}\n",
    )
    for use in range(uses):
        for side in ("north", "south"):
            name, last = f"{use} {side[0]}", use + 1 == uses
            to = "out" if last else f"{{north east: {use + 1} n, south east: {use + 1} s}}"
            goal = "[north east, south east]"
            activities += f"  cross {name}: {{model: room {use % kinds}, start: {side} west, goal: {goal}}}\n"
            events += f"    {name}: {{cross: {{runs: cross {name}, to: {to}}}}}\n"
    return loaded(
        f"{HEADER}models:\n{models}activities:\n{activities}"
        f"procedure:\n  start: begin\n  end: out\n  events:\n{events}"
        f"constraints: {{damage: {{at_most: {bound}}}}}\n"
    )


def nested(floors: int, bound: float, limit: float | None = None) -> Any:
    """Floors that are procedures, crossed through a room or by a slow lift; perhaps a limit for each."""
    limited = "" if limit is None else f"    constraints: {{damage: {{at_most: {limit}}}}}\n"
    uses = "".join(f"  floor {number}: {{procedure: floor}}\n" for number in range(floors))
    events = "".join(f"    e{k}: {{down: {{runs: floor {k}, to: e{k + 1}}}}}\n" for k in range(floors))
    return loaded(
        f"""{HEADER}models:
  room:
{drawn_room(10, 6, seed=5)}procedures:
  floor:
    activities:
      north: {{model: room, start: north west, goal: north east}}
      south: {{model: room, start: south west, goal: south east}}
      turn: {{model: room, start: north west, goal: south east}}
      lift:
        table: {{hall: {{wait: {{to: {{below: 0.1, hall: 0.9}}, costs: {{time: 3}}}}}}}}
        start: hall
        goal: below
    procedure:
      start: hall
      end: below
      events:
        hall:
          go north: {{runs: north, to: below}}
          try south:
            - {{probability: 0.7, runs: south, to: below}}
            - {{probability: 0.3, runs: turn, to: below}}
          lift: {{runs: lift, to: below}}
{limited}activities:
{uses}procedure:
  start: e0
  end: e{floors}
  events:
{events}constraints: {{damage: {{at_most: {bound}}}}}
"""
    )


def identical(kind: str, uses: int) -> str:
    """A problem file of a chain of activities with a few plans each, from ``bench_alike.py``."""
    from bench_alike import problem_text

    return problem_text(kind, uses)


def cold_start() -> Work:
    """The command in a new process, with all its imports."""
    command = ["solve", "evacuation", "--bound", "damage=2", "--gap", "0.1", "--json", "--quiet"]

    def run() -> Any:
        done = subprocess.run([sys.executable, "-m", "hcssp", *command], stdout=subprocess.PIPE, check=True)
        return argparse.Namespace(**json.loads(done.stdout))

    return run


def after_solving(problem: Any, then: Callable[[Any], Any]) -> Work:
    """Do something with the plan of a problem; finding the plan is not timed."""
    plan = solving(problem)()
    return lambda: then(plan)


def checking(problem: Any) -> Work:
    """Check the certificate of a plan; neither plan nor certificate is timed."""
    import hcssp

    certificate = solving(problem)().certificate
    return lambda: hcssp.check(problem, certificate)


PROBLEMS: dict[str, Callable[[], Work]] = {
    "cold start": cold_start,
    **{
        f"evacuation {bound:g}": lambda bound=bound: solving(evacuation(bound))
        for bound in (0.01, 0.1, 1.0, 2.0, 5.0, 8.0, 10.0)
    },
    "evacuation-text": lambda: solving(named("evacuation-text", {"damage": 3.0})),
    "two floors": lambda: solving(named("two_floors/two-floors.yaml")),
    "drone": lambda: solving(named("drone/drone.yaml")),
    "campus, 2 bounds": lambda: solving(named("campus", {"damage": 15.0, "smoke": 2.0})),
    "campus, 3 bounds": lambda: solving(named("campus", {"damage": 6.0, "smoke": 1.5, "energy": 6.0})),
    "campus, large": lambda: solving(named("campus", {"damage": 40.0}, buildings=4, floors=4, size=12)),
    **{
        name: lambda name=name: solving(named(name))
        for name in (
            *("delivery", "elevators", "patient"),
            *("racetrack", "rover", "routing", "search-and-rescue"),
        )
    },
    **{
        f"cycles, {count} bounds": lambda count=count: solving(named("random", constraints=count), ROUGH_GAP)
        for count in (2, 3, 4, 5)
    },
    "several exits": lambda: solving(exits(6, 6, 5.9)),
    "identical rooms": lambda: solving(exits(1, 8, 14.5)),
    "identical activities": lambda: solving(loaded(identical("three plans", 300))),
    "similar activities": lambda: solving(loaded(identical("copies", 150))),
    "reading": lambda: lambda: solving(loaded(identical("three plans", 300)))(),
    "nested": lambda: solving(nested(16, 20.0)),
    "nested, limits": lambda: solving(nested(4, 5.5, 1.5)),
    "flat grid, 1 bound": lambda: solving(flat_grid(12, [4.0], 1)),
    "flat grid, 2 bounds": lambda: solving(flat_grid(20, [4.0, 3.0], 7)),
    "flat grid, 3 bounds": lambda: solving(flat_grid(10, [4.0, 3.0, 3.0], 2)),
    "flat grid, 4 bounds": lambda: solving(flat_grid(10, [1.5, 6.0, 6.0, 4.0], 3)),
    "flat grid, 5 bounds": lambda: solving(flat_grid(9, [2.5, 4.0, 2.0, 4.0, 4.0], 4)),
    "flat inventory": lambda: solving(shop()),
    "flat charging": lambda: solving(flat("charging", 20, 10, bound=8.0)),
    "implicit inventory": lambda: solving(implicit("inventory", 20, 12, bound=15.0), ROUGH_GAP),
    "implicit grid": lambda: solving(implicit_grid(300), ROUGH_GAP),
    "other bound": lambda: after_solving(evacuation(2.0), lambda plan: plan.resolve(damage=1.0, stop=stop())),
    "replanning": lambda: after_solving(
        evacuation(2.0), lambda plan: plan.replan(problem=evacuation(2.0, locked=0.4), stop=stop())
    ),
    "certificate": lambda: after_solving(evacuation(8.0), lambda plan: plan.certificate and plan),
    "certificate, flat": lambda: after_solving(shop(), lambda plan: plan.certificate and plan),
    "check": lambda: checking(evacuation(8.0)),
    "check, flat": lambda: checking(shop()),
}


# One measurement, in a process of its own.


def measure(name: str, tree: str) -> Answer:
    """Prepare a problem, do its work, and measure that."""
    import hcssp

    if not Path(hcssp.__file__).is_relative_to(tree):
        raise RuntimeError(f"hcssp was imported from {hcssp.__file__}, not from {tree}")
    warm_up()
    work = PROBLEMS[name]()
    began, _ = used()
    found = work()
    ended, megabytes = used()
    return {
        "seconds": ended - began,
        "nodes": getattr(found, "iterations", None),
        "megabytes": megabytes,
        "status": str(getattr(found, "status", "")),
        "lower_bound": figure(found.lower_bound),
        "upper_bound": figure(found.upper_bound),
    }


def warm_up() -> None:
    """Import what a search, a certificate and its check need."""
    for problem in (named("small-building"), flat_grid(6, [1.0], 0)):
        checking(problem)()


def used() -> tuple[float, float]:
    """Processor seconds and peak memory of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    kilobytes = max(usage.ru_maxrss for usage in usages) / (1024 if sys.platform == "darwin" else 1)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages), kilobytes * 1024 / 1e6


# The comparison.


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A temporary worktree of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        subprocess.run(
            ["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, commit], check=True
        )
        try:
            yield tree
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)


def compare(names: Iterable[str], trees: tuple[Path, Path], repeat: int) -> dict[str, list[Answer]]:
    """For each problem the answer of the other commit and that of the working tree."""
    answers: dict[str, list[Answer]] = {}
    for name in names:
        announce(name)
        runs: list[list[Answer]] = [[], []]
        for turn in range(repeat):
            # Who begins changes, too.
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                runs[which].append(measured_apart(name, trees[which]))
        answers[name] = [min(each, key=lambda answer: answer.get("seconds", 0.0)) for each in runs]
    return answers


def measured_apart(name: str, tree: Path) -> Answer:
    """:func:`measure` in a fresh process with the sources of `tree`."""
    try:
        answer = run_apart("regression", "measure", {"name": name, "tree": str(tree)}, HANG_GUARD, tree)
    except subprocess.CalledProcessError as error:
        return {"error": f"failed with exit code {error.returncode}"}
    return {"error": f"did not end within {HANG_GUARD:g} s"} if answer is None else answer


def ratio(before: Answer, after: Answer, key: str) -> float | None:
    """How many times as much the working tree needs; None if either is unknown."""
    return after[key] / before[key] if before.get(key) and after.get(key) else None


def difference(before: Answer, after: Answer) -> str:
    """What differs in two answers beyond their tolerance; empty if nothing does."""
    for which, answer in (("the other commit", before), ("the working tree", after)):
        if "error" in answer:
            return f"{which} {answer['error']}"
    if before["status"] != after["status"]:
        return f"status {before['status']}, now {after['status']}"
    lower, upper = "lower_bound", "upper_bound"
    for proven, found in ((before, after), (after, before)):
        if None not in (proven[lower], found[upper]) and proven[lower] > found[upper] + _slack(found[upper]):
            return f"contradiction: proven to be at least {proven[lower]!r}, found {found[upper]!r}"
    tolerance = 2.0 * (GAP if before["status"] == "optimal" else ROUGH_GAP)
    for key in (lower, upper):
        old, new = before[key], after[key]
        if (old is None) != (new is None) or (old is not None and abs(new - old) > _slack(old, tolerance)):
            return f"{key} {old!r}, now {new!r}"
    return ""


def _slack(value: float, relative: float = ROUNDING) -> float:
    return relative * max(1.0, abs(value))


def report(answers: dict[str, list[Answer]], title: str) -> str:
    """The table of all problems, with the median, the sum and the worst of each ratio."""
    rows: dict[str, list[str]] = {name: [name] for name in [*answers, "median", "sum", "worst"]}
    for key in MEASURED:
        ratios = {name: ratio(*pair, key) for name, pair in answers.items()}
        for name, pair in answers.items():
            rows[name] += [*(number(answer.get(key), ".4g") for answer in pair), number(ratios[name], ".2f")]
        known = {name: each for name, each in ratios.items() if each is not None}
        sums = [sum(answers[name][which][key] for name in known) for which in (0, 1)]
        rows["sum"] += [number(each, ".4g") for each in sums]
        rows["sum"].append(number(sums[1] / sums[0] if known else None, ".2f"))
        rows["median"] += ["", "", number(statistics.median(known.values()) if known else None, ".2f")]
        worst = max(known, key=lambda name: known[name], default=None)
        rows["worst"] += ["", "", number(None if worst is None else known[worst], ".2f")]
        title += f"\nWorst {MEASURED[key]}: {worst}"
    header = ["", *(cell for short in MEASURED.values() for cell in (short, "now", "ratio"))]
    return table(title, header, rows.values())


def check_certificates(names: Iterable[str]) -> int:
    """Check the certificate of every plan in integers; return how many fail or prove too little."""
    import hcssp

    failures = 0
    for name in names:
        plan = PROBLEMS[name]()()
        if not isinstance(plan, hcssp.Plan):
            continue
        try:
            verdict = hcssp.check(plan.problem, plan.certificate, exact=True)
            lacking = plan.lower_bound - verdict.lower_bound > _slack(plan.lower_bound, 2.0 * GAP)
            found = "proves less than its search" if lacking else "checked"
        except hcssp.HcsspError as error:
            lacking, found = True, f"FAILED: {error}"
        failures += lacking
        print(f"{name:22} {found}", flush=True)
    return failures


def main() -> int:
    """Read the options, measure, and print the table."""
    options = argparse.ArgumentParser(description="Compare the working tree with another commit.")
    options.add_argument("--against", default=AGAINST, metavar="COMMIT", help="(default: %(default)s)")
    options.add_argument("--only", default="", metavar="PATTERN", help="problems whose name contains it")
    options.add_argument("--repeat", type=int, default=REPEAT, metavar="N", help="(default: %(default)s)")
    options.add_argument("--certificates", action="store_true", help="check certificates instead")
    options.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE, too")
    arguments = options.parse_args()
    names = [name for name in PROBLEMS if arguments.only in name]
    if not names or arguments.repeat < 1:
        options.error(
            f"no problem's name contains {arguments.only!r}" if not names else "--repeat: at least 1"
        )
    if arguments.certificates:
        return min(1, check_certificates(names))
    with checked_out(arguments.against) as tree:
        answers = compare(names, (tree, ROOT), arguments.repeat)
    print(report(answers, f"The working tree beside {arguments.against}: seconds, nodes, megabytes"))
    differences = {name: found for name, pair in answers.items() if (found := difference(*pair))}
    print("\nAll answers agree." if not differences else "\nAnswers differ:")
    for name, found in differences.items():
        print(f"  {name}: {found}")
    if arguments.json is not None:
        document = {"against": arguments.against, "repeat": arguments.repeat, "answers": answers}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
