"""Both phases of the ascent for one constraint, on tables of policies; test_ascent has the whole of it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcssp.cssp.model import FloatArray
from hcssp.dual.ascent import (
    DEFAULT_PARAMETERS,
    Ascent,
    LineSearch,
    Pair,
    best_pair,
    intersect_lines,
    maximise,
)
from hcssp.dual.oracle import Minimum, Strategies
from hcssp.numerics import tolerated
from hcssp.ssp.scalar_problem import Region
from menus import Dish, Menu
from mixtures import best_mixture

ROADS = ((10.0, 0.0), (6.0, 2.0), (4.0, 6.0))
PREDICTED, UNPREDICTED = DEFAULT_PARAMETERS.cutoff_share, DEFAULT_PARAMETERS.unpredicted_share


def searching(menu: Menu, start: float = 0.0, cutoff: float = inf) -> LineSearch[Dish]:
    return LineSearch(Ascent(menu, Region(), cutoff=cutoff), 0, np.array([start]))


def bracketed(search: LineSearch[Dish]) -> int:
    """Go on until the pair is complete or all is decided; how many solves it took."""
    for solves in range(1, 100):
        search.solve()
        if search.ascent.decided or None not in search.pair:
            return solves
        search.bracket()
        if search.ascent.decided:
            return solves
    raise AssertionError("the bracket phase goes on for ever")


@pytest.mark.parametrize("bound", [0.0, 1.0, 3.0, 5.0, 7.0])
def test_the_one_bound_may_be_that_of_any_cost(bound: float) -> None:
    alone = maximise(Menu(ROADS, [bound]), Region())
    # Beside costs that nobody limits, of which there is much, little or none.
    other = np.array([[30.0], [1.0], [0.0]])
    times, damage = np.array(ROADS)[:, :1], np.array(ROADS)[:, 1:]
    for table, bounds in (
        (np.hstack([times, other, damage]), [inf, bound]),
        (np.hstack([times, damage, other]), [bound, inf]),
        (np.hstack([times, other, other[::-1], damage]), [inf, inf, bound]),
    ):
        found = maximise(Menu(table, bounds), Region())
        assert (found.infeasible, found.converged) == (alone.infeasible, alone.converged)
        assert found.bound == pytest.approx(alone.bound, rel=1e-8)
        assert found.prices[np.isfinite(bounds)] == pytest.approx(alone.prices)
        assert [dish.row for dish in found.support] == [dish.row for dish in alone.support]
        assert found.mixture == pytest.approx(alone.mixture)


class Mute:
    """Predicts nothing."""

    def breakpoint(self, *asked: object) -> None:
        return None


@pytest.mark.parametrize("predicts", [True, False])
def test_more_may_be_left_open_where_no_breakpoint_is_predicted(predicts: bool) -> None:
    class Told(Menu):
        """It may be asked where the best policy changes sides, and does not know."""

        @property
        def strategies(self) -> Strategies[Dish]:
            return Strategies(prediction=Mute() if predicts else None)

    for share in (0.9 * PREDICTED, 1.1 * PREDICTED, 0.9 * UNPREDICTED, 1.1 * UNPREDICTED):
        missing = 10.0
        proven = 8.0 - share * missing
        search = searching(Told(ROADS, [1.0]), 1.0, proven + missing)
        search.ascent.points = [Dish(np.array(costs), row) for row, costs in enumerate(ROADS)]
        search.ascent.bound = proven
        search.pair = best_pair(search.ascent.points, 0, search.bound)
        assert search.close()
        assert search.ascent.converged == (share < (PREDICTED if predicts else UNPREDICTED))


def test_where_rounding_hides_whether_the_bound_is_kept_the_least_use_is_told() -> None:
    class Rounded(Menu):
        """The bounds it proves are a little too low, as roundings may have it."""

        def minimise(
            self, weights: FloatArray, region: Region, precision: float = 0.0, near: Dish | None = None
        ) -> Minimum[Dish] | None:
            found = super().minimise(weights, region, precision, near)
            return None if found is None else found._replace(bound=found.bound * (1.0 - 1e-6))

    # What uses least is so dear that no price leads to it, and above the bound by less than what is lost.
    menu = Rounded(((1.0, 5.0), (2.0, 4.0), (3.0, 3.5), (1e9, 3.0 + 1e-7)), [3.0])
    *_, dual = intersect_lines(Ascent(menu, Region()), 0)
    assert dual.converged
    assert not dual.infeasible
    assert [dish.row for dish in dual.support] == [3]
    assert dual.mixture.tolist() == [1.0]


tables = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda pair: (float(pair[0]), float(pair[1]))),
    min_size=1,
    max_size=8,
)


@given(tables, st.floats(0.0, 20.0))
def test_the_best_pair_crosses_where_the_model_is_highest(
    table: list[tuple[float, float]], bound: float
) -> None:
    dishes = [Dish(np.array(costs), row) for row, costs in enumerate(table)]
    kept, broken = best_pair(dishes, 0, bound)
    costs = np.array(table)
    slope = costs[:, 1] - bound
    assert (kept is None) == (not np.any(slope <= 0.0))
    if kept is None:
        assert broken is not None
        assert broken.costs[1] == costs[:, 1].min()
        return
    assert kept.costs[1] <= bound
    cheapest = costs[slope <= 0.0, 0].min()
    if broken is None:
        # Nothing that breaks the bound is cheaper, so the model is highest at zero.
        assert kept.costs[0] == cheapest
        assert cheapest <= costs[:, 0].min(initial=inf, where=slope > 0.0)
        return
    assert broken.costs[1] > bound
    multiplier = (kept.costs[0] - broken.costs[0]) / (broken.costs[1] - kept.costs[1])
    level = kept.costs[0] + multiplier * (kept.costs[1] - bound)
    model = [float((costs[:, 0] + each * slope).min()) for each in (*np.linspace(0.0, 30.0, 61), multiplier)]
    assert level == pytest.approx(max(model), abs=1e-9) or level >= max(model)
    assert model[-1] == pytest.approx(level, abs=1e-9)


def test_what_meets_the_bound_keeps_it() -> None:
    kept, met, broken = (
        Dish(np.array(costs), row) for row, costs in enumerate([(10.0, 0.0), (5.0, 2.0), (4.0, 6.0)])
    )
    assert best_pair([kept, met, broken], 0, 2.0) == (met, broken)


def test_of_nothing_there_is_no_pair() -> None:
    assert best_pair([], 0, 1.0) == (None, None)


@pytest.mark.parametrize("cost", [6.0, 7.0])
def test_what_breaks_the_bound_and_is_no_cheaper_is_of_no_interest(cost: float) -> None:
    kept, broken = Dish(np.array([6.0, 1.0]), 0), Dish(np.array([cost, 9.0]), 1)
    assert best_pair([broken, kept], 0, 2.0) == (kept, None)


@pytest.mark.parametrize("start", [0.0, 1e-3, 0.5, 7.0, 1e6])
@pytest.mark.parametrize("bound", [0.5, 2.5, 4.0, 5.9])
def test_the_bracket_phase_finds_a_policy_on_either_side(start: float, bound: float) -> None:
    search = searching(Menu(ROADS, [bound]), start)
    bracketed(search)
    kept, broken = search.pair
    assert not search.ascent.decided
    assert kept is not None
    assert broken is not None
    assert kept.costs[1] <= bound < broken.costs[1]


@pytest.mark.parametrize("start", [0.0, 3.0])
@pytest.mark.parametrize("blur", [0.0, 0.1])
def test_a_bound_that_does_not_bind_is_decided_while_bracketing(start: float, blur: float) -> None:
    search = searching(Menu(ROADS, [6.0], blur), start)
    bracketed(search)
    assert search.ascent.converged
    assert search.ascent.bound == pytest.approx(4.0)
    assert search.ascent.snapshot().support[0].row == 2


def test_a_bound_that_nothing_keeps_is_refuted_after_a_few_raises() -> None:
    menu = Menu(ROADS, [-1.0])
    search = searching(menu)
    assert bracketed(search) == DEFAULT_PARAMETERS.max_steps + 1
    proof = search.ascent.infeasibility
    assert proof is not None
    assert (proof.least, proof.allowed) == (0.0, -1.0)
    # Every raise is to a higher multiplier; the last question is about the use alone.
    prices = [weights[1] for weights, _ in menu.asked[:-1]]
    assert prices == sorted(prices)
    assert len(set(prices)) == len(prices)
    assert menu.asked[-1][0] == [0.0, 1.0]


def test_a_policy_that_only_an_enormous_price_finds_is_found() -> None:
    search = searching(Menu([(0.0, 5.0), (1e30, 1.0)], [2.0]))
    bracketed(search)
    assert None not in search.pair


def test_an_empty_region_is_decided_at_once() -> None:
    ascent = Ascent(Menu(ROADS, [4.0]), Region().forbid([0, 1, 2]))
    (last,) = intersect_lines(ascent, 0)
    assert last.empty


def test_what_is_proven_of_a_larger_region_is_not_asked_again() -> None:
    menu = Menu(ROADS, [4.0])
    kept = Dish(np.array(ROADS[1]), 1)
    # At half a unit the last two roads are equally good; the last one is forbidden.
    ascent = Ascent(menu, Region().forbid([2]), [kept])
    *_, last = intersect_lines(ascent, 0, np.array([0.5]), proven=5.0)
    assert 0.5 not in [weights[1] for weights, _ in menu.asked]
    assert last.bound == pytest.approx(6.0, abs=1e-7)


def test_closing_without_a_pair_is_for_the_other_phase() -> None:
    search = searching(Menu(ROADS, [4.0]))
    search.solve()
    assert not search.close()


@pytest.mark.parametrize(
    ("bound", "value", "price", "support"),
    [(4.0, 5.0, 0.5, [2, 1]), (1.0, 8.0, 2.0, [1, 0]), (0.2, 9.6, 2.0, [1, 0])],
)
def test_the_close_phase_ends_on_the_intersection(
    bound: float, value: float, price: float, support: list[int]
) -> None:
    search = searching(Menu(ROADS, [bound]))
    bracketed(search)
    for _ in range(10):
        if search.ascent.decided:
            break
        assert search.close()
        if not search.ascent.decided:
            search.solve()
    dual = search.ascent.snapshot()
    assert dual.converged
    assert dual.bound == pytest.approx(value, abs=1e-7)
    assert dual.prices == pytest.approx([price])
    assert [point.row for point in dual.support] == support
    mixed = dual.mixture @ np.array([point.costs for point in dual.support])
    assert mixed == pytest.approx([value, bound], abs=1e-7)


def test_where_the_search_stays_it_asks_for_more_and_more() -> None:
    menu = Menu(ROADS, [4.0], blur=0.5)
    list(intersect_lines(Ascent(menu, Region()), 0))
    at_the_crossing = [precision for weights, precision in menu.asked if weights[1] == pytest.approx(0.5)]
    assert at_the_crossing == sorted(at_the_crossing, reverse=True)
    assert at_the_crossing[-1] == 0.0
    assert len(set(at_the_crossing)) > 1


def test_a_policy_that_is_met_again_is_kept_once() -> None:
    *_, dual = intersect_lines(Ascent(Menu(ROADS, [4.0], blur=0.5), Region()), 0)
    assert sorted(point.row for point in dual.points) == [0, 1, 2]


def test_with_a_cutoff_the_last_part_of_the_way_is_not_gone() -> None:
    blurred = Menu(ROADS, [4.0], blur=0.5)
    *_, whole = intersect_lines(Ascent(blurred, Region()), 0)
    asked = len(blurred.asked)
    blurred.asked.clear()
    *_, early = intersect_lines(Ascent(blurred, Region(), cutoff=50.0), 0)
    assert early.converged
    assert len(blurred.asked) < asked
    assert early.bound < whole.bound
    assert whole.bound - early.bound <= 0.1 * (50.0 - early.bound)


def test_what_is_known_already_begins_at_its_crossing() -> None:
    menu = Menu(ROADS, [4.0])
    known = [Dish(np.array(costs), row) for row, costs in enumerate(ROADS)]
    *_, last = intersect_lines(Ascent(menu, Region(), known), 0)
    assert last.bound == pytest.approx(5.0, abs=1e-7)
    assert [weights for weights, _ in menu.asked] == [[1.0, pytest.approx(0.5)]]


@given(tables, st.floats(0.0, 20.0), st.floats(0.0, 5.0))
def test_the_whole_search_finds_the_maximum_of_the_model(
    table: list[tuple[float, float]], bound: float, start: float
) -> None:
    *_, dual = intersect_lines(Ascent(Menu(table, [bound]), Region()), 0, np.array([start]))
    costs = np.array(table)
    slope = costs[:, 1] - float(tolerated(np.array([bound]))[0])
    if not np.any(slope <= 0.0):
        assert dual.infeasible
        return
    # The maximum of a concave piecewise linear function lies on a crossing, or at zero.
    crossings = [
        (costs[first, 0] - costs[second, 0]) / (slope[second] - slope[first])
        for first in range(len(table))
        for second in range(len(table))
        if slope[first] != slope[second]
    ]
    best = max(float((costs[:, 0] + each * slope).min()) for each in (0.0, *crossings) if each >= 0.0)
    assert dual.converged
    assert dual.bound <= best + 1e-9 * (1.0 + abs(best))
    assert dual.bound == pytest.approx(best, abs=1e-6 * (1.0 + abs(best)))


def test_without_a_cheaper_policy_that_breaks_the_bound_nothing_need_be_paid() -> None:
    # At no price both cost the same; once the least use is looked at by itself, the bound is free.
    search = searching(Menu([(5.0, 3.0), (5.0, 1.0)], [2.0]))
    search.solve()
    search._least_use()
    assert (search.pair.kept, search.pair.broken) == (search.ascent.points[-1], None)
    assert search.multiplier == 0.0


def test_while_all_that_is_known_keeps_the_bound_the_multiplier_is_lowered_step_by_step() -> None:
    search = searching(Menu([(5.0, 1.0), (4.0, 3.0)], [2.0]), start=8.0)
    search.solve()
    assert (search.pair.kept, search.pair.broken) == (search.ascent.points[0], None)
    expected, factor = 8.0, DEFAULT_PARAMETERS.first_step
    for _ in range(3 + DEFAULT_PARAMETERS.max_steps):
        expected /= factor
        factor = min(factor**DEFAULT_PARAMETERS.step_growth, DEFAULT_PARAMETERS.largest_step)
        search.bracket()
        assert search.multiplier == pytest.approx(expected)
    search.bracket()
    assert search.multiplier == 0.0


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_where_two_lines_cross_is_met_but_for_rounding_whatever_the_unit(size: float) -> None:
    search = searching(Menu([(3.0 * size, 0.0), (size, 2.0)], [1.0]))
    search.solve()
    kept, broken = (Dish(np.array(costs), row) for row, costs in enumerate(search.ascent.oracle.table))
    search.pair, search.is_new = Pair(kept, broken), False
    crossing = search.crossing(kept, broken)
    for share, is_there in ((0.1, True), (10.0, False)):
        nearby = crossing * (1.0 + share * DEFAULT_PARAMETERS.tolerance)
        search.multiplier = nearby
        search.precision = DEFAULT_PARAMETERS.coarse_precision
        assert search.close()
        assert search.multiplier == (nearby if is_there else crossing)


def test_where_nothing_is_paid_yet_the_first_price_is_one() -> None:
    search = searching(Menu(((3.0, 0.0), (0.0, 4.0)), (1.0,)))
    search.solve()
    search.bracket()
    assert search.multiplier == 1.0


def test_the_only_bound_may_be_any_of_the_costs() -> None:
    table = [(10.0, 0.0, 1.0, 7.0), (4.0, 6.0, 9.0, 1.0), (6.0, 2.0, 2.0, 5.0)]
    for index in range(3):
        bounds = np.full(3, np.inf)
        bounds[index] = 3.0
        dual = maximise(Menu(table, bounds), Region())
        costs = np.array(table)
        optimum = best_mixture(costs, tolerated(bounds))
        assert dual.converged
        assert dual.bound == pytest.approx(optimum)
        mixed = dual.mixture @ np.array([point.costs for point in dual.support])
        assert dual.mixture.sum() == pytest.approx(1.0)
        assert mixed[0] == pytest.approx(optimum)
        assert mixed[1 + index] <= 3.0 * (1.0 + 2e-9)
        assert np.flatnonzero(dual.prices).tolist() in ([], [index])
