"""Writing proofs: the results of a search, as a certificate that :mod:`hcssp.checker` verifies.

:class:`~hcssp.proofs.builder.ProofBuilder` takes what a search knows, which is in floating point and a little
wrong, and keeps what is right of it.
"""
