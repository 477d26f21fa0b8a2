"""A certificate as bytes, the other way round than :meth:`hcssp.checker.format.Certificate.from_bytes`."""

from __future__ import annotations

import json
import zlib
from math import inf

import numpy as np

from hcssp.checker.format import EXPANSION, MAGIC, SMALL, Certificate


def to_bytes(certificate: Certificate) -> bytes:
    """The bytes of a certificate's file; docs/certificates.md describes them."""
    header = {
        "fingerprint": certificate.fingerprint,
        "bounds": [_figure(bound) for bound in certificate.bounds],
        "upper_bound": _figure(certificate.upper_bound),
        "tree": certificate.tree,
        "leaves": [(statement, _figure(bound)) for statement, bound in certificate.leaves],
        "plan": certificate.plan.tolist(),
        "ranks": certificate.ranks.tolist(),
        "plan_statements": certificate.plan_statements,
        "statements": [(each.weights, each.events, each.uses) for each in certificate.statements],
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


def _figure(number: float) -> float | None:
    """A number that JSON knows: null stands for infinity."""
    return None if number == inf else number
