"""Problems as files that people write: loading, writing, the schema, and what identifies a problem."""

from __future__ import annotations

from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.dumping import dump_problem
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import load
from hcssp.files.problem_file.source import Limits

__all__ = [
    "Limits",
    "dump_problem",
    "fingerprint",
    "load",
    "schema_text",
]
