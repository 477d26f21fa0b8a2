"""Five thousand open nodes of a problem with 40,000 states: how much memory they take.

A mission of legs, all different: each begins with a choice between modes and goes on across a slippery floor.

- Under one bound, a leg's two modes cost as much time as the other one does damage. At the dual's price all
  plans are worth the same, and none can use the whole bound, so that hardly anything is pruned: nearly every
  node opens another.
- Under three bounds, three modes are quick, safe or sparing: a knapsack with three dimensions. It is searched
  as a procedure, and as one flat problem, which keeps whole policies for its nodes.

    python benchmarks/bench_open_nodes.py --only "one bound"
    python benchmarks/bench_open_nodes.py --only "three bounds, flat" --open 100 --cap 600
"""

from __future__ import annotations

import argparse
from typing import Any

from measuring import announce, figure, number, parser, peak_memory, run_apart, run_benchmark, table, verdict

CASES = {"one bound": (20, 45, 1), "three bounds": (40, 32, 3), "three bounds, flat": (40, 32, 3)}
"""How many legs there are, how long and wide they are, and how many bounds."""

COSTS = ("time", "damage", "energy", "noise")
SHARE = {1: 0.5, 3: 0.6}  # of the way from the least of each bounded cost to that of the first modes
UNIT = 0.01  # of damage, under one bound
OPEN_NODES = 5_000
MEMORY_AIM = 4_000  # MB


def measure_memory(case: str, open_nodes: int, cap: float) -> dict[str, Any]:
    """Search until so many nodes are open; the nodes, and the memory on the way."""
    import time

    from hcssp.contract.progress import Gap, MaxRuntime
    from hcssp.solving.solve import solve

    problem = mission(*CASES[case])
    searched = problem.flattening.cssp if case.endswith("flat") else problem
    course: list[tuple[int, float]] = []

    def note(progress: Any) -> None:
        told = progress.open_nodes or 0
        if not course or told >= course[-1][0] + open_nodes / 10:
            course.append((told, peak_memory()))

    def enough(progress: Any) -> str | None:
        return "enough" if (progress.open_nodes or 0) >= open_nodes else None

    began = time.process_time()
    result = solve(searched, None, [Gap(0.0), MaxRuntime(cap), enough], note)
    return {
        "states": problem.flattening.num_states,
        "processor_seconds": time.process_time() - began,
        "nodes": result.iterations,
        "open_nodes": course[-1][0],
        "gap": figure(result.gap),
        "course": course,
        "peak_memory_mb": peak_memory(),
    }


def mission(num_legs: int, side: int, bounds: int, seed: int = 0) -> Any:
    """The legs, one after the other, under bounds on what they cost together."""
    import numpy as np

    from hcssp.procedure import Outcome, ProcedureBuilder

    rng = np.random.default_rng(seed)
    plan = ProcedureBuilder("mission")
    events = [plan.add_event(f"stop {index}") for index in range(num_legs + 1)]
    legs, least, first = [], np.zeros(bounds), np.zeros(bounds)
    for index in range(num_legs):
        modes = _modes(rng, bounds)
        legs.append(plan.add_activity(f"leg {index}", leg(rng, modes, side)))
        plan.add_choice(events[index], "go", to=[Outcome(1.0, events[index + 1], runs=legs[-1])])
        first += modes[0, 1:]
        least += modes[:, 1:].min(axis=0)
    for index, name in enumerate(COSTS[1 : 1 + bounds]):
        allowed = float(least[index] + SHARE[bounds] * (first[index] - least[index]))
        if bounds == 1:
            # Half a unit that no plan can use keeps the gap open.
            allowed = UNIT * (allowed // UNIT + 0.5)
        plan.add_constraint(name, at_most=allowed, counts=dict.fromkeys(legs, name))
    return plan.build(start=events[0], end=events[-1])


def _modes(rng: Any, bounds: int) -> Any:
    """What each mode of a leg costs, a row each."""
    import numpy as np

    if bounds == 1:
        return (1.0 + UNIT * rng.integers(100)) * np.array([[0.0, 1.0], [1.0, 0.0]])
    modes = (rng.pareto(1.2) + 0.2) * rng.uniform(0.5, 1.5, (3, 1 + bounds))
    modes[np.arange(3), np.arange(3)] *= 0.1
    return modes


def leg(rng: Any, modes: Any, side: int) -> Any:
    """One leg: a mode is chosen first; a step across the floor takes a little time."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp.cssp.model import CSSP

    goal, num_costs = side * side + 1, modes.shape[1]
    moves = [(mode, 1 + int(rng.integers(side)), 1.0) for mode in range(len(modes))]
    costs, counts = list(modes), [len(modes)]
    times = rng.uniform(0.0005, 0.001, side * side)
    for cell, time in enumerate(times.tolist()):
        along, across = divmod(cell, side)
        steps = [(1, 0), *((0, step) for step in (1, -1) if 0 <= across + step < side)]
        for ahead, aside in steps:
            head = goal if along + ahead == side else 1 + (along + ahead) * side + across + aside
            moves += [(len(costs), head, 0.8), (len(costs), 1 + cell, 0.2)]
            costs.append(time * np.eye(1, num_costs)[0])
        counts.append(len(steps))
    rows, heads, chances = (np.array(part) for part in zip(*moves, strict=True))
    return CSSP(
        transitions=csr_array((chances, (rows, heads)), shape=(len(costs), goal + 1)),
        row_start=np.concatenate([[0], np.cumsum([*counts, 0])]),
        costs=np.array(costs).T,
        initial=np.eye(1, goal + 1)[0],
        goals=np.arange(goal + 1) == goal,
        cost_names=COSTS[:num_costs],
        bounds=np.full(num_costs - 1, np.inf),
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the cases, and print the table."""
    measured, rows = {}, []
    for case in arguments.only or CASES:
        announce(f"{case}, until {arguments.open:,} nodes are open (at most {arguments.cap:g} s)")
        asked = {"case": case, "open_nodes": arguments.open, "cap": arguments.cap}
        answer = measured[case] = run_apart("bench_open_nodes", "measure_memory", asked)
        memory = answer["peak_memory_mb"]
        # Fewer open nodes than asked for decide nothing, unless they take too much already.
        decided = answer["open_nodes"] >= arguments.open or memory > MEMORY_AIM
        rows.append(
            [
                case,
                f"{answer['states']:,}",
                f"{answer['nodes']:,}",
                f"{answer['open_nodes']:,}",
                number(answer["processor_seconds"], ".0f"),
                number(memory, ".0f"),
                verdict(memory, MEMORY_AIM) if decided else f"<= {MEMORY_AIM}: open",
            ]
        )
    header = ["", "states", "nodes", "open", "seconds of the processor", "MB", "aim"]
    print(table("Memory of open nodes", header, rows), flush=True)
    for case, answer in measured.items():
        told = ", ".join(f"{count:,}: {memory:,.0f}" for count, memory in answer["course"])
        print(f"{case}, MB by open nodes: {told}")
    return {"open_nodes": measured}


def main() -> None:
    """Read the options and measure."""
    options = parser("The memory of open nodes.")
    options.add_argument("--only", action="append", choices=CASES, help="may be repeated")
    options.add_argument("--open", type=int, default=OPEN_NODES, help=f"nodes (default: {OPEN_NODES:,})")
    options.add_argument("--cap", type=float, default=900.0, help="seconds for each (default: 900)")
    run_benchmark("bench_open_nodes", options.parse_args(), measure)


if __name__ == "__main__":
    main()
