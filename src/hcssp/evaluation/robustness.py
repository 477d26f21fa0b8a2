r"""Robustness to wrong probabilities: the worst case of a plan, and its largest sensitivities.

Problem: a fixed policy, and probabilities that are known only up to a share :math:`x` of themselves. Each row
of the policy may have any probabilities in :math:`[(1 - x) p, (1 + x) p]` that sum to one, whatever the other
rows do. The result is the largest expectation of every cost, each over all of these separately.

Method: nature is a player whose policy is a distribution for every row. For given values the worst one puts
as much as it may on the most expensive successors: sort them, and fill up. Policy iteration alternates that
with the exact evaluation of the chain that results. For a share below one no probability becomes 0, so every
such chain ends almost surely as the policy does, and the iteration ends at the worst case.

The cost of a step does not vary, also if it was stated as costs of its outcomes; but the cost that counts a
bounded probability varies with the probabilities. The worst case of a maximised reward is the least reward:
nature maximises its negative, from the rewards themselves. The missed reward is not used here, since the
largest possible reward also depends on the probabilities.

**Derivatives.** If one probability grows by a small :math:`\delta` at the expense of the others of its row,
in proportion, a cost with values :math:`V` grows by
:math:`\delta \, v(s) \, (V(s') - \bar V(s)) / (1 - p)`, where :math:`v(s)` is how often the state is visited
and :math:`\bar V(s)` the mean value after the row.

Reference: Nilim and El Ghaoui 2005; Iyengar 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite, sqrt

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, FloatArray, IntArray, SparseMatrix
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.product import LevelLabels, base_of
from hcssp.cssp.transition_costs import outcomes_of_rows
from hcssp.display import Card
from hcssp.errors import CostOverflow, HcsspError, InvalidProblem, OutOfPrecision
from hcssp.evaluation.absorption import Absorbed, absorb
from hcssp.evaluation.chain import induced_chain
from hcssp.evaluation.exact import evaluate
from hcssp.numerics import ROUNDING, tolerated
from hcssp.procedure.description import Aim
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import enters
from hcssp.procedure.policy import Policy, ProcedurePolicy

MAX_ITERATIONS = 1_000

GAIN_ROUNDING = 4.0 * ROUNDING
"""Nature moves probability from one successor to another only if that gains more than this share of what is
moved: less is rounding."""

SETTLED = 1e-13
"""The iteration ends once no value rises by more than this share of itself."""

LARGEST_SHARE = 1.0 - 2.0**-10
"""Shares are looked for below one, where every probability stays positive."""

SHARE_PRECISION = 1e-3
"""How precisely the largest margin is found, relative to itself."""

LEAST_SHARE = 1e-9
"""A smaller share is reported as 0: the plan uses its whole bound."""


def _executions(problem: HCSSP, tails: IntArray, heads: IntArray) -> dict[int, FloatArray]:
    """By the positions of limits, which outcomes begin an execution of the use."""
    events = np.array([event for event, _ in problem.flattening.event_states])
    found = {}
    for position, constraint in enumerate(problem.constraints, 1):
        if constraint.per is None or not isfinite(constraint.at_most):
            continue
        use = problem.uses[constraint.per.use]
        begins = np.zeros(len(heads))
        between = np.flatnonzero((tails < len(events)) & (heads < len(events)))
        begins[between] = [
            float(enters(use, int(events[tails[way]]), int(events[heads[way]]))) for way in between.tolist()
        ]
        found[position] = begins
    return found


@dataclass(frozen=True)
class Influence:
    """The effect of a small error of one figure on a cost.

    Attributes
    ----------
    state, action
        The row whose figure it is: an event, or an activity and its state. Rows that differ only in the
        level of a capacity, or in how their event was entered, have one figure. For a parameter of the
        problem's file, its name and an empty text.
    successor
        Whose probability it is; None if it is the cost of the row itself, or a parameter.
    figure
        The probability, or the cost.
    change
        The first-order change of the expected cost if the figure is one percent larger.
    """

    state: Hashable
    action: Hashable
    successor: Hashable | None
    figure: float
    change: float


def stated_place(label: Hashable) -> Hashable:
    """An event, or an activity and its state, without the levels that a run carries."""
    if isinstance(label, tuple) and len(label) == 3 and label[0] == "event":
        return str(label[1])
    if isinstance(label, tuple) and len(label) == 2 and isinstance(label[0], str):
        return (label[0], base_of(label[1]))
    return base_of(label)


class Nature:
    """The player that chooses the probabilities of a policy's rows.

    Parameters
    ----------
    problem, policy
        As for :func:`robustness`.

    Attributes
    ----------
    aim
        Which figures are reported: the aim, then the other costs.
    """

    def __init__(self, problem: CSSP | HCSSP, policy: Policy) -> None:
        procedure = problem if isinstance(problem, HCSSP) else None
        chain = induced_chain(problem, policy)
        chain.require_proper()
        flat = chain.problem
        self.aim = aim = Aim.of(problem)
        self._problem, self._chain, self._inner = problem, chain, chain.inner
        place = np.full(flat.num_states, -1)
        place[self._inner] = np.arange(len(self._inner))
        rows = np.flatnonzero(place[flat.row_state] >= 0)
        # The rows that are reached, as rows of the chain; the state of each among the inner ones, and how
        # probable it is there. A policy that is not randomised has one in each state.
        self._taken, self._chance = rows, chain.chances[rows]
        self._place: IntArray = place[flat.row_state[rows]]
        found = outcomes_of_rows(flat, rows).possible()
        self._heads: IntArray = found.states
        self._row: IntArray = np.repeat(np.arange(len(rows)), found.lengths)
        # Rows may miss a sum of one by rounding; they are proportions.
        totals = np.bincount(self._row, found.probabilities, len(rows))
        self._nominal: FloatArray = found.probabilities / totals[self._row]
        # By the positions of costs that are limits, which outcomes begin an execution of the use.
        executions: dict[int, FloatArray] = {}
        # For each state, the number of the state that states its figures, see Influence.
        self._stated_by: IntArray = np.arange(flat.num_states)
        if procedure is not None:
            executions = _executions(procedure, self._inner[self._place[self._row]], self._heads)
            self._stated_by = _stated(procedure)
        limits = list(executions)
        # Executions are counted after the costs: a limit is what is spent, less its share of each execution.
        self._reported: FloatArray = np.hstack([aim.matrix, np.zeros((len(aim.names), len(limits)))])
        for index, position in enumerate(limits, len(flat.costs)):
            allowed = problem.procedure.constraints[position - 1].lost_execution
            self._reported[aim.matrix[:, position] != 0.0, index] = -allowed
        # Nature maximises every cost, and the negative of a reward.
        self._wanted: FloatArray = self._reported.copy()
        if aim.greatest:
            self._wanted[0] *= -1.0
        # What depends on the outcome: the costs of single transitions, and executions.
        self._differs: BoolArray = found.entry >= 0
        paid = np.zeros((len(flat.costs), len(self._row)))
        if flat.transition_costs is not None:
            paid[:, self._differs] = flat.transition_costs.costs[:, found.entry[self._differs]]
        self._by_outcome: FloatArray = np.vstack([paid, *executions.values()])
        # It is not paid in the row; nor is what a choice loses.
        self._stated: FloatArray = np.vstack([flat.costs[:, rows], np.zeros((len(limits), len(rows)))])
        self._stated[:, self._row[self._differs]] = 0.0
        # What the flat problem adds to both sides of a limit, so that it is reported as it is there.
        self._added = np.zeros(len(aim.names))
        if procedure is not None and limits:
            at_events = self._inner[self._place] < procedure.flattening.num_event_states
            self._stated[np.ix_(np.array(limits), np.flatnonzero(at_events))] = 0.0
            nominal = aim.matrix @ self._solved(self._nominal, chain.costs).totals
            self._added = np.where(aim.matrix[:, limits].any(axis=1), nominal - self.expected(), 0.0)

    def expected(self) -> FloatArray:
        """The reported figures if no probability is wrong."""
        every = np.arange(len(self._stated))
        totals: FloatArray = self._reported @ self._evaluate(self._nominal, every).totals + self._added
        return totals

    def worst(self, cost: int, share: float) -> float:
        """The largest expectation of a cost within a share; of a reward, of its negative."""
        made_of = np.flatnonzero(self._wanted[cost])
        weights = self._wanted[cost, made_of]
        paid = self._paid_on_the_way(self._wanted[cost])
        chosen, largest = self._nominal, -inf
        value = np.zeros(self._chain.problem.num_states)
        for iteration in range(MAX_ITERATIONS):
            found = self._evaluate(chosen, made_of)
            largest = max(largest, float(weights @ found.totals + self._added[cost]))
            if share == 0.0:
                return largest
            values = found.values @ weights
            risen = values - value[self._inner] > SETTLED * np.abs(values)
            if iteration and not risen.any():
                return largest
            value[self._inner] = values
            # Relative to the value of its own state, a successor that stays there gains nothing: only what
            # leaves counts, however small its probability.
            tails = self._inner[self._place[self._row]]
            own, after = value[tails], value[self._heads]
            gains = after - own + paid
            worst_case = self._worst_case(gains, share)
            moved = worst_case - chosen
            leaving = np.where(self._heads == tails, 0.0, np.abs(after) + np.abs(own))
            better = self._means(moved, gains) > GAIN_ROUNDING * self._means(np.abs(moved), leaving)
            if not better.any():
                return largest
            chosen = np.where(better[self._row], worst_case, chosen)
        raise OutOfPrecision(f"the worst case was not found within {MAX_ITERATIONS} iterations")

    def margin(self, cost: int, limit: float, known: tuple[float, float]) -> float:
        """The largest share within which a cost stays within its limit; `known` is a share and its worst."""
        if self.worst(cost, 0.0) > limit:
            return 0.0
        share, worst = known
        low, high = (share, LARGEST_SHARE) if worst <= limit else (0.0, share)
        if high == LARGEST_SHARE and self._worst_or_more(cost, high) <= limit:
            return inf
        while high - low > SHARE_PRECISION * high:
            if high <= LEAST_SHARE:
                return 0.0
            # By factors as long as not even the order of magnitude is known.
            is_close = low > 0.25 * high
            middle = 0.5 * (low + high) if is_close else sqrt(max(low, 0.25 * LEAST_SHARE) * high)
            low, high = (middle, high) if self._worst_or_more(cost, middle) <= limit else (low, middle)
        return low

    def _worst_or_more(self, cost: int, share: float) -> float:
        """The worst case, or ``inf`` where that is beyond any number."""
        try:
            return self.worst(cost, share)
        except CostOverflow:
            return inf

    def influences(self, most: int) -> tuple[tuple[Influence, ...], ...]:
        """For each cost the figures whose errors change it most."""
        stated = self._stated.copy()
        # That something happens for certain is no figure of the model.
        names = enumerate(self._problem.constraint_names, 1)
        stated[[position for position, name in names if self._problem.probability_of(name)]] = 0.0
        costs = self._reported @ stated
        found = self._evaluate(self._nominal, np.arange(len(self._stated)))
        value = np.zeros((self._chain.problem.num_states, len(costs)))
        value[self._inner] = found.values @ self._reported.T
        probabilities, visits = self._nominal, found.visits[self._place] * self._chance
        chancy = probabilities < 1.0
        figure = self._figures()
        found_influences = []
        for cost, own in enumerate(costs):
            after = value[self._heads, cost] + self._paid_on_the_way(self._reported[cost])
            mean = self._means(probabilities, after)[self._row]
            changes = np.zeros(len(probabilities))
            odds = probabilities[chancy] / (1.0 - probabilities[chancy])
            changes[chancy] = visits[self._row[chancy]] * odds * (after - mean)[chancy]
            every = np.concatenate([changes, visits * own]) / 100.0
            # One member of each figure represents it.
            members, inverse = np.unique(figure, return_index=True, return_inverse=True)[1:]
            sums = np.bincount(inverse, every)
            strongest = np.lexsort((members, -np.abs(sums)))[:most]
            found_influences.append(
                tuple(
                    self._influence(int(members[n]), own, float(sums[n])) for n in strongest if sums[n] != 0.0
                )
            )
        return tuple(found_influences)

    def _figures(self) -> IntArray:
        """Which probabilities and costs of rows are one stated figure: a number for each."""
        stated = self._stated_by[self._inner[self._place]]
        rows = np.arange(len(stated))
        if len(np.unique(stated)) < len(stated):
            known: dict[tuple[int, Hashable], int] = {}
            actions = map(self._action, range(len(stated)))
            rows = np.array(
                [known.setdefault(key, len(known)) for key in zip(stated.tolist(), actions, strict=True)]
            )
        ways = rows[self._row] * len(self._stated_by) + self._stated_by[self._heads]
        # What is counted and what is not are distinguished where both lead to one event.
        for counted in self._by_outcome:
            ways = 2 * ways + (counted > 0.0)
        ways = np.unique(ways, return_inverse=True)[1]
        return np.concatenate([ways, rows + len(ways)])

    def _influence(self, number: int, costs: FloatArray, change: float) -> Influence:
        """The figure `number`: first come the probabilities, then the costs of the rows."""
        labels = self._chain.problem.state_labels
        if number >= len(self._heads):
            row = number - len(self._heads)
            figure, successor = float(costs[row]), None
        else:
            row = int(self._row[number])
            figure, successor = float(self._nominal[number]), stated_place(self._successor(number))
        state = int(self._inner[self._place[row]])
        return Influence(stated_place(labels[state]), self._action(row), successor, figure, change)

    def _action(self, row: int) -> Hashable:
        """The label of the action that is a row."""
        return self._chain.problem.action_labels[int(self._taken[row])]

    def _successor(self, outcome: int) -> Hashable:
        """The label of the state that an outcome reaches; that of the exit, with its activity, if it is one.

        In the flat problem an exit is the event state that it leads to.
        """
        head, row = int(self._heads[outcome]), int(self._row[outcome])
        state = int(self._inner[self._place[row]])
        own = self._chain.problem.state_labels[head]
        if not self._differs[outcome] or not isinstance(self._problem, HCSSP):
            return own
        flattening = self._problem.flattening
        if head >= flattening.num_event_states:
            return own
        index = int(np.searchsorted(flattening.state_offset, state, side="right")) - 1
        activity = self._problem.activities[index]
        local = np.array([self._chain.rows[self._taken[row]] - flattening.row_offset[index]])
        found = outcomes_of_rows(activity.cssp, local)
        paid = flattening.counted_costs(
            index, found.costs(local, activity.cssp.costs, activity.cssp.transition_costs)
        )
        costs = self._by_outcome[: len(paid), outcome]
        same = (flattening.flat_state(index)[found.states] == head) & (paid == costs[:, None]).all(axis=0)
        return (activity.name, activity.cssp.state_labels[int(found.states[same][0])])

    def _means(self, probabilities: FloatArray, after: FloatArray) -> FloatArray:
        """The mean of what comes after each row."""
        return np.bincount(self._row, probabilities * after, len(self._taken)).astype(np.float64)

    def _worst_case(self, after: FloatArray, share: float) -> FloatArray:
        """The distribution of each row that puts as much as it may on the most expensive successors.

        Each successor keeps ``1 - share`` of its probability, and what is left of one, the share, is given
        away: at most twice its part of it to any successor. So no small probability is a difference of
        large ones.
        """
        order = np.lexsort((-after, self._row))
        most = np.minimum(2.0 * self._nominal, 1.0)
        given = np.zeros(len(order))
        left = np.ones(len(self._taken))
        first = np.searchsorted(self._row[order], np.arange(len(self._taken) + 1))
        for rank in range(int(np.diff(first).max(initial=0))):
            rows = np.flatnonzero(np.diff(first) > rank)
            places = order[first[rows] + rank]
            given[places] = np.minimum(most[places], left[rows])
            left[rows] -= given[places]
        chosen: FloatArray = (1.0 - share) * self._nominal + share * given
        return chosen

    def _paid_on_the_way(self, weights: FloatArray) -> FloatArray:
        """The cost of each outcome, of a sum of costs."""
        paid: FloatArray = weights @ self._by_outcome
        return paid

    def _evaluate(self, probabilities: FloatArray, which: IntArray) -> Absorbed:
        """The chain with these probabilities, until it is absorbed, and some of its costs."""
        costs = np.zeros((len(which), self._chain.problem.num_states))
        for place, cost in enumerate(which.tolist()):
            paid = self._stated[cost] + self._means(probabilities, self._by_outcome[cost])
            costs[place, self._inner] = np.bincount(self._place, self._chance * paid, len(self._inner))
        return self._solved(probabilities, costs)

    def _solved(self, probabilities: FloatArray, costs: FloatArray) -> Absorbed:
        """The chain with these probabilities and costs, until it is absorbed."""
        size = self._chain.problem.num_states
        heads = (self._inner[self._place[self._row]], self._heads)
        chances = probabilities * self._chance[self._row]
        transitions: SparseMatrix = csr_array((chances, heads), shape=(size, size))
        try:
            return absorb(transitions, self._inner, self._chain.problem.initial, costs[:, self._inner])
        except OverflowError as error:
            raise CostOverflow(
                "the policy's expected costs are too large for double precision if probabilities are so wrong"
            ) from error


@dataclass(frozen=True, eq=False)
class Robustness(Card):
    """A plan whose probabilities may be wrong.

    Attributes
    ----------
    within
        The share of itself by which every probability may be wrong.
    cost_names, bounds
        The names of the costs of the problem; where a reward is maximised, the reward is first.
    expected
        The expected costs if no probability is wrong.
    worst
        The largest expectation of each cost, over all probabilities within the share; of a reward, the least.
    margins
        For each bound, the largest share within which it is kept; ``inf`` if it is kept for every share
        below one, 0 if for none.
    influences
        For each cost, the figures it is most sensitive to, the strongest first.
    greatest
        Whether the first is a reward that is maximised.
    parameters
        For each cost, how it changes with the parameters of the problem's file, the strongest first; empty
        where they are not known. See :func:`parameter_influences`.
    """

    within: float
    cost_names: tuple[str, ...]
    bounds: FloatArray
    expected: FloatArray
    worst: FloatArray
    margins: FloatArray
    influences: tuple[tuple[Influence, ...], ...]
    greatest: bool = False
    parameters: tuple[tuple[Influence, ...], ...] = ()

    def keeps_bounds(self) -> bool:
        """Whether every bound is kept in its worst case."""
        return bool(np.all(self.worst[1:] <= tolerated(self.bounds)))

    def __repr__(self) -> str:
        shown = [
            f"{name} {expected:.6g}, at worst {worst:.6g}"
            for name, expected, worst in zip(self.cost_names, self.expected, self.worst, strict=True)
        ]
        kept = "all bounds are kept" if self.keeps_bounds() else "bounds may be broken"
        return f"<Robustness within {100 * self.within:.3g}%: {'; '.join(shown)}; {kept}>"


def robustness(
    problem: CSSP | HCSSP,
    policy: Policy,
    within: float = 0.1,
    *,
    most: int = 5,
) -> Robustness:
    """The worst case of a policy if its probabilities may be wrong, and its largest sensitivities.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, out = plan.add_state("here"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, out: 0.5}, costs=1.0)
    >>> problem = plan.build()
    >>> found = robustness(problem, DeterministicPolicy(problem, np.array([0, -1])), within=0.2)
    >>> round(float(found.expected[0]), 9), round(float(found.worst[0]), 9)
    (2.0, 2.5)

    Parameters
    ----------
    problem, policy
        A C-SSP or a procedure, and a policy of it that ends almost surely.
    within
        The share of itself by which every probability may be wrong, from 0 to less than 1.
    most
        The number of influences reported for each cost.

    Raises
    ------
    InvalidProblem
        If the share is not in that range, or the policy does not fit the problem.
    ImproperPolicy, CostOverflow
        As for :func:`~hcssp.evaluation.exact.evaluate`.
    """
    if not 0.0 <= within < 1.0:
        raise InvalidProblem(
            [f"probabilities within {within} of themselves: give a share from 0 to less than 1, such as 0.1"]
        )
    nature = Nature(problem, policy)
    aim = nature.aim
    bounds = np.asarray(problem.bounds)[aim.kept]
    expected = nature.expected()
    worst = np.array([nature.worst(cost, within) for cost in range(len(aim.names))])
    margins = np.array(
        [
            nature.margin(1 + index, float(limit), (within, float(worst[1 + index])))
            for index, limit in enumerate(tolerated(bounds))
        ]
    )
    if aim.greatest:
        worst[0] = -worst[0]
    found = nature.influences(most)
    return Robustness(within, aim.names, bounds, expected, worst, margins, found, aim.greatest)


def influences(
    problem: CSSP | HCSSP, policy: DeterministicPolicy | ProcedurePolicy, *, most: int = 5
) -> tuple[tuple[Influence, ...], ...]:
    """The largest sensitivities of each cost, without a worst case.

    Parameters
    ----------
    problem, policy, most
        As for :func:`robustness`.
    """
    return Nature(problem, policy).influences(most)


def _stated(problem: HCSSP) -> IntArray:
    """For each flat state one that has the same figures: whatever an event was entered with, at any level."""
    flattening = problem.flattening
    first_of: dict[int, int] = {}
    events = [first_of.setdefault(event, n) for n, (event, _) in enumerate(flattening.event_states)]
    parts = [np.array(events, dtype=np.int64)]
    for index, activity in enumerate(problem.activities):
        states, labels = np.flatnonzero(~activity.cssp.goals), activity.cssp.state_labels
        while isinstance(labels, LevelLabels):
            states, labels = states // len(labels.levels), labels.base
        parts.append(flattening.state_offset[index] + np.unique(states, return_inverse=True)[1])
    return np.concatenate(parts)


def parameter_influences(
    policy: ProcedurePolicy,
    parameters: Mapping[str, float | Fraction],
    make: Callable[[Mapping[str, float | Fraction]], HCSSP],
) -> tuple[tuple[Influence, ...], ...]:
    """For each cost, how it changes if a parameter of the problem is one percent of itself larger.

    Each is the exact difference: the problem is made again, and the policy evaluated. A parameter is left out
    if the policy does not fit the problem then, because it has other states or actions.

    Parameters
    ----------
    policy
        The policy.
    parameters
        The parameters by name, with their values.
    make
        The policy's problem with some parameters set otherwise.
    """
    problem = policy.problem
    aim = Aim.of(problem)
    expected = np.array(aim.reported(evaluate(problem, policy).costs))
    found: list[list[Influence]] = [[] for _ in aim.names]
    bounds = dict(zip(problem.constraint_names, problem.bounds.tolist(), strict=True))
    for name, value in parameters.items():
        for percent in (1, -1):
            try:
                changed = make({name: value * (100 + percent) / 100 if value else value})
                if not _fits(problem, changed):
                    break
                changed = changed.with_bounds(bounds)
                costs = np.array(aim.reported(evaluate(changed, policy.under(changed)).costs))
            except HcsspError:
                # A figure at its upper limit is made smaller instead.
                continue
            for cost, change in zip(found, (percent * (costs - expected)).tolist(), strict=True):
                if change != 0.0:
                    cost.append(Influence(name, "", None, float(value), change))
            break
    return tuple(tuple(sorted(each, key=lambda influence: -abs(influence.change))) for each in found)


def _fits(problem: HCSSP, changed: HCSSP) -> bool:
    """Whether a policy of one problem is one of the other: the same states, choices and actions."""
    return problem.entered_states[0] == changed.entered_states[0] and all(
        np.array_equal(one.cssp.row_start, other.cssp.row_start)
        for one, other in zip(problem.activities, changed.activities, strict=True)
    )
