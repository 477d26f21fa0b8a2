r"""The baseline over deterministic policies: Dolgov and Durfee's integer program, by HiGHS.

**Problem.** A C-SSP (an HC-SSP is flattened); wanted is the best deterministic policy that keeps the bounds.

**Method.** The flows :math:`x(s, a)` of the linear program, and a binary :math:`y(s, a)` for each:
:math:`x(s, a) \le M(s, a) y(s, a)`, one binary a state. A loose M makes the binaries meaningless: with a
tolerance of :math:`10^{-9}` a binary that is "zero" lets :math:`10^{-9} M` through. So M follows from the
cost of an incumbent (:func:`flow_bounds`). While no policy is known, a cost limit is guessed, and raised if
HiGHS finds no policy within it.

**Guarantee.** Every policy that HiGHS finds is extracted and evaluated exactly. If its cost is not what HiGHS
claims (flow has leaked through a binary), that very policy is excluded and HiGHS runs again. The lower
bound is the certified bound of the linear program. HiGHS's own bound rests on its arithmetic, with absolute
tolerances, and is not used: that a policy is optimal, or that none is feasible, is a claim of HiGHS which
the ending repeats.

**References.** Dolgov and Durfee 2005.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from hcssp.contract.progress import Progress
from hcssp.contract.proof import Ending, Reason
from hcssp.contract.solver import Context, Problem
from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.cssp.preprocessing import Prepared, prepare
from hcssp.evaluation.chain import induced_chain
from hcssp.methods.highs.linear_program import (
    Incumbent,
    LinearProgram,
    best_feasible,
    conclude,
    cost_sizes,
    flow_model,
    most_visited,
    relax,
)
from hcssp.methods.highs.running import HighsParameters, Model, Outcome, options, run
from hcssp.numerics import CLAIM_TOLERANCE, OPTIMALITY_TOLERANCE, at_least, relative_gap, tolerated

OPTIMAL = "HiGHS claims that the policy is optimal; its bound is not certified"
NO_POLICY = "HiGHS claims that no policy keeps the bounds; that is not certified"
LOOSE = "HiGHS cannot bound the costs, since flows are too loosely limited"


@dataclass(frozen=True)
class MixedInteger:
    """The integer program with one binary for each row.

    Attributes
    ----------
    parameters
        How HiGHS is run, and how flows are limited.
    """

    parameters: HighsParameters = field(default_factory=HighsParameters)
    name = "milp"

    def iterate(self, problem: Problem, context: Context | None = None) -> Iterator[Progress]:
        """Yield the relaxation's progress, then every policy that HiGHS finds, until it claims to be done."""
        began = time.perf_counter()
        prepared = prepare(problem.flat)
        lp = LinearProgram(parameters=self.parameters)
        relaxation = yield from relax(prepared.problem, lp.options(context), began)
        root, incumbent = conclude(problem, prepared, relaxation, began, None, self.parameters)
        yield root
        if root.ending is None:
            until = began + (inf if context is None else context.time_limit)
            yield from _Search(problem, prepared, self.parameters, root, incumbent, began, until).steps()


@dataclass
class _Search:
    """The repeated runs of HiGHS, and the best policy so far."""

    original: Problem
    prepared: Prepared
    parameters: HighsParameters
    root: Progress
    incumbent: Incumbent | None
    began: float
    until: float
    runs: int = 0
    excluded: list[IntArray] = field(default_factory=list)

    def steps(self) -> Generator[Progress, None, None]:
        flat, parameters = self.prepared.problem, self.parameters
        largest, size = parameters.largest_flow, float(cost_sizes(flat)[0])
        guess = max(2.0 * self.root.lower_bound, size)
        cost_limit = guess if self.incumbent is None else self.upper_bound
        unlimited = flow_bounds(flat, inf, largest)
        ending: Ending | None = None
        while ending is None and not self._is_proved():
            limits = flow_bounds(flat, cost_limit * (1.0 + parameters.margin), largest)
            model = integer_model(flat, np.minimum(limits, largest), self.excluded, parameters.margin)
            self.runs += 1
            answer = yield from run(model, self._options(), self._report, parameters)
            if answer.outcome is Outcome.OPTIMAL and answer.values is not None:
                claimed = size * float(model.costs @ answer.values)
                ending = self._after_solution(self._rows(answer.values), claimed, cost_limit)
            elif answer.outcome is Outcome.INFEASIBLE:
                ending = self._after_none(cost_limit, everything=np.array_equal(limits, unlimited))
            else:
                ending = answer.ending
            loose = bool(np.any(limits > largest))
            if loose and (ending.reason is Reason.CONVERGED if ending else self.incumbent is None):
                ending = Ending(Reason.CONVERGED, LOOSE)
            cost_limit = min(self.upper_bound, parameters.raise_factor * cost_limit)
            yield self._snapshot()
        yield self._snapshot(Ending(Reason.PROVED) if self._is_proved() else ending)

    def _is_proved(self) -> bool:
        return relative_gap(self.root.lower_bound, self.upper_bound) <= OPTIMALITY_TOLERANCE

    @property
    def upper_bound(self) -> float:
        return inf if self.incumbent is None else self.incumbent.cost

    def _options(self) -> dict[str, str | float]:
        tolerance = self.parameters.integer_tolerance
        return options(
            tolerance,
            self.until - time.perf_counter(),
            mip_feasibility_tolerance=tolerance,
            mip_rel_gap=self.parameters.tolerance,
            mip_abs_gap=self.parameters.tolerance,
        )

    def _report(self, values: FloatArray | None) -> Progress:
        if values is not None:
            self._offer(self._rows(values))
        return self._snapshot()

    def _rows(self, values: FloatArray) -> IntArray:
        flat = self.prepared.problem
        return most_visited(flat, values[flat.num_rows :])

    def _offer(self, rows: IntArray) -> Incumbent | None:
        """Evaluate a policy exactly; it becomes the incumbent if it is feasible and better."""
        found = best_feasible(self.original, self.prepared, [rows])
        if found is not None and found.cost < self.upper_bound:
            self.incumbent = found
        return found

    def _after_solution(self, rows: IntArray, claimed: float, cost_limit: float) -> Ending | None:
        """Exclude a policy that does not cost what HiGHS claims; otherwise HiGHS claims an optimum."""
        found = self._offer(rows)
        tolerance = CLAIM_TOLERANCE * abs(claimed) + self.parameters.tolerance
        if found is None or found.cost > claimed + tolerance:
            if self._is_excluded(rows):
                return Ending(Reason.FAILED, "HiGHS returns a policy that was excluded")
            flat = self.prepared.problem
            chain = induced_chain(flat, DeterministicPolicy(flat, rows))
            self.excluded.append(rows[chain.reached & ~flat.goals])
            return None
        # Beyond the cost limit HiGHS need not have found the best.
        within = self.upper_bound <= cost_limit * (1.0 + self.parameters.margin)
        return Ending(Reason.CONVERGED, OPTIMAL) if within else None

    def _after_none(self, cost_limit: float, everything: bool) -> Ending | None:
        """HiGHS finds no other policy than those excluded within the limits, which may allow `everything`."""
        if self.incumbent is None:
            return Ending(Reason.CONVERGED, NO_POLICY) if everything else None
        if self.incumbent.cost > cost_limit:
            return None
        if not self._is_excluded(self.incumbent.rows):
            return Ending(Reason.FAILED, "HiGHS finds no policy, though one is known")
        return Ending(Reason.CONVERGED, OPTIMAL)

    def _is_excluded(self, rows: IntArray) -> bool:
        return any(np.isin(used, rows).all() for used in self.excluded)

    def _snapshot(self, ending: Ending | None = None) -> Progress:
        incumbent = self.incumbent
        policy = None if incumbent is None else self.original.policy(self.prepared.lift(incumbent.rows))
        return replace(
            self.root,
            seconds=time.perf_counter() - self.began,
            iterations=self.runs,
            lower_bound=min(self.root.lower_bound, at_least(self.upper_bound)),
            upper_bound=self.upper_bound,
            incumbent=policy,
            ending=ending,
        )


def integer_model(problem: CSSP, limits: FloatArray, excluded: list[IntArray], margin: float) -> Model:
    """The integer program of a prepared problem.

    The variables are the flow of every row, then a binary for each. To the constraints of the linear program
    are added: no flow without its binary; one binary a state; and, of every policy that is excluded, not all
    binaries at once.

    Parameters
    ----------
    problem
        A prepared problem.
    limits
        The largest flow of each row.
    excluded
        The rows used by each policy that is not wanted.
    margin
        The share by which limits and bounds may be exceeded.
    """
    flows = flow_model(problem, margin)
    acting = np.flatnonzero(~problem.goals)
    count = problem.num_rows
    limits = limits * (1.0 + margin)
    own = csr_array(
        (np.ones(count), problem.row_state, np.arange(count + 1)), shape=(count, problem.num_states)
    )
    exclusions = np.zeros((count, len(excluded)))
    for index, used in enumerate(excluded):
        exclusions[used, index] = 1.0
    columns = block_array(
        [
            [flows.columns, diags_array(np.ones(count)), None, None],
            [None, diags_array(-limits), own[:, acting], csr_array(exclusions)],
        ],
        format="csr",
    )
    one, free = np.ones(len(acting)), np.full(count, -inf)
    return Model(
        costs=np.concatenate([flows.costs, np.zeros(count)]),
        upper=np.concatenate([limits, np.ones(count)]),
        columns=csr_array(columns),
        row_lower=np.concatenate([flows.row_lower, free, one, np.full(len(excluded), -inf)]),
        row_upper=np.concatenate(
            [flows.row_upper, np.zeros(count), one, [len(used) - 1.0 for used in excluded]]
        ),
        integer=np.repeat([False, True], count),
    )


def flow_bounds(problem: CSSP, cost_limit: float, largest: float) -> FloatArray:
    r"""Limits on the flows of proper deterministic policies within the bounds that cost `cost_limit` at most.

    - A policy that costs at most U takes a row of primary cost c at most U / c times; likewise for every
      bounded secondary cost. A row that none of them limits is *free*.
    - A strongly connected component Z of the free rows is left, per entry, with a probability of at least q,
      the product over its states of their least positive probability: a proper deterministic policy has from
      each state of Z a path out that meets no state twice. So a state of Z is visited at most 1 / q times per
      entry. Entries are limited by the flows of the rows that lead into Z from elsewhere, and of the rows
      within Z that are not free.
    - What flows out of a state has flowed in, so limits are propagated while they tighten.

    Parameters
    ----------
    problem
        A prepared problem.
    cost_limit
        The largest cost of the policies meant.
    largest
        The largest limit of use: rows that cost so little that theirs is larger count as free.

    Returns
    -------
    FloatArray
        One limit for each row; ``inf`` where there is none.

    Examples
    --------
    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder(cost_names=("time",))
    >>> here, there, out = plan.add_state("here"), plan.add_state("there"), plan.add_goal("out")
    >>> _ = plan.add_action(here, "try", to={here: 0.5, there: 0.5}, costs=2.0)
    >>> _ = plan.add_action(there, "leave", to=out, costs=0.0)
    >>> np.round(flow_bounds(plan.build(), cost_limit=8.0, largest=1e7), 1).tolist()
    [2.0, 1.0]
    """
    limits = np.full(problem.num_rows, inf)
    for row_costs, most in zip(problem.costs, [cost_limit, *tolerated(problem.bounds)], strict=True):
        if np.isfinite(most):
            priced = row_costs > 0.0
            limits[priced] = np.minimum(limits[priced], max(most, 0.0) / row_costs[priced])
    # A row that costs next to nothing is as good as free.
    limits[limits > largest] = inf
    free = np.isinf(limits)
    steps = csr_array(problem.transitions).tocoo()
    kept = (steps.data > 0.0) & ~problem.goals[steps.col]
    rows, targets, chances = steps.row[kept], steps.col[kept], steps.data[kept]
    sources = problem.row_state[rows]
    shape = (problem.num_states, problem.num_states)
    graph = csr_array((free[rows].astype(np.float64), (sources, targets)), shape=shape)
    graph.eliminate_zeros()
    count, component = connected_components(graph, connection="strong")
    inside = free[rows] & (component[sources] == component[targets])
    least = np.ones(problem.num_states)
    possible = (steps.data > 0.0) & free[steps.row]
    np.minimum.at(least, problem.row_state[steps.row[possible]], steps.data[possible])
    # Rounding of the logarithms must not make a limit too tight.
    exponents = np.bincount(component, weights=-np.log(least)) * (1.0 + 1e-12) + 1e-9
    cyclic = np.isin(np.arange(count), component[sources[inside]])
    with np.errstate(over="ignore"):
        per_entry = np.where(cyclic, np.exp(exponents), 1.0)
    # The probability of each row to enter each component, sorted by the row's state and the component.
    entries_by_row = csr_array(
        (chances[~inside], (rows[~inside], component[targets[~inside]])), shape=(problem.num_rows, count)
    )
    entering = entries_by_row.tocoo()
    order = np.lexsort((entering.col, problem.row_state[entering.row]))
    rows, entered, chances = entering.row[order], entering.col[order], entering.data[order]
    pairs = np.stack([problem.row_state[rows], entered])
    first = np.flatnonzero(np.any(np.diff(pairs, axis=1, prepend=-1), axis=0))
    start = np.bincount(component, weights=problem.initial, minlength=count)
    for _ in range(count + 20):
        entries = start.copy()
        if len(first):
            # A policy takes one row of each state: the one that enters most.
            most_entering = np.maximum.reduceat(chances * limits[rows], first)
            entries += np.bincount(entered[first], weights=most_entering, minlength=count)
        tighter = np.minimum(limits, (entries * per_entry)[component][problem.row_state])
        # Small improvements are not worth a round.
        settled = bool(np.all(tighter >= 0.99 * limits))
        limits = tighter
        if settled:
            break
    return limits
