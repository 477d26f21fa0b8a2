"""No forgery is believed: neither those of the adversary nor four that an earlier checker accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from checker.adversary import RULES, Case, forgeries
from hcssp.checker import Certificate, check
from hcssp.checker.format import Potential, Statement
from hcssp.cssp import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.errors import NotProven
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from volume import some

AT_ONCE = 500
CHUNKS = range(200)  # 100,000 forgeries in all


@pytest.mark.parametrize("seed", some(CHUNKS, 50))
def test_no_forgery_is_believed(seed: int, record_property: Callable[[str, object], None]) -> None:
    counts: Counter[str] = Counter()
    for number, forgery in enumerate(islice(forgeries(seed), AT_ONCE)):
        outcome = forgery.outcome(sample=number % 5 == 0)
        assert outcome in ("true", "refused"), (number, forgery.rule, outcome)
        counts[f"{forgery.rule}: {outcome}"] += 1
    record_property("forgeries", dict(counts))
    # Near the truth on both sides: every rule accepts some of what is forged, and refuses some.
    assert sum(counts[f"{rule}: true"] > 0 for rule in RULES) >= len(RULES) - 2
    assert all(counts[f"{rule}: refused"] > 0 for rule in RULES)


# ----- Four forgeries that were believed once -----

NOTHING = np.zeros(0, dtype=np.int64)
Forged = tuple[CSSP | HCSSP, Certificate]


def claiming(
    problem: CSSP | HCSSP, claim: float, statement: Statement, *potentials: Potential, **more: Any
) -> Certificate:
    bounds = tuple(each.at_most for each in problem.procedure.constraints)
    proof = {"tree": (-1,), "leaves": ((0, claim),), **more}
    return Certificate(
        bounds=bounds, plan=NOTHING, ranks=NOTHING, upper_bound=inf, plan_statements=(),
        statements=(statement,), potentials=potentials, **proof,
    )  # fmt: skip


def walk(time: float = 10.0) -> CSSP:
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, out = room.add_state("here"), room.add_goal("out")
    room.add_action(here, "walk", to=out, costs={"time": time})
    return room.build()


def unlike_segments() -> Forged:
    """Two parts of a procedure that differ in what their first choice does: one of them never ends."""
    dead = CSSPBuilder(cost_names=("time", "damage"))
    here = dead.add_state("here")
    dead.add_action(here, "stay", to=here, costs={"time": 1.0})
    dead.add_goal("left")
    dead.add_goal("right")
    plan = ProcedureBuilder()
    first, second, end = map(plan.add_event, ("first", "second", "end"))
    never, one, two = map(plan.add_activity, ("dead", "one", "two"), (dead.build(), walk(), walk()))
    plan.add_choice(first, "a", to=[Outcome(1.0, second, runs=never)])
    plan.add_choice(first, "b", to=[Outcome(1.0, second, runs=one)])
    plan.add_choice(second, "a", to=[Outcome(1.0, end)])
    plan.add_choice(second, "b", to=[Outcome(1.0, end, runs=two)])
    plan.add_constraint("damage", at_most=1.0, counts={one: "damage", two: "damage"})
    problem = plan.build(start=first, end=end)
    events = tuple({0: 20.0, 1: 10.0, 2: 0.0}[event] for event, _ in problem.flattening.event_states)
    leaf = Statement((1.0, 0.0), events, ((1, 0, 1.0), (2, 0, 1.0)))
    potential = Potential(1, (1.0, 0.0), (), np.array([10.0, 0.0]))
    row = int(problem.flattening.event_row_start[problem.flattening.start])
    more = {"tree": (row, -1, -1), "leaves": ((None, inf), (0, 20.0)), "same": (0, 1, 1)}
    return problem, claiming(problem, 20.0, leaf, potential, **more)


def unlike_arrays() -> Forged:
    """Activities of other shapes, with the same numbers one after the other in all their arrays."""

    def wide(time: float, damage: float) -> CSSP:
        moves = np.zeros((1, 8))
        moves[0, 2] = 1.0
        return CSSP(
            transitions=csr_array(moves), row_start=np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]),
            costs=np.array([[time], [damage]]), initial=np.eye(8)[3], cost_names=("time", "damage"),
            goals=np.array([0, 0, 1, 0, 0, 1, 1, 1], dtype=np.bool_), bounds=np.array([inf]),
        )  # fmt: skip

    def narrow(time: float, more: float) -> CSSP:
        moves = np.zeros((2, 4))
        moves[0, 3] = moves[1, 0] = 1.0
        return CSSP(
            transitions=csr_array(moves), row_start=np.array([0, 1, 2, 2, 2]), costs=np.array([[time, more]]),
            initial=np.eye(4)[0], goals=np.array([0, 0, 1, 1], dtype=np.bool_), cost_names=("time",),
            bounds=np.zeros(0),
        )  # fmt: skip

    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    rooms = wide(10.0, 1.0), narrow(10.0, 1.0), narrow(20.0, 2.0), wide(20.0, 2.0)
    runs = [plan.add_activity(str(number), room) for number, room in enumerate(rooms)]
    plan.add_choice(start, "go", to=[Outcome(0.25, end, runs=run) for run in runs])
    plan.add_constraint("damage", at_most=100.0, counts={runs[0]: "damage", runs[3]: "damage"})
    problem = plan.build(start=start, end=end)
    values = np.zeros(8)
    values[3] = 4e6
    events = tuple(1e6 * (event == 0) for event, _ in problem.flattening.event_states)
    leaf = Statement((1.0, 0.0), events, ((0, 0, 1.0),))
    return problem, claiming(problem, 1e6, leaf, Potential(1, (1.0,), (), values), same=(0, 0, 2, 2))


def rounded_budget() -> Forged:
    """A price so high that one unit of the knapsack is more than the claim; the budget is at the edge."""
    plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
    here, out = plan.add_state("here"), plan.add_goal("out")
    claim = float(2**23)
    plan.add_action(here, "run", to=out, costs={"time": 2.0, "damage": 1.000000001})
    plan.add_action(here, "walk", to=out, costs={"time": claim})
    problem = plan.build()
    # The price times 1.000000001, in units of 2 ** 23, is a little less than an integer.
    more = next(j for j in range(10**9 // 128 + 1) if (2**59 + 128 * j) % 10**9 == 10**9 - 128)
    price = float(2**82 + more * 2**30)
    assert Fraction(price) == 2**82 + more * 2**30
    shares = [price / 1e9]
    if Fraction(shares[0]) * 10**9 > Fraction(price):
        shares[0] = float(np.nextafter(shares[0], 0))
    shares.append(float((Fraction(price) - Fraction(shares[0]) * 10**9) / 10**9))
    if sum(map(Fraction, shares)) * 10**9 > Fraction(price):
        shares[1] = float(np.nextafter(shares[1], 0))
    potentials = (
        Potential(0, (1.0, 0.0), (1,), np.array([2.0, 0.0])),
        Potential(0, (0.0, 1e9), (1,), np.array([1000000001.0, 0.0])),
        Potential(0, (1.0, 0.0), (0,), np.array([claim, 0.0])),
    )
    classes = (
        ((), (), ((0, 0, 1.0), *((0, 1, share) for share in shares))),
        (((0, 2, 1.0),), (), ()),
    )
    visits = tuple(float(event == 0) for event in range(2))
    leaf = Statement((1.0, price), visits, (), ((0, (1, -1, -1), classes),))
    return problem, claiming(problem, claim, leaf, *potentials)


def plan_that_may_not_end() -> Forged:
    """It does not end with probability 1e-400, which no double can hold."""
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, stuck, out = room.add_state("here"), room.add_state("stuck"), room.add_goal("out")
    room.add_action(here, "go", to=out, costs={"time": 1.0})
    room.add_action(stuck, "stay", to=stuck, costs={"time": 1.0})
    room.set_initial({here: 1.0, stuck: 1e-200})
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    run = plan.add_activity("room", room.build())
    plan.add_choice(start, "maybe", to=[Outcome(1e-200, end, runs=run), Outcome(1.0, end)])
    plan.add_constraint("damage", at_most=1.0, counts={run: "damage"})
    problem = plan.build(start=start, end=end)
    layout = problem.flattening
    rows, ranks = np.full(layout.num_states, -1), np.zeros(layout.num_states, dtype=np.int64)
    state = layout.flat_state(0)[0]
    rows[layout.start], rows[state] = 0, layout.row_offset[0]
    ranks[layout.start], ranks[state] = 2, 1
    free = (0.0,) * layout.num_event_states
    paid = tuple(-float(event == layout.start) for event in range(layout.num_event_states))
    return problem, Certificate(
        bounds=(1.0,), tree=(-1,), leaves=((0, 0.0),), plan=rows, ranks=ranks, upper_bound=1.0,
        plan_statements=(1, 2),
        statements=(
            Statement((1.0, 0.0), free, ()),
            Statement((-1.0, 0.0), paid, ((0, 0, 1.0),)),
            Statement((0.0, -1.0), free, ((0, 1, 1.0),)),
        ),
        potentials=(
            Potential(0, (-1.0, 0.0), (), np.array([-1.0, 0.0, 0.0]), True),
            Potential(0, (0.0, -1.0), (), np.zeros(3), True),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("forged", "message", "optimum"),
    [
        (unlike_segments, "leaf 1: it does not hold in state 'second', action 'a'", 10.0),
        (unlike_arrays, "activity 1: its arrays are not those of activity 0", 15.0),
        (rounded_budget, "plans within the budget may cost less", 2.0),
        (plan_that_may_not_end, "the plan: it does not reach the end almost surely", inf),
    ],
)
def test_what_was_believed_once_is_refused(
    forged: Callable[[], Forged], message: str, optimum: float, exact: bool
) -> None:
    problem, certificate = forged()
    assert Case(problem).optimum == optimum
    with pytest.raises(NotProven, match=message):
        check(problem, certificate, exact=exact)


def test_probabilities_whose_common_denominator_no_double_holds_are_proven() -> None:
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, aside, out = room.add_state("here"), room.add_state("aside"), room.add_goal("out")
    room.add_action(here, "go", to=out, costs={"time": 1.0})
    room.add_action(aside, "go", to=out, costs={"time": 2.0})
    room.set_initial({here: 1.0, aside: 1e-120})
    plan = ProcedureBuilder()
    start, end = plan.add_event("start"), plan.add_event("end")
    run = plan.add_activity("room", room.build())
    plan.add_choice(
        start, "maybe", to=[Outcome(1e-200, end, runs=run), Outcome(0.5, end), Outcome(0.5, start)]
    )
    plan.add_constraint("damage", at_most=1.0, counts={run: "damage"})
    problem = plan.build(start=start, end=end)
    verdict = check(problem, solve(problem).certificate)
    assert 1.99e-200 <= verdict.lower_bound <= Case(problem).optimum <= verdict.upper_bound <= 2.01e-200
