"""Problems from and for UMB files, the binary format in which probabilistic model checkers exchange models.

Read are Markov chains and Markov decision processes in discrete time with plain probabilities; rewards of
states, choices and branches are added up. The package umbi reads and writes the files
(``pip install 'hcssp[umb]'``), except for the values of variables, by which states are called. These are
packed bit by bit: the values of one state are one binary number, in which the first variable has the lowest
bits. They are unpacked for all states at once, as a matrix of bits. A variable may be a truth value, a whole
number, a rational, a floating-point number or a text, and some states may lack it.

What is written are the variables that a model was read with. Names that are no variables are written among
the file's parameters (:data:`NAMES`): the format has texts as values, too, but Storm refuses such a file.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hcssp.cssp.model import CSSP, BoolArray, IntArray
from hcssp.cssp.transition_costs import Outcomes, outcomes
from hcssp.errors import InvalidProblem
from hcssp.exchange.models import (
    ExplicitModel,
    ValuationLabels,
    added_up,
    closed,
    coded,
    extra,
    unique_names,
    valuation_names,
)
from hcssp.files.atomic import write_atomically
from hcssp.procedure import HCSSP

NAMES = "state-names"
"""The parameter of the file's making that holds what states without variables are called."""


INDEX = "index.json"
"""The part of a file that describes the others."""


_FOLDER = "valuations/states/"


_WORD = 64


def state_names(index: Mapping[str, Any], files: Any, num_states: int) -> Sequence[Hashable]:
    """The names of the states of a file: the values of variables, if these differ in all states, or numbers.

    Parameters
    ----------
    index
        The index of the file, as JSON.
    files
        Its content, as umbi has read it.
    num_states
        How many states there are.

    Raises
    ------
    InvalidProblem
        If the values do not fit what the index says of them.
    """
    described = index.get("valuations", {}).get("states")
    if described is None:
        beside = (index.get("file-data") or {}).get("parameters")
        known = beside.get(NAMES) if isinstance(beside, dict) else None
        return (
            known
            if isinstance(known, list) and _unique_texts(known, num_states)
            else valuation_names({}, num_states)
        )
    packed = np.frombuffer(files.read_file(f"{_FOLDER}valuations.bin"), dtype=np.uint8)
    classes = [each["variables"] for each in described["classes"]]
    widths = np.array([sum(map(_size, fields)) for fields in classes])
    given = files.read_file(f"{_FOLDER}valuation-to-class.bin", optional=True)
    owner = np.zeros(num_states, np.int64) if given is None else np.frombuffer(given, "<u4").astype(np.int64)
    ends = np.cumsum(widths[owner] // 8)
    if (widths % 8).any() or len(owner) != num_states or len(packed) != (ends[-1] if num_states else 0):
        why = " or ".join(map(str, widths.tolist()))
        message = f"the values of variables take {len(packed)} bytes"
        raise InvalidProblem(f"{message}, and not those of {num_states} states of {why} bits")
    strings = None
    if described.get("#strings"):
        strings = files.read_strings(f"{_FOLDER}strings.bin", filename_csr=f"{_FOLDER}string-mapping.bin")
    columns: dict[str, list[Any]] = {}
    for which, fields in enumerate(classes):
        states = np.flatnonzero(owner == which)
        width = int(widths[which])
        places = (ends[states] - width // 8)[:, np.newaxis] + np.arange(width // 8)
        bits = np.unpackbits(packed[places], axis=1, bitorder="little")
        first = 0
        for field in fields:
            last = first + _size(field)
            if "padding" not in field:
                column = columns.setdefault(field["name"], [None] * num_states)
                values = _column(bits[:, first:last], field, strings)
                for state, value in zip(states.tolist(), values, strict=True):
                    column[state] = value
            first = last
    only = next(iter(columns.values()), [])
    return (
        only
        if len(columns) == 1 and _unique_texts(only, num_states)
        else valuation_names(columns, num_states)
    )


def add_state_names(files: Any, names: Sequence[Hashable]) -> None:
    """Add what states are called to a file: their variables if they have some, else one text for each.

    Parameters
    ----------
    files
        What is in the file, as umbi will write it; its index is there already.
    names
        The names of the states.
    """
    index = files.read_json(INDEX)
    del files[INDEX]
    if isinstance(names, ValuationLabels) and all(map(_plain, names.columns)):
        described = _add_values(files, names)
        files.add_json(INDEX, {**index, "valuations": {"states": described}})
    else:
        beside = {**(index.get("file-data") or {}), "parameters": {NAMES: [str(name) for name in names]}}
        files.add_json(INDEX, {**index, "file-data": beside})


def _add_values(files: Any, names: ValuationLabels) -> dict[str, Any]:
    """Add the values of variables to a file, and return their description in its index."""
    parts = [_packed(*each) for each in zip(names.variables, names.columns, strict=True)]
    fields = [field for field, _ in parts]
    bits = np.hstack([matrix for _, matrix in parts])
    lacking = -bits.shape[1] % 8
    if lacking:
        fields.append({"padding": lacking})
        bits = np.hstack((bits, np.zeros((len(bits), lacking), dtype=np.bool_)))
    files.add_file(f"{_FOLDER}valuations.bin", np.packbits(bits, bitorder="little").tobytes())
    return {"unique": True, "classes": [{"variables": fields}]}


def _unique_texts(names: Sequence[Any], count: int) -> bool:
    return len(set(map(str, names))) == count and all(isinstance(each, str) for each in names)


def _size(field: Mapping[str, Any]) -> int:
    """The bits of a variable or of a filling between two."""
    if "padding" in field:
        return int(field["padding"])
    kind = field["type"]
    usual = 1 if kind["type"] == "bool" else _WORD
    return int(kind.get("size", usual)) + bool(field.get("is-optional"))


def _column(bits: Any, field: Mapping[str, Any], strings: Sequence[str] | None) -> list[Any]:
    """The values of one variable in all states; None where it is lacking."""
    there = None
    if field.get("is-optional"):
        there, bits = bits[:, 0].astype(np.bool_), bits[:, 1:]
    kind = field["type"]["type"]
    values: list[Any]
    if kind == "bool":
        values = bits.any(axis=1).tolist()
    elif kind == "double":
        values = np.packbits(bits, axis=1, bitorder="little").view("<f8").ravel().tolist()
    elif kind == "rational":
        half = bits.shape[1] // 2
        above, below = _integers(bits[:, :half], signed=True), _integers(bits[:, half:])
        values = [Fraction(a, b) for a, b in zip(above, below, strict=True)]
    elif kind == "string":
        values = [(strings or ())[code] for code in _integers(bits)]
    else:
        offset = int(field.get("offset") or 0)
        values = [each + offset for each in _integers(bits, signed=kind == "int")]
    if there is None:
        return values
    return [value if known else None for value, known in zip(values, there.tolist(), strict=True)]


def _integers(bits: Any, *, signed: bool = False) -> list[int]:
    """Whole numbers of any width, of their bits with the lowest first."""
    size = bits.shape[1]
    if size == 0:
        return [0] * len(bits)
    packed = np.packbits(bits, axis=1, bitorder="little")
    found = [int.from_bytes(row.tobytes(), "little") for row in packed]
    if not signed:
        return found
    return [each - (1 << size) if each >> (size - 1) else each for each in found]


def _plain(column: Sequence[Any]) -> bool:
    """Whether a variable has whole numbers or truth values only."""
    return all(isinstance(each, (bool, int, np.integer, np.bool_)) for each in column)


def _packed(name: str, column: Sequence[Any]) -> tuple[dict[str, Any], BoolArray]:
    """One variable as the index describes it, and its bits in every state."""
    values = np.array(column)
    if values.dtype == np.bool_:
        return {"name": name, "type": {"type": "bool", "size": 1}}, values[:, np.newaxis]
    least, greatest = int(values.min()), int(values.max())
    size = _WORD if least < 0 else max(1, greatest.bit_length())
    kind = {"type": "int" if least < 0 else "uint", "size": size}
    return {"name": name, "type": kind, "lower": least, "upper": greatest}, _bits(values, size)


def _bits(values: Any, size: int) -> BoolArray:
    """The lowest bits of whole numbers, the lowest first."""
    words = np.ascontiguousarray(values, dtype="<i8").view(np.uint8).reshape(len(values), 8)
    return np.unpackbits(words, axis=1, bitorder="little")[:, :size].astype(np.bool_)


_REWARDS, _LABELS = "rewards", "aps"


def read_umb(path: str | Path) -> ExplicitModel:
    """A model in a UMB file as arrays.

    Raises
    ------
    MissingDependency
        If umbi is not installed.
    InvalidProblem
        If it cannot be read.
    """
    coding = extra("umbi.umb.umb_to_tar", "umb", "reading a UMB file")
    if not Path(path).is_file():
        raise InvalidProblem(f"{path}: there is no such file")
    try:
        decoder = coding.UmbDecoder(umbpath=Path(path))
        # Of these umbi reads some only, and with some versions of what it needs none.
        decoder.read_valuation_files = lambda umb: None
        decoder.list_unread_files = lambda strict=False: None
        read = decoder.decode()
        names = state_names(decoder.read_json(INDEX), decoder, read.index.transition_system.num_states)
    except Exception as error:
        # Python's own words about archives go on for several lines.
        why = str(error).partition("\n")[0].rstrip(":") or type(error).__name__
        raise InvalidProblem(f"{path}: it cannot be read: {why}") from error
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
    parts = {
        known[_REWARDS][name].alias or name: (each.get("states"), each.get("choices"), each.get("branches"))
        for name, each in annotations.get(_REWARDS, {}).items()
    }
    rewards, paid = added_up(branches, row_start, parts)
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
        action_names=unique_names(*coded(_action_names(read, num_rows)), row_start),
        name=Path(path).stem,
        transition_rewards=paid,
    )


def to_umb(problem: CSSP | HCSSP, path: str | Path) -> None:
    """Write a problem as a UMB file, a procedure in its flat form.

    :func:`~hcssp.exchange.reading.load_model` reads it. Costs are rewards of the choices, and goals
    carry the label ``goal``. Bounds are not written.

    Raises
    ------
    MissingDependency
        If umbi is not installed.
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, umb_bytes(problem))


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
        found.append(f"{path}: its time is {system.time}; only discrete time is supported")
    if system.num_players > 1:
        found.append(f"{path}: it has {system.num_players} players; only one is supported")
    if system.num_observations:
        found.append(f"{path}: its states are partially observed; only full observability is supported")
    kind = system.branch_probability_type
    if kind is not None and "interval" in kind.type.value:
        found.append(f"{path}: its probabilities are intervals; give every probability a number")
    if found:
        raise InvalidProblem(found)


def _pointers(given: Sequence[int] | None, count: int) -> IntArray:
    """Where the parts of each begin; if nothing is said, each has one."""
    return np.arange(count + 1) if given is None else np.array(given, dtype=np.int64)


def _action_names(read: Any, num_rows: int) -> list[str]:
    if read.index.transition_system.num_players == 0:
        return ["go"] * num_rows
    codes, names = read.choice_to_choice_action, read.choice_action_to_string
    if codes is None or names is None:
        return [""] * num_rows
    return [names[code] for code in codes]
