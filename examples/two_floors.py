"""A robot leaves a smoky building of two floors, whose lift may be broken, on a low battery.

The building is a problem file, two_floors/two-floors.yaml. Smoke and battery are bounded at once, over all
rooms, stairs and rides together. The plan is proven to be within a ten-thousandth of the best, followed
20,000 times to see whether the exact figures are true, and written as a page with a map of both floors.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hcssp import Gap, MaxRuntime, load, solve

BUILDING = Path(__file__).parent / "two_floors" / "two-floors.yaml"


def main() -> None:
    """Solve the building, print the plan, check it by simulation, and write the page."""
    problem = load(BUILDING)
    plan = solve(problem, stop=[Gap(1e-4), MaxRuntime(60)])

    print(f"{problem.name}: {problem.description}")
    print(f"  {plan.status}: expected time {plan.cost('seconds'):.2f} s")
    print(f"  proven: no deterministic plan needs less than {plan.lower_bound:.2f} s")
    for constraint in problem.constraints:
        used, price = plan.cost(constraint.name), plan.prices[constraint.name]
        print(f"  {constraint.name}: {used:.3f}, at most {constraint.at_most:g}; price {price:.1f} s a unit")
    # Prices are those of randomised policies, which may mix lift and stairs; see two_floors/README.md.
    print(f"  the best randomised policy reaches {plan.randomised_cost:.2f} s")

    print("\nActivities that are executed, and how often (expected)")
    for activity in plan.evaluation.activities:
        if activity.expected_executions:
            print(f"  {activity.expected_executions:.3f}  {activity.name}")

    runs = plan.simulate(runs=20_000, seed=1)
    print("\nExact expectations, and the 99.9% confidence intervals of 20,000 runs")
    for name in runs.cost_names:
        mean = runs.mean(name, level=0.999)
        print(f"  {name}: {plan.cost(name):.3f}, between {mean.low:.3f} and {mean.high:.3f}")
        if not mean.low <= plan.cost(name) <= mean.high:
            raise SystemExit(f"the simulation contradicts the exact expected {name}")

    with tempfile.TemporaryDirectory() as folder:
        page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "report.html"
        plan.report(page, points=0)
        size = page.stat().st_size / 1e6
    if page.exists():
        print(f"\nThe page is {page} ({size:.1f} MB); open it in a browser.")
    else:
        print(f"\nThe page has {size:.1f} MB; to keep it, say where: python {sys.argv[0]} report.html")


if __name__ == "__main__":
    main()
