"""Certificates on disk; docs/certificates.md describes the file."""

from __future__ import annotations

from pathlib import Path

from hcssp.checker import Certificate
from hcssp.errors import InvalidCertificate
from hcssp.files.atomic import write_atomically
from hcssp.proofs import to_bytes


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
        return Certificate.from_bytes(Path(path).read_bytes())
    except (OSError, InvalidCertificate) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidCertificate(f"{path}: {reason}") from error
