"""Following a plan: what a robot's code asks, step by step, and what it is told."""

from __future__ import annotations

from hcssp.errors import ImpossibleObservation
from hcssp.execution.decision import Decision
from hcssp.execution.executor import Run
from hcssp.execution.plan import Plan

__all__ = ["Decision", "ImpossibleObservation", "Plan", "Run"]
