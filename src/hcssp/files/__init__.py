"""Problems as files that people write: loading, writing, the schema, and what identifies a problem."""

from __future__ import annotations

from hcssp.files.fingerprint import fingerprint
from hcssp.files.problem_file.dumping import dump_problem, dump_scenario
from hcssp.files.problem_file.format import schema_text
from hcssp.files.problem_file.loading import LoadedProblem, load_problem
from hcssp.files.problem_file.source import Limits

__all__ = [
    "Limits",
    "LoadedProblem",
    "dump_problem",
    "dump_scenario",
    "fingerprint",
    "load_problem",
    "schema_text",
]
