r"""A potential that turns rewards into costs, and the costs, with all rounding against us.

:mod:`hcssp.solving.maximisation` says what the potential is for. States between which one can go to and fro
without any reward have one value, and are one *group* here. The potential of the groups comes from
:mod:`hcssp.solving.greatest_reward`, with a small margin in each inequality, and where that does not do from
a linear program. It is not believed: the costs are computed from it by differences, with a bound on their
rounding as in :mod:`hcssp.ssp.potential`, and taken down by that bound.

The choices of a procedure must cost nothing. Where one falls short of the best at its event, the states that
it leads to are guaranteed so much more that it no longer does, and the potential is computed again; what the
choice misses is then paid on the way out of what it runs.
"""

from __future__ import annotations

from math import fsum, inf, nextafter
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.preprocessing import prepare
from hcssp.cssp.reachability import free_groups
from hcssp.errors import OutOfPrecision, UnboundedReward, UnsupportedProblem
from hcssp.solving.greatest_reward import GainingLoop, GreatestReward, NoAnswer, RewardRows
from hcssp.solving.reward_program import least_potential, what_rows_lack
from hcssp.ssp.potential import ROUNDINGS, Steps

MARGIN = 1e-8
"""What each inequality is asked to hold by, times the probability to move on and the greatest reward of a
step: more than what is left open, so that the answer holds when it is looked at closely."""

TOLERANCE = 0.3 * MARGIN
"""Improvements below it are left alone; the margin covers them."""

MAX_ROUNDS = 100
"""So often states are guaranteed more, before the linear program is asked."""


class ChoicesMustCost(Exception):
    """The reward is bounded, but the choices of a procedure would have to cost something."""


class Gains(NamedTuple):
    """The reward of each row, and the sum of the sizes of what it is made of."""

    rewards: FloatArray
    sizes: FloatArray


class Shaped(NamedTuple):
    """What each row misses of what could be had, and what could be had at most."""

    costs: FloatArray
    most: float


def shaped(problem: CSSP, gains: Gains, is_choice: BoolArray, *, by_program: bool = False) -> Shaped:
    """The rows' costs under a potential that was looked at closely; rows of no use cost nothing.

    Parameters
    ----------
    problem
        The problem.
    gains
        Its rewards.
    is_choice
        The rows that must cost nothing.
    by_program
        Whether to ask the linear program at once.

    Raises
    ------
    UnboundedReward, UnsupportedProblem
        If there is no potential.
    ChoicesMustCost
        If there is one, but not one under which choices cost nothing, or none was found.
    OutOfPrecision
        If the potential does not hold when it is looked at closely.
    """
    prepared = prepare(problem)
    inner = prepared.problem
    steps, rewards, tight = Steps.of(inner), gains.rewards[prepared.rows], is_choice[prepared.rows]
    rows = np.repeat(np.arange(inner.num_rows), np.diff(steps.row_start))
    num_states = int(np.count_nonzero(~inner.goals))
    group, inside = free_groups(
        num_states + 1, rows, steps.row_state[rows], steps.heads, np.asarray(rewards == 0.0)
    )
    values = np.zeros(num_states + 1)
    unit = float(np.abs(rewards).max(initial=0.0))
    if unit > 0.0:
        values = (
            unit * _Groups.of(inner, steps, rewards / unit, tight, group, inside).potential(by_program)[group]
        )
    values[-1] = 0.0
    tails, heads = values[steps.row_state[rows]], values[steps.heads]
    fall = np.bincount(rows, weights=steps.probabilities * (tails - heads), minlength=inner.num_rows)
    size = np.bincount(rows, weights=steps.probabilities * np.abs(tails - heads), minlength=inner.num_rows)
    # One rounding for each difference, product and addition, those of a weighted reward, and some to spare.
    roundings = np.diff(steps.row_start) + len(problem.cost_names) + 6
    unsure = ROUNDINGS * roundings * (size + gains.sizes[prepared.rows])
    missed = fall - rewards
    wrong = ~inside & ~(missed >= unsure)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise OutOfPrecision(
            f"{_place(inner, row)}: the rewards are too far apart to be computed with in double precision"
        )
    stored = (missed - unsure) * (1.0 - 2.0**-50)
    # What is missed by the margin alone is nothing: figures far apart are hard for everybody after us.
    stored[inside | tight | (stored <= 10.0 * MARGIN * unit)] = 0.0
    costs = np.zeros(problem.num_rows)
    costs[prepared.rows] = stored
    begin = inner.initial[~inner.goals] * values[:-1]
    room = ROUNDINGS * (len(begin) + 4) * float(np.abs(begin).sum())
    return Shaped(costs, nextafter(fsum(begin.tolist()) + room, inf))


class _Groups(NamedTuple):
    """The rows between groups of states, in units of the greatest reward.

    Attributes
    ----------
    problem
        To name places.
    numbers
        Which row of the problem each is.
    owner
        The group of each row.
    falls
        Times a potential of the groups: how far it falls along each row, once the group is left.
    least
        How far it has to fall at least.
    tight
        Rows that must cost nothing.
    stays
        Rows that never leave their group.
    goal
        The group of the goals.
    """

    problem: CSSP
    numbers: IntArray
    owner: IntArray
    falls: SparseMatrix
    least: FloatArray
    tight: BoolArray
    stays: BoolArray
    goal: int

    @classmethod
    def of(
        cls,
        inner: CSSP,
        steps: Steps,
        rewards: FloatArray,
        tight: BoolArray,
        group: IntArray,
        inside: BoolArray,
    ) -> _Groups:
        rows = np.repeat(np.arange(inner.num_rows), np.diff(steps.row_start))
        tails, heads = group[steps.row_state[rows]], group[steps.heads]
        moves = tails != heads
        # A row that mostly stays says as much as one that leaves at once, and is written so.
        leaving = np.bincount(rows, weights=steps.probabilities * moves, minlength=inner.num_rows)
        stays = leaving == 0.0
        leaving[stays] = 1.0
        signed = np.concatenate([steps.probabilities[moves], -steps.probabilities[moves]])
        where = (np.tile(rows[moves], 2), np.concatenate([tails[moves], heads[moves]]))
        falls: SparseMatrix = csr_array((signed, where), shape=(inner.num_rows, int(group.max()) + 1))
        falls = diags_array(1.0 / leaving) @ falls
        room = 2.0**-48 * (np.diff(steps.row_start) + 16) * np.abs(rewards)
        kept = np.flatnonzero(~inside)
        # In the order of their groups, which policy iteration wants.
        kept = kept[np.argsort(group[steps.row_state[kept]], kind="stable")]
        return cls(
            inner,
            kept,
            group[steps.row_state[kept]],
            falls.tocsr()[kept],
            ((rewards + room) / leaving)[kept],
            tight[kept],
            stays[kept],
            int(group[-1]),
        )

    def potential(self, by_program: bool) -> FloatArray:
        """A value for each group, under which no row lacks anything."""
        if not by_program:
            try:
                return self._by_policies()
            except GainingLoop as loop:
                self._refuse_loop(loop)
            except NoAnswer:
                pass
        return self._by_program()

    def _by_policies(self) -> FloatArray:
        gaining = self.stays & (self.least + MARGIN > 0.0)
        if gaining.any():
            row = np.flatnonzero(gaining)[[int(np.argmax(self.least[gaining]))]]
            raise GainingLoop(row, float(self.least[row[0]]) + MARGIN)
        # Where no goal can be reached without them, rows that only lose and stay are of no use.
        used = np.flatnonzero(~self.stays)
        num_groups = self.falls.shape[1]
        # The goal comes last, as policy iteration wants it.
        order = np.append(np.flatnonzero(np.arange(num_groups) != self.goal), self.goal)
        place = np.empty(num_groups, dtype=np.int64)
        place[order] = np.arange(num_groups)
        own = csr_array(
            (np.ones(len(used)), (np.arange(len(used)), self.owner[used])), shape=(len(used), num_groups)
        )
        onwards = csr_array((own - self.falls[used])[:, order])
        # The own group is left with certainty; rounding may have left a crumb of it.
        entry_row = np.repeat(np.arange(len(used)), np.diff(onwards.indptr))
        onwards.data[(onwards.indices == place[self.owner[used]][entry_row]) | (onwards.data < 0.0)] = 0.0
        onwards.eliminate_zeros()
        rows = RewardRows(onwards, place[self.owner[used]], self.least[used] + MARGIN)
        try:
            return self._raised(rows, self.tight[used])[place]
        except GainingLoop as loop:
            raise GainingLoop(used[loop.rows], loop.gain) from None

    def _raised(self, rows: RewardRows, tight: BoolArray) -> FloatArray:
        """The potential under which the rows `tight` fall by next to nothing."""
        search = GreatestReward(rows, TOLERANCE)
        guaranteed = np.full(rows.num_states, -inf)
        if not tight.any():
            return search.values(guaranteed)
        # What belongs to no event can be guaranteed more, and nobody before it need know.
        raisable = np.ones(rows.num_states + 1, dtype=np.bool_)
        raisable[rows.state[tight]] = raisable[-1] = False
        choices = np.flatnonzero(tight)
        leading = csr_array(rows.onwards[choices])
        inward = leading @ raisable.astype(np.float64)
        entries = np.repeat(np.arange(len(choices)), np.diff(leading.indptr))
        for _ in range(MAX_ROUNDS):
            values = search.values(guaranteed)
            short = -rows.lacking(values)[choices]
            if not np.any(short > MARGIN):
                return values
            if np.any((short > MARGIN) & (inward == 0.0)):
                raise ChoicesMustCost
            missing = np.where(short > MARGIN, short / np.where(inward > 0.0, inward, 1.0), -inf)
            more = values[leading.indices] + missing[entries]
            states = raisable[leading.indices]
            np.maximum.at(guaranteed, leading.indices[states], more[states])
        raise NoAnswer

    def _refuse_loop(self, loop: GainingLoop) -> None:
        """Say what is wrong with a loop that gains, if only by the margin."""
        if loop.gain - MARGIN > 10.0 * MARGIN:
            best = loop.rows[int(np.argmax(self.least[loop.rows]))]
            raise self._unbounded(int(best))
        raise _cancels()

    def _unbounded(self, row: int) -> UnboundedReward:
        place = _place(self.problem, int(self.numbers[row]))
        return UnboundedReward(
            f"the reward is unbounded: {place} is part of a loop that gains reward and can "
            "still be left, so more can always be had; count what the loop costs as well"
        )

    def _by_program(self) -> FloatArray:
        found = least_potential(self.falls, self.least, self.tight, self.goal, MARGIN)
        if found is not None:
            return found
        nothing = np.zeros_like(self.tight)
        if (
            self.tight.any()
            and least_potential(self.falls, self.least, nothing, self.goal, MARGIN) is not None
        ):
            raise ChoicesMustCost
        excess = what_rows_lack(self.falls, self.least, self.goal)
        if excess is None or excess.max(initial=0.0) > 10.0 * MARGIN:
            raise self._unbounded(int(np.argmax(excess)) if excess is not None else 0)
        raise _cancels()


def _cancels() -> UnsupportedProblem:
    return UnsupportedProblem(
        "there is a loop whose rewards and losses cancel out, to within what double precision can tell; "
        "let the loop cost a little"
    )


def _place(problem: CSSP, row: int) -> str:
    state = problem.state_labels[int(problem.row_state[row])]
    return f"state {state!r}, action {problem.action_labels[row]!r}"
