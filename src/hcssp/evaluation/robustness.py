r"""How wrong the probabilities may be: the worst case of a plan, and what it is most sensitive to.

Problem: a fixed policy, and probabilities that are known only up to a share :math:`x` of themselves. Each row
of the policy may have any probabilities in :math:`[(1 - x) p, (1 + x) p]` that sum to one, whatever the other
rows do. Wanted is the largest expectation of every cost, each over all of these on its own.

Method: nature is a player whose policy is a distribution for every row. For given values the worst one puts
as much as it may on the dearest successors: sort them, and fill up. Policy iteration alternates that with the
exact evaluation of the chain that results. For a share below one no probability becomes nought, so every such
chain ends almost surely as the policy does, and the iteration ends at the worst case.

What a step costs is taken as it is, also where it was stated as a cost of some of its outcomes; but what
counts a bounded probability is as wrong as the probabilities are (:mod:`hcssp.evaluation.uncertain_rows`). Of
a reward that is maximised the worst case is the least: nature maximises its negative, from the rewards
themselves. What is missed of it says nothing here, since what could be had depends on the probabilities too.

**Derivatives.** If one probability grows by a small :math:`\delta` at the expense of the others of its row,
in proportion, a cost with values :math:`V` grows by
:math:`\delta \, v(s) \, (V(s') - \bar V(s)) / (1 - p)`, where :math:`v(s)` is how often the state is visited
and :math:`\bar V(s)` the mean value after the row.

Reference: Nilim and El Ghaoui 2005; Iyengar 2005.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.policy import DeterministicPolicy
from hcssp.errors import InvalidProblem
from hcssp.evaluation.chain import induced_chain, mismatch
from hcssp.evaluation.nature import Influence, Nature
from hcssp.evaluation.uncertain_rows import uncertain_rows
from hcssp.numerics import tolerated
from hcssp.procedure.aim import Aim
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.labels import FlatActionLabels
from hcssp.procedure.model import HCSSP
from hcssp.procedure.policy import ProcedurePolicy


@dataclass(frozen=True, eq=False)
class Robustness:
    """A plan whose probabilities may be wrong.

    Attributes
    ----------
    within
        The share of itself by which every probability may be wrong.
    cost_names, bounds
        Of the problem. Where a reward is maximised, its name stands first, in place of what is missed of it.
    expected
        The expected costs if no probability is wrong.
    worst
        The largest expectation of each cost, over all probabilities within the share; of a reward, the least.
    bearable
        For each bound, the largest share within which it is kept; ``inf`` if every share below one is borne,
        and 0 if none is.
    influences
        For each cost, the figures it is most sensitive to, the strongest first.
    greatest
        Whether the first is a reward, which is to be as great as possible.
    """

    within: float
    cost_names: tuple[str, ...]
    bounds: FloatArray
    expected: FloatArray
    worst: FloatArray
    bearable: FloatArray
    influences: tuple[tuple[Influence, ...], ...]
    greatest: bool = False

    def keeps_bounds(self) -> bool:
        """Whether every bound is kept in its worst case."""
        return bool(np.all(self.worst[1:] <= tolerated(self.bounds)))


def robustness(
    problem: CSSP | HCSSP,
    policy: DeterministicPolicy | ProcedurePolicy,
    within: float = 0.1,
    *,
    most: int = 5,
) -> Robustness:
    """The worst case of a policy if its probabilities may be wrong, and what it is most sensitive to.

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
        A C-SSP or a procedure, and a deterministic policy of it that ends almost surely.
    within
        The share of itself by which every probability may be wrong, from 0 to less than 1.
    most
        How many influences are told for each cost.

    Raises
    ------
    InvalidProblem
        If the share is none, or the policy does not fit the problem.
    ImproperPolicy, CostOverflow
        As for :func:`~hcssp.evaluation.exact.evaluate`.
    """
    if not 0.0 <= within < 1.0:
        raise InvalidProblem(
            [f"probabilities within {within} of themselves: give a share from 0 to less than 1, such as 0.1"]
        )
    nature, aim = _nature(problem, policy)
    bounds = np.asarray(problem.bounds)[aim.kept]
    expected = nature.expected()
    worst = np.array([nature.worst(cost, within) for cost in range(len(aim.names))])
    bearable = np.array(
        [
            nature.bearable(1 + index, float(limit), (within, float(worst[1 + index])))
            for index, limit in enumerate(tolerated(bounds))
        ]
    )
    if aim.greatest:
        worst[0] = -worst[0]
    told = nature.influences(most)
    return Robustness(within, aim.names, bounds, expected, worst, bearable, told, aim.greatest)


def influences(
    problem: CSSP | HCSSP, policy: DeterministicPolicy | ProcedurePolicy, *, most: int = 5
) -> tuple[tuple[Influence, ...], ...]:
    """For each cost the figures that it is most sensitive to, without looking for any worst case.

    Parameters
    ----------
    problem, policy, most
        As for :func:`robustness`.
    """
    return _nature(problem, policy)[0].influences(most)


def _nature(problem: CSSP | HCSSP, policy: DeterministicPolicy | ProcedurePolicy) -> tuple[Nature, Aim]:
    """Who chooses the probabilities of the policy's chain, and what is told of its costs."""
    labels: Sequence[Hashable]
    if isinstance(problem, HCSSP) and isinstance(policy, ProcedurePolicy):
        policy = policy if policy.problem is problem else policy.under(problem)
        chain, labels = induced_chain(*policy_chain(policy)), FlatActionLabels(problem.flattening)
    elif isinstance(problem, CSSP) and isinstance(policy, DeterministicPolicy):
        chain, labels = induced_chain(problem, policy), problem.action_labels
    else:
        raise mismatch(problem, policy)
    chain.require_proper()
    aim, rows = Aim.of(problem), policy.rows
    inner = np.flatnonzero(chain.reached & ~chain.problem.goals)
    ways = uncertain_rows(chain, inner, problem, rows)
    limits, num_event_states = {}, 0
    if isinstance(problem, HCSSP):
        limits = {position: problem.constraints[position - 1].lost_execution for position in ways.executions}
        num_event_states = problem.flattening.num_event_states
    action = partial(_label, labels, rows)
    return Nature(chain, inner, ways, limits, num_event_states, action, aim), aim


def _label(labels: Sequence[Hashable], rows: IntArray, state: int) -> Hashable:
    """What people call the action that a policy takes in a state."""
    return labels[int(rows[state])]
