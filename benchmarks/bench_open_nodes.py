"""Five thousand open nodes of a problem with 40,000 states: how much memory they take.

A mission of forty legs, all different: each begins with a choice of one of three modes, which are quick, safe
or sparing, and goes on across a slippery floor of 32 x 32 cells. Three bounds are hard to keep together, as
in a knapsack with three dimensions, so that a search to a gap of 0 opens far more nodes than it closes. The
same mission is searched as a procedure, and as one flat problem, which keeps whole policies for its nodes.

    python benchmarks/bench_open_nodes.py --open 500 --cap 600
"""

from __future__ import annotations

import argparse
from typing import Any

from measuring import announce, figure, number, parser, peak_memory, run_apart, run_benchmark, table, verdict

LEGS, SIDE, MODES, BOUNDS = 40, 32, 3, 3
SHARE = 0.6  # of the way from the least of each cost to that of the quickest modes
OPEN_NODES = 5_000
MEMORY_AIM = 4_000  # MB
SHAPES = ("procedure", "flat")


def measure_memory(shape: str, open_nodes: int, cap: float) -> dict[str, Any]:
    """Search until so many nodes are open; the nodes, and the memory on the way."""
    import time

    from hcssp.contract.stop import Gap, MaxRuntime
    from hcssp.solving.solve import solve

    problem = mission()
    searched = problem if shape == "procedure" else problem.flattening.cssp
    course: list[tuple[int, float]] = []
    told = 0

    def note(progress: Any) -> None:
        nonlocal told
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
        "open_nodes": told,
        "gap": figure(result.gap),
        "course": course,
        "peak_memory_mb": peak_memory(),
    }


def mission(seed: int = 0) -> Any:
    """The legs, one after the other, under bounds on what they cost together."""
    import numpy as np

    from hcssp.procedure import Outcome, ProcedureBuilder

    rng = np.random.default_rng(seed)
    plan = ProcedureBuilder("mission")
    events = [plan.add_event(f"stop {index}") for index in range(LEGS + 1)]
    legs, least, most = [], np.zeros(BOUNDS), np.zeros(BOUNDS)
    for index in range(LEGS):
        walked = leg(rng)
        legs.append(plan.add_activity(f"leg {index}", walked))
        plan.add_choice(events[index], "go", to=[Outcome(1.0, events[index + 1], runs=legs[-1])])
        most += walked.costs[1:, 0]
        least += walked.costs[1:, :MODES].min(axis=1)
    for index, name in enumerate(("damage", "energy", "noise")):
        allowed = float(least[index] + SHARE * (most[index] - least[index]))
        plan.add_constraint(name, at_most=allowed, counts=dict.fromkeys(legs, name))
    return plan.build(start=events[0], end=events[-1])


def leg(rng: Any) -> Any:
    """One leg: the modes cost something of everything, a step across the floor nothing but time."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp.cssp.model import CSSP

    cells, goal = SIDE * SIDE, SIDE * SIDE + 1
    weight = rng.pareto(1.2) + 0.2
    moves: list[tuple[int, int, float]] = []
    costs, counts = [], [MODES]
    for mode in range(MODES):
        moves.append((mode, 1 + int(rng.integers(SIDE)), 1.0))
        paid = weight * rng.uniform(0.5, 1.5, 1 + BOUNDS)
        paid[mode] *= 0.1
        costs.append(paid)
    times = rng.uniform(0.01, 0.05, cells)
    for cell in range(cells):
        along, across = divmod(cell, SIDE)
        steps = [(1, 0), *((0, step) for step in (1, -1) if 0 <= across + step < SIDE)]
        for ahead, aside in steps:
            head = goal if along + ahead == SIDE else 1 + (along + ahead) * SIDE + across + aside
            moves += [(len(costs), head, 0.8), (len(costs), 1 + cell, 0.2)]
            costs.append(np.append(times[cell], np.zeros(BOUNDS)))
        counts.append(len(steps))
    rows, heads, chances = (np.array(part) for part in zip(*moves, strict=True))
    return CSSP(
        transitions=csr_array((chances, (rows, heads)), shape=(len(costs), goal + 1)),
        row_start=np.concatenate([[0], np.cumsum([*counts, 0])]),
        costs=np.array(costs).T,
        initial=np.eye(1, goal + 1)[0],
        goals=np.arange(goal + 1) == goal,
        cost_names=("time", "damage", "energy", "noise"),
        bounds=np.full(BOUNDS, np.inf),
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure both shapes, and print the table."""
    measured, rows = {}, []
    for shape in arguments.only or SHAPES:
        announce(f"{shape}, until {arguments.open:,} nodes are open (at most {arguments.cap:g} s)")
        asked = {"shape": shape, "open_nodes": arguments.open, "cap": arguments.cap}
        answer = measured[shape] = run_apart("bench_open_nodes", "measure_memory", asked)
        reached = answer["open_nodes"] >= arguments.open
        memory = answer["peak_memory_mb"]
        rows.append(
            [
                shape,
                f"{answer['states']:,}",
                f"{answer['nodes']:,}",
                f"{answer['open_nodes']:,}",
                number(answer["processor_seconds"], ".0f"),
                number(memory, ".0f"),
                # Fewer open nodes than asked for decide nothing unless they are too much already.
                verdict(memory, MEMORY_AIM) if reached or memory > MEMORY_AIM else f"<= {MEMORY_AIM}: open",
            ]
        )
    header = ["", "states", "nodes", "open", "seconds of the processor", "MB", "aim"]
    print(table("Memory of open nodes", header, rows), flush=True)
    for shape, answer in measured.items():
        told = ", ".join(f"{count:,}: {memory:,.0f}" for count, memory in answer["course"])
        print(f"{shape}, MB by open nodes: {told}")
    return {"open_nodes": measured}


def main() -> None:
    """Read the options and measure."""
    options = parser("The memory of open nodes.")
    options.add_argument("--only", action="append", choices=SHAPES, help="may be repeated")
    options.add_argument("--open", type=int, default=OPEN_NODES, help=f"nodes (default: {OPEN_NODES:,})")
    options.add_argument("--cap", type=float, default=1800.0, help="seconds for each (default: 1800)")
    run_benchmark("bench_open_nodes", options.parse_args(), measure)


if __name__ == "__main__":
    main()
