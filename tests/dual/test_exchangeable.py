"""Whether what is called exchangeable is: policies with any row of an orbit cost the same."""

from __future__ import annotations

import numpy as np
import pytest

from brute_force_procedures import AllPolicies, brute_force
from hcssp import PolicyBranching, check, solve
from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import FloatArray
from hcssp.dual import exchangeable
from hcssp.dual.ascent import maximise
from hcssp.dual.oracle import Oracle
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.dual.procedure_vertex import ProcedureVertex
from hcssp.methods.best_first import BestFirst
from hcssp.methods.branching import Branching, Node
from hcssp.methods.open_duals import OpenDuals
from hcssp.methods.reporter import Reporter
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.assembly import certificate_of, claimed_interval
from hcssp.proofs.search_record import SearchRecord
from hcssp.ssp.region import Region
from small_procedures import slow_or_fast
from volume import some


def floors(kinds: str, damage: float = np.inf, again: bool = False) -> HCSSP:
    """Floor by floor: by a room of its kind, or by the lift, from which one may come to the stairs."""
    plan = ProcedureBuilder("floors")
    landings = [plan.add_event(f"floor-{index}") for index in range(len(kinds) + 1)]
    rooms = {"a": slow_or_fast(5.0, 3.0), "b": slow_or_fast(7.0, 2.5)}
    ride, stairs = slow_or_fast(4.0, 2.0), slow_or_fast(3.0, 1.0)
    used = []
    for index, kind in enumerate(kinds):
        here, there, below = landings[index], landings[index + 1], plan.add_event(f"stairs-{index}")
        room, up, down = (
            plan.add_activity(f"{name}-{index}", problem)
            for name, problem in (("room", rooms[kind]), ("ride", ride), ("down", stairs))
        )
        used += [room, up, down]
        plan.add_choice(here, "across", to=[Outcome(1.0, there, room)])
        plan.add_choice(here, "lift", to=[Outcome(0.75, there, up), Outcome(0.25, below)])
        plan.add_choice(below, "down", to=[Outcome(1.0, there, down)])
        if again:
            plan.add_choice(below, "again", to=[Outcome(1.0, here)])
    plan.add_constraint("damage", at_most=damage, counts=dict.fromkeys(used, "damage"))
    return plan.build(start=landings[0], end=landings[-1])


def two_buildings(kinds: str) -> HCSSP:
    """Twice the same floors, each behind a gate, or around them."""
    plan = ProcedureBuilder("buildings")
    gates = [plan.add_event(f"gate-{index}") for index in range(3)]
    building, around = floors(kinds), slow_or_fast(20.0, 19.0)
    used = []
    for index in range(2):
        inside = plan.add_activity(f"building-{index}", building)
        outside = plan.add_activity(f"around-{index}", around)
        used += [inside, outside]
        plan.add_choice(gates[index], "through", to=[Outcome(1.0, gates[index + 1], inside)])
        plan.add_choice(gates[index], "around", to=[Outcome(1.0, gates[index + 1], outside)])
    plan.add_constraint("damage", at_most=np.inf, counts=dict.fromkeys(used, "damage"))
    return plan.build(start=gates[0], end=gates[-1])


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
        orbit = oracle.orbit(region, row)
        longest = max(longest, len(orbit))
        forbidden = [flat[each] for each in region.forbidden]
        wanted = costs_with(policies, forbidden, flat[row])
        for image in orbit:
            assert costs_with(policies, forbidden, flat[image.row]) == pytest.approx(wanted)
        region = region.forbid([int(rng.choice([image.row for image in orbit]))])
    assert longest > 1


def test_alike_floors_one_after_the_other_are_an_orbit() -> None:
    oracle = ProcedureOracle(floors("abab").flattening)
    starts = oracle.procedure.row_start
    first, second, third = (int(starts[index]) for index in range(3))
    assert {image.row for image in oracle.orbit(Region(), first)} == {first, third}
    # What is forbidden on one floor alone tells it from the other.
    assert [image.row for image in oracle.orbit(Region().forbid([first + 1]), first)] == [first]
    assert len(oracle.orbit(Region().forbid([first + 1, third + 1]), first)) == 2
    assert len(oracle.orbit(Region().forbid([second + 1]), first)) == 2


def test_buildings_are_exchanged_with_their_floors() -> None:
    oracle = ProcedureOracle(two_buildings("aa").flattening)
    names = [activity.name for activity in oracle.flattening.problem.activities]
    room = int(oracle.row_offset[names.index("building-0/room-0")])
    images = oracle.orbit(Region(), room)
    assert sorted(len(image.exchanges) for image in images) == [0, 1, 1, 2]
    owners = np.searchsorted(oracle.row_offset, [image.row for image in images], side="right") - 1
    assert {names[owner] for owner in owners} == {f"building-{b}/room-{r}" for b in (0, 1) for r in (0, 1)}


def test_floors_of_two_buildings_are_exchanged_where_both_are_entered_equally_often() -> None:
    oracle = ProcedureOracle(two_buildings("aa").flattening)
    names = [activity.name for activity in oracle.flattening.problem.activities]
    first, other, third, fourth = (
        int(oracle.row_offset[names.index(f"building-{b}/room-{r}")]) for b in (0, 1) for r in (0, 1)
    )
    told_apart = Region().forbid([other])
    around = rows_called("around", oracle)
    assert [image.row for image in oracle.orbit(told_apart, first)] == [first]
    assert len(oracle.orbit(told_apart.forbid(around[:1]), first)) == 1
    images = oracle.orbit(told_apart.forbid(around), first)
    assert {image.row for image in images} == {first, third, fourth}


def test_choices_that_are_too_dear_are_dropped_before_the_search_and_proven_so() -> None:
    problem = two_buildings("aa").with_bounds(damage=6.0)
    oracle = ProcedureOracle(problem.flattening)
    search: BestFirst[Node, ProcedureVertex] = BestFirst()
    reporter, record = Reporter(None, oracle, search, 0.0), SearchRecord(oracle)
    best = brute_force(problem).optimum(problem.bounds)
    assert best is not None
    search.upper_bound = best[0] + 0.01
    branching = Branching(oracle, search, reporter, record, maximise(oracle, Region()), OpenDuals())
    node = branching.begin()
    assert node.region.forbidden.issuperset(rows_called("around", oracle))
    assert record.region(node.number) == node.region
    policies, flat = brute_force(problem), flat_rows(oracle)
    kept = ~np.isin(policies.rows, [flat[row] for row in node.region.forbidden]).any(axis=1)
    feasible = policies.costs[:, 1] <= problem.bounds[0]
    assert best[0] == pytest.approx(policies.costs[kept & feasible, 0].min())
    assert policies.costs[~kept & feasible, 0].min() > search.cutoff
    record.unfold()
    claims = [record.claim(leaf) for leaf in record.leaves() if leaf != node.number]
    assert all(claim is not None and claim.bound >= search.cutoff for claim in claims)


@pytest.mark.parametrize(
    ("problem", "limits"),
    [
        (floors("ab"), {}),
        # Where one comes back again and again, what rounding loses is multiplied.
        (floors("aa", again=True), {}),
        (floors("aa"), {"SUM_TOLERANCE": -1.0}),
        (floors("aa"), {"MAX_EVENTS": 4}),
        (floors("aa"), {"MAX_SIZE": 3}),
    ],
    ids=["other rooms", "a circle", "rounding", "many events", "long segments"],
)
def test_nothing_else_is_exchanged(
    problem: HCSSP, limits: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(f"hcssp.dual.exchangeable.{name}", limit)
    oracle = ProcedureOracle(problem.flattening)
    room = int(oracle.row_offset[0])
    assert [image.row for image in oracle.orbit(Region(), room)] == [room]
    assert oracle.exchange_rounding == 0.0 or not limits


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
        assert len(oracle.orbit(Region(), int(oracle.row_offset[activity]))) == 1


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
            found = [{image.row for image in oracle.orbit(Region(), each + row)} for each in (first, second)]
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
    assert {image.row for image in oracle.orbit(Region(), second)} == {second, third}
    assert [image.row for image in oracle.orbit(Region(), first)] == [first]


def test_what_rounding_may_change_by_exchanges_is_allowed_for() -> None:
    assert exchangeable.EXCHANGE_ROUNDING >= 2 * exchangeable.MAX_EVENTS * exchangeable.SUM_TOLERANCE
    assert ProcedureOracle(floors("aa").flattening).exchange_rounding == exchangeable.EXCHANGE_ROUNDING


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_search_that_exchanges_finds_and_proves_the_best(
    name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is settled at once has no certificate.
    monkeypatch.setattr(ProcedureOracle, "settle", Oracle.settle)
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
    here = solve(problem, PolicyBranching())
    monkeypatch.setattr(ProcedureOracle, "orbit", Oracle.orbit)
    there = solve(problem, PolicyBranching())
    assert here.upper_bound == pytest.approx(there.upper_bound)
    assert here.iterations < there.iterations / 2


def test_plans_made_again_exchange_what_is_still_alike() -> None:
    problem = floors("aaaa", damage=5.3)
    plan = solve(problem)
    assert any(plan.record.mirrors(region) for region in range(len(plan.record)))
    room = problem.activities[0]
    changed = problem.with_activities({room.name: room.cssp.derive(costs=1.1 * room.cssp.costs)})
    again, anew = plan.replan(problem=changed), solve(changed)
    assert again.upper_bound == pytest.approx(anew.upper_bound, rel=1e-6)
    verdict = check(changed, again.certificate, exact=True)
    assert verdict.lower_bound == pytest.approx(anew.upper_bound, rel=1e-5)


def test_a_record_unfolds_what_mirrors_other_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = ProcedureOracle(floors("aa").flattening)
    room, other = (int(oracle.row_offset[3 * index]) for index in range(2))
    choice = int(oracle.procedure.row_start[0])

    def recorded() -> SearchRecord:
        record = SearchRecord(oracle)
        used, avoided = record.split_orbit(record.root, oracle.orbit(Region(), room))
        record.bounded(avoided, 9.0, np.zeros(1))
        parts = record.split(used, choice)
        for part, bound in zip(parts, (7.0, 8.0), strict=True):
            record.bounded(part, bound, np.ones(1))
        return record

    record = recorded()
    known = {record.region(leaf): record.claim(leaf) for leaf in record.leaves()}
    assert sum(claim is None for claim in known.values()) == 1
    assert [known[record.region(leaf)] for leaf in record.leaves() if record.mirrors(leaf)] == [None]
    record.unfold()
    claims = {record.region(leaf).forbidden: record.claim(leaf) for leaf in record.leaves()}
    bounds = sorted(0.0 if claim is None else claim.bound for claim in claims.values())
    assert bounds == [7.0, 7.0, 8.0, 8.0, 9.0]
    image = oracle.procedure.row_start[1]
    mirrored = {room, other + 1, int(image)}
    assert any(forbidden >= mirrored and claim is not None for forbidden, claim in claims.items())
    monkeypatch.setattr("hcssp.proofs.search_record.MAX_UNFOLDED", 1)
    record = recorded()
    record.unfold()
    assert {record.region(leaf): record.claim(leaf) for leaf in record.leaves()}.keys() == known.keys()


def test_what_was_counted_is_proven_by_regions() -> None:
    problem = floors("abab", damage=5.4)
    plan = solve(problem, PolicyBranching())
    assert plan.record.counted
    shown = claimed_interval(certificate_of(problem, plan.record, None))[0]
    assert shown < plan.lower_bound - 0.01
    # Nothing is left out: the checker is content with what a search by regions alone proves.
    verdict = check(problem, plan.certificate, exact=True)
    assert verdict.lower_bound >= plan.lower_bound * (1.0 - 1e-9)
    assert not solve(problem, PolicyBranching(counts=False)).record.counted


def test_a_search_by_regions_ends_where_they_would_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcssp.proofs.search_record.MAX_UNFOLDED", 12)
    plan = solve(floors("abab", damage=5.4), PolicyBranching())
    lower, upper = claimed_interval(plan.certificate)
    assert lower < plan.lower_bound - 0.01
    assert upper == pytest.approx(plan.upper_bound)
    assert len(plan.certificate.leaves) <= 12


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
    events = exchangeable._Events.__new__(exchangeable._Events)
    after = [
        [] if event == end else sorted({*rng.integers(0, count, rng.integers(1, 4)).tolist()} - {event})
        for event in range(count)
    ]
    events._count, events._end, events._after = count, end, after
    events._before = [[event for event in range(count) if target in after[event]] for target in range(count)]
    passed = events._next_passed()
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
