"""Whether segments that the checker lets exchange their plans can do so, and whether it refuses others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from alike_floors import floors, two_buildings
from brute_force_procedures import AllPolicies, brute_force
from hcssp import PolicyBranching, check, solve
from hcssp.checker.checking import leaf_regions
from hcssp.checker.format import Branching, Certificate, Segment
from hcssp.checker.layout import Layout, Segments
from hcssp.cssp.model import BoolArray
from hcssp.dual.procedure_oracle import ProcedureOracle
from hcssp.errors import InvalidCertificate, InvalidProblem, NotProven
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.proofs.encoding import from_bytes, to_bytes
from small_procedures import fork, slow_or_fast
from volume import examples, some

PLACE = re.compile(r"^(leaf \d+|segment \d+|segments \[[\d, ]+\]|its numbers or sizes do not fit)")


def wings(chances: tuple[float, float], decided: bool = True) -> HCSSP:
    """A floor in either of two wings, by chance, and another one behind both."""
    plan = ProcedureBuilder("wings")
    start, west, east, behind, out = (plan.add_event(name) for name in ("start", "west", "east", "on", "out"))
    rooms = [plan.add_activity(f"room-{index}", slow_or_fast(5.0, 3.0)) for index in range(3)]
    plan.add_choice(start, "in", to=[Outcome(chances[0], west), Outcome(chances[1], east)])
    if not decided:
        plan.add_choice(start, "around", to=[Outcome(1.0, behind)])
    for here, there, room in ((west, behind, 0), (east, behind, 1), (behind, out, 2)):
        plan.add_choice(here, "across", to=[Outcome(1.0, there, rooms[room])])
    plan.add_constraint("damage", at_most=1.0, counts=dict.fromkeys(rooms, "damage"))
    return plan.build(start=start, end=out)


PROBLEMS = {
    "floors": floors("aaa"),
    "two kinds": floors("aba"),
    "buildings": two_buildings("aa"),
    "wings": wings((0.5, 0.5)),
    "other wings": wings((0.25, 0.75)),
    "open wings": wings((0.5, 0.5), decided=False),
}


@cache
def known(name: str) -> tuple[Layout, list[Segment], AllPolicies]:
    """A problem, what may be listed for it, and all its policies."""
    problem = PROBLEMS[name]
    oracle, layout = ProcedureOracle(problem.flattening), Layout(problem)
    listed = list(oracle.segments)
    if not listed:
        # What the search does not exchange may be listed nevertheless.
        events = range(len(problem.flattening.event_states))
        candidates = [((one,), runs_of(layout, one), other) for one, other in product(events, events)]
        listed = [each for each in candidates if is_segment(layout, each)]
    return layout, listed, brute_force(problem)


def runs_of(layout: Layout, *events: int) -> tuple[int, ...]:
    rows = [row for event in events for row in layout.choices[event]]
    ways = [way for row in rows for way in layout.event_rows[row][2]]
    return tuple(dict.fromkeys(run for _, run, _ in ways if run is not None))


def is_segment(layout: Layout, segment: Segment) -> bool:
    try:
        Segments(layout, (segment,))
    except NotProven:
        return False
    return True


def costs_in(policies: AllPolicies, region: BoolArray) -> set[tuple[float, ...]]:
    """What the policies cost that avoid the rows of a region."""
    taken = np.isin(policies.rows, np.flatnonzero(region)).any(axis=1)
    return set(map(tuple, policies.costs[~taken].round(6).tolist()))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", some(range(6), 3))
def test_whatever_is_exchanged_may_be(name: str, seed: int) -> None:
    layout, listed, policies = known(name)
    segments, rng = Segments(layout, listed), np.random.default_rng(seed)
    exchanged = 0
    for _ in range(100):
        region = layout.superfluous.copy()
        chosen = rng.permutation(len(listed))[:3].tolist()
        form = segments.found[chosen[0]][1]
        if rng.random() < 0.8:
            chosen = [chosen[0], *(n for n, (_, same, _) in enumerate(segments.found) if same == form)]
            chosen = list(dict.fromkeys(chosen))[: rng.integers(2, 5)]
        for _ in range(rng.integers(0, 3)):
            # As likely as not, the same is forbidden in all of them.
            place = rng.integers(len(segments.found[chosen[0]][2]))
            for number in chosen if rng.random() < 0.5 else chosen[:1]:
                region[segments.found[number][2][place % len(segments.found[number][2])]] = True
        if rng.random() < 0.5:
            region[layout.choices[layout.flattening.start][-1]] = True
        row = int(rng.choice(segments.found[chosen[0]][2]))
        branching = (row, int(rng.integers(1, 4)), *chosen)
        try:
            parts = list(leaf_regions((branching, -1, -1), segments, region))
        except NotProven:
            continue
        exchanged += 1
        assert costs_in(policies, region) == set.union(*(costs_in(policies, part) for part in parts))
    assert exchanged or name == "other wings"


def test_what_is_entered_by_chance_is_compared_by_its_share() -> None:
    for name, alike in (("wings", True), ("other wings", False), ("open wings", False)):
        layout, listed, _ = known(name)
        names = PROBLEMS[name].events
        places = {names[layout.flattening.event_states[each[0][0]][0]]: n for n, each in enumerate(listed)}
        chosen = [places["west"], places["east"]]
        segments, region = Segments(layout, listed), layout.superfluous.copy()
        row = int(segments.found[chosen[0]][2][0])
        for forbidden in (False, True):
            if name == "open wings" and forbidden:
                # What else might be done is not done any more.
                region[layout.choices[layout.flattening.start][1]] = alike = True
            if alike:
                assert len(segments.exchanged(row, chosen, region)) == 2
            else:
                with pytest.raises(NotProven, match="not entered equally often"):
                    segments.exchanged(row, chosen, region)


def maze(rng: np.random.Generator) -> HCSSP:
    """Events of few kinds, whose choices lead on in the same way for the most part."""
    plan = ProcedureBuilder("maze")
    events = [plan.add_event(f"event-{index}") for index in range(int(rng.integers(4, 7)))]
    rooms = [slow_or_fast(5.0, 3.0), slow_or_fast(4.0, 1.0), fork()]
    kinds = [[random_choice(rng) for _ in range(rng.integers(1, 3))] for _ in range(2)]
    used: list[Any] = []

    def outcome(position: int, chance: float, offset: int, room: int | None) -> Outcome:
        offset = int(rng.integers(-1, 3)) if rng.random() < 0.1 else offset
        to = events[min(max(position + offset, 0), len(events) - 1)]
        if room is None or len(used) > 4:
            return Outcome(chance, to)
        if not used or rng.random() < 0.9:
            used.append(plan.add_activity(f"room-{len(used)}", rooms[room]))
            others = events[int(rng.integers(len(events)))] if room == 2 and rng.random() < 0.5 else to
            return Outcome(chance, to, runs=used[-1], exits={"right": others} if room == 2 else {})
        return Outcome(chance, to)

    for position, event in enumerate(events[:-1]):
        for number, ways in enumerate(kinds[int(rng.random() < 0.2)]):
            plan.add_choice(event, f"choice-{number}", to=[outcome(position, *way) for way in ways])
    counted = [each for each in used if rng.random() < 0.9]
    plan.add_constraint("damage", at_most=1.0, counts=dict.fromkeys(counted, "damage"))
    try:
        return plan.build(start=events[int(rng.random() < 0.2)], end=events[-1])
    except InvalidProblem:
        return maze(rng)


def random_choice(rng: np.random.Generator) -> list[tuple[float, int, int | None]]:
    rooms = [None if rng.random() < 0.3 else int(rng.choice([0, 0, 1, 1, 2])) for _ in range(2)]
    if rng.random() < 0.6:
        return [(1.0, 1, rooms[0])]
    chance = float(rng.choice([0.5, 0.25]))
    return [(chance, 1, rooms[0]), (1.0 - chance, int(rng.choice([1, 2])), rooms[1])]


@pytest.mark.parametrize("seed", some(range(200), 8))
def test_whatever_is_exchanged_in_any_procedure_may_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = maze(rng)
    layout = Layout(problem)
    states, policies = range(layout.flattening.num_event_states), brute_force(problem)
    candidates = [tuple(range(one, one + size)) for one in states for size in (1, 2, 3)]
    listed = [
        segment
        for events, leaves in product(candidates, states)
        if events[-1] in states and is_segment(layout, segment := (events, runs_of(layout, *events), leaves))
    ]
    try:
        segments = Segments(layout, listed)
    except NotProven:
        return
    forms: dict[str, list[int]] = {}
    for number, (_, form, _) in enumerate(segments.found):
        forms.setdefault(form, []).append(number)
    for chosen, _ in product([each for each in forms.values() if len(each) > 1], range(4)):
        alike = rng.permutation(chosen)[:3].tolist()
        region = layout.superfluous | (rng.random(len(layout.superfluous)) < 0.1)
        first = segments.found[alike[0]][2]
        for number in alike[1:] if rng.random() < 0.8 else []:
            region[segments.found[number][2]] = region[first]
        branching = (int(rng.choice(first)), int(rng.integers(1, 3)), *alike)
        try:
            parts = list(leaf_regions((branching, -1, -1), segments, region))
        except NotProven:
            continue
        assert costs_in(policies, region) == set.union(*(costs_in(policies, part) for part in parts))


@cache
def proven() -> tuple[HCSSP, Certificate]:
    problem = floors("aaba", damage=4.3)
    found = solve(problem, PolicyBranching(counts=False))
    assert check(problem, found.certificate).lower_bound >= found.lower_bound * (1.0 - 1e-9)
    return problem, found.certificate


def first_alike(certificate: Certificate) -> tuple[int, tuple[int, ...]]:
    return next((n, each) for n, each in enumerate(certificate.tree) if isinstance(each, tuple))


def with_branching(certificate: Certificate, change: Callable[[tuple[int, ...]], Branching]) -> Certificate:
    place, branching = first_alike(certificate)
    tree = (*certificate.tree[:place], change(branching), *certificate.tree[place + 1 :])
    return replace(certificate, tree=tree)


def with_segment(certificate: Certificate, number: int, segment: Any) -> Certificate:
    listed = (*certificate.segments[:number], segment, *certificate.segments[number + 1 :])
    return replace(certificate, segments=listed)


def spoilt() -> dict[str, Certificate]:
    problem, right = proven()
    _, (row, count, *chosen) = first_alike(right)
    number = chosen[0]
    events, activities, leaves = right.segments[number]
    other = next(n for n in range(len(right.segments)) if n not in chosen)
    place, _ = first_alike(right)
    alone = int(np.flatnonzero([each == -1 for each in right.tree])[0])
    found = {
        "a segment of another kind": with_branching(right, lambda _: (row, count, *chosen, other)),
        "a segment twice": with_branching(right, lambda _: (row, count, *chosen, chosen[0])),
        "the segments in another order": with_branching(right, lambda _: (row, count, *chosen[::-1])),
        "a segment that there is not": with_branching(right, lambda _: (row, count, *chosen, 99)),
        "a row of no segment": with_branching(right, lambda _: (10**6, count, *chosen)),
        "fewer segments": with_branching(right, lambda _: (row, count, *chosen[:-1])),
        "no exchange": with_branching(right, lambda _: row),
        "a larger count": with_branching(right, lambda _: (row, count + 1, *chosen)),
        "no count": with_branching(right, lambda _: (row, 0, *chosen)),
        "a negative count": with_branching(right, lambda _: (row, -1, *chosen)),
        "nothing but a row": with_branching(right, lambda _: (row,)),
        "a part that is missing": replace(right, tree=(*right.tree[:alone], *right.tree[alone + 1 :])),
        "no segments": replace(right, segments=()),
        "a segment without an event": with_segment(right, number, (events[:-1], activities, leaves)),
        "a segment without an activity": with_segment(right, number, (events, activities[:-1], leaves)),
        "a segment with another exit": with_segment(right, number, (events, activities, events[-1])),
        "a segment with a state of an activity": with_segment(
            right, number, ((*events, problem.flattening.num_event_states), activities, leaves)
        ),
        "a segment with a state that there is not": with_segment(
            right, number, ((*events, -2), activities, leaves)
        ),
        "a segment that begins elsewhere": with_segment(right, number, (events[::-1], activities, leaves)),
        "activities that there are not": with_segment(right, number, (events, (*activities, 10**30), leaves)),
        "an activity too many": with_segment(right, number, (events, (*activities, 12), leaves)),
        "no events": with_segment(right, number, ((), activities, leaves)),
    }
    # Before the exchange, a row of one segment alone is split on: nothing is the same any more.
    unlike = (row + 1, *right.tree[:place], right.tree[place], *right.tree[place + 1 :], *right.tree[place:])
    found["a region that tells them apart"] = replace(
        right, tree=unlike, leaves=(*right.leaves, *right.leaves)
    )
    return found


@pytest.mark.parametrize("exact", [False, True])
def test_wrong_exchanges_are_refused_with_a_message_that_says_where(exact: bool) -> None:
    problem, _ = proven()
    for name, wrong in spoilt().items():
        with pytest.raises((NotProven, InvalidCertificate)) as refusal:
            check(problem, wrong, exact=exact)
        assert PLACE.search(str(refusal.value)), (name, str(refusal.value))


def test_what_is_the_end_or_the_start_is_in_no_segment() -> None:
    layout, listed, _ = known("floors")
    flat = layout.flattening
    for segment in listed:
        events, activities, leaves = segment
        for wrong in (((*events, flat.end), activities, leaves), ((flat.end, *events), activities, leaves)):
            with pytest.raises(NotProven, match="segment 0: it can be entered, run or left elsewhere"):
                Segments(layout, (wrong,))


@pytest.mark.parametrize("name", PROBLEMS)
def test_activities_and_events_are_not_counted_from_the_end(name: str) -> None:
    """Otherwise rows of activities that run elsewhere, and seldom, could be exchanged with others."""
    layout, listed, _ = known(name)
    for events, activities, leaves in listed:
        for number in range(-len(layout.blocks), 0):
            with pytest.raises(NotProven, match="segment 0: it can be entered, run or left elsewhere"):
                Segments(layout, ((events, (*activities, number), leaves),))
        with pytest.raises(NotProven, match="segment 0: it can be entered, run or left elsewhere"):
            Segments(layout, (((*events, -1), activities, leaves),))


def loop(**changes: Any) -> Layout:
    """Two alike floors of two events each, one after the other, and back by chance; and what is changed."""
    plan = ProcedureBuilder("loop")
    names = ["one", "one-inside", "two", "two-inside", "door", "out"]
    number = {name: plan.add_event(name) for name in names}
    room = slow_or_fast(5.0, 3.0)
    rooms = {name: plan.add_activity(name, changes.get(name, room)) for name in names[:4]}
    for here, there in (("one", "two"), ("two", "door")):
        inside, last, other = number[f"{here}-inside"], number[there], here == "two"
        through = last if other and "skips" in changes else inside
        plan.add_choice(number[here], "in", to=[Outcome(1.0, through, rooms[here])])
        chance = changes.get("chance", 0.5) if other else 0.5
        plan.add_choice(number[here], "past", to=[Outcome(chance, inside), Outcome(1.0 - chance, last)])
        again = changes.get("again", {}).get(here)
        if again is not None:
            plan.add_choice(number[f"{here}{again}"], "again", to=[Outcome(1.0, inside)])
        plan.add_choice(inside, "on", to=[Outcome(1.0, last, rooms[f"{here}-inside"])])
    back = number[changes.get("back", "one")]
    plan.add_choice(number["door"], "out", to=[Outcome(0.5, number["out"]), Outcome(0.5, back)])
    counted = [room for name, room in rooms.items() if name not in changes.get("uncounted", ())]
    plan.add_constraint("damage", at_most=5.0, counts=dict.fromkeys(counted, "damage"))
    return Layout(plan.build(start=number[changes.get("start", "one")], end=number["out"]))


def two_floors(layout: Layout) -> list[Segment]:
    states = {
        layout.procedure.events[event]: n for n, (event, _) in enumerate(layout.flattening.event_states)
    }
    floors = [(states[name], states[f"{name}-inside"]) for name in ("one", "two")]
    exits = (states["two"], states["door"])
    return [(each, runs_of(layout, *each), to) for each, to in zip(floors, exits, strict=True)]


def test_floors_that_are_passed_one_after_the_other_are_segments() -> None:
    layout = loop()
    (one, two), segments = two_floors(layout), Segments(layout, two_floors(layout))
    assert segments.found[0][1] == segments.found[1][1]
    assert segments.shares == {one[2]: ([], 1, one[0][0]), two[2]: ([], 1, two[0][0])}
    assert len(segments.exchanged(int(segments.found[0][2][0]), [0, 1], layout.superfluous)) == 2
    # The same in other words: what is left for the second floor, but begins where the first one does not.
    for wrong in ((one[0][::-1], *one[1:]), (one[0], one[1], one[0][1]), ((*one[0], -2), *one[1:])):
        with pytest.raises(NotProven, match="segment 0: it can be entered"):
            Segments(layout, [wrong])
    assert not any(is_segment(layout, (one[0], one[1], state)) for state in (0, 1, 3, 4, 5))


@pytest.mark.parametrize(
    "changes",
    [{"back": "one-inside"}, {"start": "one-inside", "back": "one"}],
    ids=["entered in its midst", "begun in its midst"],
)
def test_what_is_entered_elsewhere_is_no_segment(changes: dict[str, Any]) -> None:
    layout = loop(**changes)
    with pytest.raises(NotProven, match="segment 0: it can be entered, run or left elsewhere"):
        Segments(layout, two_floors(layout)[:1])


@pytest.mark.parametrize(
    "changes",
    [
        {"two": slow_or_fast(5.0, 2.0)},
        {"two-inside": slow_or_fast(6.0, 2.0)},
        {"uncounted": ["two"]},
        {"uncounted": ["one-inside"]},
    ],
)
def test_what_differs_is_not_alike(changes: dict[str, Any]) -> None:
    layout = loop(**changes)
    segments = Segments(layout, two_floors(layout))
    assert segments.found[0][1] != segments.found[1][1]


@pytest.mark.parametrize(
    "changes", [{"chance": 0.25}, {"skips": True}, {"again": {"one": "", "two": "-inside"}}]
)
def test_what_leads_elsewhere_is_not_alike(changes: dict[str, Any]) -> None:
    layout = loop(**changes)
    segments = Segments(layout, two_floors(layout))
    assert segments.found[0][1] != segments.found[1][1]
    assert len(segments.found[0][2]) == len(segments.found[1][2])


def test_activities_are_listed_in_corresponding_order_and_all_of_them() -> None:
    layout = loop()
    one, two = two_floors(layout)
    segments = Segments(layout, [one, (two[0], two[1][::-1], two[2])])
    assert segments.found[0][1] != segments.found[1][1]
    for left in (one[1][:1], ()):
        # Plans that stay behind when others are exchanged.
        with pytest.raises(NotProven, match="segment 0: it can be entered, run or left elsewhere"):
            Segments(layout, [(one[0], left, one[2]), (two[0], two[1][: len(left)], two[2])])


def twins() -> Layout:
    """Two events, at each of which one of two rooms is crossed, by chance."""
    plan = ProcedureBuilder("twins")
    events = [plan.add_event(name) for name in ("one", "two", "out")]
    rooms = [plan.add_activity(f"room-{index}", slow_or_fast(5.0, 3.0)) for index in range(4)]
    for index, (here, there) in enumerate(pairwise(events)):
        first, second = rooms[2 * index : 2 * index + 2]
        plan.add_choice(here, "on", to=[Outcome(0.25, there, first), Outcome(0.75, there, second)])
    plan.add_constraint("damage", at_most=5.0, counts=dict.fromkeys(rooms, "damage"))
    return Layout(plan.build(start=events[0], end=events[-1]))


def test_rooms_that_are_crossed_by_chance_are_told_apart() -> None:
    layout = twins()
    states = {
        layout.procedure.events[event]: n for n, (event, _) in enumerate(layout.flattening.event_states)
    }
    one, two = ((states["one"],), (0, 1), states["two"]), ((states["two"],), (2, 3), states["out"])
    assert len({form for _, form, _ in Segments(layout, [one, two]).found}) == 1
    assert len({form for _, form, _ in Segments(layout, [one, (two[0], (3, 2), two[2])]).found}) == 2


def test_what_may_end_inside_is_no_segment() -> None:
    plan = ProcedureBuilder("the end")
    start, back, out = (plan.add_event(name) for name in ("start", "back", "out"))
    room = plan.add_activity("room", slow_or_fast(5.0, 3.0))
    plan.add_choice(start, "go", to=[Outcome(0.5, out, room), Outcome(0.5, back)])
    plan.add_choice(back, "again", to=[Outcome(1.0, start)])
    plan.add_constraint("damage", at_most=5.0, counts={room: "damage"})
    layout = Layout(plan.build(start=start, end=out))
    flat = layout.flattening
    (behind,) = {0, 1, 2} - {flat.start, flat.end}
    assert not is_segment(layout, ((flat.start, flat.end), (0,), behind))


def test_where_it_begins_is_come_to_once_more() -> None:
    # Back to the second floor, where it begins: it is not entered as often as the first one is left.
    layout = loop(start="two", back="one")
    one, two = two_floors(layout)
    segments = Segments(layout, [one, two])
    state = segments.shares[one[0][0]][2]
    assert segments.shares == {one[0][0]: ([], Fraction(1, 2), state), two[2]: ([], 1, two[0][0])}
    with pytest.raises(NotProven, match=r"segments \[0, 1\]: they overlap, are not alike, or not entered"):
        segments.exchanged(int(segments.found[0][2][0]), [0, 1], layout.superfluous)


def test_an_activity_that_may_end_elsewhere_leads_to_no_share() -> None:
    plan = ProcedureBuilder("fork")
    start, left, right, out = (plan.add_event(name) for name in ("start", "left", "right", "out"))
    way = plan.add_activity("way", fork())
    plan.add_choice(start, "go", to=[Outcome(1.0, left, runs=way, exits={"right": right})])
    for event in (left, right):
        plan.add_choice(event, "on", to=[Outcome(1.0, out)])
    plan.add_constraint("damage", at_most=5.0, counts={way: "damage"})
    problem = plan.build(start=start, end=out)
    layout = Layout(problem)
    end = layout.flattening.end
    listed = [((state,), (), end) for state in range(layout.flattening.num_event_states) if state != end]
    assert not Segments(layout, [each for each in listed if is_segment(layout, each)]).shares


def test_a_count_below_one_splits_nothing() -> None:
    layout = loop()
    segments = Segments(layout, two_floors(layout))
    row = int(segments.found[0][2][0])
    for count in (0, -1):
        (region,) = leaf_regions([(row, count, 0, 1)], segments, layout.superfluous)
        assert np.array_equal(region, layout.superfluous)


def test_choices_that_cost_something_are_told_from_others() -> None:
    layout = loop()
    state, _, ways = layout.event_rows[0]
    # As those of a limit for each execution of a use do.
    layout.event_rows = ((state, [(1, Fraction(1))], ways), *layout.event_rows[1:])
    assert len({form for _, form, _ in Segments(layout, two_floors(layout)).found}) == 2


def spoilt_somewhere(thing: Any, rng: np.random.Generator) -> Any:
    """Nested tuples of numbers with another number somewhere, or one more, or one less."""
    if not isinstance(thing, tuple):
        return [0, 1, 2, 5, 13, 40, 2**31, 2**63, 10**30][int(rng.integers(9))]
    if thing and rng.random() < 0.8:
        place = int(rng.integers(len(thing)))
        return (*thing[:place], spoilt_somewhere(thing[place], rng), *thing[place + 1 :])
    return thing[:-1] if rng.random() < 0.5 else (*thing, 3)


@pytest.mark.parametrize("what", ["segments", "tree"])
def test_whatever_is_in_a_file_the_answer_is_true_or_a_refusal(what: str) -> None:
    problem, right = proven()
    rng, refused, most = np.random.default_rng(0), 0, check(problem, right).upper_bound
    for _ in range(examples(1000, 10)):
        wrong = replace(right, **{what: spoilt_somewhere(getattr(right, what), rng)})
        try:
            assert check(problem, from_bytes(to_bytes(wrong))).lower_bound <= most
        except (NotProven, InvalidCertificate):
            refused += 1
    assert refused
