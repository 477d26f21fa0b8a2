"""A robot leaves a smoky building of two floors, whose lift may be broken, on a low battery.

The building is a problem file, two_floors/two-floors.yaml. Smoke and battery are bounded at once, over all
rooms, stairs and rides together. The plan is proven to be within a ten-thousandth of the best, followed
20,000 times to see whether the exact figures are true, and written as a page with a map of both floors.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hcssp import Gap, MaxRuntime, PolicyBranching, load_problem, solve
from hcssp.evaluation.procedure_simulation import simulate
from hcssp.reports import Scene, page_data, save_page

BUILDING = Path(__file__).parent / "two_floors" / "two-floors.yaml"


def main() -> None:
    """Solve the building, print the plan, check it by simulation, and write the page."""
    loaded = load_problem(BUILDING)
    problem = loaded.problem
    result = solve(problem, PolicyBranching(), stop=[Gap(1e-4), MaxRuntime(60)])
    exact = result.evaluation

    print(f"{loaded.name}: {loaded.description}")
    print(f"  {result.status}: expected time {exact.cost('seconds'):.2f} s")
    print(f"  proven: no deterministic plan needs less than {result.lower_bound:.2f} s")
    for constraint in problem.constraints:
        used, price = exact.cost(constraint.name), result.prices[constraint.name]
        print(f"  {constraint.name}: {used:.3f}, at most {constraint.at_most:g}; price {price:.1f} s a unit")
    # Prices are those of plans that may draw lots between lift and stairs; see two_floors/README.md.
    print(f"  a plan that draws lots could reach {result.stochastic.value:.2f} s")

    print("\nActivities that are executed, and how often (expected)")
    for activity in exact.activities:
        if activity.expected_executions:
            print(f"  {activity.expected_executions:.3f}  {activity.name}")

    runs = simulate(problem, result.policy, runs=20_000, seed=1)
    print("\nExact expectations, and the 99.9% confidence intervals of 20,000 runs")
    for name in runs.cost_names:
        mean = runs.mean(name, level=0.999)
        print(f"  {name}: {exact.cost(name):.3f}, between {mean.low:.3f} and {mean.high:.3f}")
        if not mean.low <= exact.cost(name) <= mean.high:
            raise SystemExit(f"the simulation contradicts the exact expected {name}")

    scene = Scene(
        name=loaded.name,
        description=loaded.description,
        problem=problem,
        worlds=loaded.worlds,
        rooms=loaded.rooms,
        positions=loaded.positions,
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "report.html"
        save_page(page, page_data(scene, result))
        size = page.stat().st_size / 1e6
    if page.exists():
        print(f"\nThe page is {page} ({size:.1f} MB); open it in a browser.")
    else:
        print(f"\nThe page has {size:.1f} MB; to keep it, say where: python {sys.argv[0]} report.html")


if __name__ == "__main__":
    main()
