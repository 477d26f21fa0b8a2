"""Certificates as bytes and on disk, and plans that are verified by one.

docs/certificates.md describes the file.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from hcssp.checker import check
from hcssp.checker.format import Certificate, Potential, Statement, Use
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval, Verification
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint
from hcssp.version import __version__


def save_certificate(path: str | Path, certificate: Certificate) -> None:
    """Write a certificate; an old file is replaced in one step, or stays as it was.

    Raises
    ------
    CannotWrite
        If the file cannot be written.
    """
    write_atomically(path, to_bytes(certificate))


def load_certificate(path: str | Path) -> Certificate:
    """Read a certificate; :func:`hcssp.checker.check` verifies it.

    Raises
    ------
    InvalidCertificate
        If the file cannot be read or is no certificate; the message names it.
    """
    try:
        return from_bytes(Path(path).read_bytes())
    except (OSError, ValueError, InvalidCertificate) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidCertificate(f"{path}: {reason}") from error


def verified_plan(plan: Plan, path: str | Path, *, exact: bool = False) -> Plan:
    """The plan with the interval that a certificate proves, once the checker has found it so.

    Parameters
    ----------
    plan
        A plan, from a file or from a search.
    path
        The certificate, which must be for the same problem, under the same bounds, and for this very plan.
    exact
        Decide everything in integers; takes some 50 times longer.

    Raises
    ------
    InvalidCertificate
        If it cannot be read, or is for another problem, other bounds or another plan.
    NotProven
        If it does not prove what it claims.
    """
    certificate = load_certificate(path)
    try:
        verdict = check(plan.problem, certificate, exact=exact)
    except (InvalidCertificate, NotProven) as error:
        raise type(error)(f"{path}: {error}") from error
    solved = plan.as_procedure()
    rows = solved.policy.rows
    # What it does where it never goes is not a part of a plan.
    goes = (solved.costs.visits > 0.0) & (rows >= 0)
    same = len(certificate.plan) and np.array_equal(certificate.plan[goes], rows[goes])
    starts = solved.problem.flattening.row_start
    own, proven = (
        {each for each in extra if goes[np.searchsorted(starts, each[0], side="right") - 1]}
        for extra in (solved.policy.extra, certificate.extra)
    )
    if not same or own != proven:
        raise InvalidCertificate(f"{path}: it is about another plan, or about none; make one for this plan")
    by = Verification(Path(path).name, exact, fingerprint(plan.problem), __version__)
    proof = Interval(verdict.lower_bound, verdict.upper_bound, plan.tolerances.optimality, by)
    # A bound on deterministic plans says nothing about all policies.
    return replace(plan, proof=proof, policies=plan.policies if verdict.randomised else "deterministic")


MAGIC = b"hcssp-certificate 6\n"
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
        "extra": certificate.extra,
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
            remedy = "; make it again with this version of hcssp" if data.startswith(MAGIC[:-2]) else ""
            raise ValueError(f"it does not begin with {MAGIC!r}{remedy}")
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
            extra=tuple((_index(row), float(chance)) for row, chance in header["extra"]),
        )
    except (zlib.error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidCertificate(f"it is not a certificate, or it is damaged: {str(error)[:200]}") from error


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
