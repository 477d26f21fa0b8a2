r"""Multi-objective queries about models, decided for randomised and for deterministic policies with proofs.

**Problem.** Given a Markov decision process and objectives, each a bound on a total reward, a reward until a
target or a probability of a path: is there a policy that keeps all bounds?

**Reduction.** A product remembers for every target whether it was reached, or can no longer be. Where a
policy may stay for ever without any reward, it may end: in such states (the end components of rows without
reward) a row leads to the goal, see :mod:`hcssp.exchange.models`. A probability that is to be large is the
probability of its opposite, which is decided by then; a total reward that is to be large is what is missed of
the greatest one (:mod:`hcssp.solving.maximisation`). All costs are then non-negative, and the bounds are
those of a C-SSP. "Deterministic" means: of the product's states, so with memory of the targets.

**Decision.** "Not achievable" is proven by a certificate, which the checker verifies in integers. It holds
for the bounds themselves: the tolerance of the search is taken off them before. "Achievable" is proven by a
policy and, for each objective, values that bound its expectation; :func:`proven_costs` verifies them in
rational numbers, from the model's own rewards. Without such a proof the verdict is "undecided".

**Reference.** Forejt, Kwiatkowska, Norman, Parker and Qu, *Quantitative multi-objective verification for
probabilistic systems*, 2011; Quatmann and Katoen, *Multi-objective optimization of long-run average and total
rewards*, 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from hcssp.checker.checking import check
from hcssp.checker.format import Certificate
from hcssp.contract.plan import Plan
from hcssp.contract.progress import FirstPlan, Gap, MaxRuntime, Policies, StopCriterion
from hcssp.contract.proof import Status
from hcssp.cssp.arrays import decimal
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.reachability import closure, free_groups
from hcssp.dual.ascent import Ascent, seek_feasible
from hcssp.dual.oracle import Oracle
from hcssp.dual.oracles import oracle_of
from hcssp.errors import (
    DeadEnd,
    InvalidCertificate,
    InvalidProblem,
    NotProven,
    OutOfPrecision,
    UnboundedReward,
    listed,
)
from hcssp.evaluation.chain import InducedChain, induced_chain
from hcssp.exchange.models import ExplicitModel
from hcssp.exchange.properties import Objective, Query
from hcssp.numerics import FEASIBILITY_TOLERANCE, OPTIMALITY_TOLERANCE
from hcssp.procedure.policy import Policy
from hcssp.proofs.assembly import certificate_of
from hcssp.proofs.search_record import SearchRecord, write_down
from hcssp.solving.maximisation import Gains, shaped
from hcssp.solving.solve import solve
from hcssp.ssp.scalar_problem import Region

UNDECIDED, REACHED, FAILED = 0, 1, 2

MARGIN = 1e-13
"""Values that bound an expectation are raised by this share for every expected step, for rounding; and "not
achievable" is proven for bounds that are looser by this share."""

STRICTLY = 1e-9
"""A strict bound is searched for with a bound that is smaller by this share."""

LARGE_MARGIN = 1e-10
"""The share for every expected step where the smaller one does not suffice, in runs of many steps."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """A query as a problem.

    Attributes
    ----------
    query
        The query.
    problem
        The C-SSP. Its first cost guides the search, then there is one for each objective.
    signed
        What each row costs of each objective, as stated: a reward that is to be large counts negative.
    limits
        What each signed cost may be at most; infinite for an objective that is optimised.
    begins
        What is decided of each probability before the first step.
    greatest
        For a reward that is to be large, its greatest value, from which it is taken to make a cost.
    """

    query: Query
    problem: CSSP
    signed: FloatArray
    limits: tuple[Fraction | float, ...]
    begins: tuple[Fraction, ...]
    greatest: tuple[Fraction, ...]

    @property
    def optimised(self) -> int | None:
        """The place of the first objective that is optimised; None if all have bounds."""
        return self.open[0] if self.open else None

    @property
    def open(self) -> list[int]:
        """The places of the objectives that are optimised; several are those of a Pareto query."""
        return [place for place, each in enumerate(self.query.objectives) if each.bound is None]

    def keeps(self, costs: Sequence[Fraction]) -> bool:
        """Whether signed costs keep all bounds, exactly."""
        limits = zip(costs, self.limits, self.query.objectives, strict=True)
        return all(cost < limit if each.strict else cost <= limit for cost, limit, each in limits)

    def optimising(self, place: int) -> Reduced:
        """The same question with an optimum in the place of a bound."""
        objectives, limits = list(self.query.objectives), list(self.limits)
        objectives[place], limits[place] = replace(objectives[place], bound=None, strict=False), inf
        costs, bounds = np.array(self.problem.costs), np.array(self.problem.bounds)
        costs[0], bounds[place] = costs[1 + place], inf
        query = replace(self.query, objectives=tuple(objectives))
        return replace(
            self, query=query, problem=self.problem.derive(costs=costs, bounds=bounds), limits=tuple(limits)
        )

    def value(self, place: int, signed: Fraction) -> Fraction:
        """What an objective is, given its signed costs."""
        objective = self.query.objectives[place]
        if not objective.at_least:
            return self.begins[place] + signed
        return -signed if objective.reward is not None else 1 - self.begins[place] - signed


class Decided(NamedTuple):
    """The answer for one kind of policies.

    Attributes
    ----------
    achievable
        Whether some policy keeps the bounds; None if that is undecided.
    plan
        What the search found.
    costs
        For "achievable", upper bounds on the signed costs that were verified in rational numbers.
    certificate
        For "not achievable", and for the bound of an objective that is optimised, the certificate that was
        verified in integers.
    best
        What the signed cost of the objective that is optimised is at least.
    """

    achievable: bool | None
    plan: Plan
    costs: tuple[Fraction, ...] = ()
    certificate: Certificate | None = None
    best: Fraction | None = None


def reduced(model: ExplicitModel, query: Query) -> Reduced:
    """The query about a model as a problem.

    Parameters
    ----------
    model
        The model, explored as a whole; the expressions of the query are among its labels.
    query
        The query.

    Raises
    ------
    InvalidProblem
        If a reward is unknown or negative, or the model begins in several states.
    UnboundedReward
        If a reward that is to be large has no greatest value.
    """
    wanted = tuple(_with_name_of_reward(each, list(model.rewards)) for each in query.objectives)
    query = replace(query, objectives=wanted)
    targeted = [each for each in wanted if each.target]
    product = _Product(model, targeted)
    signed, open_ = np.zeros((len(wanted), product.num_rows)), np.zeros(product.num_rows)
    for place, each in enumerate(wanted):
        if each.reward is None:
            signed[place] = product.decided(each, FAILED if each.at_least else REACHED)
        else:
            rewards = np.tile(model.rewards[str(each.reward)], product.copies)
            if rewards.min(initial=0.0) < 0.0:
                raise InvalidProblem([f"{each.text}: the reward is negative somewhere"])
            if each.target:
                rewards = np.where(product.status_of_rows(each) == UNDECIDED, rewards, 0.0)
                if each.at_least and product.can_avoid(each):
                    why = "some policy never reaches the target, so that the reward is infinite; ask for [C]"
                    raise UnboundedReward(f"{each.text}: {why}")
            signed[place] = -rewards if each.at_least else rewards
        open_ += np.abs(signed[place])
    problem, signed = product.closed(wanted, signed, open_ == 0.0)
    return _posed(query, problem, signed, product.begins(wanted))


def _with_name_of_reward(objective: Objective, names: Sequence[str]) -> Objective:
    """The objective with the name of its reward model instead of its number."""
    reward = objective.reward
    if isinstance(reward, int) and 1 <= reward <= len(names):
        return replace(objective, reward=names[reward - 1], name=names[reward - 1])
    if reward is not None and reward not in names:
        raise InvalidProblem([f"{objective.text}: the model has only the rewards {listed(names)}"])
    return objective


def decide(
    question: Reduced, policies: Policies, time_limit: float | None = None, known: Decided | None = None
) -> Decided:
    """Whether some policy of a kind keeps all bounds, with a verified proof.

    Parameters
    ----------
    question
        The query as a problem.
    policies
        The kind of policies.
    time_limit
        Seconds for the search.
    known
        The answer for randomised policies: where none of them keeps the bounds, no deterministic one does.
    """
    if known is not None and known.achievable is False:
        return known
    answer = _searched(question, policies, time_limit)
    objectives = question.query.objectives
    strict = [place for place, each in enumerate(objectives) if each.strict]
    if answer.achievable is not None or not strict:
        return answer
    # A policy that keeps a strict bound keeps a smaller one, too; on the edge no policy is below the optimum.
    bounds = np.array(question.problem.bounds)
    bounds[strict] -= STRICTLY * np.abs(bounds[strict])
    smaller = replace(question, problem=question.problem.derive(bounds=bounds))
    inside = _searched(smaller, policies, time_limit)
    if inside.achievable:
        return inside._replace(best=None)
    for place in strict if question.optimised is None else ():
        least = _searched(question.optimising(place), policies, time_limit)
        if least.achievable is False or (least.best is not None and least.best >= question.limits[place]):
            return Decided(False, least.plan, certificate=least.certificate)
    return answer


def _searched(question: Reduced, policies: Policies, time_limit: float | None) -> Decided:
    """What one search and its proof decide."""
    stop: list[StopCriterion] = [] if time_limit is None else [MaxRuntime(time_limit)]
    if policies == "deterministic":
        stop.append(FirstPlan() if question.optimised is None else Gap(OPTIMALITY_TOLERANCE))
    try:
        plan = solve(question.problem, stop=stop, policies=policies)
    except DeadEnd as error:
        return Decided(None, Plan.of_dead_end(question.problem, error))
    costs = proven_costs(question, plan.policy) if plan.found else None
    if costs is not None and not question.keeps(costs):
        costs = None
    if costs is not None and question.optimised is None:
        return Decided(True, plan, costs)
    certificate: Certificate | None = None
    if costs is not None or plan.status is Status.INFEASIBLE:
        certificate = plan.certificate
    elif policies == "randomised" and np.isfinite(question.problem.bounds).any():
        certificate = _refutation(question.problem)
    if certificate is None:
        return Decided(None, plan)
    try:
        proven = check(question.problem, certificate, exact=True)
    except (NotProven, InvalidCertificate):
        return Decided(None if costs is None else True, plan, costs or ())
    lower = proven.lower_bound if proven.randomised or policies == "deterministic" else 0.0
    if costs is None:
        return Decided(False, plan, certificate=certificate) if lower == inf else Decided(None, plan)
    # A reward that is to be large was made a cost by sums that are rounded.
    most = question.greatest[question.optimised or 0]
    return Decided(True, plan, costs, certificate, Fraction(lower) - most * (1 + Fraction(MARGIN)))


def _refutation(problem: CSSP) -> Certificate | None:
    """A proof that no policy keeps the bounds, by less than the tolerance to which the dual is solved."""
    oracle: Oracle[Any] = oracle_of(problem)
    ascent = Ascent(oracle, Region())
    try:
        ascent.explore(ascent.prices)
        for dual in seek_feasible(ascent, np.flatnonzero(np.isfinite(problem.bounds))):
            if dual.infeasible:
                record = SearchRecord()
                record.begin(oracle)
                write_down(record, record.root, dual)
                return certificate_of(problem, record, relaxed=True)
    except OutOfPrecision:
        return None
    return None


def proven_costs(question: Reduced, policy: Policy) -> tuple[Fraction, ...] | None:
    """Upper bounds on the signed costs of a policy, verified in rational numbers; None if they do not hold.

    A vector of values bounds an expectation from above if in every state that the policy reaches it is at
    least the cost of the step plus the expected value after it, and the policy ends almost surely. Weights
    and probabilities are proportions.
    """
    chain = induced_chain(question.problem, policy)
    if not chain.is_proper:
        return None
    signed = question.signed[:, chain.rows]
    # The first is the number of steps.
    steps, *values = chain.paying(np.vstack([np.ones(len(chain.rows)), signed])).remaining()
    found = []
    for cost, value in zip(signed, values, strict=True):
        size = float(np.abs(cost).max(initial=0.0))
        # Without a margin first: on a knife edge the values may be exact.
        raised = (value + margin * size * steps for margin in (0.0, MARGIN, LARGE_MARGIN))
        proven = next((most for each in raised if (most := _at_most(chain, cost, each)) is not None), None)
        if proven is None:
            return None
        found.append(proven)
    return tuple(found)


def _at_most(chain: InducedChain, cost: FloatArray, value: FloatArray) -> Fraction | None:
    """The expectation that values prove in rational numbers; None if they do not hold."""
    problem = chain.problem
    exact = {goal: Fraction(0) for goal in np.flatnonzero(problem.goals).tolist()}
    for state in np.flatnonzero(np.isfinite(value) & ~problem.goals).tolist():
        exact[state] = Fraction(float(value[state]))
    slack: dict[int, Fraction] = {}
    for row, state in enumerate(problem.row_state.tolist()):
        if state not in exact:
            # The policy never goes there.
            continue
        span = slice(problem.transitions.indptr[row], problem.transitions.indptr[row + 1])
        shares = list(map(decimal, problem.transitions.data[span].tolist()))
        heads = problem.transitions.indices[span].tolist()
        after = sum((p * exact[head] for p, head in zip(shares, heads, strict=True) if p), Fraction(0))
        gained = exact[state] - decimal(float(cost[row])) - after / sum(shares)
        slack[state] = slack.get(state, Fraction(0)) + Fraction(float(chain.chances[row])) * gained
    if any(each < 0 for each in slack.values()):
        return None
    begin = np.flatnonzero(problem.initial > 0.0).tolist()
    return sum((decimal(float(problem.initial[state])) * exact[state] for state in begin), Fraction(0))


class _Product:
    """The model, once for each combination of what is known about its targets.

    Parameters
    ----------
    model
        The model.
    targeted
        The objectives with a target; each has a status in each copy of the model.
    """

    def __init__(self, model: ExplicitModel, targeted: Sequence[Objective]) -> None:
        self.model, self.targeted = model, targeted
        self.copies = 3 ** len(targeted)
        self.num_states, self.num_rows = (self.copies * each for each in (model.num_states, model.num_rows))
        status = np.array(np.unravel_index(np.arange(self.copies), (3,) * len(targeted) or (1,)))
        self._status: IntArray = status[: len(targeted)]
        # The copy that each state is in after it is entered from a copy.
        codes = 3 ** np.arange(len(targeted))[::-1]
        entered = np.zeros((self.copies, model.num_states), dtype=np.int64)
        for place, each in enumerate(targeted):
            target = model.labels[each.target]
            failed = ~(model.labels[each.safe] | target) if each.safe else np.zeros_like(target)
            fresh = np.where(target, REACHED, np.where(failed, FAILED, UNDECIDED))
            before = self._status[place][:, np.newaxis]
            entered += codes[place] * np.where(before == UNDECIDED, fresh, before)
        self._entered = entered
        blocks = model.transitions.tocoo()
        rows, heads = blocks.coords
        self.entry_row = np.concatenate([copy * model.num_rows + rows for copy in range(self.copies)])
        self.heads = np.concatenate(
            [entered[copy][heads] * model.num_states + heads for copy in range(self.copies)]
        )
        self.shares = np.tile(blocks.data, self.copies)
        starts = [copy * model.num_rows + model.row_start[:-1] for copy in range(self.copies)]
        self.row_start = np.append(np.concatenate(starts), self.num_rows)
        self.row_state = np.repeat(np.arange(self.num_states), np.diff(self.row_start))

    def _statuses(self, objective: Objective, states: IntArray) -> IntArray:
        found: IntArray = self._status[self.targeted.index(objective)][states // self.model.num_states]
        return found

    def status_of_rows(self, objective: Objective) -> IntArray:
        """What is known about the target before each row."""
        return self._statuses(objective, self.row_state)

    def decided(self, objective: Objective, status: int) -> FloatArray:
        """The probability of each row that the target gets a status with it."""
        before = self._statuses(objective, self.row_state[self.entry_row])
        gets = (before == UNDECIDED) & (self._statuses(objective, self.heads) == status)
        return np.bincount(self.entry_row[gets], self.shares[gets], self.num_rows).astype(np.float64)

    def can_avoid(self, objective: Objective) -> bool:
        """Whether a policy can stay for ever where the target was not reached."""
        before = self.status_of_rows(objective) != REACHED
        tails = self.row_state[self.entry_row]
        _, staying = free_groups(self.num_states, self.entry_row, tails, self.heads, before)
        graph = coo_array((self.shares, (tails, self.heads)), shape=(self.num_states, self.num_states))
        reached = closure(csr_array(graph), self._initial() > 0.0)
        return bool(reached[self.row_state[staying]].any())

    def begins(self, wanted: Sequence[Objective]) -> FloatArray:
        """What each objective costs before the first step: a target may be decided where the model begins."""
        initial = self._initial()
        found = np.zeros(len(wanted))
        for place, each in enumerate(wanted):
            if each.reward is None:
                status = self._statuses(each, np.flatnonzero(initial))[0]
                found[place] = float(status == (FAILED if each.at_least else REACHED))
        return found

    def _initial(self) -> FloatArray:
        (first,) = np.flatnonzero(self.model.initial).tolist() if self.model.initial.sum() == 1 else (None,)
        if first is None:
            raise InvalidProblem(["the model begins in several states; give it one initial state"])
        initial = np.zeros(self.num_states)
        initial[self._entered[0][first] * self.model.num_states + first] = 1.0
        return initial

    def closed(
        self, wanted: Sequence[Objective], signed: FloatArray, free: np.ndarray
    ) -> tuple[CSSP, FloatArray]:
        """The problem in which a policy may end where it may stay for ever; with the costs of its rows.

        Ending costs what is decided by it: a target that was not reached never is.
        """
        tails = self.row_state[self.entry_row]
        _, staying = free_groups(self.num_states, self.entry_row, tails, self.heads, free)
        resting = np.unique(self.row_state[staying])
        for each in wanted:
            if each.reward is not None and each.target:
                # A reward until a target that is never reached is infinite.
                resting = resting[self._statuses(each, resting) == REACHED]
        ending = np.zeros((len(wanted), len(resting)))
        for place, each in enumerate(wanted):
            if each.reward is None and each.at_least:
                ending[place] = self._statuses(each, resting) == UNDECIDED
        # The row that ends is the last one of its state.
        owners = np.concatenate([self.row_state, resting])
        order = np.argsort(owners, kind="stable")
        moved = np.empty(len(owners), dtype=np.int64)
        moved[order] = np.arange(len(owners))
        rows = np.concatenate([moved[self.entry_row], moved[self.num_rows :]])
        heads = np.concatenate([self.heads, np.full(len(resting), self.num_states)])
        shares = np.concatenate([self.shares, np.ones(len(resting))])
        shape = (len(owners), self.num_states + 1)
        counts = np.bincount(owners, minlength=self.num_states + 1)
        costs = np.hstack([signed, ending])[:, order]
        goals = np.zeros(self.num_states + 1, dtype=np.bool_)
        goals[-1] = True
        problem = CSSP(
            transitions=csr_array(coo_array((shares, (rows, heads)), shape=shape)),
            row_start=np.concatenate([[0], np.cumsum(counts)]),
            costs=np.zeros((1, len(owners))),
            initial=np.append(self._initial(), 0.0),
            goals=goals,
            cost_names=("guide",),
            bounds=np.zeros(0),
        )
        return problem, costs


def _posed(query: Query, problem: CSSP, signed: FloatArray, begins: FloatArray) -> Reduced:
    """The problem with non-negative costs, and bounds from which the tolerance is taken off."""
    costs, bounds, limits = np.zeros((1 + len(signed), problem.num_rows)), list[float](), []
    greatest = list[Fraction]()
    for place, each in enumerate(query.objectives):
        limit: Fraction | float = inf
        if each.bound is not None:
            wanted = each.bound if each.reward is not None or not each.at_least else 1 - each.bound
            limit = (-wanted if each.reward is not None and each.at_least else wanted) - Fraction(
                begins[place]
            )
        limits.append(limit)
        most = Fraction(0)
        costs[1 + place] = signed[place]
        if each.reward is not None and each.at_least:
            gains = Gains(-signed[place], -signed[place])
            found = shaped(problem, gains, np.zeros(problem.num_rows, dtype=np.bool_))
            costs[1 + place], most = found.costs, Fraction(found.most)
        # A hair more, so that no rounding of a probability or a reward decides.
        exact = Fraction(0 if limit == inf else limit)
        hair = Fraction(MARGIN) * (abs(exact) + most)
        bounds.append(inf if limit == inf else _without_tolerance(most + exact + hair))
        size = bounds[-1] if 0.0 < bounds[-1] < inf else 1.0
        costs[0] += costs[1 + place] / size
        greatest.append(most)
    names = ("guide", *(each.name for each in query.objectives))
    if len(set(names)) < len(names):
        names = ("guide", *(f"{each.name} ({n})" for n, each in enumerate(query.objectives, 1)))
    question = Reduced(
        query,
        problem,
        signed,
        tuple(limits),
        tuple(Fraction(float(each)) for each in begins),
        tuple(greatest),
    )
    if question.optimised is not None:
        costs[0] = costs[1 + question.optimised]
    posed = problem.derive(costs=costs, cost_names=names, bounds=np.array(bounds), name=query.name)
    return replace(question, problem=posed)


def _without_tolerance(exact: Fraction) -> float:
    """The least number that allows `exact` once the tolerance of the search and of the checker is added."""
    share = 1 + (1 if exact > 0 else -1) * decimal(FEASIBILITY_TOLERANCE)
    bound = float(exact / share)
    while decimal(bound) + decimal(FEASIBILITY_TOLERANCE) * abs(decimal(bound)) < exact:
        bound = nextafter(bound, inf)
    return bound


Kind = Literal["achievable", "not achievable", "undecided"]


def verdict(decided: Decided) -> Kind:
    """The answer in words."""
    if decided.achievable is None:
        return "undecided"
    return "achievable" if decided.achievable else "not achievable"
