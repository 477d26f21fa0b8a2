"""Costs of very different size."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf

import numpy as np

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.dual.flat import FlatOracle
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from reproductions.asking import one_state, run_once, verdicts


def retrying(success: float, good: float, *, swapped: bool) -> HCSSP:
    """Try one of two ways until it succeeds; they cost 1 and a little less."""

    def room(minutes: float) -> CSSP:
        return one_state({"go": (1.0, (minutes, 1.0))})

    plan = ProcedureBuilder()
    start, out = plan.add_event("start"), plan.add_event("out")
    ways = [("A", plan.add_activity("try A", room(1.0))), ("B", plan.add_activity("try B", room(good)))]
    for name, way in reversed(ways) if swapped else ways:
        plan.add_choice(start, name, to=[Outcome(success, out), Outcome(1 - success, start, runs=way)])
    plan.add_constraint("damage", at_most=inf, counts={way: "damage" for _, way in ways})
    return plan.build(start=start, end=out)


def check_retries() -> list[str]:
    numbers = [(2.0**-10, 1 - 1e-6), (2.0**-20, 1 - 9e-7), (2.0**-24, 1 - 1e-5), (2.0**-30, 1 - 5e-4)]
    return verdicts(
        (
            (f"retry {p} {good} {swapped}", retrying(p, good, swapped=swapped))
            for p, good in numbers
            for swapped in (False, True)
        ),
        ("exact", "flattened"),
    )


def check_costs_of_different_size_in_a_procedure() -> list[str]:
    sizes = [(1.0, 1e3), (1e-2, 1e4), (1e-3, 1e4), (1e-3, 1e6), (1e-6, 1e6), (1e-6, 1e9)]
    rooms = [
        one_state({"step": (0.5, (small, 1)), "careful": (1.0, (1, 1)), "give up": (1.0, (large, 0))})
        for small, large in sizes
    ]
    problems = [
        (f"sizes {each}", run_once(room, damage=1.0)) for each, room in zip(sizes, rooms, strict=True)
    ]
    return verdicts(problems, ("exact", "flattened"))


def mixed(large: float) -> CSSP:
    """Two steps; in the first time matters and damage does not, in the second the other way round."""
    small = 1.0 / large
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.5 * small})
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    plan.add_action(first, "x", to=second, costs=(large, small))
    plan.add_action(first, "y", to=second, costs=(large + 1.0, 0.0))
    plan.add_action(second, "x", to=out, costs=(small, large))
    plan.add_action(second, "y", to=out, costs=(2.0 * small, small))
    return plan.build()


def check_large_and_small_side_by_side() -> list[str]:
    sizes = (1e3, 1e5, 1e6, 1e8)
    flat = verdicts((f"mixed {size}", mixed(size)) for size in sizes)
    whole = [(f"mixed {size} in a procedure", run_once(mixed(size), damage=1.5 / size)) for size in sizes]
    return flat + verdicts(whole, ("exact",))


def rarely_visited(chance: float, cost: float, share: float, base: float) -> CSSP:
    """Two unlikely steps to a state in which damage can be taken or a dear detour be made."""
    use = chance * chance * cost
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": share * use})
    first, second, third = (plan.add_state(name) for name in ("first", "second", "third"))
    out = plan.add_goal("out")
    plan.add_action(first, "go", to={second: chance, out: 1 - chance}, costs={"time": base})
    plan.add_action(second, "go", to={third: chance, out: 1 - chance})
    for name, (time, damage) in {
        "burn": (0, 1),
        "detour": (1, 0),
        "both": (0.7, 0.3),
        "half": (0.45, 0.7),
    }.items():
        plan.add_action(third, name, to=out, costs={"time": time * cost, "damage": damage * cost})
    return plan.build()


def check_rarely_visited_and_dear() -> list[str]:
    numbers = [(2.0**-22, 1e9, 0.0), (2.0**-22, 1e14, 1.0), (2.0**-24, 1e15, 1.0), (2.0**-20, 1e9, 0.0)]
    cases = [(p, cost, share, base) for p, cost, base in numbers for share in (0.75, 0.35, 0.2, 0.0)]
    return verdicts((f"rare {case}", rarely_visited(*case)) for case in cases)


def check_one_state_three_actions_a_large_penalty() -> list[str]:
    p, q = 2.0**-12, 2.0**-4
    problems = []
    for penalty in (1e6, 1e9, 1e12):
        actions = {
            "careful": (p, (2.0, p, 2.0)),
            "fast": (q, (3 * q, 2 * q, 2.0)),
            "jump": (1.0, (1.0, penalty, 1.0)),
        }
        problems.append((f"penalty {penalty}", one_state(actions, damage=1.0, energy=8192.0)))
    return verdicts(problems)


def check_two_bounds_and_a_range_of_1e15() -> list[str]:
    problems = []
    for size, exponent in product((1e9, 1e6, 1e4), (20, 10)):
        p = 2.0**-exponent
        actions = {
            "safe": (2.0**-7, (size, 1.0, size / 1e3)),
            "cheap": (p, (1.0, size, 1e-6)),
            "odd": (p, (size / 1e3, 1.0, size)),
        }
        bounds = {"damage": 1 / p, "energy": 128 * size / 1e3}
        problems.append((f"range {size} 2^-{exponent}", one_state(actions, **bounds)))
    return verdicts(problems)


def check_two_states_and_a_penalty_of_1e12() -> list[str]:
    dear = 1e12

    def room(
        bounds: tuple[float, float], rows: dict[str, list[tuple[dict[str, float], tuple[float, ...]]]]
    ) -> CSSP:
        plan = CSSPBuilder(cost_names=("time", "a", "b"), bounds={"a": bounds[0], "b": bounds[1]})
        for state in rows:
            plan.add_state(state)
        plan.add_goal("out")
        for state, actions in rows.items():
            for index, (to, costs) in enumerate(actions):
                plan.add_action(state, index, to=to, costs=costs)
        plan.set_initial(next(iter(rows)))
        return plan.build()

    def leave(state: str, to: str, exponent: int) -> dict[str, float]:
        return {state: 1.0 - 2.0**-exponent, to: 2.0**-exponent}

    knotted = room(
        (128.0, 448.0),
        {
            "s": [
                ({"out": 1.0}, (dear, dear, 1.0)),
                (leave("s", "t", 4), (0.0, 0.125, 0.0625)),
                (leave("s", "t", 2), (0.5, 0.25, 0.25)),
                (leave("s", "t", 6), (0.03125, 0.0, 3.0)),
            ],
            "t": [
                ({"out": 1.0}, (1.0, dear, 1.0)),
                (leave("t", "s", 7), (2.0**-7, 0.0, 3 * 2.0**-7)),
                (leave("t", "out", 7), (3.0, 1.0, 2.0)),
            ],
        },
    )
    nothing = room(
        (0.0, 0.0),
        {
            "s": [
                ({"out": 1.0}, (1.0, 0.0, 1.0)),
                (leave("s", "t", 6), (0.046875, 0.03125, 0.0)),
                (leave("s", "t", 16), (2.0, 0.0, 0.0)),
                (leave("s", "out", 15), (2.0, 2.0**-14, 0.0)),
            ],
            "t": [
                (leave("t", "out", 10), (3 * 2.0**-10, 0.0, 0.0)),
                ({"out": 1.0}, (dear, dear, 1.0)),
                (leave("t", "s", 10), (2.0**-9, 2.0**-10, 3.0)),
            ],
        },
    )
    return verdicts([("knotted", knotted), ("nothing", nothing)], ("exact",), steps=15)


def check_nearly_whole_costs() -> list[str]:
    """Costs next to whole numbers are not whole: what they miss adds up over a long way.

    So a bound must not be rounded up to a whole number, past a policy that costs a little more than one.
    """
    steps, little = 1200, 9.9e-10
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 5.0})
    states = [*(plan.add_state(index) for index in range(steps + 1)), plan.add_goal("out")]
    for index in range(steps):
        plan.add_action(states[index], "go", to=states[index + 1], costs={"time": little})
    for time in (3.0, 4.0, 6.0):
        plan.add_action(states[steps], time, to=states[-1], costs={"time": time, "damage": 6.0 - time})
    plan.set_initial(states[0])
    oracle = FlatOracle(plan.build())
    wrong = []
    for time in (3, 4, 6):
        cost = time + steps * Fraction(little)
        bound = float(np.nextafter(float(cost), 0.0))
        rounded = oracle.strategies.round_up(bound)
        if Fraction(rounded) > cost:
            wrong.append(f"{bound!r} was rounded up to {rounded!r}, past a policy of {float(cost)!r}")
    return wrong
