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
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from hcssp.checker.arithmetic import grains
from hcssp.checker.checking import Evidence
from hcssp.checker.format import Certificate, Part, Statement, Use
from hcssp.cssp.model import CSSP, BoolArray, FloatArray
from hcssp.cssp.policy import NO_ROW
from hcssp.errors import NotProven
from hcssp.procedure.model import HCSSP
from hcssp.proofs.compilation import compiled, proposed_layout
from hcssp.proofs.events import event_values, parts_of, rounded_down
from hcssp.proofs.plans import ProvenPlan, proven_plan
from hcssp.proofs.potential_store import PotentialStore
from hcssp.proofs.region_tree import RegionTree
from hcssp.proofs.visits import certain_visits

logger = logging.getLogger(__name__)

SPREAD_MARGINS = (0.0, 2.0**-50, 2.0**-44, 2.0**-38, 2.0**-32, 2.0**-26)
"""By so much of itself a bound that rests on spreading the budget is lowered until the checker accepts it."""

NEXT_TO_NOTHING = 1e-9
"""If no more than this share is open, a bound is tried that leaves nothing open."""


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
    potentials, regions
        What is kept: stored potentials, and what is proven about regions.
    """

    root = 0

    def __init__(self, problem: CSSP | HCSSP, randomised: bool = False) -> None:
        self._problem = problem
        self.layout, self.randomised = proposed_layout(problem), randomised
        if randomised:
            self.layout.unit = Fraction(0)
        counted = [cost for each in self.layout.procedure.constraints for cost in each.counts.values()]
        self._adds_weights = len(self.layout.bounds) > 1 or 0 in counted
        self.potentials = PotentialStore(self.layout)
        self._plan = ProvenPlan()
        self._evidence = Evidence(self.layout, self.potentials.kept, self._plan.rows)
        self.regions = RegionTree(self.layout, self._evidence.never)

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
            For each flat state what is to come at least, as a solver knows it; ``nan`` where it knows
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
                self._evidence.bound(f"node {node}", statement, region, claim)
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
        """Prove that no policy of a region reaches the end almost surely; says whether that is so."""
        try:
            self._evidence.bound("", None, self.region(node), inf)
        except NotProven:
            return False
        self.regions.keep(node, None, inf)
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
        found = proven_plan(self.layout, flat, self._evidence.most)
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
            self._evidence.parts(f"node {node}", draft.uses, exact, region)
        parts = parts_of(self._evidence, draft)
        given = () if events is None else tuple(np.array(events, dtype=np.float64).tolist())
        found = event_values(self._evidence, region, parts, weights, self.potentials.ends, given)
        if found is None:
            return
        bound = self._bound(node, prices, Fraction(found[self.layout.flattening.start]))
        self.regions.keep(node, replace(draft, events=found), bound)

    def unaffordable(self, activity: int) -> list[int]:
        """The rows of an activity that cost what a bound of 0 allows nobody to spend."""
        own = self._evidence.never[self.layout.flattening.rows_of(activity)]
        found: list[int] = np.flatnonzero(own & ~self.layout.blocks[activity].dominated).tolist()
        return found

    def _bound(self, node: int, weights: Sequence[Fraction], least: Fraction) -> float:
        """What follows for plans that keep the bounds, as the checker has it; ``inf``: there is none."""
        for weight, most in zip(weights[1:], self._evidence.most, strict=True):
            if weight < 0 or (weight and most == inf):
                raise NotProven(f"node {node}: {float(weight)!r} is no price of a bounded cost")
            least -= weight * Fraction(most if weight else 0)
        if weights[0] == 0:
            return inf if least > 0 else -inf
        unit = self.layout.unit
        return rounded_down(ceil(least / unit) * unit if unit else least)
