"""Problems from and for DRN files, the explicit format of the model checker Storm; no package is needed.

>>> from hcssp.cssp.builder import CSSPBuilder
>>> plan = CSSPBuilder(cost_names=("time",))
>>> here, there = plan.add_state("here"), plan.add_goal("there")
>>> _ = plan.add_action(here, "go", to={there: 0.75, here: 0.25}, costs=2.0)
>>> print(drn_text(plan.build()).partition("@model")[2].expandtabs(2).rstrip())
<BLANKLINE>
state 0 init
//here
  action go [2.0]
    0 : 0.25
    1 : 0.75
state 1 goal
//there
  action stay [0.0]
    1 : 1.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray
from hcssp.errors import InvalidProblem
from hcssp.exchange.closing import closed
from hcssp.exchange.drn_reader import read_drn
from hcssp.exchange.explicit_model import ExplicitModel
from hcssp.exchange.posing import posed
from hcssp.procedure import HCSSP

MOST_TRANSITIONS = 80_000_000
"""More than can be solved; a file with more is surely a mistake."""

_MOST_FINDINGS = 25


def from_drn(
    path: str | Path,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A model in a DRN file as a problem; its reward models are the costs.

    Parameters
    ----------
    path
        The file.
    goal
        Labels of the states where it ends; by default ``goal``, if there is such a label, and without it the
        rewards of the whole, endless run count.
    minimise, bounds, costs, give_up
        As in :func:`~hcssp.exchange.prism_jani.from_prism`.

    Raises
    ------
    InvalidProblem
        If it cannot be read, with the lines, or is no C-SSP.
    UnknownName
        If there is no such label or reward model.
    """
    model = read_drn_file(path)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_drn_file(path: str | Path) -> ExplicitModel:
    """A model in a DRN file as arrays.

    Raises
    ------
    InvalidProblem
        If it cannot be read, with the lines.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidProblem([f"{path}: there is no such file"]) from None
    except (OSError, ValueError) as error:
        raise InvalidProblem([f"{path}: it cannot be read: {error}"]) from error
    found: list[str] = []

    def wrong(line: int, field: str, message: str) -> None:
        if len(found) < _MOST_FINDINGS:
            found.append(f"{path}:{line}: {f'{field}: ' if field else ''}{message}")

    read = read_drn(text, wrong, MOST_TRANSITIONS)
    if read is None or found:
        raise InvalidProblem(found)
    size = read.num_states
    for action in read.actions:
        for target, _ in action.to:
            if target >= size:
                wrong(action.line, "", f"it leads to {target}, but the states are 0 to {size - 1}")
    if found:
        raise InvalidProblem(found)
    counts = np.bincount([action.state for action in read.actions], minlength=size)
    lengths = [len(action.to) for action in read.actions]
    entries = list(chain.from_iterable(action.to for action in read.actions))
    pointers = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    matrix = csr_array(
        ([chance for _, chance in entries], [target for target, _ in entries], pointers),
        shape=(len(read.actions), size),
        dtype=np.float64,
    )
    matrix.sum_duplicates()
    rewards = np.array([action.rewards for action in read.actions], dtype=np.float64)
    rewards = rewards.reshape(len(read.actions), len(read.reward_models))
    labels = {label: _mask(states, size) for label, states in read.labels.items()}
    return ExplicitModel(
        transitions=matrix,
        row_start=np.concatenate(([0], np.cumsum(counts))),
        rewards={name: rewards[:, index] for index, name in enumerate(read.reward_models)},
        labels=labels,
        initial=labels.get("init", np.zeros(size, dtype=np.bool_)),
        state_names=[str(state) for state in range(size)],
        action_names=[action.name for action in read.actions],
        name=Path(path).stem,
    )


def drn_text(problem: CSSP | HCSSP) -> str:
    """The problem in the format DRN, a procedure in its flat form.

    Costs are reward models of the actions, goals carry the label ``goal``, and the names of states are
    comments. Numbers keep all their digits. Blanks in names of costs and actions become underscores.
    """
    return "".join(_lines(closed(problem)))


def _lines(model: ExplicitModel) -> Iterator[str]:
    yield "// written by hcssp\n@type: MDP\n@value_type: double\n@parameters\n\n@reward_models\n"
    yield " ".join(_word(name) for name in model.rewards) + "\n"
    yield f"@nr_states\n{model.num_states}\n@nr_choices\n{model.num_rows}\n@model\n"
    rewards = np.array(list(model.rewards.values())).T.tolist()
    first, pointers = model.row_start.tolist(), model.transitions.indptr.tolist()
    targets, chances = model.transitions.indices.tolist(), model.transitions.data.tolist()
    labels = {label: mask.tolist() for label, mask in model.labels.items()}
    for state, name in enumerate(model.state_names):
        carried = "".join(f" {label}" for label, mask in labels.items() if mask[state])
        yield f"state {state}{carried}\n//{' '.join(str(name).split())}\n"
        for row in range(first[state], first[state + 1]):
            earned = ", ".join(map(repr, rewards[row]))
            yield f"\taction {_word(str(model.action_names[row]))} [{earned}]\n"
            for entry in range(pointers[row], pointers[row + 1]):
                yield f"\t\t{targets[entry]} : {chances[entry]!r}\n"


def _word(name: str) -> str:
    """A name without blanks, which separate names."""
    return "_".join(name.split()) or "_"


def _mask(states: Sequence[int], size: int) -> BoolArray:
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(states)] = True
    return mask
