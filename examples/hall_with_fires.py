"""A robot crosses a hall with three fires: the fastest way that takes at most a little damage.

Every step may slip to a side. Without a bound the robot runs past the fires; the tighter the bound on
the expected damage, the wider its berth. The answer is proven optimal among deterministic policies.
"""

from __future__ import annotations

from math import inf

from hcssp import Gap, GridWorld, MaxRuntime, render_policy, solve

HALL = """
####################
#......~~~.........#
S......~~~....~~...G
#......~~~....~~...#
#..##.........~~...#
#..##..............#
#........~~........#
#........~~........#
#..................#
####################
"""


def main() -> None:
    """Solve the hall without a bound and with two, and print each policy as arrows."""
    hall = GridWorld.from_map(HALL, hazards={"~": {"damage": 1.0}}, slip=0.2)
    problem = hall.to_cssp()
    for bound in (inf, 1.0, 0.1):
        bounded = problem.with_bounds(damage=bound)
        plan = solve(bounded, stop=[Gap(1e-6), MaxRuntime(30)])
        time, damage = plan.cost("time"), plan.cost("damage")
        print("No bound on damage" if bound == inf else f"Expected damage at most {bound:g}")
        print(f"  {plan.status}: expected time {time:.4f}, expected damage {damage:.4f}")
        print(f"  proven: no deterministic policy needs less than {plan.lower_bound:.4f}")
        if bound < inf and plan.randomised_cost is not None and plan.prices is not None:
            print(f"  a randomised policy could reach {plan.randomised_cost:.4f}")
            print(f"  price of damage at this bound: {plan.prices['damage']:.2f} of time a unit")
        print("\n" + render_policy(hall, plan.policy) + "\n")
    print("# wall   → heading   ⇒ heading, from a fire   G goal")


if __name__ == "__main__":
    main()
