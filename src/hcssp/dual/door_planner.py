r"""An activity with several exits and entries, under prices and values at its exits.

**Problem.** For given weights of the costs and a value :math:`V(x)` for what follows each exit :math:`x`,
wanted is the least expected weighted cost until the activity ends, what follows included, from every
*door*: every state in which it can be entered.

**Method.** The probability to leave by an exit is a cost like any other: each row pays its probability to
end there. So the activity is an SSP with one more cost for each exit, and :math:`V(x)` is that cost's
weight. Exit probabilities sum to one, hence only differences of the values matter; the least one is added
in the end. A plan is made from the last one in the region.

**Guarantee.** What is said of a door is a certified lower bound, see :mod:`hcssp.ssp.potential`, if the
values of the exits are lower bounds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray
from hcssp.dual.vertex import own_bytes
from hcssp.ssp.balance import Balance
from hcssp.ssp.policy_evaluation import System
from hcssp.ssp.policy_iteration import PolicyIteration, ScalarOptimum
from hcssp.ssp.potential import ROUNDINGS, SCALING_LOSS, Certificate, levels_of

MAX_ANSWERS = 400
"""So many answers of one activity are kept; then all are dropped."""

MAX_LOSS = 0.5
"""A bound that loses more than this share of the value is none."""

MAX_PLANS = 16
"""So many plans of one activity are kept; most of the time one of them is the next answer."""


@dataclass(frozen=True, eq=False)
class Block:
    """An activity within the whole: its states, its doors and the events behind its exits.

    Attributes
    ----------
    problem
        Its live states, then one goal for each exit; the costs are those of the whole problem, then, if there
        are several exits, the probability of each.
    num_costs
        How many costs the whole problem has.
    doors
        The live states in which it can be entered.
    exits
        The event state behind each exit.
    """

    problem: CSSP
    num_costs: int
    doors: IntArray
    exits: IntArray


class DoorPlan:
    """A policy of one activity.

    Attributes
    ----------
    rows
        A row for each live state.
    values
        Expected costs to go until it ends, and the probability of each exit if there are several, from every
        live state.
    costs
        The mean of the values over the doors.
    dead
        Live states that the policy must not enter; None if there are none.
    """

    def __init__(
        self, rows: IntArray, values: FloatArray, costs: FloatArray, dead: BoolArray | None = None
    ) -> None:
        self.rows = rows
        self.values = values
        self.dead = dead
        self.costs = costs
        self._reduced: FloatArray | None = None
        self._entered: dict[int, FloatArray] = {}

    @property
    def nbytes(self) -> int:
        """The memory that the plan's arrays take, about; it grows when they are asked for."""
        return own_bytes(self)

    def reduced(self, balance: Balance) -> FloatArray:
        """What each row costs more than the plan, cost by cost; linear in the weights, so kept."""
        if self._reduced is None:
            self._reduced = balance.costs.T - balance.matrix @ self.values
        return self._reduced

    def entered(self, row: int, states: IntArray, chances: FloatArray) -> FloatArray:
        """The values if it is entered as an event row does it: in some live states, by chance; kept."""
        found = self._entered.get(row)
        if found is None:
            found = self._entered[row] = chances @ self.values[states]
        return found


class DoorAnswer(NamedTuple):
    """What is known about an activity under some weights and values at its exits.

    Attributes
    ----------
    plan
        The best plan known.
    levels
        A certified lower bound for every door; ``inf`` where no plan ends with certainty.
    loss
        By how much the levels may be too low, for one execution; 0 if planning anew would teach nothing.
    """

    plan: DoorPlan
    levels: FloatArray
    loss: float


class DoorPlanner:
    """Plans one activity under any weights and values at its exits, within any region."""

    def __init__(self, block: Block, system: Callable[[Balance], System] | None = None) -> None:
        self.block = block
        self.balance = Balance(block.problem)
        self.solver = PolicyIteration(self.balance, None if system is None else system(self.balance))
        self._answers: dict[tuple[frozenset[int], bytes], DoorAnswer | None] = {}
        self._known: deque[DoorPlan] = deque(maxlen=MAX_PLANS)
        # One line for each known plan, once there is one.
        self._known_costs: FloatArray
        self._banned: tuple[frozenset[int], IntArray] = frozenset(), np.zeros(0, dtype=np.int64)

    @property
    def system(self) -> System:
        """What evaluates the activity's policies."""
        return self.solver.system

    def plan(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        forbidden: frozenset[int],
        near: DoorPlan | None = None,
        allowance: float = 0.0,
    ) -> DoorAnswer | None:
        """The best plan that avoids the `forbidden` rows, and what is proven about each door.

        None if there is no door from which it can be ended with certainty.

        Parameters
        ----------
        weights
            Of the whole problem's costs, not negative.
        exit_values
            A lower bound on what follows each exit, not negative; ``inf`` where the end is not reached.
        near
            A plan that is probably close to the answer; it need not lie in the region.
        allowance
            The loss that the caller can bear; nothing is planned for the sake of less.
        """
        least = float(np.min(exit_values))
        if least == np.inf:
            return None
        differences = self._differences(exit_values, least)
        key = forbidden, np.append(weights, differences).tobytes()
        answer = self._answers.get(key)
        if key not in self._answers or (answer is not None and answer.loss > allowance):
            if len(self._answers) > MAX_ANSWERS:
                self._answers.clear()
            answer = self._answers[key] = self._solve(weights, differences, forbidden, near, allowance)
        if answer is None:
            return None
        return answer._replace(levels=(answer.levels + least) * (1.0 - 2.0 * ROUNDINGS))

    def optimum(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        allowed: BoolArray | None,
        warm: DoorPlan | None,
    ) -> ScalarOptimum | None:
        """The best policy of the rows `allowed`; None if there is no door from which it can end.

        Parameters
        ----------
        weights
            Of the whole problem's costs.
        exit_values
            What follows each exit.
        allowed
            Mask over rows; None allows all.
        warm
            A plan to begin with, whatever the region.
        """
        balance = self.balance
        if len(exit_values) == 1:
            own = weights
        else:
            open_exits = np.isfinite(exit_values)
            own = np.append(weights, np.where(open_exits, exit_values, 0.0))
            if not open_exits.all():
                closed = balance.costs[self.block.num_costs :][~open_exits].max(axis=0) == 0.0
                allowed = closed if allowed is None else allowed & closed
        if warm is None:
            return self.solver.minimise(own, allowed, partly=True)
        return self.solver.minimise(own, allowed, warm.rows, warm.values, partly=True)

    def allowed(self, forbidden: frozenset[int]) -> BoolArray | None:
        """The region as a mask over rows; None if nothing is forbidden."""
        if not forbidden:
            return None
        mask = np.ones(self.balance.num_rows, dtype=np.bool_)
        mask[list(forbidden)] = False
        return mask

    def _solve(
        self,
        weights: FloatArray,
        exit_values: FloatArray,
        forbidden: frozenset[int],
        near: DoorPlan | None,
        allowance: float,
    ) -> DoorAnswer | None:
        if forbidden != self._banned[0]:
            self._banned = forbidden, np.array(sorted(forbidden), dtype=np.int64)
        banned = self._banned[1]
        warm = near
        if np.isfinite(exit_values).all():
            own = weights if len(exit_values) == 1 else np.append(weights, exit_values)
            known = self._best_known(own, banned)
            if known is not None:
                certificate = self._bracket(known, own, banned)
                loss = 0.0
                if certificate.share > SCALING_LOSS:
                    loss = float(known.costs @ own) * min(certificate.share, 1.0)
                if loss <= allowance:
                    return DoorAnswer(known, levels_of(certificate, self.block.doors), loss)
                warm = known
        optimum = self.optimum(weights, exit_values, self.allowed(forbidden), warm)
        if optimum is None:
            return None
        plan = DoorPlan(optimum.rows, optimum.values, optimum.costs, optimum.dead)
        levels = np.zeros(len(self.block.doors))
        if optimum.certificate is not None:
            levels = levels_of(optimum.certificate, self.block.doors)
        if optimum.dead is None:
            self._known.append(plan)
            self._known_costs = np.array([each.costs for each in self._known])
        else:
            levels[optimum.dead[self.block.doors]] = np.inf
        return DoorAnswer(plan, levels, 0.0)

    def _best_known(self, weights: FloatArray, banned: IntArray) -> DoorPlan | None:
        """The known plan of the region that costs least under weights of all own costs."""
        if not self._known:
            return None
        values = self._known_costs @ weights
        if not len(banned):
            return self._known[int(np.argmin(values))]
        states = self.balance.row_state[banned]
        for place in np.argsort(values).tolist():
            plan = self._known[place]
            if not (plan.rows[states] == banned).any():
                return plan
        return None

    def _bracket(self, plan: DoorPlan, weights: FloatArray, banned: IntArray) -> Certificate:
        """What a plan of the region proves about it; the share is its loss, and 0 if it is the best."""
        reduced = plan.reduced(self.balance) @ weights
        reduced[banned] = np.inf
        values = plan.values @ weights
        certificate = self.balance.certify_quickly(weights, values, reduced, MAX_LOSS)
        # Where much is lost, it may as well be all: no cost is negative.
        return Certificate(0.0, np.zeros_like(values), 1.0) if certificate is None else certificate

    def _differences(self, exit_values: FloatArray, least: float) -> FloatArray:
        """The values of the exits above the least, rounded down; a single exit has none."""
        if len(exit_values) == 1:
            return np.zeros(1)
        # Subtraction rounds once.
        return (exit_values - least) * (1.0 - 2.0 * ROUNDINGS)
