"""The problem as the checker sees it: arrays and rational numbers, states and rows as in its flattening."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from hcssp.checker.arithmetic import UNIT, is_moderate
from hcssp.checker.format import Segment
from hcssp.cssp.decimals import exactly
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.spans import joined_spans
from hcssp.cssp.superfluous import superfluous_rows
from hcssp.errors import InvalidProblem, NotProven
from hcssp.procedure.exact_choices import exact_choices
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.model import HCSSP
from hcssp.procedure.single import as_procedure


class Block:
    """The rows of a C-SSP; entries ``pointers[r]:pointers[r + 1]`` are the possible successors of row r."""

    def __init__(self, cssp: CSSP, superfluous: BoolArray | None = None) -> None:
        matrix, possible = cssp.transitions, cssp.transitions.data != 0.0
        self.num_states, self.num_rows = cssp.num_states, cssp.num_rows
        self.row_state, self.goals, self.costs = cssp.row_state, cssp.goals, cssp.costs
        self.superfluous = superfluous_rows(cssp) if superfluous is None else superfluous
        self.successors: IntArray = matrix.indices[possible].astype(np.int64)
        self.probabilities: FloatArray = matrix.data[possible]
        self.entry_row: IntArray = np.repeat(np.arange(self.num_rows), np.diff(matrix.indptr))[possible]
        self.entry_state: IntArray = self.row_state[self.entry_row]
        self.pointers: IntArray = np.searchsorted(self.entry_row, np.arange(self.num_rows + 1))
        leads = np.diff(self.pointers).all() and (self.probabilities > 0.0).all()
        if not (leads and ((self.costs >= 0.0) & (self.costs < np.inf)).all()):
            raise InvalidProblem(["a row leads nowhere or has a negative number; validate the problem first"])
        self.totals = np.bincount(self.entry_row, self.probabilities, self.num_rows)
        self.dues: FloatArray = self.totals * self.costs
        # Twice the roundings that touch a term of a row; docs/certificates.md counts them.
        self.error_factor: FloatArray = (np.diff(self.pointers) + len(self.costs) + 4) * (2.0 * UNIT)
        self.is_moderate = self.num_rows > 0 and is_moderate(self.probabilities) and is_moderate(self.costs)
        sizes = [self.pointers, self.successors, self.row_state, self.goals, self.costs.shape]
        numbers = np.concatenate([np.concatenate(sizes), self.probabilities, self.costs.ravel()]) + 0.0
        self.digest = hashlib.sha256(numbers.astype("<f8").tobytes()).hexdigest()

    @cached_property
    def columns(self) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
        """Pieces of rows, none longer than the mean: row, state, 1st, 2nd ... successor, probabilities."""
        width = -(-len(self.successors) // self.num_rows)
        pieces = -(-np.diff(self.pointers) // width)
        row = np.repeat(np.arange(self.num_rows), pieces)
        entries = self.pointers[row] + width * joined_spans(0 * pieces, pieces)[0] + np.arange(width)[:, None]
        chances = self.probabilities.take(entries, mode="clip") * (entries < self.pointers[row + 1])
        return row, self.row_state[row], self.successors.take(entries, mode="clip"), chances

    @cached_property
    def exact(self) -> tuple[Any, Any, int]:
        """The probabilities as integers, up to a common factor, and the costs with what to divide them by."""
        return exactly(self.probabilities)[0], *exactly(self.costs)

    def almost_sure(self, rows: BoolArray) -> tuple[BoolArray, BoolArray]:
        """From which states a policy of `rows` reaches a goal almost surely, and the rows it may take."""
        order = np.argsort(self.successors, kind="stable")
        begins = np.searchsorted(self.successors[order], np.arange(self.num_states + 1))
        while True:  # states that cannot reach a goal are taken away, then the rows that may lead to them
            states, layer = self.goals.copy(), np.flatnonzero(self.goals)
            while len(layer):
                entries = order[joined_spans(begins[layer], begins[layer + 1] - begins[layer])[0]]
                sources = self.entry_state[entries[rows[self.entry_row[entries]]]]
                layer = np.unique(sources[~states[sources]])
                states[layer] = True
            safe = rows & states[self.row_state]
            safe[self.entry_row[~states[self.successors]]] = False
            if np.array_equal(safe, rows):
                return states, rows
            rows = safe


class Layout:
    """The problem taken apart: a block for each activity; the state, costs and ways of each choice."""

    def __init__(self, problem: CSSP | HCSSP) -> None:
        self.procedure = as_procedure(problem)
        self.flattening = flat = Flattening(self.procedure)
        read = {id(each.cssp): Block(each.cssp) for each in self.procedure.activities}
        same = {block.digest: block for block in read.values()}
        self.blocks = [same[read[id(each.cssp)].digest] for each in self.procedure.activities]
        starts, self.event_rows = flat.event_row_start.tolist(), tuple(exact_choices(flat))
        self.bounds = tuple(each.at_most for each in self.procedure.constraints)
        counts = [*enumerate((each.counts for each in self.procedure.constraints), start=1)]
        every = range(len(self.blocks))
        self.counted = [[(0, 0), *((n, own[a]) for n, own in counts if a in own)] for a in every]
        self.choices = [*map(range, starts, starts[1:])]  # the rows of each event state
        self.rows, self.exits = [*map(flat.rows_of, every)], [*map(flat.exits, every)]
        rows = [np.zeros(len(self.event_rows), dtype=np.bool_), *(each.superfluous for each in self.blocks)]
        self.superfluous: BoolArray = np.concatenate(rows)  # nobody needs them

    def own_weights(self, activity: int, weights: Sequence[Any]) -> list[Any]:
        """The weights of an activity's own costs that the whole problem's `weights` amount to."""
        own, costs = self.counted[activity], range(len(self.blocks[activity].costs))
        return [sum(weights[n] for n, counted in own if counted == cost) for cost in costs]

    def decided(self, region: BoolArray) -> Iterator[tuple[int, Fraction, int | None, int, set[int]]]:
        """Ways of rows that alone are allowed: state, probability, activity, start, event states after it."""
        for rows in self.choices:
            allowed = [self.event_rows[row] for row in rows if not region[row]]
            for state, _, ways in allowed if len(allowed) == 1 else ():
                whole = sum(chance for chance, _, _ in ways)
                for chance, run, start in ways:
                    yield state, Fraction(chance, whole), run, start, self.flattening.after(run, start)

    @cached_property
    def flat(self) -> Block:
        """The whole problem as one block, for searches along its arrows."""
        return Block(self.flattening.cssp, self.superfluous)

    @cached_property
    def unit(self) -> Fraction:
        """What the primary cost of every plan is a multiple of if nothing is left to chance, otherwise 0."""
        flat, reached = self.flat, np.arange(self.flattening.num_states) == self.flattening.start
        safe, forks = flat.almost_sure(~self.superfluous)[1], np.diff(flat.pointers) > 1
        while not (forks & (rows := safe & reached[flat.row_state])).any():
            if reached[after := flat.successors[rows[flat.entry_row]]].all():
                costs, divisor = exactly(flat.costs[0][rows])
                return Fraction(gcd(*costs), divisor)
            reached[after] = True
        return Fraction(0)


class Segments:
    """Listed parts of a procedure; those that are alike and entered equally often may exchange plans."""

    def __init__(self, layout: Layout, listed: Sequence[Segment]) -> None:
        self.layout, flat = layout, layout.flattening
        self.found: list[tuple[int, str, IntArray]] = []  # for each its entry, its form and its rows
        # Where some rows are forbidden, an event state is come to in a share of the times another one is.
        self.shares: dict[int, tuple[list[int], Fraction, int]] = {}
        # Steps: row, state, activity or -1, event state after it; and the chance, 0 if that is not certain.
        steps, chances = [(-1, -1, -1, -1)], [0]
        for row, (state, _, ways) in enumerate(layout.event_rows if listed else ()):
            for chance, run, start in ways:
                after = flat.after(run, start)
                steps += [(row, state, -1 if run is None else run, event) for event in after]
                chances += [chance if len(after) == 1 else 0] * len(after)
        rows, states, runs, heads = np.array(steps).T
        for number, (events, activities, leaves) in enumerate(listed):
            first, inner, inside = events[0], events[1:], np.isin(states, events)
            right = np.where(inside, np.isin(heads, [*inner, leaves]), ~np.isin(heads, inner))
            right &= (np.isin(runs, activities) == inside & (runs >= 0)) & (min(0, *events, *activities) == 0)
            if not right.all() or flat.start in inner or {flat.end, leaves} & {*events}:
                raise NotProven(f"segment {number}: it can be entered, run or left elsewhere")
            own = [layout.choices[event] for event in events] + [np.r_[layout.rows[a]] for a in activities]
            self.found.append((first, self.form(listed[number]), np.concatenate(own)))
            into = np.flatnonzero(heads == first).tolist()
            leading = [chances[step] for step in into]
            if first != flat.start and len({*rows[into].tolist()}) == 1 and all(leading):
                row, state = steps[into[0]][:2]
                share = Fraction(sum(leading), sum(chance for chance, _, _ in layout.event_rows[row][2]))
                others = [each for each in layout.choices[state] if each != row]
                self.shares.setdefault(first, (others, share, state))
            if leaves != flat.start and inside[heads == leaves].all():
                self.shares[leaves] = [], Fraction(1), first

    def form(self, segment: Segment) -> str:
        """All that alike segments have in common: everything but the numbers of events and activities."""
        (events, activities, leaves), layout, told = segment, self.layout, list[object]()
        place = {event: index for index, event in enumerate((*events, leaves))}.get
        named: dict[int | None, int] = {activity: index for index, activity in enumerate(activities)}
        for state, costs, ways in [layout.event_rows[row] for each in events for row in layout.choices[each]]:
            led = [(chance, named.get(run), place(to) if run is None else to) for chance, run, to in ways]
            told.append((place(state), costs, led))
        for activity in activities:
            exits = [(goal, place(event)) for goal, event in layout.exits[activity]]
            counts = [constraint.counts.get(activity) for constraint in layout.procedure.constraints]
            told.append((layout.blocks[activity].digest, counts, exits))
        return repr(told)

    def exchanged(self, row: int, chosen: Sequence[int], region: BoolArray) -> list[int]:
        """What is in the place of `row`, which is in the first of some segments, if they can be exchanged."""
        entered: dict[int, tuple[int, Fraction]] = {}
        for event, (others, share, source) in self.shares.items():
            if region[others].all():
                root, part = entered.get(source, (source, Fraction(1)))
                entered[event] = root, share * part
        found = [self.found[number] for number in chosen]
        seen = {(form, entered.get(first, (first, 1)), region[own].tobytes()) for first, form, own in found}
        if len(seen) > 1 or len(np.unique(rows := np.array([own for *_, own in found]))) < rows.size:
            raise NotProven(f"segments {chosen}: they overlap, are not alike, or not entered equally often")
        return [*map(int, rows[:, np.flatnonzero(rows[0] == row)[0]])]
