"""A large search on a cluster that is only simulated: 1 to 256 workers, a millisecond for every message.

The nodes of a search, what each took and where it stands in the tree, were recorded in one process
(`--record`). They are replayed by the rules of the coordinator itself: how many regions a worker is given,
how long it goes on by itself, when it begins. Every order and every answer keeps the coordinator busy for a
millisecond and travels for another; a region that another worker has made takes half as long again, since
its dual is solved anew. Efficiency is the time of one process, divided by the number of workers and by the
time that they take together.

    python benchmarks/bench_cluster.py --figure docs/assets/cluster.svg
    python benchmarks/bench_cluster.py --record 600
"""

from __future__ import annotations

import argparse
import heapq
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import number, parser, run_benchmark, table, verdict

RECORDED = Path(__file__).resolve().parent / "recorded_search.npz"
STAGES: dict[str, Any] = {"count": 80, "actions": 4, "constraints": 4, "seed": 1, "tightness": 0.6}
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MESSAGE = 1e-3
ANEW = 0.5  # of a node's time, to solve the dual of a region that comes from elsewhere
AIM_AT, AIM = 64, 0.7


@dataclass(frozen=True)
class Tree:
    """The nodes that a search has expanded: what each took, its bound, and its children among them."""

    seconds: list[float]
    bounds: list[float]
    children: list[list[int]]

    @property
    def total(self) -> float:
        return sum(self.seconds)

    @property
    def longest_way(self) -> float:
        """What the nodes on a way from the root take at most: nobody is faster than that."""
        longest = list(self.seconds)
        # A node is expanded, and recorded, after those above it.
        for node in reversed(range(len(longest))):
            longest[node] += max((longest[child] for child in self.children[node]), default=0.0)
        return longest[0]


def record(seconds: float) -> None:
    """Search for so long, and write down every node that is expanded."""
    from hazard_grid import stages
    from hcssp import Gap, MaxRuntime, solve
    from hcssp.methods.policy_branching import PolicySearch

    steps: list[tuple[int, float, float]] = []
    expand = PolicySearch.expand

    def timed(self: Any, waiting: float, node: Any) -> None:
        began = time.process_time()
        expand(self, waiting, node)
        steps.append((node.number, waiting, time.process_time() - began))

    PolicySearch.expand = timed  # type: ignore[method-assign]
    plan = solve(stages(**STAGES), stop=[Gap(1e-9), MaxRuntime(seconds)])
    above = {child: region for region in range(len(plan.record)) for child in plan.record.children(region)}
    place = {region: index for index, (region, _, _) in enumerate(steps)}
    np.savez_compressed(
        RECORDED,
        parent=np.array([place.get(above.get(region, -1), -1) for region, _, _ in steps], dtype=np.int32),
        bound=np.array([bound for _, bound, _ in steps]),
        microseconds=np.array([round(1e6 * spent) for _, _, spent in steps], dtype=np.int32),
    )


def recorded() -> Tree:
    """The search that was recorded."""
    with np.load(RECORDED) as file:
        parents = file["parent"].tolist()
        children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents):
            if parent >= 0:
                children[parent].append(node)
        return Tree((1e-6 * file["microseconds"]).tolist(), file["bound"].tolist(), children)


class Cluster:
    """So many workers and a coordinator, in simulated time."""

    def __init__(self, tree: Tree, workers: int) -> None:
        self.tree, self.workers = tree, workers
        self.clock = 0.0
        self.busy = 0.0
        self.queue: list[tuple[float, int]] = [(tree.bounds[0], 0)]
        self.idle = list(range(workers))
        self.makers: dict[int, int] = {}
        self.expanded, self.spent = 0, 0.0
        self.answers: list[tuple[float, int, list[int]]] = []

    def run(self) -> float:
        """Expand all nodes; answers when the last is done."""
        from hcssp.methods.parallel_search import DEFAULT_PARAMETERS as RULE

        while self.queue and not (len(self.queue) >= RULE.alone_nodes and self.clock >= RULE.alone_seconds):
            self._expand_alone()
        while self.queue or self.answers:
            while self.idle and self.queue:
                self._give()
            arrival, worker, left = heapq.heappop(self.answers)
            self.clock = max(self.clock, arrival)
            self._message()
            self.idle.append(worker)
            for node in left:
                heapq.heappush(self.queue, (self.tree.bounds[node], node))
        return self.clock

    def _message(self) -> None:
        self.clock += MESSAGE
        self.busy += MESSAGE

    def _expand_alone(self) -> None:
        _, node = heapq.heappop(self.queue)
        self.clock += self.tree.seconds[node]
        for child in self.tree.children[node]:
            heapq.heappush(self.queue, (self.tree.bounds[child], child))

    def _give(self) -> None:
        """Give one worker an order, and reckon when its answer comes and what it holds."""
        from hcssp.methods.parallel_search import DEFAULT_PARAMETERS as RULE

        each = self.spent / max(1, self.expanded)
        wanted = RULE.num_roots(self.workers, len(self.queue), each)
        roots = [heapq.heappop(self.queue) for _ in range(min(wanted, len(self.queue)))]
        seconds = RULE.order_seconds(self.workers, len(self.queue), each)
        worker = self.idle.pop()
        self._message()
        spent, own = 0.0, list(roots)
        heapq.heapify(own)
        while own and spent < seconds:
            _, node = heapq.heappop(own)
            spent += self.tree.seconds[node] * (1.0 + ANEW * (self.makers.get(node) != worker))
            self.expanded += 1
            for child in self.tree.children[node]:
                self.makers[child] = worker
                heapq.heappush(own, (self.tree.bounds[child], child))
        self.spent += spent
        heapq.heappush(self.answers, (self.clock + 2 * MESSAGE + spent, worker, [node for _, node in own]))


def draw(path: Path, measured: dict[int, dict[str, float]]) -> None:
    """Speed-up and efficiency by the number of workers."""
    import matplotlib.pyplot as plt

    workers = sorted(measured)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.plot(workers, workers, color="0.7", linestyle="--", label="ideal")
    left.plot(workers, [measured[each]["speed_up"] for each in workers], "o-", label="simulated")
    left.set(xscale="log", yscale="log", xlabel="workers", ylabel="times faster than one process")
    left.legend(frameon=False)
    right.plot(workers, [100 * measured[each]["efficiency"] for each in workers], "o-")
    right.axhline(100 * AIM, color="0.7", linestyle="--")
    right.set(xscale="log", ylim=(0, 105), xlabel="workers", ylabel="efficiency (%)")
    for axes in (left, right):
        axes.set_xticks(workers, [str(each) for each in workers])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Replay the recorded search on every cluster."""
    if arguments.record is not None:
        record(arguments.record)
    tree = recorded()
    measured: dict[int, dict[str, float]] = {}
    rows = []
    for workers in WORKERS:
        cluster = Cluster(tree, workers)
        seconds = cluster.run()
        speed_up = tree.total / seconds
        measured[workers] = {
            "seconds": seconds,
            "speed_up": speed_up,
            "efficiency": speed_up / workers,
            "coordinator": cluster.busy / seconds,
        }
        aim = verdict(speed_up / workers, AIM, at_least=True) if workers == AIM_AT else ""
        rows.append(
            [
                str(workers),
                number(seconds),
                number(speed_up),
                f"{speed_up / workers:.0%}",
                f"{cluster.busy / seconds:.0%}",
                aim,
            ]
        )
    title = (
        f"{len(tree.seconds)} nodes, {tree.total:.0f} s in one process, {tree.longest_way:.1f} s on the "
        f"longest way down; {1e3 * MESSAGE:g} ms a message"
    )
    header = ["workers", "seconds", "times faster", "efficiency", "coordinator busy", "aim"]
    print(table(title, header, rows))
    if arguments.figure is not None:
        draw(arguments.figure, measured)
    return {"nodes": len(tree.seconds), "seconds_alone": tree.total, "workers": measured}


def main() -> None:
    """Run the benchmark."""
    options = parser(__doc__.split("\n", 1)[0])
    options.add_argument("--record", type=float, metavar="S", help="record a search of S seconds first")
    options.add_argument("--figure", type=Path, metavar="FILE", help="draw the efficiency")
    run_benchmark("bench_cluster", options.parse_args(), measure)


if __name__ == "__main__":
    main()
