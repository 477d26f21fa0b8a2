"""The problem as the checker sees it: arrays and rational numbers, states and rows as in its flattening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import compress
from math import ceil, gcd
from typing import Any

import numpy as np

from hcssp.checker.arithmetic import MAX_ROUNDINGS, UNIT, is_moderate
from hcssp.cssp.arrays import decimal, exactly, integers, joined_spans
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.errors import InvalidProblem, NotProven
from hcssp.numerics import FEASIBILITY_TOLERANCE
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import Use, enters

EventRow = tuple[int, list[tuple[int, Fraction]], list[tuple[int, int | None, int]]]
"""A choice at an event state: the state, pairs of a cost and its amount, and the outcomes. An outcome has a
probability, up to a common factor, and an activity and where that begins, or None and an event state."""


class Graph:
    """States, rows and arrows: entries ``pointers[r]:pointers[r + 1]`` are the successors of row r."""

    def __init__(
        self, row_state: IntArray, pointers: IntArray, successors: IntArray, goals: BoolArray
    ) -> None:
        self.row_state, self.pointers, self.successors, self.goals = row_state, pointers, successors, goals
        self.num_states, self.num_rows = len(goals), len(row_state)
        self.entry_row: IntArray = np.repeat(np.arange(self.num_rows), np.diff(pointers))
        self.entry_state: IntArray = row_state[self.entry_row]

    @cached_property
    def incoming(self) -> tuple[IntArray, IntArray, IntArray]:
        """The entries in the order of their successors; where those of each state begin, and their number."""
        lengths = np.bincount(self.successors, minlength=self.num_states)
        return np.argsort(self.successors, kind="stable"), np.cumsum(lengths) - lengths, lengths

    def almost_sure(self, rows: BoolArray) -> tuple[BoolArray, BoolArray]:
        """From which states a policy of `rows` reaches a goal almost surely, and the rows it may take."""
        order, begins, lengths = self.incoming
        while True:  # states that cannot reach a goal are taken away, then the rows that may lead to them
            states, layer = self.goals.copy(), np.flatnonzero(self.goals)
            while len(layer):
                entries = order[joined_spans(begins[layer], lengths[layer])[0]]
                sources = self.entry_state[entries[rows[self.entry_row[entries]]]]
                layer = np.unique(sources[~states[sources]])
                states[layer] = True
            safe = rows & states[self.row_state]
            safe[self.entry_row[~states[self.successors]]] = False
            if np.array_equal(safe, rows):
                return states, rows
            rows = safe


class Block(Graph):
    """The rows of a C-SSP with their numbers."""

    def __init__(self, cssp: CSSP) -> None:
        matrix, possible = cssp.transitions, cssp.transitions.data != 0.0
        entry_row = np.repeat(np.arange(cssp.num_rows), np.diff(matrix.indptr))[possible]
        pointers: IntArray = np.searchsorted(entry_row, np.arange(cssp.num_rows + 1))
        super().__init__(cssp.row_state, pointers, matrix.indices[possible].astype(np.int64), cssp.goals)
        self.cssp, self.costs, self.dominated = cssp, cssp.costs, np.zeros(cssp.num_rows, dtype=np.bool_)
        self.probabilities: FloatArray = matrix.data[possible]
        leads = np.diff(pointers).all() and (self.probabilities > 0.0).all()
        if not (leads and ((self.costs >= 0.0) & (self.costs < np.inf)).all()):
            raise InvalidProblem(["a row leads nowhere or has a negative number; validate the problem first"])
        self.totals = np.bincount(self.entry_row, self.probabilities, self.num_rows)
        self.dues: FloatArray = self.totals * self.costs
        self.means = {} if cssp.transition_costs is None else cssp.transition_costs.exact_means()
        # The roundings that touch a term of a row; docs/certificates.md counts them.
        roundings = np.diff(pointers) + len(self.costs) + 4.0
        for row, means in self.means.items():
            pairs = zip(self.costs[:, row].tolist(), means, strict=True)
            misses = max((abs(Fraction(double) / mean - 1) for double, mean in pairs if mean), default=0)
            roundings[row] += ceil(misses / Fraction(UNIT)) + 1
        self.error_factor: FloatArray = roundings * (2.0 * UNIT)
        self.is_moderate = self.num_rows > 0 and float(roundings.max()) <= MAX_ROUNDINGS
        self.is_moderate &= is_moderate(self.probabilities) and is_moderate(self.costs)

    def has_arrays_of(self, cssp: CSSP) -> bool:
        """Whether a C-SSP is this block, number by number."""
        other = self if cssp is self.cssp else Block(cssp)
        names = ("row_state", "pointers", "successors", "goals", "probabilities", "costs")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        return same and self.means == other.means

    def dominate(self, rows: IntArray, by: IntArray) -> bool:
        """Call `rows` dominated; whether each is, by the row named for it, which must not be dominated."""
        self.dominated[rows] = True
        lengths = np.diff(self.pointers)
        if (self.row_state[rows] != self.row_state[by]).any() or (lengths[rows] != lengths[by]).any():
            return False
        first, second = (joined_spans(self.pointers[each], lengths[each])[0] for each in (rows, by))
        equal = np.array_equal(self.successors[first], self.successors[second])
        equal &= np.array_equal(self.probabilities[first], self.probabilities[second])
        equal &= self.means.keys().isdisjoint(rows.tolist() + by.tolist())  # their doubles are rounded
        equal &= not self.dominated[by].any()
        return bool(equal and (self.costs[:, by] <= self.costs[:, rows]).all())

    @cached_property
    def exact(self) -> tuple[Any, Any, int]:
        """The probabilities as integers, up to a common factor, and the costs with what to divide them by."""
        if not self.means:
            return exactly(self.probabilities)[0], *exactly(self.costs)
        rows = [self.means.get(row) or [*map(decimal, own)] for row, own in enumerate(self.costs.T.tolist())]
        costs, divisor = integers(cost for row in rows for cost in row)
        return exactly(self.probabilities)[0], costs.reshape(self.num_rows, -1).T, divisor


class Layout:
    """The problem taken apart: a block for each activity; the state, costs and outcomes of each choice.

    `same` and `dominated` are a certificate's; if they are wrong, NotProven says where.
    """

    def __init__(
        self,
        problem: CSSP | HCSSP,
        same: Sequence[int] = (),
        dominated: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        self.same, self.pairs = tuple(same), tuple(dominated)
        self.procedure = problem.procedure
        self.flattening = flat = Flattening(self.procedure)
        every = range(len(self.procedure.activities))
        self.blocks: list[Block] = []
        for activity, first in zip(every, same or every, strict=True):
            cssp = self.procedure.activities[activity].cssp
            block = self.blocks[first] if 0 <= first < activity else Block(cssp)
            if first != activity and not (first < activity and block.has_arrays_of(cssp)):
                raise NotProven(f"activity {activity}: its arrays are not those of activity {first}")
            self.blocks.append(block)
        pairs: dict[int, list[tuple[int, int, int]]] = {}
        for activity, row, by in dominated:
            pairs.setdefault(activity, []).append((min(row, by), row, by))
        for activity, own in pairs.items():
            least, rows, rivals = np.array(own, dtype=np.int64).T
            if activity < 0 or least.min() < 0 or not self.blocks[activity].dominate(rows, rivals):
                raise NotProven(f"activity {activity}: a row called dominated is not by the row named for it")
        self.bounds = tuple(each.at_most for each in self.procedure.constraints)
        self.most, self.limits = self._kept()
        self.event_rows = tuple(self._event_rows())
        counts = [*enumerate((each.counts for each in self.procedure.constraints), start=1)]
        self.counted = [[(0, 0), *((n, own[a]) for n, own in counts if a in own)] for a in every]
        starts = flat.event_row_start.tolist()
        self.choices = [*map(range, starts, starts[1:])]  # the rows of each event state
        self.rows, self.exits = [*map(flat.rows_of, every)], [*map(flat.exits, every)]
        none = {n for n, most in enumerate(self.most, start=1) if most == 0} - {n for n, *_ in self.limits}
        self.dominated: BoolArray = np.zeros(flat.num_rows, dtype=np.bool_)
        self.never: BoolArray = self.dominated.copy()  # dominated, or with a cost of which nothing is allowed
        for activity, (block, rows) in enumerate(zip(self.blocks, self.rows, strict=True)):
            barred = [cost for n, cost in self.counted[activity] if n in none]
            self.dominated[rows] = block.dominated
            self.never[rows] = block.dominated | (block.costs[barred] > 0.0).any(axis=0)
        self.flat = self._flat()

    def _kept(self) -> tuple[list[Any], list[tuple[int, Fraction, Use]]]:
        """What keeps each bound, up to the tolerance; number, limit and use of limits for each execution."""
        tolerance, most, limits = decimal(FEASIBILITY_TOLERANCE), list[Any](), []
        for number, each in enumerate(self.procedure.constraints, start=1):
            bound = each.at_most
            if each.per is not None and bound < np.inf:
                bound, limit = each.per.carried, decimal(each.limit) * (1 + tolerance)
                limits += [(number, limit, self.procedure.uses[each.per.use])] if limit else []
            most.append(bound if bound == np.inf else decimal(bound) + tolerance * abs(decimal(bound)))
        return most, limits

    def _event_rows(self) -> Iterator[EventRow]:
        """The choices of all event states, in the order of the flat rows that they are."""
        flat, choices = self.flattening, self.procedure.choices
        states = np.repeat(np.arange(flat.num_event_states), np.diff(flat.event_row_start)).tolist()
        chosen = flat.event_row_choice.tolist()
        for state, choice, outcomes in zip(states, chosen, flat.event_ways(), strict=True):
            chances: list[Fraction] = []
            ways: list[tuple[int | None, int]] = []
            for probability, runs, starts, doubles in outcomes:
                shares = [decimal(share) for share in doubles]
                chances += [decimal(probability) * share / sum(shares) for share in shares]
                ways += [(runs, start) for start in starts.tolist()]
            event, stated = choices[choice].event, choices[choice].outcomes
            costs = []
            for number, limit, use in self.limits:
                begins = [o.runs is None and enters(use, event, o.event) for o in stated]
                begun = sum(decimal(o.probability) for o in compress(stated, begins))
                if begun:
                    costs.append((number, -limit * begun / sum(chances)))
            whole = zip(integers(chances)[0].tolist(), ways, strict=True)
            yield state, costs, [(chance, *way) for chance, way in whole if chance]

    def _flat(self) -> Graph:
        """All states and rows as one graph; the entries of event rows come first, in their order."""
        flat, nowhere = self.flattening, self.flattening.num_states
        # A goal that no event state belongs to leads nowhere; that it is never reached is verified below.
        states = [np.where(own < 0, nowhere, own) for own in map(flat.flat_state, range(len(self.blocks)))]
        outcomes = [each for *_, ways in self.event_rows for each in ways]
        heads: list[Any] = [[at if run is None else states[run][at] for _, run, at in outcomes]]
        heads += [own[block.successors] for own, block in zip(states, self.blocks, strict=True)]
        lengths: list[Any] = [[0], [len(ways) for *_, ways in self.event_rows]]
        lengths += [np.diff(block.pointers) for block in self.blocks]
        pointers: IntArray = np.cumsum(np.concatenate(lengths), dtype=np.int64)
        successors: IntArray = np.concatenate(heads).astype(np.int64)
        begins, reached = pointers[flat.row_start], np.zeros(nowhere + 1, np.bool_)
        layer = np.array([flat.start])
        while len(layer):
            reached[layer] = True
            after = successors[joined_spans(begins[layer], np.diff(begins)[layer])[0]]
            layer = np.unique(after[~reached[after]])
            if nowhere in layer:
                raise InvalidProblem(["an activity can end where no event is entered"])
        successors[successors == nowhere] = flat.end
        row_state = np.repeat(np.arange(nowhere), np.diff(flat.row_start))
        return Graph(row_state, pointers, successors, np.arange(nowhere) == flat.end)

    def own_weights(self, activity: int, weights: Sequence[Any]) -> list[Any]:
        """The weights of an activity's own costs that the whole problem's `weights` amount to."""
        own, costs = self.counted[activity], range(len(self.blocks[activity].costs))
        return [sum(weights[n] for n, counted in own if counted == cost) for cost in costs]

    def decided(self, region: BoolArray) -> Iterator[tuple[int, Fraction, int | None, int, set[int]]]:
        """Outcomes of rows without an allowed rival: state, probability, activity, start, events after it."""
        for rows in self.choices:
            allowed = [self.event_rows[row] for row in rows if not region[row]]
            for state, _, ways in allowed if len(allowed) == 1 else ():
                whole = sum(chance for chance, _, _ in ways)
                for chance, run, start in ways:
                    yield state, Fraction(chance, whole), run, start, self.flattening.after(run, start)

    @cached_property
    def unit(self) -> Fraction:
        """What the primary cost of every plan is a multiple of if nothing is left to chance, otherwise 0."""
        flat, reached = self.flat, np.arange(self.flattening.num_states) == self.flattening.start
        safe, forks = flat.almost_sure(~self.dominated)[1], np.diff(flat.pointers) > 1
        while not (forks & (rows := safe & reached[flat.row_state])).any():
            if reached[after := flat.successors[rows[flat.entry_row]]].all():
                pairs = zip(self.blocks, self.rows, strict=True)
                exact = [(block.exact[1][0][rows[own]], block.exact[2]) for block, own in pairs]
                costs, divisor = integers(Fraction(cost, below) for each, below in exact for cost in {*each})
                return Fraction(gcd(*costs), divisor)
            reached[after] = True
        return Fraction(0)
