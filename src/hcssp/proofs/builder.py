"""The results of a search while it runs, and the certificate that follows from them.

Every statement is made to hold before it is kept, so that the certificate proves a little less than
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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from hcssp.checker.arithmetic import grains
from hcssp.checker.checking import Verifier, leaf_regions
from hcssp.checker.format import Certificate, Extra, Part, Potential, Statement, Use
from hcssp.checker.layout import Layout
from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.cssp.policy import NO_ROW
from hcssp.cssp.preprocessing import UNDOMINATED, dominating_rows
from hcssp.cssp.reachability import path_lengths
from hcssp.errors import ImproperPolicy, NotProven
from hcssp.evaluation.chain import induced_chain
from hcssp.procedure.model import HCSSP
from hcssp.proofs.events import certain_visits, event_values, parts_of, rounded_down
from hcssp.proofs.potentials import PotentialStore, feasible_values

LEAF = -1
"""Where a certificate's tree branches no more."""


@dataclass
class _Node:
    """A region of policies: where it lies, and the best that is proven about it."""

    parent: int = -1
    forbidden: IntArray | None = None
    branching: int = LEAF
    children: tuple[int, ...] = ()
    statement: Statement | None = None
    bound: float = -inf


class RegionTree:
    """Keeps regions by number; that of all policies is 0.

    Parameters
    ----------
    layout
        The problem as the checker sees it.
    never
        The flat rows that are forbidden everywhere.
    """

    def __init__(self, layout: Layout, never: BoolArray) -> None:
        self._layout, self._never = layout, never
        self._nodes = [_Node()]
        # The bound on a region without a proof: no cost is negative.
        prices = (1.0, *[0.0] * len(layout.bounds))
        self._nothing = Statement(prices, (0.0,) * layout.flattening.num_event_states, ())

    def branch(self, node: int, row: int) -> tuple[int, int]:
        """Split a region as in a certificate's tree: a flat row is used in its state, or it is not."""
        row_start = self._layout.flattening.row_start
        if not 0 <= row < row_start[-1] or self._nodes[node].children:
            raise ValueError(f"node {node} cannot be branched on flat row {row}")
        region = self.forbidden(node)
        parts = [part & ~region for part in leaf_regions((row, LEAF, LEAF), row_start, region)]
        children = len(self._nodes), len(self._nodes) + 1
        self._nodes += [_Node(node, np.flatnonzero(part)) for part in parts]
        self._nodes[node].branching, self._nodes[node].children = row, children
        return children

    def forbidden(self, node: int) -> BoolArray:
        """The flat rows that a region forbids, with those that are forbidden everywhere."""
        region = self._never.copy()
        while node >= 0:
            if (forbidden := self._nodes[node].forbidden) is not None:
                region[forbidden] = True
            node = self._nodes[node].parent
        return region

    def keep(self, node: int, statement: Statement | None, bound: float) -> None:
        """Keep the bound of a region if it is higher than before; None proves that it is empty."""
        if bound > self._nodes[node].bound:
            self._nodes[node].statement, self._nodes[node].bound = statement, bound

    def best(self, node: int) -> tuple[Statement | None, float]:
        """The best statement about a region or one that holds it, None if it is empty, and the bound."""
        found: tuple[Statement | None, float] = self._nothing, 0.0
        while node >= 0:
            if self._nodes[node].bound > found[1]:
                found = self._nodes[node].statement, self._nodes[node].bound
            node = self._nodes[node].parent
        return found

    def written(self) -> tuple[list[int], list[int]]:
        """The tree as a certificate has it, in preorder, and its leaves in that order."""
        tree: list[int] = []
        leaves: list[int] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            tree.append(self._nodes[node].branching)
            if self._nodes[node].children:
                waiting += reversed(self._nodes[node].children)
            else:
                leaves.append(node)
        return tree, leaves


logger = logging.getLogger(__name__)

SPREAD_MARGINS = (0.0, 2.0**-50, 2.0**-44, 2.0**-38, 2.0**-32, 2.0**-26)
"""By so much of itself a bound that rests on spreading the budget is lowered until the checker accepts it."""

MARGINS = (0.0, *(2.0**-power for power in range(50, 22, -4)))
"""The costs of a randomised plan are raised by this share of the largest cost, for every expected step, until
the checker accepts them."""

NEXT_TO_NOTHING = 1e-9
"""If no more than this share is open, a bound is tried that leaves nothing open."""


class ProofBuilder:
    """Collects the proofs of a search about a problem.

    Parameters
    ----------
    problem
        The problem, under its bounds.
    randomised
        Whether what is proven is to hold for randomised policies, too, as long as nothing is branched: then
        no bound is rounded up to a cost that a deterministic plan can have.

    Attributes
    ----------
    root
        The node of all policies.
    layout
        The problem as the checker sees it.
    randomised
        As it was given.
    potentials, regions
        What is kept: stored potentials, and what is proven about regions.
    """

    root = 0

    def __init__(self, problem: CSSP | HCSSP, randomised: bool = False) -> None:
        self._problem = problem
        self.layout, self.randomised = proposed_layout(problem), randomised
        if randomised:
            self.layout.unit = Fraction(0)
        # A C-SSP is the only activity of its procedure, behind the choice to run it.
        self._first_row = int(self.layout.flattening.row_start[-1] - problem.row_start[-1])
        counted = [cost for each in self.layout.procedure.constraints for cost in each.counts.values()]
        self._adds_weights = len(self.layout.bounds) > 1 or 0 in counted
        self.potentials = PotentialStore(self.layout)
        self._plan = ProvenPlan()
        self._verifier = Verifier(self.layout, self.potentials.kept, self._plan.rows)
        self.regions = RegionTree(self.layout, self.layout.never)

    def flat_row(self, activity: int, row: int) -> int:
        """The flat row of an activity's own row."""
        return int(self.layout.flattening.row_offset[activity]) + row

    def problem_row(self, row: int) -> int:
        """The flat row of a row of the problem: of the flattened procedure, or of a C-SSP."""
        return self._first_row + row

    def flat_values(self, values: FloatArray) -> FloatArray:
        """The values of all flat states, from those of the states of the problem, see :meth:`problem_row`."""
        if not self._first_row:
            return values
        # As a procedure, it begins in an event and ends in one; its goals are that end.
        flat = self._problem.flat
        return np.concatenate([[float(flat.initial @ np.nan_to_num(values)), 0.0], values[~flat.goals]])

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
            For each of its own states, goals included, the least cost-to-go under the weights, as a
            solver knows it; ``nan`` where it knows nothing.
        forbidden
            The activity's own rows that the values did not consider.

        Raises
        ------
        ValueError
            If the sizes are not those of the activity, or a weight is negative or not finite.
        """
        return self.potentials.add(activity, weights, values, forbidden)

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
            For each flat state the least cost-to-go, as a solver knows it; ``nan`` where it knows
            nothing.

        Returns
        -------
        uses, events
            What :meth:`prove` and :meth:`refute` want.
        """
        return self.potentials.add_flat(self.region(node), weights, values)

    def branch(self, node: int, row: int) -> tuple[int, int]:
        """Split a region: the flat row's state uses the row, or it does not."""
        return self.regions.branch(node, row)

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
        if aim < self._plan.upper_bound <= aim * (1.0 + NEXT_TO_NOTHING):
            # What rounding has left open may be closed in integers.
            claims.insert(0, self._plan.upper_bound)
        for claim in claims:
            try:
                self._verifier.bound(f"node {node}", statement, region, claim)
            except NotProven as error:
                logger.info("a spread proves less than it should: %s", error)
                continue
            self.regions.keep(node, statement, claim)
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
        """Try to prove that no policy of a region reaches the end almost surely; return whether it is so."""
        try:
            self._verifier.bound("", None, self.region(node), inf)
        except NotProven:
            return False
        self.regions.keep(node, None, inf)
        return True

    def set_plan(self, rows: npt.ArrayLike, extra: Extra = ()) -> float:
        """Keep a plan if it is proven to be better than the one there is.

        Parameters
        ----------
        rows
            A flat row for every flat state, -1 for none; for a flat C-SSP its own rows and states.
        extra
            The further rows of a randomised plan, with their probabilities; only where what is proven is to
            hold for randomised policies.

        Returns
        -------
        float
            What the best plan proven so far costs at most; ``inf`` if there is none.
        """
        policy = self._problem.policy(np.array(rows, dtype=np.int64), extra).procedure
        found = proven_plan(self.layout, policy.rows, self.layout.most, policy.extra)
        if found is not None and found.upper_bound < self._plan.upper_bound:
            self._plan = found
        if found is not None and found.by_chance:
            # A plan that ends may go there, so costs are multiples of nothing; asking the layout takes long.
            self.layout.unit = Fraction(0)
        return self._plan.upper_bound

    def bound(self, node: int) -> float:
        """The best bound on a region that is proven so far, by itself or one that holds it."""
        return self.regions.best(node)[1]

    def region(self, node: int) -> BoolArray:
        """The flat rows that a region forbids, with those that are forbidden everywhere."""
        return self.regions.forbidden(node)

    def certificate(self) -> Certificate:
        """All that is proven so far; what no leaf and no plan needs is left out."""
        return compiled(self.layout, self.regions, self.potentials.kept, self._plan)

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
        draft = Statement(weights, (), self.potentials.fitting(used, limits))
        if not self.potentials.is_in_order(draft.uses, limits, region):
            # The checker says what is wrong.
            exact = [grains(weight) for weight in weights]
            self._verifier.parts(f"node {node}", draft.uses, exact, region)
        parts = parts_of(self._verifier, draft)
        given = () if events is None else tuple(np.array(events, dtype=np.float64).tolist())
        found = event_values(self._verifier, region, parts, weights, self.potentials.ends, given)
        if found is None:
            return
        bound = self._bound(node, prices, Fraction(found[self.layout.flattening.start]))
        self.regions.keep(node, replace(draft, events=found), bound)

    def unaffordable(self, activity: int) -> list[int]:
        """The rows of an activity with a cost whose bound is 0."""
        own = self.layout.never[self.layout.flattening.rows_of(activity)]
        found: list[int] = np.flatnonzero(own & ~self.layout.blocks[activity].dominated).tolist()
        return found

    def _bound(self, node: int, weights: Sequence[Fraction], least: Fraction) -> float:
        """What follows for plans that keep the bounds, as the checker has it; ``inf``: there is none."""
        for weight, most in zip(weights[1:], self.layout.most, strict=True):
            if weight < 0 or (weight and most == inf):
                raise NotProven(f"node {node}: {float(weight)!r} is not a price of a bounded cost")
            least -= weight * Fraction(most if weight else 0)
        if weights[0] == 0:
            return inf if least > 0 else -inf
        unit = self.layout.unit
        return rounded_down(ceil(least / unit) * unit if unit else least)


def proposed_layout(problem: CSSP | HCSSP) -> Layout:
    """The layout of a problem, with all activities that have equal arrays and all dominated rows."""
    firsts: dict[tuple[object, ...], int] = {}
    same: list[int] = []
    pairs: list[tuple[int, int, int]] = []
    seen: dict[int, int] = {}
    for activity, each in enumerate(problem.procedure.activities):
        if id(each.cssp) not in seen:
            first = seen[id(each.cssp)] = firsts.setdefault(_key(each.cssp), activity)
            if first == activity:
                by = dominating_rows(each.cssp)
                pairs += [(activity, row, int(by[row])) for row in np.flatnonzero(by != UNDOMINATED).tolist()]
        same.append(seen[id(each.cssp)])
    return Layout(problem, tuple(same), tuple(pairs))


def _key(cssp: CSSP) -> tuple[object, ...]:
    """What only C-SSPs with equal arrays have in common."""
    matrix = cssp.transitions
    arrays = [matrix.indptr, matrix.indices, matrix.data, cssp.row_start, cssp.goals, cssp.costs]
    if (paid := cssp.transition_costs) is not None:
        arrays += [paid.rows, paid.states, paid.probabilities, paid.costs]
    return tuple((each.shape, np.ascontiguousarray(each).tobytes()) for each in arrays)


def compiled(
    layout: Layout, regions: RegionTree, potentials: Sequence[Potential], plan: ProvenPlan
) -> Certificate:
    """All that is proven of the leaves, with the plan.

    Parameters
    ----------
    layout
        The problem as the checker sees it.
    regions, potentials
        What is proven, and the potentials that statements about regions use, by number.
    plan
        The plan, with statements and potentials of its own.
    """
    tree, nodes = regions.written()
    statements: dict[Statement, int] = {}
    leaves: list[tuple[int | None, float]] = []
    for statement, bound in map(regions.best, nodes):
        number = None if statement is None else statements.setdefault(statement, len(statements))
        leaves.append((number, bound))
    kept = {
        number: new
        for new, number in enumerate(sorted({n for each in statements for _, n, _ in _uses_of(each)}))
    }
    renumbered = [_renumbered(statement, kept) for statement in statements]
    shifted = {number: len(kept) + number for number in range(len(plan.potentials))}
    return Certificate(
        bounds=layout.bounds,
        tree=tuple(tree),
        leaves=tuple(leaves),
        plan=plan.rows,
        ranks=plan.ranks,
        upper_bound=plan.upper_bound,
        plan_statements=tuple(len(renumbered) + number for number in range(len(plan.statements))),
        statements=(*renumbered, *(_renumbered(statement, shifted) for statement in plan.statements)),
        potentials=(*(potentials[number] for number in kept), *plan.potentials),
        same=layout.same,
        dominated=layout.pairs,
        extra=plan.extra,
    )


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


NOTHING = 2.0**-48
"""The rounding of a difference, relative to what was subtracted."""


def _no_numbers() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ProvenPlan:
    """A plan that is proven to keep its bounds, and its part of a certificate.

    Attributes
    ----------
    rows
        A flat row for every flat state, -1 for none.
    ranks
        The fewest steps to the end from every flat state that it may reach, 0 for the others.
    upper_bound
        An upper bound on its cost.
    statements
        One for each cost; their potentials are numbers of `potentials`.
    by_chance
        Whether chance decides somewhere where it goes.
    extra
        The further rows of a randomised plan, with their probabilities.
    """

    rows: IntArray = field(default_factory=_no_numbers)
    ranks: IntArray = field(default_factory=_no_numbers)
    upper_bound: float = inf
    statements: tuple[Statement, ...] = ()
    potentials: tuple[Potential, ...] = ()
    by_chance: bool = False
    extra: Extra = ()


def proven_plan(
    layout: Layout, rows: IntArray, allowed: Sequence[float | Fraction], extra: Extra = ()
) -> ProvenPlan | None:
    """The plan that takes the flat `rows`, with its proof; None if it does not end or may break a bound.

    Parameters
    ----------
    layout
        The problem.
    rows
        A flat row for every flat state, -1 for none.
    allowed
        The largest costs that count as keeping the bounds; ``inf`` where there is none.
    extra
        The further rows of a randomised plan, with their probabilities.
    """
    induced = induced_chain(layout.procedure, layout.procedure.policy(rows, extra))
    chain = induced.problem
    try:
        remaining = induced.remaining()
    except ImproperPolicy:
        return None
    # Where the plan never goes, nothing is known about it, and nothing need be.
    goes = np.isfinite(remaining[0])
    rows, extra = np.where(goes, rows, NO_ROW), tuple(e for e in extra if goes[layout.flat.row_state[e[0]]])
    potentials: list[Potential] = []
    verifier = Verifier(layout, potentials, rows, extra)
    statements: list[Statement] = []
    paid = np.vstack([chain.costs, np.ones(chain.num_rows)])
    if extra:
        # The checker reads limits for each execution as costs of choices.
        choices = induced.rows[induced.rows < len(layout.event_rows)]
        paid[:-1, : len(choices)] = 0.0
        for place, row in enumerate(choices.tolist()):
            for cost, amount in layout.event_rows[row][1]:
                paid[cost, place] += float(amount)
        exact = induced.paying(paid).remaining()
    for cost in range(len(remaining)):
        if extra:
            size = float(np.abs(paid[cost]).max(initial=0.0)) * exact[-1]
            statement = _statement_of_mixture(verifier, potentials, cost, exact[cost], size)
        else:
            statement = _statement_of_plan(verifier, potentials, cost, remaining[cost])
        if statement is None:
            return None
        statements.append(statement)
    costs = [-each.events[layout.flattening.start] for each in statements]
    if any(Fraction(cost) > most for cost, most in zip(costs[1:], allowed, strict=True)):
        return None
    possible = np.append(0, np.cumsum(chain.transitions.data > 0.0))[chain.transitions.indptr]
    by_chance = bool((np.diff(possible)[np.isfinite(remaining[0])[chain.row_state]] > 1).any())
    ranks, proof = _ranks(chain), (tuple(statements), tuple(potentials))
    return ProvenPlan(rows, ranks, costs[0], *proof, by_chance or bool(extra), extra)


def _ranks(chain: CSSP) -> IntArray:
    """From every state the fewest steps to the end that the only policy may take; 0 where it never ends."""
    steps = chain.transitions.tocoo()
    possible = steps.data > 0.0
    heads, tails = steps.coords[1][possible], chain.row_state[steps.coords[0][possible]]
    fewest = path_lengths(tails, heads, chain.goals)
    return np.where(np.isfinite(fewest), fewest, 0.0).astype(np.int64)


def _statement_of_plan(
    verifier: Verifier, potentials: list[Potential], cost: int, remaining: FloatArray
) -> Statement | None:
    """An upper bound on one cost of the plan, with potentials that are appended to `potentials`."""
    uses, layout = [], verifier.layout
    for each in _drafts(verifier, cost, remaining):
        allowed = ~verifier.beside_plan[layout.flattening.rows_of(each.activity)]
        own = np.array(each.weights)
        restored = feasible_values(layout.blocks[each.activity], own, each.values, allowed)
        if restored is None:
            return None
        uses.append((each.activity, len(potentials), 1.0))
        potentials.append(replace(each, values=restored))
    weights = tuple(-float(index == cost) for index in range(1 + len(layout.bounds)))
    draft = Statement(weights, (), tuple(uses))
    found = event_values(verifier, verifier.beside_plan, parts_of(verifier, draft), weights)
    return None if found is None else replace(draft, events=found)


def _statement_of_mixture(
    verifier: Verifier, potentials: list[Potential], cost: int, remaining: FloatArray, size: FloatArray
) -> Statement | None:
    """The same of a randomised plan: its costs-to-go, with a share of `size` that makes up for rounding."""
    layout, first = verifier.layout, len(potentials)
    weights = tuple(-float(index == cost) for index in range(1 + len(layout.bounds)))
    for margin in MARGINS:
        raised = np.nan_to_num(remaining + margin * size)
        potentials[first:] = drafts = _drafts(verifier, cost, raised)
        uses = tuple((each.activity, first + number, 1.0) for number, each in enumerate(drafts))
        statement = Statement(weights, tuple((-raised[: layout.flattening.num_event_states]).tolist()), uses)
        try:
            for number in range(first, len(potentials)):
                verifier.check_potential(number, exact=False)
            verifier.least("", statement, weights, verifier.beside_plan)
        except NotProven:
            continue
        return statement
    return None


def _drafts(verifier: Verifier, cost: int, remaining: FloatArray) -> list[Potential]:
    """The cost-to-go of one cost, negated, in every activity that the plan runs: nearly potentials."""
    layout, drafts = verifier.layout, []
    weights = [Fraction(-(index == cost)) for index in range(1 + len(layout.bounds))]
    chosen = [each for row, each in enumerate(layout.event_rows) if not verifier.beside_plan[row]]
    executed = {run for each in chosen for _, run, _ in each[2]}
    for activity in range(len(layout.blocks)):
        own = tuple(map(float, layout.own_weights(activity, weights)))
        if activity in executed and (len(layout.exits[activity]) != 1 or any(own)):
            values = -_own(layout, activity, remaining)
            drafts.append(Potential(activity, own, (), values, of_plan=True))
    return drafts


def _own(layout: Layout, activity: int, everywhere: FloatArray) -> FloatArray:
    """What flat states have in an activity; 0 where there is nothing."""
    flat = layout.flattening.flat_state(activity)
    own = np.nan_to_num(np.where(flat >= 0, everywhere[flat], 0.0))
    exits = layout.exits[activity]
    if len(exits) == 1:
        # Relative to what follows, where digits are scarce; what is left of nothing is nothing.
        follows = own[exits[0][0]]
        own -= follows
        own[np.abs(own) <= NOTHING * abs(follows)] = 0.0
    return own
