"""A table in a DRN file, the explicit format of the model checker Storm, whose reward models are costs.

A label stands for all states that carry it. Unless the activity says otherwise it starts where ``init`` is
and ends where ``goal`` is.

Storm writes numbers with some ten digits: probabilities that sum to one up to 1e-6 are scaled to do so.
"""

from __future__ import annotations

from math import fsum

from hcssp.errors import listed
from hcssp.exchange.drn_reader import read_drn
from hcssp.exchange.explicit_model import ROUNDED
from hcssp.exchange.posing import GOAL
from hcssp.files.problem_file.tables import TableDraft, TableModel, Wrong
from hcssp.numerics import PROBABILITY_TOLERANCE


def read_drn_table(text: str, cost_names: tuple[str, ...], wrong: Wrong, most: int) -> TableModel | None:
    """The table of a DRN file; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    text
        The file's content.
    cost_names
        The costs; every reward model must be one of them, and what none names is zero.
    wrong
        Notes a mistake.
    most
        How many transitions there may be.
    """
    read = read_drn(text, wrong, most)
    if read is None:
        return None
    for name, line in read.reward_models.items():
        if name not in cost_names:
            wrong(line, "@reward_models", f"{name!r} is not a cost; the costs are {listed(cost_names)}")
    draft = TableDraft(cost_names, wrong)
    numbers = [draft.state(str(state), listed=True) for state in range(read.num_states)]
    for label, states in read.labels.items():
        draft.places[label] = [numbers[state] for state in states]
    for action in read.actions:
        earned = dict(zip(read.reward_models, action.rewards, strict=True))
        costs = [earned.get(name, 0.0) for name in cost_names]
        row = draft.row(numbers[action.state], action.name, costs, action.line)
        draft.lead([row] * len(action.to), [str(target) for target, _ in action.to], _scaled(action.to))
    return draft.model(draft.places.get("init", ()), draft.places.get(GOAL, ()))


def _scaled(to: list[tuple[int, float]]) -> list[float]:
    """Probabilities that sum to one if only the digits that Storm has not written are missing."""
    total = fsum(probability for _, probability in to)
    rounded = PROBABILITY_TOLERANCE < abs(total - 1.0) <= ROUNDED
    return [probability / total if rounded else probability for _, probability in to]
