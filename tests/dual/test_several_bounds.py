"""The master and the phases of the dual for several constraints, on tables of policies."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import pytest

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import Ascent
from hcssp.dual.master import Master, MasterOptimum
from hcssp.dual.oracle import Minimum
from hcssp.dual.several_bounds import CuttingPlanes, cut_planes, seek_feasible
from hcssp.errors import OutOfPrecision
from hcssp.procedure import Outcome, ProcedureBuilder
from hcssp.solving.solve import solve
from hcssp.ssp.region import Region
from menus import Dish, Menu


def test_the_best_mixture_and_its_multipliers() -> None:
    master = Master(2)
    for cost, excess in ((10.0, [-2.0, -1.0]), (4.0, [2.0, -1.0]), (6.0, [1.0, 7.0])):
        master.add(cost, np.array(excess))
    optimum = master.solve()
    assert optimum.value == pytest.approx(7.0)
    assert optimum.mixture == pytest.approx([0.5, 0.5, 0.0])
    assert optimum.multipliers == pytest.approx([1.5, 0.0])
    assert optimum.violation == 0.0


def test_multipliers_keep_their_limits_at_the_price_of_a_violation() -> None:
    master = Master(1, limits=np.array([1.0]))
    master.add(10.0, np.array([-2.0]))
    master.add(4.0, np.array([2.0]))
    optimum = master.solve()
    assert optimum.multipliers == pytest.approx([1.0])
    assert optimum.value == pytest.approx(6.0)
    assert optimum.violation == pytest.approx(2.0)


def test_a_new_policy_lowers_the_model() -> None:
    master = Master(1, limits=np.array([100.0]))
    master.add(4.0, np.array([2.0]))
    first = master.solve().value
    master.add(10.0, np.array([-2.0]))
    assert master.solve().value < first


def test_the_least_violation_and_the_weights_that_prove_it() -> None:
    master = Master(2, feasibility=True)
    master.add(1.0, np.array([3.0, -1.0]))
    master.add(1.0, np.array([-1.0, 3.0]))
    optimum = master.solve()
    assert optimum.violation == pytest.approx(1.0)
    assert optimum.mixture == pytest.approx([0.5, 0.5])
    assert optimum.multipliers == pytest.approx([0.5, 0.5])


ROADS = ((10.0, 0.0, 4.0), (6.0, 2.0, 3.0), (4.0, 6.0, 8.0))
BOTH = np.array([0, 1])


def known(menu: Menu) -> list[Dish]:
    return [Dish(costs, row) for row, costs in enumerate(menu.table)]


def test_a_region_whose_cheapest_policy_keeps_the_bounds_needs_no_master() -> None:
    first, last = cut_planes(Ascent(Menu(ROADS, [6.0, 8.0]), Region()), BOTH)
    assert not first.converged
    assert last.converged
    assert last.bound == 4.0
    assert last.prices.tolist() == [0.0, 0.0]


def test_an_empty_region_is_decided_at_once() -> None:
    (last,) = cut_planes(Ascent(Menu(ROADS, [4.0, 4.0]), Region().forbid([0, 1, 2])), BOTH)
    assert last.empty


def test_planes_are_cut_until_the_model_meets_the_bound() -> None:
    ascent = Ascent(Menu(ROADS, [4.0, 5.5]), Region())
    ascent.explore(np.zeros(2))
    planes = CuttingPlanes(ascent, BOTH)
    models = []
    for _ in range(20):
        optimum = planes.cut()
        models.append(optimum.value)
        if planes.has_converged(optimum):
            break
    # The model only falls, and the bound has come up to it.
    assert models == pytest.approx(sorted(models, reverse=True))
    assert planes.is_kept(optimum)
    planes.converge(optimum)
    dual = ascent.snapshot()
    mixed = dual.mixture @ np.array([vertex.costs for vertex in dual.support])
    assert dual.bound == pytest.approx(5.0, abs=1e-6)
    assert mixed[0] == pytest.approx(5.0, abs=1e-6)
    assert np.all(mixed[1:] <= np.array([4.0, 5.5]) + 1e-6)


def test_multipliers_that_press_against_their_limits_are_noticed_and_let_go() -> None:
    # Nothing but an enormous price on the first cost makes the second policy worth its money.
    menu = Menu([(1.0, 5.0, 1.0), (1e7, 1.0, 1.0)], [2.0, 4.0])
    ascent = Ascent(menu, Region())
    ascent.explore(np.zeros(2))
    planes = CuttingPlanes(ascent, BOTH)
    while not planes.has_converged(optimum := planes.cut()):
        pass
    assert optimum.violation > 0.1
    assert not planes.is_kept(optimum)
    list(seek_feasible(ascent, BOTH))
    assert not ascent.infeasible
    assert menu.asked[-1][0][0] == 0.0
    planes.lift_limits()
    while not planes.has_converged(optimum := planes.cut()):
        pass
    assert planes.is_kept(optimum)
    assert ascent.bound == pytest.approx(0.25 * 1.0 + 0.75 * 1e7, rel=1e-6)


def test_a_mixture_that_keeps_the_bounds_ends_the_search_for_one_without_a_question() -> None:
    menu = Menu(ROADS, [1.0, 3.5])
    ascent = Ascent(menu, Region(), known(menu))
    assert list(seek_feasible(ascent, BOTH)) == []
    assert menu.asked == []


def test_bounds_that_exclude_one_another_are_refuted_with_weights() -> None:
    # Each alone is possible: damage + 2 fuel is 8 at least.
    menu = Menu(ROADS, [0.5, 3.5])
    ascent = Ascent(menu, Region(), known(menu)[:1])
    *_, last = seek_feasible(ascent, BOTH)
    proof = last.infeasibility
    assert proof is not None
    assert proof.weights == pytest.approx([1 / 3, 2 / 3])
    assert proof.least == pytest.approx(8 / 3)
    assert proof.allowed == pytest.approx(2.5)
    assert last.bound == np.inf


def test_what_rounding_hides_is_not_asked_for_again_and_again() -> None:
    """The only policy breaks both bounds, but by bounds that are too low for that nothing proves it."""

    class Doubtful(Menu):
        def minimise(self, weights: FloatArray, region: Region, near: Dish | None = None) -> Minimum[Dish]:
            found = super().minimise(weights, region, near)
            assert found is not None
            return Minimum(found.vertex, 0.5 * found.bound)

    menu = Doubtful([(1.0, 3.0, 4.0)], [2.0, 3.0])
    ascent = Ascent(menu, Region(), known(menu))
    with pytest.raises(OutOfPrecision, match="lost in rounding"):
        list(seek_feasible(ascent, BOTH))
    assert len(menu.asked) == 1


@pytest.mark.parametrize("blur", [0.0, 0.2])
@pytest.mark.parametrize(
    ("bounds", "value"), [((4.0, 100.0), 5.0), ((100.0, 5.5), 5.0), ((1.0, 3.5), 8.0), ((2.0, 3.0), 6.0)]
)
def test_the_whole_search_finds_the_best_mixture(
    bounds: tuple[float, float], value: float, blur: float
) -> None:
    *_, last = cut_planes(Ascent(Menu(ROADS, bounds, blur), Region()), BOTH)
    assert last.converged
    assert last.bound == pytest.approx(value, abs=1e-6)
    assert last.bound <= value


def test_prices_beyond_any_number_end_the_dual_and_leave_what_is_proven() -> None:
    # A price at which a use of 1e-300 outweighs a cost of 1e9 overflows.
    tiny, huge = 1e-300, 1e9
    steps = CSSPBuilder(cost_names=("time", "damage", "noise"))
    here, out = steps.add_state("here"), steps.add_goal("out")
    for name, costs in {"run": (1.0, 4.0, 1.0), "creep": (3.0, 1.0, 0.0), "wait": (2.0, 2.0, 3.0)}.items():
        steps.add_action(here, name, to=out, costs=(huge * costs[0], tiny * costs[1], costs[2]))
    room, procedure = steps.build(), ProcedureBuilder()
    start, middle, end = (procedure.add_event(name) for name in ("start", "middle", "end"))
    first, second = procedure.add_activity("first", room), procedure.add_activity("second", room)
    procedure.add_choice(start, "go", to=[Outcome(1.0, middle, runs=first)])
    procedure.add_choice(middle, "on", to=[Outcome(1.0, end, runs=second)])
    for name, bound in (("damage", 5.0 * tiny), ("noise", 2.0)):
        procedure.add_constraint(name, at_most=bound, counts={first: name, second: name})
    plan = solve(procedure.build(start=start, end=end))
    assert plan.lower_bound <= 4.0 * huge <= plan.upper_bound


class Stumbling:
    """In place of HiGHS: no optimum in the first runs."""

    def __init__(self, highs: Any, failures: int) -> None:
        self._highs, self.left, self.cleared = highs, failures, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._highs, name)

    def clearSolver(self) -> None:  # noqa: N802
        self.cleared += 1

    def getModelStatus(self) -> Any:  # noqa: N802
        self.left -= 1
        status = highspy.HighsModelStatus
        return self._highs.getModelStatus() if self.left < 0 else status.kUnknown


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_master_that_stumbles_is_begun_anew_once(failures: int) -> None:
    master = Master(1)
    for cost, excess in ((10.0, -2.0), (4.0, 2.0)):
        master.add(cost, np.array([excess]))
    stumbling = Stumbling(master._highs, failures)
    master._highs = stumbling
    if failures > 1:
        with pytest.raises(OutOfPrecision, match="status"):
            master.solve()
    else:
        assert master.solve().value == pytest.approx(7.0)
    assert stumbling.cleared == min(failures, 1)


def test_a_mixture_that_pays_for_breaking_bounds_is_not_taken_for_one_that_keeps_them() -> None:
    menu = Menu([(10.0, 0.0, 5.0), (4.0, 6.0, 1.0)], [3.0, 3.0])
    ascent = Ascent(menu, Region())
    ascent.explore(np.zeros(2))
    planes = CuttingPlanes(ascent, np.arange(2))
    for violation, kept in ((1.0, False), (2e-9, False), (1e-9, True), (0.0, True), (-1.0, True)):
        optimum = MasterOptimum(5.0, np.zeros(2), np.ones(1), violation)
        assert planes.is_kept(optimum) is kept
    # Without limits on the multipliers, nothing can be paid for.
    planes.lift_limits()
    assert planes.is_kept(MasterOptimum(5.0, np.zeros(2), np.ones(1), 1.0))


def test_columns_with_huge_entries_are_weighed_as_they_are() -> None:
    # The second policy exceeds the bound by so much that hardly any of it is taken.
    master = Master(1)
    master.add(10.0, np.array([-2.0]))
    master.add(4.0, np.array([2e9]))
    optimum = master.solve()
    assert optimum.mixture == pytest.approx([1.0, 1e-9], rel=1e-6)
    assert optimum.violation <= 1e-6
    assert optimum.value == pytest.approx(10.0)
