"""An independent checker of proofs, small enough to be read; docs/certificates.md proves that it is right."""

from __future__ import annotations

from hcssp.checker.checking import Verdict, check
from hcssp.checker.format import Certificate

__all__ = ["Certificate", "Verdict", "check"]
