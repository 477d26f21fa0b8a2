"""A problem as a model for other tools, which know one initial state and in which every state goes on.

Goals carry the label ``goal`` and stay as they are for ever, at no cost. A problem that begins in one of
several states begins in one more, from which it goes to them by chance. Bounds are no part of a model: they
belong to the question that is asked about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from hcssp.cssp.labels import JoinedLabels, RepeatedNames, SelectedLabels
from hcssp.cssp.model import CSSP
from hcssp.exchange.explicit_model import ExplicitModel
from hcssp.exchange.posing import GOAL
from hcssp.procedure import HCSSP

STAY, BEGIN = "stay", "begin"
"""What a goal does for ever, and what is done to begin in one of several states."""


def closed(problem: CSSP | HCSSP) -> ExplicitModel:
    """The problem, a procedure in its flat form, as a model with one initial state and without ends.

    >>> from hcssp.cssp.builder import CSSPBuilder
    >>> plan = CSSPBuilder()
    >>> for start in ("a", "b"):
    ...     _ = plan.add_action(plan.add_state(start), "go", to=plan.add_goal("out"), costs=2.0)
    >>> plan.set_initial({"a": 0.5, "b": 0.5})
    >>> model = closed(plan.build())
    >>> list(model.action_names), model.initial.tolist(), model.rewards["cost"].tolist()
    (['go', 'stay', 'go', 'begin'], [False, False, False, True], [2.0, 0.0, 2.0, 0.0])
    """
    flat = problem.flattening.cssp if isinstance(problem, HCSSP) else problem
    goals = np.flatnonzero(flat.goals)
    starts = np.flatnonzero(flat.initial)
    begins = len(starts) > 1
    size = flat.num_states + begins
    added = [(goal, [goal], [1.0]) for goal in goals.tolist()]
    if begins:
        added.append((flat.num_states, starts.tolist(), flat.initial[starts].tolist()))
    indices = [target for _, targets, _ in added for target in targets]
    data = [chance for _, _, chances in added for chance in chances]
    pointers = np.concatenate(([0], np.cumsum([len(targets) for _, targets, _ in added]))).astype(np.int64)
    new_rows = csr_array((data, indices, pointers), shape=(len(added), size))
    old = flat.transitions
    old_rows = csr_array((old.data, old.indices, old.indptr), shape=(flat.num_rows, size))
    owners = np.concatenate((flat.row_state, [state for state, _, _ in added])).astype(np.int64)
    order = np.argsort(owners, kind="stable")
    codes = np.array([int(state == flat.num_states) for state, _, _ in added], dtype=np.int64)
    names = JoinedLabels(flat.action_labels, RepeatedNames((STAY, BEGIN), codes))
    costs = np.hstack((flat.costs, np.zeros((len(flat.costs), len(added)))))[:, order]
    row_start = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(owners, minlength=size), out=row_start[1:])
    is_goal, initial = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    is_goal[goals] = True
    initial[flat.num_states if begins else starts] = True
    states: Sequence[Hashable] = JoinedLabels(flat.state_labels, (BEGIN,)) if begins else flat.state_labels
    return ExplicitModel(
        transitions=vstack((old_rows, new_rows), format="csr")[order],
        row_start=row_start,
        rewards=dict(zip(flat.cost_names, costs, strict=True)),
        labels={"init": initial, GOAL: is_goal},
        initial=initial,
        state_names=states,
        action_names=SelectedLabels(names, order),
        name=problem.name,
        transition_rewards=None if flat.transition_costs is None else flat.transition_costs.take(order),
    )
