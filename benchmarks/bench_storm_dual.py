"""The optimum over randomised policies of flat problems: our dual beside Storm's ``multi(...)``.

Ten problems of 10^3 to 10^5 states: grids with hazards, racetracks, random sparse graphs (four actions, three
random successors each). Each is written as a DRN file, which Storm reads before its clock starts. It is asked
``multi(R{"cost"}min=? [F "goal"], R{"use"}<=b [F "goal"])`` with the precision 1e-6, once by the methods that
it chooses and once by sound ones; the faster answer counts, of those that agree with ours to 1e-5: ours is
certified from below and by a mixture of policies from above. Ours is the dual from the problem's arrays to
convergence. Both are timed by the processor's clock, in processes of their own, one after the other.

    python benchmarks/bench_storm_dual.py --only grid-32 --cap 60
"""

from __future__ import annotations

import argparse
import time
from tempfile import TemporaryDirectory
from typing import Any

from measuring import announce, median, number, parser, run_apart, run_benchmark, table, verdict

PRECISION = "1e-6"
AGREEMENT = 1e-5  # Storm's precision is that of each of its steps
MEDIAN_AIM, LEAST_AIM = 3.0, 1.0
REPEATS = 3
WAYS = ("fast", "sound")

PROBLEMS = (
    "grid-32",
    "grid-100",
    "grid-316",
    "racetrack-1-2",
    "racetrack-2-3",
    "racetrack-3-4",
    "racetrack-4-5",
    "random-1000",
    "random-10000",
    "random-100000",
)


def make_problem(name: str) -> Any:
    """The problem under a bound that binds, a quarter of the way from least use to cheapest policy."""
    kind, *sizes = name.split("-")
    numbers = [int(size) for size in sizes]
    if kind == "grid":
        from hazard_grid import hazard_grid

        problem = hazard_grid(numbers[0], numbers[0])
    elif kind == "racetrack":
        from hcssp.scenarios.domains.racetrack import racetrack

        problem = racetrack(scale=numbers[0], max_speed=numbers[1])
    else:
        problem = _random_graph(numbers[0])
    return problem.with_bounds({problem.cost_names[1]: _binding_bound(problem)})


def _random_graph(count: int) -> Any:
    """Four actions in each state, three random successors each; one of each state's may end."""
    import numpy as np
    from scipy.sparse import csr_array

    from hcssp.cssp.model import CSSP

    rng = np.random.default_rng(0)
    rows = 4 * (count - 1)
    successors = rng.integers(0, count, size=(rows, 3))
    successors[::4, 0] = count - 1
    chances = rng.dirichlet(np.ones(3), size=rows)
    entries = (chances.ravel(), (np.repeat(np.arange(rows), 3), successors.ravel()))
    return CSSP(
        transitions=csr_array(entries, shape=(rows, count)),
        row_start=np.append(np.arange(0, rows + 1, 4), rows),
        costs=np.array([rng.uniform(1.0, 10.0, rows), rng.uniform(0.0, 1.0, rows)]),
        initial=np.arange(count) == 0,
        goals=np.arange(count) == count - 1,
        cost_names=("cost", "use"),
        bounds=np.array([np.inf]),
    )


def _binding_bound(problem: Any) -> float:
    import numpy as np

    from hcssp.dual.flat import FlatOracle
    from hcssp.ssp.scalar_problem import Region

    oracle = FlatOracle(problem.with_bounds({problem.cost_names[1]: 1.0}))
    cheapest = float(oracle.minimise(np.array([1.0, 0.0]), Region()).point.costs[1])
    least = max(0.0, float(oracle.minimise(np.array([0.0, 1.0]), Region()).bound))
    # Few digits, which both read as the same number.
    return float(f"{least + 0.25 * (cheapest - least):.6g}")


def measure_ours(name: str) -> dict[str, Any]:
    """Time the dual, each time from nothing."""
    from hcssp.dual.ascent import maximise
    from hcssp.dual.flat import FlatOracle
    from hcssp.ssp.scalar_problem import Region

    problem = make_problem(name)
    seconds = []
    while len(seconds) < REPEATS:
        began = time.process_time()
        dual = maximise(FlatOracle(problem), Region())
        seconds.append(time.process_time() - began)
    return {
        "states": problem.num_states,
        "rows": problem.num_rows,
        "bound": float(problem.bounds[0]),
        "seconds": median(seconds),
        "value": dual.bound,
        "converged": dual.converged,
    }


def measure_storm(name: str, way: str) -> dict[str, Any]:
    """Time Storm's answer; reading the model does not count."""
    import stormpy

    from hcssp.exchange.drn import to_drn
    from hcssp.exchange.storm import storm_at_work

    problem = make_problem(name)
    primary, use = problem.cost_names
    with TemporaryDirectory() as folder, storm_at_work(stormpy, name):
        to_drn(problem, f"{folder}/model.drn")
        model = stormpy.build_model_from_drn(f"{folder}/model.drn")
        goal = '[F "goal"]'
        asked = f'multi(R{{"{primary}"}}min=? {goal}, R{{"{use}"}}<={float(problem.bounds[0])!r} {goal})'
        (formula,) = stormpy.parse_properties(asked)
        environment = stormpy.environments.sound() if way == "sound" else stormpy.Environment()
        environment.modelchecker().multi().precision = stormpy.Rational(PRECISION)
        began = time.process_time()
        try:
            result = stormpy.model_checking(model, formula, environment=environment)
        except RuntimeError as error:
            # Its own choice of methods fails on some problems.
            return {"seconds": time.process_time() - began, "value": None, "failed": str(error)}
        seconds = time.process_time() - began
        return {"seconds": seconds, "value": float(result.get_value(model.initial_states[0]))}


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the wanted problems and print the table."""
    figures: dict[str, Any] = {}
    rows = []
    ratios = []
    for name in arguments.only or PROBLEMS:
        announce(f"{name}: the dual")
        ours = run_apart("bench_storm_dual", "measure_ours", {"name": name})
        theirs: dict[str, Any] = {}
        cap = arguments.cap
        for way in WAYS:
            announce(f"{name}: Storm, {way} (at most {cap:g} s)")
            theirs[way] = run_apart("bench_storm_dual", "measure_storm", {"name": name, "way": way}, cap)
            if ours is not None and _agrees(theirs[way], ours):
                # Whatever takes longer than this cannot be the faster answer.
                cap = min(cap, 2.0 * theirs[way]["seconds"])
        figures[name] = {"ours": ours, "storm": theirs}
        if ours is None:
            continue
        answers = [answer for answer in theirs.values() if _agrees(answer, ours)]
        exceeded = not answers
        seconds = min((answer["seconds"] for answer in answers), default=arguments.cap)
        ratios.append(seconds / ours["seconds"])
        wrong = [
            f"{way}: {answer.get('failed') or format(answer['value'], '.8g')} after {answer['seconds']:.3g} s"
            for way, answer in theirs.items()
            if answer is not None and not _agrees(answer, ours)
        ]
        rows.append(
            [
                name,
                f"{ours['states']:,}",
                number(ours["seconds"]),
                number(seconds, exceeded=exceeded),
                number(ratios[-1], ".2f", exceeded=exceeded),
                f"{ours['value']:.8g}",
                verdict(ratios[-1], LEAST_AIM, at_least=True, exceeded=exceeded),
                "; ".join(wrong),
            ]
        )
    header = ["", "states", "dual, s", "Storm, s", "times faster", "value", "aim", "Storm's other values"]
    print(table("The optimum over randomised policies: our dual and Storm's multi(...)", header, rows))
    if ratios:
        middle = median(ratios)
        print(f"\nIn the median {middle:.1f} times faster ({verdict(middle, MEDIAN_AIM, at_least=True)}).")
    return {"problems": figures, "cap": arguments.cap}


def _agrees(answer: dict[str, Any] | None, ours: dict[str, Any]) -> bool:
    """Whether Storm has answered, and as we have."""
    if answer is None or answer["value"] is None:
        return False
    return bool(abs(answer["value"] - ours["value"]) <= AGREEMENT * abs(ours["value"]))


def main() -> None:
    """Read the options and measure."""
    options = parser("The optimum over randomised policies: our dual beside Storm's multi(...).")
    options.add_argument("--only", action="append", choices=PROBLEMS, help="a problem; may be repeated")
    options.add_argument("--cap", type=float, default=120.0, help="seconds for Storm (default: 120)")
    run_benchmark("bench_storm_dual", options.parse_args(), measure)


if __name__ == "__main__":
    main()
