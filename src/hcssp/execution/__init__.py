"""Following a plan step by step: tell what was observed, be told what to do next."""

from __future__ import annotations

from hcssp.execution.decision import Decision
from hcssp.execution.run import Run

__all__ = ["Decision", "Run"]
