"""Thousands of small tables, each written out: how long the file is read, and how soon there is a plan.

Activities of two states one after the other, under one bound or two, all alike or each with numbers of its
own, in YAML or JSON. The unit is what PyYAML's parser written in C needs to go through the same file. Given a
worktree of another commit, the same files are read there. All by the processor's clock; imports do not count.
And a PRISM model of 314,721 states, beside the time in which Storm builds it.

    python benchmarks/bench_reading.py
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import announce, number, parser, run_apart, run_benchmark, table, verdict

CASES = (
    ("alike", "yaml", 3_000),
    ("different", "yaml", 3_000),
    ("different", "json", 3_000),
    ("two bounds", "yaml", 3_000),
    ("by chance", "yaml", 3_000),
    ("different", "yaml", 6_000),
)
ASKED_FOR, AIM = 3_000, 1.0  # tables, and seconds to read them; as many to find a plan
CAP = 60.0
COUNTERS = 560
MODEL_AIM = 1.5  # times what Storm needs to build the model
MODEL = """mdp
const int N;
module counters
  x : [0..N] init 0;
  y : [0..N] init 0;
  [right] x<N -> 0.9 : (x'=x+1) + 0.1 : true;
  [up] y<N -> 0.8 : (y'=y+1) + 0.2 : (x'=max(0,x-1));
endmodule
label "done" = x=N & y=N;
rewards "time"
  [right] true : 1;
  [up] true : 2;
endrewards
rewards "energy"
  [up] true : 1;
  x=3 : 2;
endrewards
"""


def document(kind: str, uses: int) -> dict[str, Any]:
    """A problem file as plain data."""
    numbers = random.Random(5)

    def about(amount: float) -> float:
        return amount if kind == "alike" else round(amount * numbers.uniform(0.8, 1.2), 3)

    activities, events = {}, {}
    for use in range(uses):
        fast = {"to": "z", "costs": {"time": about(1.0), "damage": about(1.0)}}
        slow = {"to": "z", "costs": {"time": about(2.0)}}
        if kind == "two bounds":
            fast["costs"] |= {"wear": about(1.0)}  # type: ignore[operator]
            slow["costs"] |= {"wear": about(0.2)}  # type: ignore[operator]
        if kind == "by chance":
            again = round(numbers.uniform(0.05, 0.3), 3)
            fast["to"] = {"z": round(1.0 - again, 3), "a": again}
        activities[f"a{use}"] = {"table": {"a": {"x": fast, "y": slow}}, "start": "a", "goal": "z"}
        events[f"e{use}"] = {"c": {"runs": f"a{use}", "to": f"e{use + 1}"}}
    bounds = {"damage": {"at_most": uses / 3}}
    if kind == "two bounds":
        bounds["wear"] = {"at_most": 0.6 * uses}
    return {
        "format": "hcssp-problem",
        "version": 1,
        "costs": ["time", *bounds],
        "activities": activities,
        "procedure": {"start": "e0", "end": f"e{uses}", "events": events},
        "constraints": bounds,
    }


def written(content: Any, depth: int = 0) -> str:
    """Plain data as people write YAML: the inner parts on one line."""
    if not isinstance(content, dict):
        return f"[{', '.join(content)}]" if isinstance(content, list) else str(content)
    if depth > 2:
        return "{" + ", ".join(f"{key}: {written(value, depth + 1)}" for key, value in content.items()) + "}"
    indent = "\n" + "  " * depth
    return "".join(f"{indent}{key}: {written(value, depth + 1)}" for key, value in content.items())


def measure_reading(path: str) -> dict[str, Any]:
    """Read a problem file, and find a plan."""
    import yaml

    import hcssp
    from hcssp import FirstPlan, PolicyBranching, solve

    # What is imported when the first file is read, and the first problem solved, does not count.
    small = Path(path).with_name("small.yaml")
    solve(hcssp.load(small), PolicyBranching(), stop=[FirstPlan()])
    text = Path(path).read_text(encoding="utf-8")
    began = time.process_time()
    for _ in yaml.parse(text, Loader=yaml.CSafeLoader):
        pass
    parsed = time.process_time()
    problem = hcssp.load(path)
    read = time.process_time()
    plan = solve(problem, PolicyBranching(), stop=[FirstPlan()])
    done = time.process_time()
    return {
        "unit": parsed - began,
        "read": read - parsed,
        "plan": done - read,
        "found": plan.policy is not None,
    }


def measure_model(path: str) -> dict[str, Any]:
    """Read a PRISM model as arrays, and have Storm alone build it; the better of three runs each."""
    import stormpy

    from hcssp.exchange.reading import read_model

    reading, building = [], []
    for _ in range(3):
        began = time.process_time()
        read_model(path, {"N": COUNTERS}, whole=True)
        reading.append(time.process_time() - began)
        program = stormpy.parse_prism_program(path)
        program, _ = stormpy.instantiate_constants(program, f"N={COUNTERS}")
        options = stormpy.BuilderOptions()
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        began = time.process_time()
        built = stormpy.build_model(program.substitute_constants(), options=options)
        building.append(time.process_time() - began)
    return {"states": int(built.nr_states), "read": min(reading), "built": min(building)}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All files, here and there."""
    rows, figures = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counters.prism")
        path.write_text(MODEL, encoding="utf-8")
        announce("a PRISM model")
        model = run_apart("bench_reading", "measure_model", {"path": str(path)}, CAP) or {}
    times = None if not model else model["read"] / model["built"]
    header: tuple[str, ...] = ("states", "seconds", "Storm builds", "times", "aim")
    figure = (number(model.get("read")), number(model.get("built")), number(times), verdict(times, MODEL_AIM))
    print(table("A PRISM model, read with Storm", header, [(f"{model.get('states', 0):,}", *figure)]))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.yaml").write_text(written(document("different", 3)), encoding="utf-8")
        for kind, suffix, uses in CASES:
            path = Path(folder, f"{kind.replace(' ', '-')}-{uses}.{suffix}")
            content = document(kind, uses)
            text = json.dumps(content, indent=1) if suffix == "json" else written(content)
            path.write_text(text, encoding="utf-8")
            asked = {"path": str(path)}
            announce(f"{uses} tables, {kind}, {suffix}")
            here = run_apart("bench_reading", "measure_reading", asked, CAP) or {}
            there: dict[str, Any] = {}
            if arguments.before is not None:
                announce(f"{uses} tables, {kind}, {suffix}, before")
                there = run_apart("bench_reading", "measure_reading", asked, CAP, arguments.before) or {}
            figures.append({"kind": kind, "format": suffix, "uses": uses, "here": here, "before": there})
            read, unit, plan = here.get("read"), here.get("unit"), here.get("plan")
            aim = AIM * uses / ASKED_FOR
            rows.append(
                (
                    f"{uses:,} tables, {kind}, {suffix}",
                    number(read),
                    verdict(read, aim),
                    number(None if read is None or unit is None else read / unit),
                    number(there.get("read")),
                    number(plan if here.get("found") else None),
                    verdict(plan if here.get("found") else None, aim),
                )
            )
    header = ("file", "seconds", "aim", "times its parser", "before", "first plan", "aim")
    print(table("Small tables written out one by one, by the processor's clock", header, rows))
    return {"files": figures, "model": model}


def main() -> None:
    """Parse the options and measure."""
    options = parser("Reading thousands of small tables.")
    options.add_argument("--before", type=Path, metavar="WORKTREE", help="another commit to compare with")
    run_benchmark("bench_reading", options.parse_args(), measure)


if __name__ == "__main__":
    main()
