"""A certificate as bytes, and back; docs/certificates.md describes them.

Nobody need believe what reads a certificate: whatever comes of it, what the checker accepts is true.
"""

from __future__ import annotations

import json
import zlib
from math import inf
from typing import Any

import numpy as np

from hcssp.checker.format import Certificate, Potential, Statement, Use
from hcssp.errors import InvalidCertificate

MAGIC = b"hcssp-certificate 5\n"
"""How a file begins: with its version."""

SMALL, EXPANSION = 1 << 24, 64
"""The bytes that any stream may expand to, and the more for each of its own."""


def to_bytes(certificate: Certificate) -> bytes:
    """The bytes of a certificate's file."""
    header = {
        "bounds": [_figure(bound) for bound in certificate.bounds],
        "upper_bound": _figure(certificate.upper_bound),
        "tree": certificate.tree,
        "same": certificate.same,
        "dominated": certificate.dominated,
        "leaves": [(statement, _figure(bound)) for statement, bound in certificate.leaves],
        "plan": certificate.plan.tolist(),
        "ranks": certificate.ranks.tolist(),
        "plan_statements": certificate.plan_statements,
        "statements": [(each.weights, each.events, each.uses, each.parts) for each in certificate.statements],
        "potentials": [
            (each.activity, each.of_plan, each.weights, each.forbidden, len(each.values))
            for each in certificate.potentials
        ],
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    values = np.concatenate([np.zeros(0), *(each.values for each in certificate.potentials)])
    # All first bytes, then all second bytes: exponents are alike, and compress when they are neighbours.
    planes = values.astype("<f8").view(np.uint8).reshape(-1, 8).T.tobytes()
    body = len(text).to_bytes(8, "little") + text + planes
    packed = zlib.compress(body)
    if len(body) > SMALL + EXPANSION * len(packed):
        # A reader takes what expands so much for an attack.
        packed = zlib.compress(body, level=0)
    return MAGIC + packed


def from_bytes(data: bytes) -> Certificate:
    """The certificate in a file's bytes, with memory in proportion to them.

    Raises
    ------
    InvalidCertificate
        If they are none.
    """
    try:
        if not data.startswith(MAGIC):
            wrong = "it has another version, make it again" if data.startswith(MAGIC[:-2]) else "it is none"
            raise ValueError(f"{wrong}: it does not begin with {MAGIC!r}")
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
        for weights, events, uses, given in header["statements"]:
            parts = tuple(
                (_index(activity), _tree(tree), tuple(tuple(map(_uses, each)) for each in classes))
                for activity, tree, classes in given
            )
            numbers = tuple(map(float, weights)), tuple(map(float, events))
            statements.append(Statement(*numbers, _uses(uses), parts))
        return Certificate(
            bounds=tuple(map(_number, header["bounds"])),
            tree=_tree(header["tree"]),
            leaves=tuple((n if n is None else _index(n), _number(b)) for n, b in header["leaves"]),
            plan=np.array(header["plan"], dtype=np.int64).ravel(),
            ranks=np.array(header["ranks"], dtype=np.int64).ravel(),
            upper_bound=_number(header["upper_bound"]),
            plan_statements=tuple(map(_index, header["plan_statements"])),
            statements=tuple(statements),
            potentials=tuple(potentials),
            same=tuple(map(_index, header["same"])),
            dominated=tuple((_index(a), _index(row), _index(by)) for a, row, by in header["dominated"]),
        )
    except (zlib.error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidCertificate(f"it is no certificate, or damaged: {str(error)[:200]}") from error


def _figure(number: float) -> float | None:
    """A number that JSON knows: null stands for infinity."""
    return None if number == inf else number


def _number(figure: float | None) -> float:
    return inf if figure is None else float(figure)


def _tree(given: Any) -> tuple[int, ...]:
    return tuple(row if row == -1 else _index(row) for row in given)


def _uses(given: Any) -> tuple[Use, ...]:
    return tuple((_index(activity), _index(number), float(share)) for activity, number, share in given)


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} numbers nothing")
    return number
