"""Slow policies, curves, evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import inf

import numpy as np

from hcssp.contract.proof import Status
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.evaluation.exact import evaluate
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from hcssp.solving.trade_off import trade_off
from referee.exact_policies import ExactProblem
from reproductions.asking import one_state, run_once, verdicts


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
