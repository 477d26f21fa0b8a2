"""What a search tells while it works, and the certificate that comes of it.

Everything that is told is made to hold before it is kept, so that the certificate proves a little less than
the search believes, but does prove it. Activities and their states and rows are those of the problem, flat
rows those of :class:`~hcssp.procedure.flattening.Flattening`; a flat C-SSP is activity 0, and its row ``r``
is flat row ``1 + r``, see :meth:`ProofBuilder.flat_row`.

>>> from hcssp.checker.checking import check
>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time", "damage"), bounds={"damage": 1.0})
>>> here, out = plan.add_state("here"), plan.add_goal("out")
>>> walk = plan.add_action(here, "walk", to=out, costs={"time": 3.0})
>>> run = plan.add_action(here, "run", to={out: 0.5, here: 0.5}, costs={"time": 1.0, "damage": 2.0})
>>> plan.set_initial(here)
>>> problem = plan.build()
>>> proof = ProofBuilder(problem)
>>> running, walking = proof.branch(proof.root, proof.flat_row(0, 1))
>>> potential = proof.add_potential(0, [0.0, 1.0], [4.0, 0.0], forbidden=[0])
>>> proof.refute(running, [1.0], [(0, potential, 1.0)])
True
>>> potential = proof.add_potential(0, [1.0, 0.0], [3.0, 0.0], forbidden=[1])
>>> proof.prove(walking, [0.0], [(0, potential, 1.0)])
3.0
>>> proof.set_plan([0, -1])
3.0
>>> verdict = check(problem, proof.certificate())
>>> verdict.lower_bound, verdict.upper_bound
(3.0, 3.0)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import ceil, fsum, inf

import numpy as np
import numpy.typing as npt

from hcssp.checker.arithmetic import grains
from hcssp.checker.checking import Evidence, leaf_regions
from hcssp.checker.format import Branching, Certificate, Part, Potential, Segment, Statement, Use
from hcssp.checker.layout import Block, Layout, Segments
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import NotProven
from hcssp.procedure.model import HCSSP
from hcssp.proofs.events import LOST, event_values, parts_of, rounded_down
from hcssp.proofs.feasibility import feasible_values
from hcssp.proofs.plans import ProvenPlan, proven_plan
from hcssp.proofs.visits import certain_visits
from hcssp.proofs.ways_out import WaysOut

logger = logging.getLogger(__name__)

ROOM, SHRINKING = 1.0 - 2.0**-50, 1.0 - 2.0**-48
"""Shares that add up to no more than this part of a weight do so in spite of rounding, which happens four
times at most: to each product, to their sum, to the weight and to its part. If they may not, they are made
smaller by the other factor."""

LEAF = -1
"""Where a certificate's tree branches no more."""

SPREAD_MARGINS = (0.0, 2.0**-50, 2.0**-44, 2.0**-38, 2.0**-32, 2.0**-26)
"""By so much of itself a bound that rests on spreading the budget is lowered until the checker accepts it."""

NEXT_TO_NOTHING = 1e-9
"""If no more than this share is open, a bound is tried that leaves nothing open."""

MAX_SHRINKINGS = 20
MAX_SEARCHES = 1_000


@dataclass
class _Node:
    """A region of policies: where it lies, and the best that is proven about it."""

    parent: int = -1
    forbidden: IntArray | None = None
    branching: Branching = LEAF
    children: tuple[int, ...] = ()
    statement: Statement | None = None
    bound: float = -inf


class ProofBuilder:
    """Collects what a search proves about a problem.

    Parameters
    ----------
    problem
        The problem, under its bounds.
    randomised
        Whether what is proven is to hold for plans that draw lots, too, as long as nothing is branched: then
        no bound is rounded up to a cost that a deterministic plan can have.

    Attributes
    ----------
    root
        The node of all policies.
    layout
        The problem as the checker sees it.
    randomised
        As it was given.
    """

    root = 0

    def __init__(self, problem: CSSP | HCSSP, randomised: bool = False) -> None:
        self._problem = problem
        self.layout, self.randomised = Layout(problem), randomised
        if randomised:
            self.layout.unit = Fraction(0)
        self._bounds = tuple(constraint.at_most for constraint in self.layout.procedure.constraints)
        counted = [cost for each in self.layout.procedure.constraints for cost in each.counts.values()]
        self._adds_weights = len(self._bounds) > 1 or 0 in counted
        self._potentials: list[Potential] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._evidence = Evidence(self.layout, self._potentials, ProvenPlan().rows)
        self._allowed = self._evidence.most
        self._segments, self._listed = Segments(self.layout, ()), tuple[Segment, ...]()
        # For each row the segments that it is in, and where.
        self._places: dict[int, dict[int, int]] = {}
        self._nodes = [_Node()]
        self._plan: ProvenPlan | None = None
        self._searches: dict[tuple[str, bytes], tuple[BoolArray, BoolArray]] = {}
        self._ways_out: dict[str, WaysOut] = {}

    def flat_row(self, activity: int, row: int) -> int:
        """The flat row of an activity's own row."""
        return int(self.layout.flattening.row_offset[activity]) + row

    def add_potential(
        self, activity: int, weights: Sequence[float], values: npt.ArrayLike, forbidden: Iterable[int] = ()
    ) -> int:
        """Keep a potential of an activity, and give its number.

        Parameters
        ----------
        activity
            The activity.
        weights
            Of its own costs, the primary first; not negative.
        values
            For each of its own states, goals included, what is to come at least under the weights, as a
            solver knows it; ``nan`` where it knows nothing.
        forbidden
            The activity's own rows that the values did not consider.

        Raises
        ------
        ValueError
            If the sizes are not those of the activity, or a weight is negative or not finite.
        """
        block = self.layout.blocks[activity]
        prices, levels = np.array(weights, dtype=np.float64), np.array(values, dtype=np.float64)
        rows = tuple(sorted(int(row) for row in forbidden))
        if prices.shape != (len(block.costs),) or levels.shape != (block.num_states,):
            raise ValueError(
                f"activity {activity} has {len(block.costs)} costs and {block.num_states} states, but the "
                f"weights have the shape {prices.shape} and the values {levels.shape}"
            )
        if not (np.isfinite(prices).all() and (prices >= 0.0).all()):
            raise ValueError(f"activity {activity}: the weights are {prices.tolist()}, not prices from 0")
        known = np.isfinite(levels)
        key = (block.digest, prices.tobytes(), rows, known.tobytes(), levels[block.goals].tobytes())
        if key not in self._numbers:
            # Rows that lead into a dead end need not hold; the checker knows them, too.
            avoided = block.superfluous.copy()
            avoided[list(rows)] = True
            mended = feasible_values(block, prices, levels, self._almost_sure(block, avoided)[1])
            if mended is None:
                raise AssertionError("non-negative weights always have a potential")
            self._numbers[key] = len(self._potentials)
            self._potentials.append(Potential(activity, tuple(prices.tolist()), rows, mended))
        return self._numbers[key]

    def add_dead_end(
        self, activity: int, weights: Sequence[float], value: float, forbidden: Iterable[int]
    ) -> int:
        """Keep a potential that is as high as `value` from where an activity cannot be ended, and its number.

        See :meth:`add_potential` for the other parameters.
        """
        block, rows = self.layout.blocks[activity], list(forbidden)
        avoided = block.superfluous.copy()
        avoided[rows] = True
        return self.add_potential(
            activity, weights, np.where(self._almost_sure(block, avoided)[0], 0.0, value), rows
        )

    def flat_uses(
        self, node: int, weights: Sequence[float], values: npt.ArrayLike
    ) -> tuple[list[Use], FloatArray]:
        """Keep potentials of all activities for a region, from values of the whole flat problem.

        For problems that are solved flat, such as procedures where an activity's exit decides what follows.

        Parameters
        ----------
        node
            The region.
        weights
            Of the whole problem's costs, the primary first.
        values
            For each flat state what is to come at least, as a solver knows it; ``nan`` where it knows
            nothing.

        Returns
        -------
        uses, events
            What :meth:`prove` and :meth:`refute` want.
        """
        layout, region = self.layout, self.region(node)
        prices, exact = np.array(weights), [Fraction(float(weight)) for weight in weights]
        levels = np.array(values, dtype=np.float64)
        known = np.isfinite(levels)
        dear = LOST * (1.0 + float(np.max(np.abs(levels), where=known, initial=0.0)))
        # Mended as a whole, the activities agree on what their exits are worth.
        ending, allowed = layout.flat.almost_sure(~region)
        mended = feasible_values(layout.flat, prices, levels, allowed)
        levels = np.where(known, levels if mended is None else mended, np.nan)
        # What only an outcome of probability zero leads to is not known either, but is no dead end.
        levels[~known & ending] = 0.0 if mended is None else mended[~known & ending]
        uses: list[Use] = []
        for activity, block in enumerate(layout.blocks):
            states = layout.flattening.flat_state(activity)
            # What nobody knows is not passed off as known: an alike activity may know it.
            own = np.where((states >= 0) & (known[states] | block.goals), levels[states], np.nan)
            # From an exit of which nothing is known, the end is not reached: so dear that nobody takes it.
            own[block.goals & ~np.isfinite(own)] = dear
            own_weights = [float(weight) for weight in layout.own_weights(activity, exact)]
            forbidden = np.flatnonzero(
                region[layout.flattening.rows_of(activity)] & ~block.superfluous
            ).tolist()
            uses.append((activity, self.add_potential(activity, own_weights, own, forbidden), 1.0))
        events = levels[: layout.flattening.num_event_states]
        return uses, np.where(np.isfinite(events), events, dear)

    def level(self, activity: int, potential: int) -> float:
        """What a stored potential says about an execution of `activity` from its initial states, at least."""
        cssp = self.layout.procedure.activities[activity].cssp
        return float(cssp.initial @ self._potentials[potential].values)

    def exchange(self, segments: Sequence[Segment]) -> None:
        """Say which parts of the procedure may exchange their plans.

        Parameters
        ----------
        segments
            As in a certificate. If the checker does not take them for such, there are none.
        """
        try:
            self._segments, self._listed = Segments(self.layout, segments), tuple(segments)
        except NotProven as error:
            logger.info("nothing is exchanged: %s", error)
        for number, (_, _, rows) in enumerate(self._segments.found):
            for place, row in enumerate(rows.tolist()):
                self._places.setdefault(row, {})[number] = place

    def branch(self, node: int, row: int) -> tuple[int, int]:
        """Split a region: the flat row's state uses the row, or it does not."""
        return self._branch(node, row)

    def branch_alike(self, node: int, rows: Sequence[int], count: int) -> tuple[int, int] | None:
        """Split a region: so many of some flat rows are used, by those that come first, or fewer are.

        In the second part, the rows from the last of the first ones on are not used. None if the checker does
        not see that all these rows can be exchanged: see :meth:`exchange`.
        """
        for number, place in self._places.get(rows[0], {}).items():
            form, chosen = self._segments.found[number][1], [number]
            for row in rows[1:]:
                places = self._places.get(row, {}).items()
                chosen += [n for n, at in places if at == place and self._segments.found[n][1] == form][:1]
            if len(chosen) == len(rows):
                try:
                    return self._branch(node, (rows[0], count, *chosen))
                except NotProven:
                    continue
        return None

    def _branch(self, node: int, branching: Branching) -> tuple[int, int]:
        row = branching[0] if isinstance(branching, tuple) else branching
        if not 0 <= row < self.layout.flattening.row_start[-1] or self._nodes[node].children:
            raise ValueError(f"node {node} cannot be branched on flat row {row}")
        region = self.region(node)
        parts = [part & ~region for part in leaf_regions((branching, LEAF, LEAF), self._segments, region)]
        children = len(self._nodes), len(self._nodes) + 1
        self._nodes += [_Node(node, np.flatnonzero(part)) for part in parts]
        self._nodes[node].branching, self._nodes[node].children = branching, children
        return children

    def prove(
        self, node: int, prices: Sequence[float], uses: Iterable[Use], events: npt.ArrayLike | None = None
    ) -> float:
        """Prove a lower bound on the primary cost of all plans of a region, by its Lagrangian at `prices`.

        Parameters
        ----------
        node
            The region. What is proven about it holds for what it is branched into, too.
        prices
            Of the constraints; 0 where there is no bound.
        uses
            Of which stored potentials each activity's consists; an activity without any costs nothing. The
            potentials' weights, times the shares, may add up to the activity's weights at most.
        events
            The potential of every event state, if it is known; otherwise it is computed.

        Returns
        -------
        float
            The best bound on the region that is proven so far.
        """
        self._settle(node, (1.0, *prices), uses, events)
        return self.bound(node)

    def prove_spread(self, node: int, prices: Sequence[float], parts: Sequence[Part], aim: float) -> float:
        """Prove a lower bound on all plans of a region by all ways to spread the bounds over activities.

        Parameters
        ----------
        node, prices
            As in :meth:`prove`.
        parts
            As in a certificate: an activity, how its plans are split in classes, and the potentials used
            of each class for the primary cost, for what is priced, and for both.
        aim
            The bound that is believed to hold; a little less may be proven.

        Returns
        -------
        float
            The best bound on the region that is proven so far.
        """
        region = self.region(node)
        weights = (1.0, *map(float, prices))
        statement = Statement(weights, certain_visits(self.layout, region), (), tuple(parts))
        claims = [aim * (1.0 - margin) for margin in SPREAD_MARGINS]
        if self._plan is not None and aim < self._plan.upper_bound <= aim * (1.0 + NEXT_TO_NOTHING):
            # What rounding has left open may be closed in integers.
            claims.insert(0, self._plan.upper_bound)
        for claim in claims:
            try:
                self._evidence.bound(f"node {node}", statement, region, claim)
            except NotProven as error:
                logger.info("a spread proves less than it should: %s", error)
                continue
            if claim > self._nodes[node].bound:
                self._nodes[node].statement, self._nodes[node].bound = statement, claim
            break
        return self.bound(node)

    def refute(
        self, node: int, weights: Sequence[float], uses: Iterable[Use], events: npt.ArrayLike | None = None
    ) -> bool:
        """Prove that no plan of a region keeps the bounds, since it exceeds them under `weights`.

        See :meth:`prove` for the parameters. Says whether it is proven.
        """
        self._settle(node, (0.0, *weights), uses, events)
        return self.bound(node) == inf

    def refute_empty(self, node: int) -> bool:
        """Prove that no policy of a region reaches the end almost surely; says whether that is so."""
        try:
            self._evidence.bound("", None, self.region(node), inf)
        except NotProven:
            return False
        self._nodes[node].statement, self._nodes[node].bound = None, inf
        return True

    def set_plan(self, rows: npt.ArrayLike) -> float:
        """Keep a plan if it is proven to be better than the one there is.

        Parameters
        ----------
        rows
            A flat row for every flat state, -1 for none; for a flat C-SSP its own rows and states.

        Returns
        -------
        float
            What the best plan proven so far costs at most; ``inf`` if there is none.
        """
        flat = np.array(rows, dtype=np.int64)
        if isinstance(self._problem, CSSP):
            # The start, where it begins, and the end come first; goals are the end.
            own = flat[~self._problem.goals]
            flat = np.concatenate([[0, NO_ROW], np.where(own == NO_ROW, NO_ROW, own + 1)])
        found = proven_plan(self.layout, flat, self._allowed)
        if found is not None and (self._plan is None or found.upper_bound < self._plan.upper_bound):
            self._plan = found
        if found is not None and found.by_chance:
            # A plan that ends may go there, so costs are multiples of nothing; asking the layout takes long.
            self.layout.unit = Fraction(0)
        return inf if self._plan is None else self._plan.upper_bound

    def bound(self, node: int) -> float:
        """The best bound on a region that is proven so far, by itself or one that holds it."""
        best = 0.0
        while node >= 0:
            best, node = max(best, self._nodes[node].bound), self._nodes[node].parent
        return best

    def region(self, node: int) -> BoolArray:
        """The flat rows that a region forbids, with those that are forbidden everywhere."""
        region = self._evidence.never.copy()
        while node >= 0:
            if (forbidden := self._nodes[node].forbidden) is not None:
                region[forbidden] = True
            node = self._nodes[node].parent
        return region

    def certificate(self) -> Certificate:
        """All that is proven so far; what no leaf and no plan needs is left out."""
        tree: list[Branching] = []
        leaves: list[tuple[int | None, float]] = []
        statements: dict[Statement, int] = {}
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            tree.append(self._nodes[node].branching)
            if self._nodes[node].children:
                waiting += reversed(self._nodes[node].children)
                continue
            statement, bound = self._best(node)
            number = None if statement is None else statements.setdefault(statement, len(statements))
            leaves.append((number, bound))
        kept = {
            number: new
            for new, number in enumerate(sorted({n for each in statements for _, n, _ in _uses_of(each)}))
        }
        plan = ProvenPlan() if self._plan is None else self._plan
        renumbered = [_renumbered(statement, kept) for statement in statements]
        shifted = {number: len(kept) + number for number in range(len(plan.potentials))}
        return Certificate(
            fingerprint=self.layout.flat.digest,
            bounds=self._bounds,
            tree=tuple(tree),
            leaves=tuple(leaves),
            plan=plan.rows,
            ranks=plan.ranks,
            upper_bound=plan.upper_bound,
            plan_statements=tuple(len(renumbered) + number for number in range(len(plan.statements))),
            statements=(*renumbered, *(_renumbered(statement, shifted) for statement in plan.statements)),
            potentials=(*(self._potentials[number] for number in kept), *plan.potentials),
            segments=self._listed if any(isinstance(each, tuple) for each in tree) else (),
        )

    def _best(self, node: int) -> tuple[Statement | None, float]:
        """The best statement about a region, by itself or one that holds it; None if it is empty."""
        nothing = (1.0, *[0.0] * len(self._bounds))
        best = Statement(nothing, (0.0,) * self.layout.flattening.num_event_states, ()), 0.0
        found: tuple[Statement | None, float] = best
        while node >= 0:
            if self._nodes[node].bound > found[1]:
                found = self._nodes[node].statement, self._nodes[node].bound
            node = self._nodes[node].parent
        return found

    def _settle(
        self, node: int, weights: tuple[float, ...], uses: Iterable[Use], events: npt.ArrayLike | None
    ) -> None:
        """Keep what follows from the stored potentials about a region, if it is new."""
        region = self.region(node)
        used = [use for use in uses if use[2] > 0.0]
        weights = tuple(map(float, weights))
        prices = [Fraction(weight) for weight in weights]
        # Nothing is rounded where nothing is added.
        limits: Sequence[float | Fraction] = prices if self._adds_weights else weights
        fitting = self._fitting(limits, used)
        draft = Statement(weights, (), fitting)
        self._check_uses(node, draft, limits, region)
        parts = parts_of(self._evidence, draft)
        given = () if events is None else tuple(np.array(events, dtype=np.float64).tolist())
        found = event_values(self._evidence, region, parts, weights, self._ends, given)
        if found is None:
            return
        bound = self._bound(node, prices, Fraction(found[self.layout.flattening.start]))
        if bound > self._nodes[node].bound:
            self._nodes[node].statement, self._nodes[node].bound = replace(draft, events=found), bound

    def unaffordable(self, activity: int) -> list[int]:
        """The rows of an activity that cost what a bound of 0 allows nobody to spend."""
        own = self._evidence.never[self.layout.flattening.rows_of(activity)]
        found: list[int] = np.flatnonzero(own & ~self.layout.blocks[activity].superfluous).tolist()
        return found

    def _bound(self, node: int, weights: Sequence[Fraction], least: Fraction) -> float:
        """What follows for plans that keep the bounds, as the checker has it; ``inf``: there is none."""
        for weight, most in zip(weights[1:], self._allowed, strict=True):
            if weight < 0 or (weight and most == inf):
                raise NotProven(f"node {node}: {float(weight)!r} is no price of a bounded cost")
            least -= weight * Fraction(most if weight else 0)
        if weights[0] == 0:
            return inf if least > 0 else -inf
        unit = self.layout.unit
        return rounded_down(ceil(least / unit) * unit if unit else least)

    def _check_uses(
        self, node: int, draft: Statement, prices: Sequence[float | Fraction], region: BoolArray
    ) -> None:
        """If what is used is not plainly in order, the checker says what is wrong."""
        fitting: dict[int, list[Use]] = {}
        plain = True
        for activity, number, share in draft.uses:
            potential = self._potentials[number]
            plain &= self.layout.blocks[activity] is self.layout.blocks[potential.activity]
            plain &= bool(region[self.layout.flattening.rows_of(activity)][list(potential.forbidden)].all())
            fitting.setdefault(activity, []).append((activity, number, share))
        for activity, uses in fitting.items():
            plain = plain and self._surely_fits(uses, self.layout.own_weights(activity, prices))
        if not plain:
            exact = [grains(weight) for weight in draft.weights]
            self._evidence.parts(f"node {node}", draft.uses, exact, region)

    def _fitting(self, prices: Sequence[float | Fraction], uses: Sequence[Use]) -> tuple[Use, ...]:
        """The uses with shares that rounding has not made too large for the activities' weights."""
        fitting: dict[int, list[Use]] = {}
        for use in uses:
            fitting.setdefault(use[0], []).append(use)
        for activity in fitting:
            own = self.layout.own_weights(activity, prices)
            for _ in range(MAX_SHRINKINGS):
                if self._surely_fits(fitting[activity], own):
                    break
                fitting[activity] = [(k, number, share * SHRINKING) for k, number, share in fitting[activity]]
        return tuple(use for each in fitting.values() for use in each)

    def _surely_fits(self, uses: Sequence[Use], own: Sequence[float | Fraction]) -> bool:
        """Whether potentials add up to no more than an activity's own weights, with room for rounding."""
        whole = len(uses) == 1 and uses[0][2] == 1.0
        for cost, limit in enumerate(own):
            used = fsum(share * self._potentials[number].weights[cost] for _, number, share in uses)
            # A potential that is taken as it is involves no rounding, and a comparison does not either.
            if used > (limit if whole else float(limit) * ROOM):
                return False
        return True

    def _ends(self, activity: int, forbidden: BoolArray) -> BoolArray:
        """From which states an activity can be ended almost surely without some of its rows."""
        return self._almost_sure(self.layout.blocks[activity], forbidden)[0]

    def _almost_sure(self, block: Block, forbidden: BoolArray) -> tuple[BoolArray, BoolArray]:
        """As :class:`~hcssp.checker.layout.Block` finds it, kept: a search asks the same again and again."""
        # Most regions forbid nothing here but what nobody needs.
        more = not np.array_equal(forbidden, block.superfluous)
        key = (block.digest, np.flatnonzero(forbidden).tobytes() if more else b"")
        if key not in self._searches:
            if len(self._searches) >= MAX_SEARCHES:
                self._searches.clear()
            if block.digest not in self._ways_out:
                self._ways_out[block.digest] = WaysOut(block)
            self._searches[key] = self._ways_out[block.digest].without(forbidden)
        return self._searches[key]


def _uses_of(statement: Statement) -> Iterator[Use]:
    """All that a statement uses, in its parts as well."""
    yield from statement.uses
    for _, _, classes in statement.parts:
        for each in classes:
            yield from chain.from_iterable(each)


def _renumbered(statement: Statement, numbers: Mapping[int, int]) -> Statement:
    def again(uses: Iterable[Use]) -> tuple[Use, ...]:
        return tuple((activity, numbers[number], share) for activity, number, share in uses)

    parts = tuple(
        (activity, tree, tuple(tuple(map(again, each)) for each in classes))
        for activity, tree, classes in statement.parts
    )
    return replace(statement, uses=again(statement.uses), parts=parts)
