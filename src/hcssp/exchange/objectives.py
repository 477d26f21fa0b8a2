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

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from hcssp.checker.checking import Verdict, check
from hcssp.checker.format import Certificate
from hcssp.contract.plan import Plan
from hcssp.contract.progress import FirstPlan, Gap, MaxRuntime, Policies, StopCriterion
from hcssp.contract.proof import Status
from hcssp.cssp.arrays import decimal
from hcssp.cssp.labels import JoinedLabels, LazyLabels, SelectedLabels
from hcssp.cssp.model import CSSP, FloatArray, IntArray, states_of_rows
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
from hcssp.exchange.models import STAY_FOREVER, STAYING_FOREVER, ExplicitModel, mask_of
from hcssp.exchange.properties import Objective, Query, parse_properties, stated_constants
from hcssp.exchange.storm import LANGUAGES, Constants, jani_properties, read_symbolic, written_constants
from hcssp.files.atomic import read_text
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
    num_states
        The number of states of the model.
    """

    query: Query
    problem: CSSP
    signed: FloatArray
    limits: tuple[Fraction | float, ...]
    begins: tuple[Fraction, ...]
    greatest: tuple[Fraction, ...]
    num_states: int

    @property
    def optimised(self) -> int | None:
        """The place of the first objective that is optimised; None if all have bounds."""
        return self.open[0] if self.open else None

    @property
    def open(self) -> list[int]:
        """The places of the objectives that are optimised; several are those of a Pareto query."""
        return [place for place, each in enumerate(self.query.objectives) if each.bound is None]

    @property
    def strict(self) -> list[int]:
        """The places of strict bounds."""
        return [place for place, each in enumerate(self.query.objectives) if each.strict]

    @property
    def on_edges(self) -> Iterator[Reduced]:
        """For each strict bound the question with an optimum in its place; none if it has one already.

        Where the optimum is the bound itself, no policy keeps it.
        """
        return (self.optimising(place) for place in (() if self.open else self.strict))

    def best(self, proven: Verdict) -> Fraction:
        """The lower bound on the signed cost that is optimised."""
        # A reward that is to be large was made a cost by sums that are rounded.
        return Fraction(proven.lower_bound) - self.greatest[self.open[0]] * (1 + Fraction(MARGIN))

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
        The result of the search.
    costs
        For "achievable", upper bounds on the signed costs that were verified in rational numbers.
    certificate
        For "not achievable", and for the bound of an objective that is optimised, the certificate that was
        verified in integers.
    best
        The lower bound on the signed cost of the optimised objective.
    """

    achievable: bool | None
    plan: Plan
    costs: tuple[Fraction, ...] = ()
    certificate: Certificate | None = None
    best: Fraction | None = None


def load_question(
    path: str | Path,
    property: str = "",
    *,
    props: str | Path | None = None,
    constants: Constants | None = None,
    max_states: int | None = None,
) -> Reduced:
    """A property of a model in PRISM or JANI as a problem.

    Parameters
    ----------
    path
        The model.
    property
        The property; or its name, if it is one of `props` or of a model in JANI.
    props
        A file of properties.
    constants
        Values of the constants that the model and the properties leave open, as for
        :func:`~hcssp.exchange.reading.load_model`.
    max_states
        How many states the model may have; by default any number.

    Raises
    ------
    InvalidProblem, UnknownName
        If the model or the property cannot be read, there are several properties, or what is asked is not
        supported.
    UnboundedReward
        If a reward that is to be large has no greatest value.
    MissingDependency
        If stormpy is not installed.
    """
    path = Path(path)
    if path.suffix not in LANGUAGES:
        raise InvalidProblem(
            [f"{path}: it is not a model with properties; give one of {', '.join(LANGUAGES)}"]
        )
    given = dict(written_constants(str(path), constants))
    query, inner = _asked(path, property, None if props is None else Path(props), given)
    own = {name: value for name, value in given.items() if name not in inner}
    language = LANGUAGES[path.suffix]
    model = read_symbolic(path, language, own, query.expressions, whole=True, max_states=max_states)
    return reduced(model, query)


def _asked(
    path: Path, property: str, props: Path | None, given: Mapping[str, str]
) -> tuple[Query, Collection[str]]:
    """The query, and the constants that its file states."""
    text, named, own = property, None, {}
    if path.suffix != ".jani":
        own = {name: value for name, value in stated_constants(read_text(path)).items() if value}
    if props is not None:
        text, named = read_text(props), property or None
    if props is None and path.suffix == ".jani" and re.fullmatch(r"[^\[\]]+", text):
        text, named = jani_properties(path), property
    queries = parse_properties(text, own | dict(given), named)
    if len(queries) > 1:
        names = ", ".join(repr(each.name) for each in queries)
        where = f"{props} has" if props else "there are"
        raise InvalidProblem([f"{where} several properties; name one by --property: {names}"])
    return queries[0], stated_constants(text).keys()


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
            rewards = model.rewards[str(each.reward)][product.rows]
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
    return _posed(query, problem, signed, product.begins(wanted), model.num_states)


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
        It must be for the same question.
    """
    if known is not None and known.achievable is False:
        return known
    answer = _searched(question, policies, time_limit)
    strict = question.strict
    if answer.achievable is not None or not strict:
        return answer
    # A policy that keeps a strict bound keeps a smaller one, too; on the edge no policy is below the optimum.
    bounds = np.array(question.problem.bounds)
    bounds[strict] -= STRICTLY * np.abs(bounds[strict])
    smaller = replace(question, problem=question.problem.derive(bounds=bounds))
    inside = _searched(smaller, policies, time_limit)
    if inside.achievable:
        return inside._replace(best=None)
    for stated in question.on_edges:
        least = _searched(stated, policies, time_limit)
        if least.achievable is False or (
            least.best is not None and least.best >= question.limits[stated.open[0]]
        ):
            return Decided(False, least.plan, certificate=least.certificate)
    return answer


class Proven(NamedTuple):
    """The claim of a certificate about a query.

    Attributes
    ----------
    achievable
        Whether some policy keeps the bounds.
    randomised
        For "achievable", whether the policy is randomised; for "not achievable", and for `best`, whether that
        holds for randomised policies.
    costs, best
        As for :class:`Decided`.
    """

    achievable: bool
    randomised: bool
    costs: tuple[Fraction, ...] = ()
    best: Fraction | None = None


def verified(question: Reduced, certificate: Certificate) -> Proven:
    """The claim of a certificate about a query, verified in exact arithmetic.

    Raises
    ------
    InvalidCertificate
        If it does not fit the query.
    NotProven
        If it proves neither that the query is achievable nor that it is not.
    """
    costs = None
    if len(certificate.plan):
        try:
            policy = question.problem.procedure.policy(certificate.plan, certificate.extra)
            costs = _kept_costs(question, policy.activity(0).under(question.problem))
        except (InvalidProblem, LookupError, ValueError) as error:
            raise InvalidCertificate(f"its policy is none of this model: {error}") from error
    if costs is not None and question.optimised is None:
        return Proven(True, bool(certificate.extra), costs)
    for stated in (question, *question.on_edges):
        bounds = tuple(each.at_most for each in stated.problem.procedure.constraints)
        if tuple(certificate.bounds) != bounds:
            continue
        proven = check(stated.problem, certificate, exact=True)
        on_edge = stated is not question
        if proven.lower_bound == inf or (on_edge and stated.best(proven) >= question.limits[stated.open[0]]):
            return Proven(False, proven.randomised)
        if costs is not None:
            return Proven(True, proven.randomised, costs, stated.best(proven))
    if costs is not None:
        return Proven(True, bool(certificate.extra), costs)
    raise NotProven("no policy of it keeps the bounds of the property, and it does not prove that none does")


def _searched(question: Reduced, policies: Policies, time_limit: float | None) -> Decided:
    """The verdict of one search and its proof."""
    stop: list[StopCriterion] = [] if time_limit is None else [MaxRuntime(time_limit)]
    if policies == "deterministic":
        stop.append(FirstPlan() if question.optimised is None else Gap(OPTIMALITY_TOLERANCE))
    try:
        plan = solve(question.problem, stop=stop, policies=policies)
    except DeadEnd as error:
        # Every policy has an infinite cost.
        plan = Plan.of_dead_end(question.problem, error)
    costs = _kept_costs(question, plan.policy) if plan.found else None
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
    holds = proven.randomised or policies == "deterministic"
    if costs is None:
        refuted = holds and proven.lower_bound == inf
        return Decided(False, plan, certificate=certificate) if refuted else Decided(None, plan)
    return Decided(True, plan, costs, certificate, question.best(proven) if holds else None)


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


def _kept_costs(question: Reduced, policy: Policy) -> tuple[Fraction, ...] | None:
    """The verified costs of a policy, as a certificate states it; None if it does not keep the bounds."""
    costs = proven_costs(question, question.problem.policy(policy.rows, policy.extra))
    return costs if costs is not None and question.keeps(costs) else None


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
    """The model, once for each combination of what is known about its targets, as far as it can be reached.

    Parameters
    ----------
    model
        The model.
    targeted
        The objectives with a target; each has a status in each copy of the model.

    Attributes
    ----------
    copies, states
        The copy that each state of the product is in, and its state of the model.
    rows
        The row of the model that each row of the product is.
    start
        The state where it begins.
    """

    def __init__(self, model: ExplicitModel, targeted: Sequence[Objective]) -> None:
        if model.initial.sum() != 1:
            raise InvalidProblem(["the model begins in several states; give it one initial state"])
        self.model, self.targeted = model, targeted
        self._digits = 3 ** np.arange(len(targeted), dtype=np.int64)[::-1]
        fresh = []
        for each in targeted:
            target = model.labels[each.target]
            failed = ~(model.labels[each.safe] | target) if each.safe else np.zeros_like(target)
            fresh.append(np.where(target, REACHED, np.where(failed, FAILED, UNDECIDED)))
        self._fresh = np.array(fresh, dtype=np.int64).reshape(len(targeted), model.num_states)
        branches = model.transitions.tocoo()
        entry_row, entry_head = branches.coords
        owners = states_of_rows(model.row_start)
        entry_tail = owners[entry_row]
        (first,) = np.flatnonzero(model.initial).tolist()
        begins = int(self._entered(0)[first])
        pending = {begins: mask_of([first], model.num_states)}
        parts, size, num_rows = {}, 0, 0
        # A target that is decided stays so: no copy is entered again once those with smaller codes are done.
        while pending:
            copy = min(pending)
            after = self._entered(copy)
            stays = after[entry_head] == copy
            graph = coo_array(
                (branches.data[stays], (entry_tail[stays], entry_head[stays])), shape=(model.num_states,) * 2
            )
            reached = closure(csr_array(graph), pending.pop(copy))
            leaving = reached[entry_tail] & ~stays
            for other in np.unique(after[entry_head[leaving]]).tolist():
                entered = entry_head[leaving & (after[entry_head] == other)]
                pending.setdefault(other, np.zeros(model.num_states, dtype=np.bool_))[entered] = True
            parts[copy] = reached, after, size, num_rows
            size, num_rows = size + int(reached.sum()), num_rows + int(reached[owners].sum())
        self.num_states, self.num_rows = size, num_rows
        places = {copy: before + np.cumsum(reached) - 1 for copy, (reached, _, before, _) in parts.items()}
        self.start = int(places[begins][first])
        self.copies = np.repeat([*parts], [int(reached.sum()) for reached, *_ in parts.values()])
        self.states = np.concatenate([np.flatnonzero(reached) for reached, *_ in parts.values()])
        self.rows = np.concatenate([np.flatnonzero(reached[owners]) for reached, *_ in parts.values()])
        self._status = self.copies // self._digits[:, np.newaxis] % 3
        entries, heads, rows = [], [], []
        for reached, after, _, before in parts.values():
            inside = np.flatnonzero(reached[entry_tail])
            to, found = entry_head[inside], np.zeros(len(inside), dtype=np.int64)
            for other in np.unique(after[to]).tolist():
                found[after[to] == other] = places[other][to[after[to] == other]]
            entries.append(inside)
            heads.append(found)
            rows.append(before + (np.cumsum(reached[owners]) - 1)[entry_row[inside]])
        self.entry_row, self.heads = np.concatenate(rows), np.concatenate(heads)
        self.shares = branches.data[np.concatenate(entries)]
        counts = np.diff(model.row_start)[self.states]
        self.row_start = np.concatenate([[0], np.cumsum(counts)])
        self.row_state = np.repeat(np.arange(size), counts)

    def _entered(self, copy: int) -> IntArray:
        """The copy that each state is in after it is entered from a copy."""
        before = copy // self._digits[:, np.newaxis] % 3
        entered: IntArray = self._digits @ np.where(before == UNDECIDED, self._fresh, before)
        return entered

    def _statuses(self, objective: Objective, states: IntArray) -> IntArray:
        found: IntArray = self._status[self.targeted.index(objective)][states]
        return found

    def status_of_rows(self, objective: Objective) -> IntArray:
        """The state of the target before each row: open, reached or missed."""
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
        return bool(free_groups(self.num_states, self.entry_row, tails, self.heads, before)[1].any())

    def begins(self, wanted: Sequence[Objective]) -> FloatArray:
        """What each objective costs before the first step: a target may be decided where the model begins."""
        found = np.zeros(len(wanted))
        for place, each in enumerate(wanted):
            if each.reward is None:
                status = self._statuses(each, np.array([self.start]))[0]
                found[place] = float(status == (FAILED if each.at_least else REACHED))
        return found

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
            initial=(np.arange(self.num_states + 1) == self.start).astype(np.float64),
            goals=goals,
            cost_names=("guide",),
            bounds=np.zeros(0),
            state_labels=JoinedLabels(
                _Remembering(
                    SelectedLabels(self.model.state_names, self.states),
                    [each.path for each in self.targeted],
                    self._status,
                ),
                (STAYING_FOREVER,),
            ),
            action_labels=SelectedLabels(
                JoinedLabels(SelectedLabels(self.model.action_names, self.rows), (STAY_FOREVER,)),
                np.minimum(order, self.num_rows),
            ),
        )
        return problem, costs


class _Remembering(LazyLabels):
    """The states of a product: that of the model, and which targets were reached or can no longer be.

    Parameters
    ----------
    names
        The state of the model, for each state.
    paths
        What leads to each target.
    status
        For each target the status in each state.
    """

    differ = True

    def __init__(self, names: Sequence[Hashable], paths: Sequence[str], status: IntArray) -> None:
        self.names, self.paths, self.status = names, tuple(paths), status

    def __len__(self) -> int:
        return len(self.names)

    def _label(self, position: int) -> str:
        decided = zip(self.paths, self.status[:, position].tolist(), strict=True)
        words = {UNDECIDED: "", REACHED: ", reached ", FAILED: ", missed "}
        known = dict.fromkeys(f"{words[status]}{path}" for path, status in decided if status != UNDECIDED)
        return f"{self.names[position]}{''.join(known)}"


def _posed(query: Query, problem: CSSP, signed: FloatArray, begins: FloatArray, num_states: int) -> Reduced:
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
        num_states,
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
