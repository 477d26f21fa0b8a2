"""Whether what is called exchangeable is: policies with any row of an orbit cost the same."""

from __future__ import annotations

import numpy as np
import pytest

from alike_floors import floors, two_buildings
from brute_force_procedures import AllPolicies, brute_force
from hcssp import PolicyBranching, check, solve
from hcssp.contract.solver import Context
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import FloatArray
from hcssp.cssp.preprocessing import are_alike
from hcssp.dual.activity_planner import ActivityPlanner
from hcssp.dual.ascent import maximise
from hcssp.dual.enumeration import Enumeration
from hcssp.dual.procedure import ProcedureOracle
from hcssp.dual.symmetry import IdenticalActivities, Symmetry, _Events, first_identical
from hcssp.dual.value_cache import DEFAULT_PARAMETERS
from hcssp.methods.policy_branching import PolicySearch, SearchParameters, split_region
from hcssp.numerics import EXCHANGE_ROUNDING, EXCHANGE_SUM_TOLERANCE, MAX_EXCHANGED_EVENTS
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.assembly import claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.scalar_problem import Region
from small_procedures import risky_room, slow_or_fast
from volume import some


def orbit_of(oracle: ProcedureOracle, region: Region, row: int) -> list[int]:
    symmetry = oracle.strategies.symmetry
    return [row] if symmetry is None else symmetry.orbit(region, row)


def flat_rows(oracle: ProcedureOracle) -> list[int]:
    """The flat row that each row of the oracle is."""
    rows = list(range(oracle.procedure.num_rows))
    for first, planner in zip(oracle.flattening.row_offset[:-1], oracle.planners, strict=True):
        rows += (first + planner.prepared.rows).tolist()
    return rows


def rows_called(name: str, oracle: ProcedureOracle) -> list[int]:
    """The rows of the choices of a name."""
    names = [choice.name for choice in oracle.flattening.problem.choices]
    chosen = oracle.flattening.event_row_choice.tolist()
    return [row for row, choice in enumerate(chosen) if names[choice] == name]


def costs_with(policies: AllPolicies, forbidden: list[int], row: int) -> FloatArray:
    """What the policies cost that take a row and no forbidden one, in order."""
    taken = (policies.rows == row).any(axis=1) & ~np.isin(policies.rows, forbidden).any(axis=1)
    costs: FloatArray = policies.costs[taken].round(9)
    return costs[np.lexsort(costs.T)]


def costs_in(policies: AllPolicies, forbidden: list[int]) -> set[tuple[float, ...]]:
    """What the policies cost that take no forbidden row."""
    allowed = ~np.isin(policies.rows, forbidden).any(axis=1)
    return set(map(tuple, policies.costs[allowed].round(6).tolist()))


PROBLEMS = {
    "alike": floors("aaa"),
    "two kinds": floors("abab"),
    "nested": two_buildings("aa"),
    "one of them other": floors("aba"),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", some(range(12), one_in=3))
@pytest.mark.parametrize("decided", [False, True])
def test_policies_with_rows_of_an_orbit_cost_the_same(name: str, seed: int, decided: bool) -> None:
    oracle = ProcedureOracle(PROBLEMS[name].flattening)
    policies, flat = brute_force(PROBLEMS[name]), flat_rows(oracle)
    rng = np.random.default_rng(seed)
    sizes = np.diff(oracle.row_start)
    open_to_choice = np.flatnonzero(sizes[oracle.row_state] > 1)
    region, longest = Region(), 0
    if decided:
        # Through both buildings, and by every lift: all stairs are alike then, also those of other floors.
        region = region.forbid([*rows_called("around", oracle), *rows_called("across", oracle)])
    for row in rng.permutation(open_to_choice)[:5].tolist():
        orbit = orbit_of(oracle, region, row)
        longest = max(longest, len(orbit))
        forbidden = [flat[each] for each in region.forbidden]
        wanted = costs_with(policies, forbidden, flat[row])
        for image in orbit:
            assert costs_with(policies, forbidden, flat[image]) == pytest.approx(wanted)
        count = 1 + int(rng.integers(len(orbit)))
        parts = split_region(oracle, region, orbit, count)
        found = [costs_in(policies, [flat[each] for each in part.forbidden]) for part in parts]
        # Both parts together hold a policy for each, at equal costs, and no others.
        assert set.union(*found) == costs_in(policies, forbidden)
        region = region.forbid([int(rng.choice(orbit))])
    assert longest > 1


def test_alike_floors_one_after_the_other_are_an_orbit() -> None:
    oracle = ProcedureOracle(floors("abab").flattening)
    starts = oracle.procedure.row_start
    first, second, third = (int(starts[index]) for index in range(3))
    assert orbit_of(oracle, Region(), first) == [first, third]
    # What is forbidden on one floor alone tells it from the other.
    assert [*orbit_of(oracle, Region().forbid([first + 1]), first)] == [first]
    assert len(orbit_of(oracle, Region().forbid([first + 1, third + 1]), first)) == 2
    assert len(orbit_of(oracle, Region().forbid([second + 1]), first)) == 2


def test_of_segments_inside_one_another_those_are_exchanged_that_are_more() -> None:
    oracle = ProcedureOracle(two_buildings("aaa").flattening)
    names = [activity.name for activity in oracle.flattening.problem.activities]
    rooms = [int(oracle.row_offset[names.index(f"building-{b}/room-{r}")]) for b in (0, 1) for r in range(3)]
    assert orbit_of(oracle, Region(), rooms[1]) == [rooms[1], rooms[0], rooms[2]]
    # Now all floors of a building differ, but the buildings do not.
    told_apart = Region().forbid([each + 1 for each in (rooms[0], rooms[3])])
    told_apart = told_apart.forbid([rooms[1], rooms[4]])
    assert orbit_of(oracle, told_apart, rooms[2]) == [rooms[2], rooms[5]]


def test_floors_of_two_buildings_are_exchanged_where_both_are_entered_equally_often() -> None:
    oracle = ProcedureOracle(two_buildings("aa").flattening)
    names = [activity.name for activity in oracle.flattening.problem.activities]
    first, other, third, fourth = (
        int(oracle.row_offset[names.index(f"building-{b}/room-{r}")]) for b in (0, 1) for r in (0, 1)
    )
    told_apart = Region().forbid([other])
    around = rows_called("around", oracle)
    assert [*orbit_of(oracle, told_apart, first)] == [first]
    assert len(orbit_of(oracle, told_apart.forbid(around[:1]), first)) == 1
    assert orbit_of(oracle, told_apart.forbid(around), first) == [first, third, fourth]


def test_choices_that_are_too_dear_are_dropped_before_the_search_and_proven_so() -> None:
    problem = two_buildings("aa").with_bounds(damage=6.0)
    oracle = ProcedureOracle(problem.flattening)
    best = brute_force(problem).optimum(problem.bounds)
    assert best is not None
    search = PolicySearch(oracle, context=Context(best[0] + 0.01))
    search.root, record = maximise(oracle, Region()), search.record
    record.begin(oracle)
    node = search.root_node()
    assert node.region.forbidden.issuperset(rows_called("around", oracle))
    assert record.region(node.number) == node.region
    policies, flat = brute_force(problem), flat_rows(oracle)
    kept = ~np.isin(policies.rows, [flat[row] for row in node.region.forbidden]).any(axis=1)
    feasible = policies.costs[:, 1] <= problem.bounds[0]
    assert best[0] == pytest.approx(policies.costs[kept & feasible, 0].min())
    assert policies.costs[~kept & feasible, 0].min() > search.queue.cutoff
    claims = [record.claim(leaf) for leaf in record.leaves() if leaf != node.number]
    assert all(claim is not None and claim.bound >= search.queue.cutoff for claim in claims)


@pytest.mark.parametrize(
    ("problem", "limits"),
    [
        (floors("ab"), {}),
        # Where one comes back again and again, what rounding loses is multiplied.
        (floors("aa", again=True), {}),
        (floors("aa"), {"EXCHANGE_SUM_TOLERANCE": -1.0}),
        (floors("aa"), {"MAX_EXCHANGED_EVENTS": 4}),
    ],
    ids=["other rooms", "a circle", "rounding", "many events"],
)
def test_nothing_else_is_exchanged(
    problem: HCSSP, limits: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(f"hcssp.dual.symmetry.{name}", limit)
    oracle = ProcedureOracle(problem.flattening)
    room = int(oracle.row_offset[0])
    assert [*orbit_of(oracle, Region(), room)] == [room]
    assert oracle.strategies.symmetry is None or not limits


def test_what_is_entered_from_elsewhere_is_not_exchanged() -> None:
    plan = ProcedureBuilder("a shortcut")
    events = [plan.add_event(f"floor-{index}") for index in range(4)]
    rooms = [plan.add_activity(f"room-{index}", slow_or_fast(5.0, 3.0)) for index in range(3)]
    for index, room in enumerate(rooms):
        plan.add_choice(events[index], "across", to=[Outcome(1.0, events[index + 1], room)])
    plan.add_choice(events[0], "jump", to=[Outcome(1.0, events[2])])
    plan.add_constraint("damage", at_most=5.0, counts=dict.fromkeys(rooms, "damage"))
    oracle = ProcedureOracle(plan.build(start=events[0], end=events[-1]).flattening)
    for activity in range(3):
        assert len(orbit_of(oracle, Region(), int(oracle.row_offset[activity]))) == 1


def landings(inside: int | None, last: str, start: str = "porch") -> tuple[HCSSP, dict[str, int]]:
    """Two alike floors with two landings each, and a porch from which one may come to one of the first.

    From the door behind them one may come back to the porch.
    """
    plan = ProcedureBuilder("slip in")
    names = ["porch", "floor-0", "floor-1", "door", "out"]
    names += [f"landing-{floor}-{place}" for floor in (0, 1) for place in (0, 1)]
    names.sort(key=lambda name: name == last)
    number = {name: plan.add_event(name) for name in names}
    rooms = []
    for floor in (0, 1):
        here, there = number[f"floor-{floor}"], number["floor-1" if floor == 0 else "door"]
        both = [number[f"landing-{floor}-{each}"] for each in (0, 1)]
        plan.add_choice(here, "split", to=[Outcome(0.5, both[0]), Outcome(0.5, both[1])])
        plan.add_choice(here, "first", to=[Outcome(1.0, both[0])])
        for place, landing in enumerate(both):
            rooms.append(plan.add_activity(f"room-{floor}-{place}", slow_or_fast(5.0 + place, 3.0)))
            plan.add_choice(landing, "across", to=[Outcome(1.0, there, rooms[-1])])
    plan.add_choice(number["porch"], "in", to=[Outcome(1.0, number["floor-0"])])
    if inside is not None:
        plan.add_choice(number["porch"], "slip", to=[Outcome(1.0, number[f"landing-0-{inside}"])])
    plan.add_choice(number["door"], "out", to=[Outcome(0.5, number["out"]), Outcome(0.5, number["porch"])])
    plan.add_constraint("damage", at_most=5.0, counts=dict.fromkeys(rooms, "damage"))
    return plan.build(start=number[start], end=number["out"]), number


@pytest.mark.parametrize("last", ["out", "floor-1", "porch"])
@pytest.mark.parametrize(
    ("inside", "start", "size"),
    [
        (None, "porch", 2),
        (0, "porch", 1),
        (1, "porch", 1),
        (None, "landing-0-0", 1),
        (None, "landing-0-1", 1),
    ],
)
def test_what_is_entered_in_its_midst_is_not_exchanged(
    inside: int | None, start: str, size: int, last: str
) -> None:
    problem, number = landings(inside, last, start)
    oracle = ProcedureOracle(problem.flattening)
    states = {event: state for state, (event, _) in enumerate(problem.flattening.event_states)}
    choices = [int(oracle.procedure.row_start[states[number[f"floor-{floor}"]]]) for floor in (0, 1)]
    rooms = oracle.row_offset[:-1].tolist()
    for first, second in ((choices[0], choices[1]), (rooms[0], rooms[2]), (rooms[1], rooms[3])):
        for row in (0, 1):
            # The same of the other floor, or nothing.
            expected = [{first + row, second + row}] * 2 if size == 2 else [{first + row}, {second + row}]
            found = [{*orbit_of(oracle, Region(), each + row)} for each in (first, second)]
            assert found == expected


def test_a_choice_that_leads_nowhere_is_no_harm_to_others() -> None:
    stuck = CSSPBuilder(cost_names=("time", "damage"))
    inside, _, _ = stuck.add_state("inside"), stuck.add_goal("left"), stuck.add_goal("right")
    stuck.add_action(inside, "wait", to=inside, costs={"time": 1.0})
    stuck.set_initial(inside)
    plan = ProcedureBuilder("nowhere")
    events = [plan.add_event(f"floor-{index}") for index in range(4)]
    beyond = plan.add_event("beyond")
    never = plan.add_activity("never", stuck.build())
    rooms = [plan.add_activity(f"room-{index}", slow_or_fast(5.0, 3.0)) for index in range(4)]
    plan.add_choice(events[0], "wait", to=[Outcome(1.0, beyond, never)])
    plan.add_choice(beyond, "on", to=[Outcome(1.0, events[3], rooms[3])])
    for index in range(3):
        plan.add_choice(events[index], "across", to=[Outcome(1.0, events[index + 1], rooms[index])])
    plan.add_constraint("damage", at_most=5.0, counts=dict.fromkeys(rooms, "damage"))
    oracle = ProcedureOracle(plan.build(start=events[0], end=events[3]).flattening)
    first, second, third = (int(oracle.row_offset[room]) for room in rooms[:3])
    assert {*orbit_of(oracle, Region(), second)} == {second, third}
    assert [*orbit_of(oracle, Region(), first)] == [first]


def test_what_rounding_may_change_by_exchanges_is_allowed_for() -> None:
    assert EXCHANGE_ROUNDING >= 2 * MAX_EXCHANGED_EVENTS * EXCHANGE_SUM_TOLERANCE
    symmetry = ProcedureOracle(floors("aa").flattening).strategies.symmetry
    assert symmetry is not None
    assert symmetry.rounding == EXCHANGE_ROUNDING


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_search_that_exchanges_finds_and_proves_the_best(
    name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is settled at once has no certificate.
    monkeypatch.setattr(Enumeration, "settle", lambda *asked: None)
    policies = brute_force(PROBLEMS[name])
    most = float(policies.costs[np.argmin(policies.costs[:, 0]), 1])
    bound = share * most
    problem = PROBLEMS[name].with_bounds(damage=bound)
    best = policies.optimum(np.array([bound]))
    assert best is not None
    plan = solve(problem, PolicyBranching())
    assert plan.cost("time") == pytest.approx(best[0], rel=1e-9)
    assert plan.lower_bound <= best[0]
    lower, upper = claimed_interval(plan.certificate)
    assert lower >= plan.lower_bound * (1.0 - 1e-9)
    assert upper == pytest.approx(best[0], rel=1e-9)


def test_a_search_that_exchanges_splits_less(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = floors("aaaa", damage=5.3)
    here = solve(problem, PolicyBranching(parameters=SearchParameters(enumeration=False)))
    monkeypatch.setattr(Symmetry, "orbit", lambda symmetry, region, row: [row])
    there = solve(problem, PolicyBranching(parameters=SearchParameters(enumeration=False)))
    assert here.upper_bound == pytest.approx(there.upper_bound)
    assert here.iterations < there.iterations / 2


def test_plans_made_again_exchange_what_is_still_alike() -> None:
    problem = floors("aaaa", damage=5.3)
    plan = solve(problem)
    assert plan.record.exchanges
    room = problem.activities[0]
    changed = problem.with_activities({room.name: room.cssp.derive(costs=1.1 * room.cssp.costs)})
    again, anew = plan.replan(problem=changed), solve(changed)
    assert again.upper_bound == pytest.approx(anew.upper_bound, rel=1e-6)
    verdict = check(changed, again.certificate, exact=True)
    assert verdict.lower_bound == pytest.approx(anew.upper_bound, rel=1e-5)


def test_a_record_tells_the_regions_of_an_orbit_again() -> None:
    oracle = ProcedureOracle(floors("aaaa").flattening)
    rooms = [int(oracle.row_offset[3 * index]) for index in range(4)]
    record = SearchRecord(oracle)
    used, avoided = record.split_orbit(record.root, orbit_of(oracle, Region(), rooms[0]), count=3)
    assert record.region(used).forbidden == {room + 1 for room in rooms[:3]}
    assert record.region(avoided).forbidden == set(rooms[2:])
    choice = int(oracle.procedure.row_start[0])
    record.split_orbit(used, orbit_of(oracle, record.region(used), choice))
    splits, weights = record.skeleton()
    # The fourth floor is not one of those any more.
    assert splits == [(rooms[0], 3), (choice, 1), -1, -1, -1]
    again = SearchRecord.of_skeleton(splits, weights)
    assert again.skeleton()[0] == splits
    regions = [again.region(leaf) for leaf, _ in again.resume(oracle)]
    assert regions == [record.region(leaf) for leaf in record.leaves()]
    other = SearchRecord.of_parts(oracle, 1)
    other.graft([0], record)
    assert [other.region(leaf) for leaf in other.leaves()] == regions
    assert other.exchanges


def many(uses: int, plans: int) -> HCSSP:
    """An activity of a few plans again and again."""
    room = CSSPBuilder(cost_names=("time", "damage"))
    here, there = room.add_state("here"), room.add_goal("there")
    for time, damage in [(1.0, 1.0), (2.0, 0.0), (1.7, 0.35)][:plans]:
        # A chance, or all costs would be multiples of something.
        ways, costs = {there: 0.5, here: 0.5}, {"time": time, "damage": damage}
        room.add_action(here, f"for {time}", to=ways, costs=costs)
    room.set_initial(here)
    plan, problem = ProcedureBuilder("many"), room.build()
    events = [plan.add_event(f"event-{index}") for index in range(uses + 1)]
    rooms = [plan.add_activity(f"room-{index}", problem) for index in range(uses)]
    for index, each in enumerate(rooms):
        plan.add_choice(events[index], "on", to=[Outcome(1.0, events[index + 1], each)])
    plan.add_constraint("damage", at_most=0.65 * uses + 0.3, counts=dict.fromkeys(rooms, "damage"))
    return plan.build(start=events[0], end=events[-1])


@pytest.mark.parametrize(("uses", "plans"), [(20, 2), (13, 3), (100, 2)])
def test_many_alike_uses_have_small_and_complete_certificates(uses: int, plans: int) -> None:
    problem = many(uses, plans)
    found = solve(problem, PolicyBranching(parameters=SearchParameters(enumeration=False)))
    assert found.gap < 1e-6
    assert len(found.certificate.leaves) <= 12
    for exact in (False, True):
        verdict = check(problem, found.certificate, exact=exact)
        assert verdict.lower_bound >= found.lower_bound * (1.0 - 1e-9)
        assert verdict.upper_bound <= found.upper_bound * (1.0 + 1e-9)


def ends_without(after: list[list[int]], event: int, end: int, closed: int | None = None) -> bool:
    """Whether there is a way from an event to the end that does not lead through another."""
    seen, waiting = {event}, [event]
    while waiting:
        for target in after[waiting.pop()]:
            if target not in seen and target != closed:
                seen.add(target)
                waiting.append(target)
    return end in seen


@pytest.mark.parametrize("seed", some(range(40), one_in=4))
def test_the_next_event_that_every_way_leads_through_is_found_in_any_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 9))
    end = int(rng.integers(count))
    events = _Events.__new__(_Events)
    after = [
        [] if event == end else sorted({*rng.integers(0, count, rng.integers(1, 4)).tolist()} - {event})
        for event in range(count)
    ]
    events._count, events._end, events._after = count, end, after
    events._before = [[event for event in range(count) if target in after[event]] for target in range(count)]
    passed = events._post_dominators()
    for event in range(count):
        if event == end or not ends_without(after, event, end):
            assert passed[event] is None
            continue
        every = {each for each in range(count) if each != event and not ends_without(after, event, end, each)}
        every.add(end)
        # The first of them is the one from which all others are still to come.
        (first,) = (
            each
            for each in every
            if all(other in (each, end) or not ends_without(after, each, end, other) for other in every)
        )
        assert passed[event] == first


COUNTED = frozenset([1])


def three_alike() -> IdenticalActivities:
    """Rows 0 and 1 are choices; then three rooms with one planner, the last of which counts elsewhere."""
    planner = ActivityPlanner(risky_room(), COUNTED)
    rows = planner.balance.num_rows
    counts = [[(0, 1)], [(0, 1)], [(1, 1)]]
    return IdenticalActivities([planner] * 3, counts, 2 + rows * np.arange(4))


def test_what_counts_the_same_is_one_group() -> None:
    groups = three_alike().within(Region())
    assert groups.activities == (0, 2)
    assert groups.of.tolist() == [0, 0, 1]
    assert groups.executions(np.array([0.5, 1.0, 4.0])).tolist() == [1.5, 4.0]


def test_forbidden_rows_tell_activities_apart() -> None:
    groups = three_alike().within(Region().forbid([1, 3]))
    assert groups.choices == {1}
    assert groups.parts == {0: {1}}
    assert groups.activities == (0, 2, 0)
    assert groups.forbidden == (frozenset(), frozenset(), {1})
    assert groups.of.tolist() == [2, 0, 1]


def test_the_same_forbidden_rows_do_not() -> None:
    alike = three_alike()
    groups = alike.within(Region().forbid([3, 5]))
    # Nobody is left without forbidden rows, so that nothing is looked up for them.
    assert groups.activities == (0, 2)
    assert groups.forbidden == ({1}, frozenset())
    assert groups.of.tolist() == [0, 0, 1]


def test_too_many_splits_are_dropped_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(DEFAULT_PARAMETERS), "max_group_entries", 1)
    alike = three_alike()
    for _ in range(2):
        for row, parts in ((1, {}), (2, {0: {0}}), (5, {1: {1}}), (7, {2: {1}})):
            assert alike.within(Region().forbid([row])).parts == parts
            assert len(alike._known) <= 1


def test_equal_arrays_are_found_whatever_they_are_called() -> None:
    room = risky_room()
    renamed = room.derive(cost_names=("minutes", "harm"))
    dearer = room.derive(costs=2.0 * room.costs)
    assert first_identical([room, dearer, renamed, room, dearer], [COUNTED] * 5) == [0, 1, 0, 0, 1]
    assert first_identical([room, room], [COUNTED, frozenset()]) == [0, 1]
    # One that counts in two ways stands beside others that count in one of them.
    cheaper = room.derive(costs=0.5 * room.costs)
    ways = [COUNTED, COUNTED, frozenset(), frozenset()]
    assert first_identical([room, dearer, cheaper, room], ways) == [0, 1, 2, 3]


def test_one_other_number_makes_another_problem() -> None:
    room = risky_room()
    assert are_alike(room, room)
    assert are_alike(room, room.derive(cost_names=("minutes", "harm")))
    dearer, likelier = room.costs.copy(), room.transitions.copy()
    dearer[1, 1] += 1.0
    likelier.data = np.array([1.0, 0.25, 0.75])
    for changes in ({"costs": dearer}, {"transitions": likelier}, {"initial": np.array([0.0, 1.0])}):
        other = room.derive(**changes)
        assert not are_alike(room, other)
        assert not are_alike(other, room)
