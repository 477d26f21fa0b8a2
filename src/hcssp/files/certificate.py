"""Certificates on disk, and plans that are verified by one; docs/certificates.md describes the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from hcssp.checker import Certificate, check
from hcssp.contract.plan import Plan
from hcssp.contract.proof import Interval, Verification
from hcssp.errors import InvalidCertificate, NotProven
from hcssp.files.atomic import write_atomically
from hcssp.files.fingerprint import fingerprint
from hcssp.proofs.encoding import from_bytes, to_bytes
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
    """Read a certificate; :func:`hcssp.checker.check` says whether it is right.

    Raises
    ------
    InvalidCertificate
        If the file cannot be read or is no certificate; the message names it.
    """
    try:
        return from_bytes(Path(path).read_bytes())
    except (OSError, InvalidCertificate) as error:
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
    # What it does where it never goes is no part of a plan.
    goes = (solved.costs.visits > 0.0) & (rows >= 0)
    if not len(certificate.plan) or not np.array_equal(certificate.plan[goes], rows[goes]):
        raise InvalidCertificate(f"{path}: it is about another plan, or about none; make one for this plan")
    by = Verification(Path(path).name, exact, fingerprint(plan.problem), __version__)
    proof = Interval(verdict.lower_bound, verdict.upper_bound, plan.tolerances.optimality, by)
    return replace(plan, proof=proof)
