"""Writing proofs: what a search has learnt, as a certificate that :mod:`hcssp.checker` verifies.

:class:`ProofBuilder` takes what a search knows, which is in floating point and a little wrong, and keeps what
is right of it.
"""

from __future__ import annotations

from hcssp.proofs.builder import ProofBuilder
from hcssp.proofs.encoding import to_bytes

__all__ = ["ProofBuilder", "to_bytes"]
