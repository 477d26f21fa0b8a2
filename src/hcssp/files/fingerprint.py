"""What identifies a problem, so that a plan is not used for another one.

The fingerprint is the SHA-256 of everything that gives a plan its meaning and its expected costs: the
flattened arrays (transitions and counted costs), the layout of events, choices and activities, and the
names of events, choices, activities, costs and constraints. Left out is what a plan survives: the
bounds of the constraints (whether a plan keeps other bounds is another question), the names of states
and actions, descriptions, and everything about pictures. Numbers count by their values, not by how a
file writes them.

>>> from hcssp.scenarios import small_building
>>> fingerprint(small_building(bound=1.0)) == fingerprint(small_building(bound=2.0))
True
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP

VERSION = "hcssp-fingerprint-1"
"""Changes with what is counted, so that old fingerprints match nothing instead of something else."""


def fingerprint(problem: CSSP | HCSSP) -> str:
    """The fingerprint of a problem: 64 hexadecimal digits; a single one counts as a procedure of one."""
    return _of_procedure(unnamed(problem).procedure)


def unnamed(problem: CSSP | HCSSP) -> CSSP | HCSSP:
    """A single problem without its name, which would be that of the activity it is written as."""
    return problem.derive(name="") if isinstance(problem, CSSP) else problem


def _of_procedure(problem: HCSSP) -> str:
    flattening = problem.flattening
    digest = hashlib.sha256()
    names = {
        "version": VERSION,
        "events": problem.events,
        "start": int(problem.start),
        "end": int(problem.end),
        "choices": [
            [int(choice.event), choice.name, [[int(o.event), _number(o.runs)] for o in choice.outcomes]]
            for choice in problem.choices
        ],
        "activities": [activity.name for activity in problem.activities],
        "primary": problem.primary_name,
        "constraints": [constraint.name for constraint in problem.constraints],
        # Where it makes no difference, and in older files, nothing is said.
        **({"choices per": "event"} if problem.limits_choices else {}),
    }
    digest.update(json.dumps(names).encode())
    _update(digest, flattening.row_start)
    _update_sparse(digest, flattening.event_transitions)
    for index in range(problem.num_activities):
        _update_sparse(digest, flattening.activity_transitions(index))
        _update(digest, flattening.activity_costs(index))
    return digest.hexdigest()


def _number(activity: int | None) -> int | None:
    return None if activity is None else int(activity)


def _update_sparse(digest: Any, matrix: Any) -> None:
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for part in (matrix.indptr, matrix.indices, matrix.data):
        _update(digest, part)


def _update(digest: Any, array: npt.NDArray[Any]) -> None:
    """Add an array in one form on every machine: its shape, then little-endian numbers of 64 bits."""
    whole = np.issubdtype(array.dtype, np.integer)
    # Adding zero turns minus zero into zero.
    canonical = array.astype("<i8") if whole else (array + 0.0).astype("<f8")
    digest.update(repr(canonical.shape).encode())
    digest.update(np.ascontiguousarray(canonical).data)
