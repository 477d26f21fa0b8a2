"""A table in a file of another tool: PRISM, JANI or UMB, whose reward models are costs.

A label of the model stands for all states that carry it. Unless the activity says otherwise it starts in the
initial states, each as probable as the others, and ends where ``goal`` is. Storm explores models of PRISM and
JANI as wholes, because several activities may end them in different places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from hcssp.cssp.assembly import Table
from hcssp.cssp.model import states_of_rows
from hcssp.cssp.validation import capped, unsound_rows
from hcssp.errors import HcsspError, InvalidProblem, listed
from hcssp.exchange.explicit_model import ExplicitModel, scaled
from hcssp.exchange.posing import GOAL
from hcssp.exchange.prism_jani import LANGUAGES
from hcssp.exchange.reading import UMB, read_model
from hcssp.files.problem_file.tables import TableModel

SUFFIXES = (*LANGUAGES, UMB)
"""What the names of the files end in that are read here."""


def read_model_table(
    path: Path, cost_names: tuple[str, ...], constants: Mapping[str, float], wrong: Callable[[str], None]
) -> TableModel | None:
    """The table of a model; None, and the mistakes noted, if it cannot be read.

    Parameters
    ----------
    path
        The file.
    cost_names
        The costs; those that are no reward models are zero, and reward models that are no costs do not count.
    constants
        The constants that the model leaves open.
    wrong
        Notes a mistake.
    """
    try:
        model = read_model(path, {name: f"{value:.17g}" for name, value in constants.items()}, whole=True)
    except InvalidProblem as error:
        for violation in error.violations:
            wrong(violation)
        return None
    except HcsspError as error:
        wrong(str(error))
        return None
    found = list(_violations(model, cost_names, path))
    for violation in found:
        wrong(violation)
    if found:
        return None
    nothing = np.zeros(model.num_rows)
    costs = np.array([model.rewards.get(name, nothing) for name in cost_names])
    paid = model.transition_costs(cost_names, np.arange(model.num_rows))
    if paid is not None:
        differing, means = paid.expected()
        costs[:, differing] = means
    table = Table(
        transitions=scaled(model.transitions),
        row_states=states_of_rows(model.row_start),
        costs=costs,
        cost_names=cost_names,
        state_labels=tuple(model.state_names),
        action_labels=tuple(model.action_names),
        origin=np.arange(model.num_rows),
        transition_costs=paid,
    )
    places = {label: np.flatnonzero(mask).tolist() for label, mask in model.labels.items() if mask.any()}
    return TableModel(
        table=table,
        index={label: state for state, label in enumerate(table.state_labels)},
        places=places,
        starts=tuple(np.flatnonzero(model.initial).tolist()),
        goals=tuple(places.get(GOAL, ())),
    )


def _violations(model: ExplicitModel, cost_names: tuple[str, ...], path: Path) -> list[str]:
    """What keeps a model from being a table of these costs."""
    found: list[str] = []
    counted = [name for name in cost_names if name in model.rewards]
    if not counted:
        there_are = f"its reward models are {listed(list(model.rewards))}"
        found.append(f"{path}: none of the costs {listed(cost_names)} is in the model; {there_are}")
    owners = states_of_rows(model.row_start)

    def place(row: int) -> str:
        return f"{path}: state {model.state_names[int(owners[row])]!r}, action {model.action_names[row]!r}"

    found += [
        f"{place(row)}: the reward {name!r} is negative; costs are not"
        for name in counted
        for row in np.flatnonzero(~(model.rewards[name] >= 0.0))[:1].tolist()
    ]
    found += capped(f"{place(row)}: {told}" for row, told in unsound_rows(scaled(model.transitions)))
    return found
