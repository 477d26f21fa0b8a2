"""Problem files: a whole problem in one document that people can write, YAML or JSON."""

from __future__ import annotations

from hcssp.files.problems.dumping import dump_problem
from hcssp.files.problems.loading import LoadedProblem, load_problem
from hcssp.files.problems.scenario import dump_scenario

__all__ = ["LoadedProblem", "dump_problem", "dump_scenario", "load_problem"]
