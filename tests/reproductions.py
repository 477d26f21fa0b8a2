"""Small problems about which something false was once said, or nothing at all; each with its check.

A check asks the methods and hears the referee: what it gives back is everything that is wrong, in words.
Nothing may be left open either, since a stranger with a pencil decides these problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np

from hcssp.contract.proof import Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.dual.flat_oracle import FlatOracle
from hcssp.evaluation.exact import evaluate
from hcssp.methods.paper import BudgetAllocation
from hcssp.methods.policy_branching import PolicyBranching
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from referee.exact_policies import ExactProblem, every_policy
from referee.judgement import judge
from referee.pending import PENDING_KINDS
from referee.wild_problems import Case

Problem = CSSP | HCSSP
Check = Callable[[], list[str]]

BOTH = ("exact", "anytime")

FEW_STEPS = 200
"""More than any of these problems should take."""


def verdicts(
    problems: Iterable[tuple[str, Problem]], methods: Sequence[str] = BOTH, steps: int = FEW_STEPS
) -> list[str]:
    """All that is wrong with what the methods say, and all that they leave open."""
    findings = []
    for name, problem in problems:
        case = Case(name, 0, problem, every_policy(problem), inf)
        findings += [finding for method in methods for finding in judge(case, method, steps)]
    return [str(finding) for finding in findings if finding.kind not in PENDING_KINDS]


def one_state(actions: dict[str, tuple[float, Sequence[float]]], **bounds: float) -> CSSP:
    """A state that is left by one of some actions, each with its probability of success and its costs."""
    names = ("time", "damage", "energy")[: len(next(iter(actions.values()))[1])]
    plan = CSSPBuilder(cost_names=names, bounds=bounds)
    here, out = plan.add_state("here"), plan.add_goal("out")
    for name, (success, costs) in actions.items():
        to = out if success == 1.0 else {out: success, here: 1.0 - success}
        plan.add_action(here, name, to=to, costs=tuple(costs))
    return plan.build()


def run_once(room: CSSP, *, damage: float) -> HCSSP:
    """The procedure that runs a room, under a bound on its damage."""
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    cross = plan.add_activity("cross", room)
    plan.add_choice(start, "cross", to=[Outcome(1.0, end, runs=cross)])
    plan.add_constraint("damage", at_most=damage, counts={cross: "damage"})
    return plan.build(start=start, end=end)


# ---- rows that cost nothing, taken very often ---------------------------------------------------------


def waiting(success: float, ride: float, taxi: float | None) -> CSSP:
    """Walk home for 10, or wait for nothing until the bus comes, which takes `ride`; perhaps take a taxi."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, there, home = plan.add_state("here"), plan.add_state("there"), plan.add_goal("home")
    plan.add_action(here, "walk", to=home, costs={"time": 10})
    plan.add_action(here, "wait", to={there: success, here: 1 - success})
    if taxi is not None:
        plan.add_action(here, "taxi", to=home, costs={"time": taxi})
    plan.add_action(there, "ride", to=home, costs={"time": ride})
    return plan.build()


def check_waiting_for_nothing() -> list[str]:
    cases = [
        (2.0**-30, 9.99, None),
        (2.0**-30, 9.9, 1000.0),
        (2.0**-20, 9.9999, 1000.0),
        (2.0**-20, 9.99995, None),
        (2.0**-10, 9.9999999, 1000.0),
    ]
    return verdicts((f"wait {case}", waiting(*case)) for case in cases)


def two_buses(success: float, first: float, second: float, taxi: float) -> CSSP:
    """Wait for one of two buses, for nothing, or take a taxi."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    stop, one, other = (plan.add_state(name) for name in ("stop", "bus A", "bus B"))
    home = plan.add_goal("home")
    plan.add_action(stop, "wait for A", to={one: success, stop: 1 - success})
    plan.add_action(stop, "wait for B", to={other: success, stop: 1 - success})
    plan.add_action(stop, "taxi", to=home, costs={"time": taxi})
    plan.add_action(one, "ride", to=home, costs={"time": first})
    plan.add_action(other, "ride", to=home, costs={"time": second})
    plan.set_initial(stop)
    return plan.build()


def check_two_buses() -> list[str]:
    numbers = [
        (2.0**-20, 9.9999, 1e3),
        (2.0**-30, 9.9, 1e3),
        (2.0**-14, 9.9999, 1e6),
        (2.0**-10, 9.9999, 1e6),
    ]
    cases = [(p, *pair, taxi) for p, good, taxi in numbers for pair in ((good, 10.0), (10.0, good))]
    return verdicts((f"buses {case}", two_buses(*case)) for case in cases)


# ---- bounds that are used up exactly ------------------------------------------------------------------


def check_a_bound_used_up_beside_a_large_cost() -> list[str]:
    p = 2.0**-20
    slow, fast = 9.710966807925574e-07, 0.00043699350635665083
    problem = one_state(
        {"slow": (p, (2, slow)), "fast": (p, (0, fast)), "jump": (1.0, (1, 91487040.37812607))},
        damage=slow / p,
    )
    return verdicts([("used up", problem)])


def walk_or_run(energy: float, fast: float, success: float, bound: float) -> CSSP:
    return one_state(
        {"walk": (1.0, (1.0, 0.0, energy)), "run": (success, (fast, 0.75, 3.0))}, damage=0.0, energy=bound
    )


def check_one_of_two_bounds_is_zero() -> list[str]:
    cases = [
        (energy, fast, success, bound)
        for energy, fast, success in product((4.0, 100.0, 1e5), (0.0, 0.5), (1.0, 0.25))
        for bound in (energy, energy + 1.0)
    ]
    return verdicts((f"zero {case}", walk_or_run(*case)) for case in cases)


def three_bounds(last: float) -> CSSP:
    """Three policies that end, each of which breaks a bound, one of them by little."""
    plan = CSSPBuilder(cost_names=("time", "a", "b", "c"), bounds={"a": 4.0, "b": 2.0, "c": last})
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    plan.add_action(first, "stay", to=first, costs=(5.0, 5.0, 1.0, 5.0))
    plan.add_action(first, "leave", to=out, costs=(4.0, 1.0, 2.0, 2.0))
    plan.add_action(first, "on", to=second, costs=(2.0, 2.0, 1.0, 5.0))
    plan.add_action(second, "out", to=out, costs=(1.0, 2.0, 1.0, 3.0))
    plan.add_action(second, "slowly", to=out, costs=(6.0, 5.0, 1.0, 1.0))
    return plan.build()


def check_several_bounds_barely_infeasible() -> list[str]:
    bounds = (1.999998, 2.0 * (1 - 2e-9), 2.0 * (1 - 1e-8), 1.9, 2.0)
    return verdicts((f"barely {bound!r}", three_bounds(bound)) for bound in bounds)


def check_a_risk_of_one_in_a_billion() -> list[str]:
    """A bound below one is kept to as many digits as any other."""
    wrong = []
    for bound in (1e-9, 1e-6, 1e-3):
        problem = one_state({"safe": (1.0, (10, 0.0)), "fast": (1.0, (1, 1.9 * bound))}, damage=bound)
        plan = solve(problem)
        if plan.upper_bound != 10.0 or plan.status is not Status.OPTIMAL:
            wrong.append(f"damage at most {bound}: {plan.status} {plan.upper_bound}, not 10")
    return wrong


def check_a_bound_below_zero_cannot_be_kept() -> list[str]:
    """However little it is below, and however seldom the activity runs that it counts."""
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    room = one_state({"walk": (1.0, (52.5, 0.0)), "run": (1.0, (1.0, 1e-9))})
    rarely = plan.add_activity("rarely", room)
    plan.add_choice(start, "go", to=[Outcome(1 / 16, end, runs=rarely), Outcome(15 / 16, end)])
    plan.add_constraint("damage", at_most=-1e-10, counts={rarely: "damage"})
    problem = plan.build(start=start, end=end)
    plans = {solver.name: solve(problem, solver) for solver in (PolicyBranching(), BudgetAllocation())}
    return [f"{name}: {each.status}" for name, each in plans.items() if each.status is not Status.INFEASIBLE]


# ---- costs of very different size ---------------------------------------------------------------------


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
        rounded = oracle.round_up(bound)
        if Fraction(rounded) > cost:
            wrong.append(f"{bound!r} was rounded up to {rounded!r}, past a policy of {float(cost)!r}")
    return wrong


# ---- procedures with odd activities -------------------------------------------------------------------


def check_an_activity_that_starts_in_its_goal() -> list[str]:
    plan = CSSPBuilder(cost_names=("time", "damage"))
    hall, door = plan.add_state("hall"), plan.add_goal("door")
    plan.add_action(hall, "go", to=door, costs={"time": 1, "damage": 1})
    plan.set_initial(door)
    problem = run_once(plan.build(), damage=1.0)
    return verdicts([("in the goal", problem)], (*BOTH, "flattened", "budgets", "milp", "curve"))


def trap(goals: Sequence[str]) -> CSSP:
    """A room that is never left, whatever its goals."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here = plan.add_state("in")
    for goal in goals:
        plan.add_goal(goal)
    plan.add_action(here, "turn", to=here, costs={"time": 1})
    return plan.build()


def check_an_activity_without_a_reachable_goal() -> list[str]:
    found = []
    for goals, other_way in product((("left", "right"), ("left",)), (False, True)):
        plan = ProcedureBuilder()
        start, middle, end = (plan.add_event(name) for name in ("start", "middle", "end"))
        stuck = plan.add_activity("trap", trap(goals))
        plan.add_choice(start, "trap", to=[Outcome(1.0, middle, runs=stuck)])
        plan.add_choice(middle, "on", to=[Outcome(1.0, end)])
        if other_way:
            round_it = plan.add_activity("round it", one_state({"go": (1.0, (7.0, 0.0))}))
            plan.add_choice(start, "round it", to=[Outcome(1.0, end, runs=round_it)])
        plan.add_constraint("damage", at_most=1.0, counts={stuck: "damage"})
        problem = plan.build(start=start, end=end)
        found += verdicts([(f"trap {goals} {other_way}", problem)], (*BOTH, "budgets", "curve"))
    return found


def check_an_activity_that_need_not_run_and_may_not_end() -> list[str]:
    def room(time: float, falls: bool) -> CSSP:
        plan = CSSPBuilder(cost_names=("time", "damage"))
        here, _, out = plan.add_state("in"), plan.add_state("pit"), plan.add_goal("out")
        to = {out: 0.875, "pit": 0.125} if falls else out
        plan.add_action(here, "go", to=to, costs={"time": time, "damage": 1})
        return plan.build()

    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    jump, walk = plan.add_activity("jump", room(1.0, True)), plan.add_activity("walk", room(5.0, False))
    plan.add_choice(start, "jump", to=[Outcome(1.0, end, runs=jump)])
    plan.add_choice(start, "walk", to=[Outcome(1.0, end, runs=walk)])
    plan.add_constraint("damage", at_most=2.0, counts={jump: "damage", walk: "damage"})
    return verdicts(
        [("pit", plan.build(start=start, end=end))], (*BOTH, "budgets", "budgets to the end", "curve")
    )


def check_two_outcomes_to_one_event() -> list[str]:
    """Whoever follows a plan can go on when two outcomes lead to the same event."""
    room = one_state({"go": (1.0, (1.0,))})
    wrong = []
    for second_runs in (False, True):
        plan = ProcedureBuilder()
        start, hall, end = (plan.add_event(name) for name in ("start", "hall", "end"))
        cross = plan.add_activity("cross", room)
        again = plan.add_activity("again", room) if second_runs else None
        plan.add_choice(start, "try", to=[Outcome(0.5, hall), Outcome(0.5, hall, runs=again)])
        plan.add_choice(hall, "cross", to=[Outcome(1.0, end, runs=cross)])
        run = solve(plan.build(start=start, end=end)).start()
        run.step()
        decision = run.step(outcome="hall") if second_runs else run.step()
        if "cross" not in str(decision):
            wrong.append(f"after an outcome to the hall: {decision}")
    return wrong


# ---- slow policies, curves, evaluation ----------------------------------------------------------------


def check_slow_is_not_improper() -> list[str]:
    """Whether a policy ends is decided on the graph: this one ends after 2^40 attempts."""
    forever = one_state({"try": (2.0**-40, (1.0, 0.0))}, damage=1.0)
    twice = one_state({"try": (2.0**-40, (1.0, 0.0)), "pay": (1.0, (2.0**41, 0.0))}, damage=1.0)
    problems = [("slow", forever), ("slow or dear", twice), ("slow activity", run_once(forever, damage=1.0))]
    return verdicts(problems, ("exact",))


def check_a_long_chain_with_a_dear_exit() -> list[str]:
    """Sixty steps of which each may lead back to the first would take 2^61; leaving at once costs 10^15."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    states = [*(plan.add_state(index) for index in range(60)), plan.add_goal("out")]
    for index in range(60):
        plan.add_action(states[index], "on", to={states[index + 1]: 0.5, states[0]: 0.5}, costs={"time": 1})
        plan.add_action(states[index], "leave", to=states[60], costs={"time": 1e15})
    problem = plan.build()
    plans = {"flat": solve(problem), "procedure": solve(run_once(problem, damage=1.0))}
    return [
        f"{name}: {each.status} [{each.lower_bound!r}, {each.upper_bound!r}], not 1e15"
        for name, each in plans.items()
        if each.upper_bound != 1e15 or each.lower_bound > 1e15 or each.status is not Status.OPTIMAL
    ]


def check_visits_beyond_1e15_in_a_procedure() -> list[str]:
    """Activities in a row that take 2^30 and 2^50 attempts, under bounds of that size."""
    slow = one_state({"a": (2.0**-30, (2.0, 0.0)), "b": (2.0**-20, (0.0, 2.0))})
    plan = CSSPBuilder(cost_names=("time", "damage"))
    first, second, out = plan.add_state("first"), plan.add_state("second"), plan.add_goal("out")
    plan.add_action(first, "a", to={first: 1 - 2.0**-30, second: 2.0**-30}, costs=(1.0, 5 / 3))
    plan.add_action(second, "a", to={first: 1 - 2.0**-20, out: 2.0**-20}, costs=(5.0, 2 / 3))
    slower = plan.build()
    problem = ProcedureBuilder()
    events = [problem.add_event(f"e{index}") for index in range(3)]
    one, two, three = (problem.add_activity(n, r) for n, r in (("A", slow), ("B", slow), ("C", slower)))
    problem.add_choice(events[0], "c", to=[Outcome(1.0, events[1], runs=one)])
    problem.add_choice(events[1], "c", to=[Outcome(1.0, events[2], runs=two)])
    problem.add_choice(events[1], "d", to=[Outcome(1.0, events[2], runs=three)])
    problem.add_constraint("K", at_most=1876499845436757.5, counts={two: "damage", three: "damage"})
    problem.add_constraint("L", at_most=1140378997556603.2, counts={one: "damage", three: "damage"})
    return verdicts([("1e15 visits", problem.build(start=events[0], end=events[2]))], ("exact",))


def check_a_curve_keeps_what_solve_keeps() -> list[str]:
    """Asked at the very value that evaluate tells for the most careful plan."""
    wrong = []
    for stay, damage, last in product((0.1, 0.3, 0.6, 0.7, 0.9), (1.0, 3.0, 5.0), (0.1, 0.7)):
        plan = CSSPBuilder(cost_names=("time", "damage"))
        here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
        plan.add_action(
            here, "careful", to={there: 1 - stay, here: stay}, costs={"time": 5, "damage": damage}
        )
        plan.add_action(here, "fast", to=there, costs={"time": 1, "damage": 9 * damage / (1 - stay)})
        plan.add_action(there, "go", to={out: 0.8, there: 0.2}, costs={"time": 1, "damage": last})
        problem = plan.build()
        bound = evaluate(problem, DeterministicPolicy(problem, np.array([0, 2, -1]))).cost("damage")
        solved = solve(problem.with_bounds(damage=bound))
        (point,) = trade_off(problem, "damage", [bound]).points
        if solved.status is not point.plan.status or solved.upper_bound != point.upper_bound:
            wrong.append(f"{stay, damage, last}: {solved.status} but on the curve {point.plan.status}")
    return wrong


def check_a_curve_that_begins_at_zero() -> list[str]:
    """At a bound of 0 there may be no price; what is proven there holds for nothing larger."""
    ways = {
        "round": (1.0, (8.0, 0.0, 5.0)),
        "through": (1.0, (6.0, 1.0, 6.0)),
        "dash": (1.0, (3.0, 7.0, 2.0)),
    }
    one = one_state({name: (success, costs[:2]) for name, (success, costs) in ways.items()}, damage=7.0)
    two = one_state(ways, damage=7.0, energy=6.0)
    problems = [("one bound", one), ("two bounds", two), ("a procedure", run_once(one, damage=7.0))]
    return verdicts(problems, ("curve",))


def check_a_bound_of_zero_is_raised_again() -> list[str]:
    """What a bound of 0 rules out is not ruled out for good: what was learnt under it serves other bounds."""
    ways = {"round": (1.0, (8.0, 0.0)), "through": (1.0, (6.0, 1.0)), "dash": (1.0, (3.0, 7.0))}
    careless = {name: ways[name] for name in ("through", "dash")}
    found = []
    for name, room, least in (("can be kept", one_state(ways), 8.0), ("cannot", one_state(careless), inf)):
        for problem in (room.with_bounds(damage=0.0), run_once(room, damage=0.0)):
            plan = solve(problem)
            costs = [plan.upper_bound, *(plan.resolve(damage=bound).upper_bound for bound in (1.0, 7.0, 0.0))]
            if costs != [least, 6.0, 3.0, least]:
                found.append(f"{name}: {costs}, not {[least, 6.0, 3.0, least]}")
            found += verdicts([(name, problem)], ("curve",))
    return found


def check_everything_is_free() -> list[str]:
    """Where the optimum is 0, nothing relative to it is left to be decided by."""
    free = one_state({"go": (1.0, (0.0, 1.0)), "wait": (0.5, (0.0, 0.0))}, damage=1.0)
    bounds = (0.0, 0.5, 1.0)
    flat = verdicts((f"free {bound}", free.with_bounds(damage=bound)) for bound in bounds)
    whole = [(f"free {bound} in a procedure", run_once(free, damage=bound)) for bound in bounds]
    return flat + verdicts(whole, ("exact", "budgets", "curve"))


def check_evaluation_owns_up_to_its_error() -> list[str]:
    """Where digits are lost the residual says so: it is what a reader is told to trust."""
    wrong = []
    for steps in (10, 30, 40, 50):
        plan = CSSPBuilder(cost_names=("time",))
        states = [*(plan.add_state(index) for index in range(steps)), plan.add_goal("out")]
        for index in range(steps):
            to = {states[index + 1]: 0.5, states[0]: 0.5} if index else {states[1]: 1.0}
            plan.add_action(states[index], "step", to=to, costs=float(1 + index % 3) / 10.0)
        plan.set_initial(states[0])
        problem = plan.build()
        rows = [*range(steps), -1]
        exact = ExactProblem.of(problem).costs_of(rows)
        told = evaluate(problem, DeterministicPolicy(problem, np.array(rows)))
        if exact is None:
            raise AssertionError("the chain ends")
        error = abs(Fraction(float(told.costs[0])) / exact[0] - 1)
        if error > max(Fraction(1, 10**9), 2 * Fraction(float(told.residual))):
            wrong.append(f"{steps} steps: wrong by {float(error):.1e}, residual {told.residual:.1e}")
    return wrong


def check_odd_numbers() -> list[str]:
    """Bounds and costs at the ends of what doubles hold."""

    def room(walk: Sequence[float], run: Sequence[float], bound: float) -> CSSP:
        return one_state({"walk": (1.0, walk), "run": (0.5, run)}, damage=bound)

    problems = [(f"bound {bound}", room((3, 0), (1, 2), bound)) for bound in (1e308, 1e-300, -1e-300, 5e-324)]
    for size in (1e12, 1e50, 1e100, 1e-12, 1e-100):
        problems.append((f"cost {size}", room((3 * size, 0), (size, 2), 3.0)))
        problems.append((f"damage {size}", room((3, 0), (1, 2 * size), 3 * size)))
    return verdicts(problems)


CHECKS: dict[str, Check] = {
    name.removeprefix("check_").replace("_", " "): check
    for name, check in globals().copy().items()
    if name.startswith("check_")
}
"""By name."""
