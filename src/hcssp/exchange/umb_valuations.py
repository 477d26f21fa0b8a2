"""What the states of a UMB file are called: the values of variables, packed bit by bit.

The values of one state are one binary number, in which the first variable has the lowest bits. All states of
a file are taken apart at once, as a matrix of bits, so that many of them take no longer than their rewards. A
variable may be a truth value, a whole number, a rational, a floating-point number or a text; one that some
states lack is left out where it is lacking.

What is written are the variables that a model was read with. Names that are no variables are written beside,
among what the file says of its making (:data:`NAMES`): the format has texts as values, too, but Storm refuses
a file that has them. The package umbi reads no values at all beside the newest releases of what it needs, so
that they are taken apart here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from hcssp.cssp.model import BoolArray
from hcssp.errors import InvalidProblem
from hcssp.exchange.valuations import ValuationLabels

NAMES = "state-names"
"""The parameter of the file's making that holds what states without variables are called."""

INDEX = "index.json"
"""The part of a file that describes the others."""

_FOLDER = "valuations/states/"
_WORD = 64


def state_names(index: Mapping[str, Any], files: Any, num_states: int) -> Sequence[Hashable]:
    """What the states of a file are called: the values of variables, if they tell states apart, or numbers.

    Parameters
    ----------
    index
        The index of the file, as JSON.
    files
        What is in it, as umbi has read it.
    num_states
        How many states there are.

    Raises
    ------
    InvalidProblem
        If the values do not fit what the index says of them.
    """
    numbers = [str(state) for state in range(num_states)]
    described = index.get("valuations", {}).get("states")
    if described is None:
        beside = (index.get("file-data") or {}).get("parameters")
        known = beside.get(NAMES) if isinstance(beside, dict) else None
        return known if isinstance(known, list) and _unique_texts(known, num_states) else numbers
    packed = np.frombuffer(files.read_file(f"{_FOLDER}valuations.bin"), dtype=np.uint8)
    classes = [each["variables"] for each in described["classes"]]
    widths = np.array([sum(map(_size, fields)) for fields in classes])
    given = files.read_file(f"{_FOLDER}valuation-to-class.bin", optional=True)
    owner = np.zeros(num_states, np.int64) if given is None else np.frombuffer(given, "<u4").astype(np.int64)
    ends = np.cumsum(widths[owner] // 8)
    if (widths % 8).any() or len(owner) != num_states or len(packed) != (ends[-1] if num_states else 0):
        told = " or ".join(map(str, widths.tolist()))
        message = f"the values of variables take {len(packed)} bytes"
        raise InvalidProblem([f"{message}, and not those of {num_states} states of {told} bits"])
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
    if not columns or len(set(zip(*columns.values(), strict=True))) != num_states:
        return numbers
    only = next(iter(columns.values()))
    if len(columns) == 1 and _unique_texts(only, num_states):
        return only
    return ValuationLabels(tuple(columns), tuple(columns.values()))


def add_state_names(files: Any, names: Sequence[Hashable]) -> None:
    """Add what states are called to a file: their variables if they have some, else one text for each.

    Parameters
    ----------
    files
        What is in the file, as umbi will write it; its index is there already.
    names
        What the states are called.
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
    """Add the values of variables to a file, and answer with what its index says of them."""
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
