"""What a certificate says, and how it is read; docs/certificates.md describes the file."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import InvalidCertificate

MAGIC = b"hcssp-certificate 2\n"
SMALL, EXPANSION = 1 << 24, 64  # the bytes that any stream may expand to, and the more for each of its own


@dataclass(frozen=True, eq=False)
class Potential:
    """A number for every state of an activity, goals included, that holds on its rows under `weights`.

    Excepted are the activity's own rows that are `forbidden` and, if `of_plan`, that the plan does not take.
    """

    activity: int
    weights: tuple[float, ...]
    forbidden: tuple[int, ...]
    values: FloatArray
    of_plan: bool = False


@dataclass(frozen=True)
class Statement:
    """Under `weights`, the primary first, a policy costs at least the potential `events` of the start.

    A triple of `uses` is an activity, a stored potential, and how much of it is in the activity's potential.
    """

    weights: tuple[float, ...]
    events: tuple[float, ...]
    uses: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, eq=False)
class Certificate:
    """A proof of a lower bound, of an upper bound, or that no plan keeps the bounds.

    `tree` holds the branchings in preorder: a flat row, for "its state uses it" and "it does not", or -1 for
    a leaf. `leaves` are pairs of a statement (None: no policy is proper) and the primary cost that no plan
    there is below. `plan` has a flat row for every flat state, -1 for none, costs at most `upper_bound`, has
    a statement for each cost, negated, and goes to smaller `ranks`; without it these are empty and ``inf``.
    """

    fingerprint: str
    bounds: tuple[float, ...]
    tree: tuple[int, ...]
    leaves: tuple[tuple[int | None, float], ...]
    plan: IntArray
    ranks: IntArray
    upper_bound: float
    plan_statements: tuple[int, ...]
    statements: tuple[Statement, ...]
    potentials: tuple[Potential, ...]

    @classmethod
    def from_bytes(cls, data: bytes) -> Certificate:
        """The certificate in a file's bytes, with memory in proportion to them, or InvalidCertificate."""
        try:
            if not data.startswith(MAGIC):
                raise ValueError(f"it does not begin with {MAGIC!r}")
            stream = zlib.decompressobj()
            body = stream.decompress(data[len(MAGIC) :], SMALL + EXPANSION * len(data))
            if not stream.eof or stream.unused_data:
                raise ValueError("it is cut off, is followed by something, or expands too much")
            end = 8 + int.from_bytes(body[:8], "little")
            header, planes = json.loads(body[8:end]), np.frombuffer(body[end:], dtype=np.uint8).reshape(8, -1)
            sizes = [_index(size) for *_, size in header["potentials"]]
            if sum(sizes) != planes.shape[1]:
                raise ValueError(f"its potentials have {sum(sizes)} values, but there are {planes.shape[1]}")
            values = iter(np.split(planes.T.copy().view("<f8").ravel(), np.cumsum(sizes, dtype=np.int64)))
            potentials = [
                Potential(_index(a), tuple(map(float, w)), tuple(map(_index, rows)), next(values), bool(only))
                for a, only, w, rows, _ in header["potentials"]
            ]
            statements = []
            for weights, events, given in header["statements"]:
                uses = tuple((_index(activity), _index(n), float(share)) for activity, n, share in given)
                statements.append(Statement(tuple(map(float, weights)), tuple(map(float, events)), uses))
            return cls(
                fingerprint=str(header["fingerprint"]),
                bounds=tuple(map(_number, header["bounds"])),
                tree=tuple(map(int, header["tree"])),
                leaves=tuple((n if n is None else _index(n), _number(b)) for n, b in header["leaves"]),
                plan=np.array(header["plan"], dtype=np.int64).ravel(),
                ranks=np.array(header["ranks"], dtype=np.int64).ravel(),
                upper_bound=_number(header["upper_bound"]),
                plan_statements=tuple(map(_index, header["plan_statements"])),
                statements=tuple(statements),
                potentials=tuple(potentials),
            )
        except (zlib.error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise InvalidCertificate(f"it is no certificate, or damaged: {str(error)[:200]}") from error


def _number(figure: float | None) -> float:
    return inf if figure is None else float(figure)


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} numbers nothing")
    return number
