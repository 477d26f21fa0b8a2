"""Problems as files that people write: loading, writing, the schema, and what identifies a problem."""

from __future__ import annotations

from hcssp.files.fingerprint import fingerprint
from hcssp.files.problems import LoadedProblem, dump_problem, dump_scenario, load_problem
from hcssp.files.reading.limits import Limits
from hcssp.files.schema import schema_text

__all__ = [
    "Limits",
    "LoadedProblem",
    "dump_problem",
    "dump_scenario",
    "fingerprint",
    "load_problem",
    "schema_text",
]
