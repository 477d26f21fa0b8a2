"""Problems from and for UMB files, the binary format in which probabilistic model checkers exchange models.

Read are Markov chains and Markov decision processes in discrete time with plain probabilities; rewards of
states, choices and branches are added up. States are called by the values of their variables, which are
written as well.

The package umbi reads and writes the files; ``pip install 'hcssp[umb]'``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, FloatArray, IntArray
from hcssp.cssp.transition_costs import Outcomes, outcomes
from hcssp.errors import InvalidProblem
from hcssp.exchange.closing import closed
from hcssp.exchange.explicit_model import ExplicitModel, added_up, unique_names
from hcssp.exchange.extras import extra
from hcssp.exchange.posing import posed
from hcssp.exchange.umb_valuations import INDEX, add_state_names, state_names
from hcssp.procedure import HCSSP

_REWARDS, _LABELS = "rewards", "aps"


def from_umb(
    path: str | Path,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A model in a UMB file as a problem; its reward models are the costs.

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
    MissingDependency
        If umbi is not installed.
    InvalidProblem
        If it cannot be read, or is no C-SSP.
    UnknownName
        If there is no such label or reward model.
    """
    model = read_umb(path)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_umb(path: str | Path) -> ExplicitModel:
    """A model in a UMB file as arrays.

    Raises
    ------
    MissingDependency, InvalidProblem
        As :func:`from_umb` does.
    """
    coding = extra("umbi.umb.umb_to_tar", "umb", "reading a UMB file")
    if not Path(path).is_file():
        raise InvalidProblem([f"{path}: there is no such file"])
    try:
        decoder = coding.UmbDecoder(umbpath=Path(path))
        # Of these umbi reads some only, and with some versions of what it needs none.
        decoder.read_valuation_files = lambda umb: None
        decoder.list_unread_files = lambda strict=False: None
        read = decoder.decode()
        names = state_names(decoder.read_json(INDEX), decoder, read.index.transition_system.num_states)
    except Exception as error:
        # Python's own words about archives go on for several lines.
        told = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
        raise InvalidProblem([f"{path}: it cannot be read: {told}"]) from error
    system = read.index.transition_system
    _refuse_unsupported(system, str(path))
    size, num_rows = system.num_states, system.num_choices
    row_start = _pointers(read.state_to_choices, size)
    pointers = _pointers(read.choice_to_branches, num_rows)
    targets = np.array(read.branch_to_target or (), dtype=np.int64)
    given = read.branch_to_probability
    chances = np.ones(len(targets)) if given is None else np.array([float(each) for each in given])
    # What is annotated follows the order of the file, so rewards are added up before the rows are tidied.
    branches = csr_array((chances, targets, pointers), shape=(num_rows, size))
    annotations = read.annotations or {}
    known = read.index.annotations or {}
    rewards, paid = added_up(
        branches,
        {
            known[_REWARDS][name].alias or name: _rewards(values, branches, row_start)
            for name, values in annotations.get(_REWARDS, {}).items()
        },
    )
    initial = np.array(read.state_is_initial, dtype=np.bool_)
    labels = {
        known[_LABELS][name].alias or name: np.array(values["states"], dtype=np.bool_)
        for name, values in annotations.get(_LABELS, {}).items()
        if "states" in values
    }
    transitions = branches.copy()
    transitions.sum_duplicates()
    return ExplicitModel(
        transitions=transitions,
        row_start=row_start,
        rewards=rewards,
        labels={"init": initial, **labels},
        initial=initial,
        state_names=names,
        action_names=unique_names(_action_names(read, num_rows), row_start),
        name=Path(path).stem,
        transition_rewards=paid,
    )


def umb_bytes(problem: CSSP | HCSSP) -> bytes:
    """The problem as the content of a UMB file, a procedure in its flat form.

    Costs are rewards of the choices, or of the branches where they depend on the state that is reached. Goals
    carry the label ``goal``. What states are called is kept: variables as variables, other names as texts.

    Raises
    ------
    MissingDependency
        If umbi is not installed.
    """
    umb = extra("umbi.umb", "umb", "writing a UMB file")
    binary, datatypes = extra("umbi.binary", "umb", ""), extra("umbi.datatypes", "umb", "")
    model = closed(problem)
    number = binary.SizedType.for_type(datatypes.NumericPrimitiveType.DOUBLE)
    truth = binary.SizedType.for_type(datatypes.PrimitiveType.BOOL)
    names = [str(name) for name in model.action_names]
    actions = list(dict.fromkeys(names))
    codes = {name: code for code, name in enumerate(actions)}
    labels = {name: mask for name, mask in model.labels.items() if name != "init"}
    branches = outcomes(model.transitions, np.arange(model.num_rows), model.transition_rewards)
    rewards = _written_rewards(model, branches)
    describe = umb.index.AnnotationDescription
    index = umb.index.UmbIndex(
        model_data=umb.index.ModelData(name=model.name) if model.name else None,
        transition_system=umb.index.TransitionSystem(
            time="discrete",
            num_players=1,
            num_states=model.num_states,
            num_initial_states=int(model.initial.sum()),
            num_choices=model.num_rows,
            num_choice_actions=len(actions),
            num_branches=len(branches.states),
            branch_probability_type=number,
        ),
        annotations={
            _REWARDS: {
                name: describe(alias=name, applies_to=list(parts), type=number)
                for name, parts in rewards.items()
            },
            _LABELS: {name: describe(alias=name, applies_to=["states"], type=truth) for name in labels},
        },
    )
    written = umb.ExplicitUmb(
        index=index,
        state_is_initial=model.initial.tolist(),
        state_to_choices=model.row_start.tolist(),
        choice_to_branches=[0, *np.cumsum(branches.lengths).tolist()],
        branch_to_target=branches.states.tolist(),
        branch_to_probability=branches.probabilities.tolist(),
        choice_to_choice_action=[codes[name] for name in names],
        choice_action_to_string=actions,
        annotations={
            _REWARDS: rewards,
            _LABELS: {name: {"states": mask.tolist()} for name, mask in labels.items()},
        },
    )
    encoder = extra("umbi.umb.umb_to_tar", "umb", "").UmbEncoder()
    encoder.encode(written)
    add_state_names(encoder, model.state_names)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.umb"
        encoder.write(path)
        return path.read_bytes()


def _written_rewards(model: ExplicitModel, branches: Outcomes) -> dict[str, dict[str, list[float]]]:
    """By names, the rewards of choices; where single transitions differ, those of branches."""
    paid = model.transition_rewards
    if paid is None:
        return {name: {"choices": values.tolist()} for name, values in model.rewards.items()}
    listed = branches.entry >= 0
    rows = np.repeat(np.arange(model.num_rows), branches.lengths)
    written = {}
    for name, values, own in zip(model.rewards, model.rewards.values(), paid.costs, strict=True):
        choices, extra = values.copy(), np.zeros(len(rows))
        choices[rows[listed]] = 0.0
        extra[listed] = own[branches.entry[listed]]
        written[name] = {"choices": choices.tolist(), "branches": extra.tolist()}
    return written


def _refuse_unsupported(system: Any, path: str) -> None:
    found = []
    if system.time != "discrete":
        found.append(f"{path}: its time is {system.time}; only discrete time can be planned with")
    if system.num_players > 1:
        found.append(f"{path}: it has {system.num_players} players; only one who decides can be planned for")
    if system.num_observations:
        found.append(f"{path}: its states are only observed; only full knowledge can be planned with")
    kind = system.branch_probability_type
    if kind is not None and "interval" in kind.type.value:
        found.append(f"{path}: its probabilities are intervals; give every probability a number")
    if found:
        raise InvalidProblem(found)


def _pointers(given: Sequence[int] | None, count: int) -> IntArray:
    """Where the parts of each begin; if nothing is said, each has one."""
    return np.arange(count + 1) if given is None else np.array(given, dtype=np.int64)


def _rewards(
    values: Mapping[str, Sequence[Any]], branches: Any, row_start: IntArray
) -> tuple[FloatArray, FloatArray | None]:
    """The reward of each row, of its state and its choice, and that of each branch besides."""
    floats = {where: np.array([float(each) for each in given]) for where, given in values.items()}
    total = np.zeros(branches.shape[0])
    if "states" in floats:
        total += np.repeat(floats["states"], np.diff(row_start))
    if "choices" in floats:
        total += floats["choices"]
    return total, floats.get("branches")


def _action_names(read: Any, num_rows: int) -> list[str]:
    if read.index.transition_system.num_players == 0:
        return ["go"] * num_rows
    codes, names = read.choice_to_choice_action, read.choice_action_to_string
    if codes is None or names is None:
        return [""] * num_rows
    return [names[code] for code in codes]
