"""The hierarchical problem: a procedure of events, choices and activities that are C-SSPs.

State one with :class:`ProcedureBuilder`, look at it with ``print``, turn it into one C-SSP with
:class:`Flattening`; :class:`HierarchicalPolicy` is what a solver answers.
"""

from __future__ import annotations

from hcssp.hierarchy.builder import ActivityHandle, EventHandle, ProcedureBuilder
from hcssp.hierarchy.chain import policy_chain
from hcssp.hierarchy.description import describe
from hcssp.hierarchy.entries import EventState
from hcssp.hierarchy.executions import executions_from_visits, expected_executions
from hcssp.hierarchy.flattening import Flattening
from hcssp.hierarchy.model import HCSSP, Activity, Choice, Constraint, Outcome
from hcssp.hierarchy.policy import HierarchicalPolicy

__all__ = [
    "HCSSP",
    "Activity",
    "ActivityHandle",
    "Choice",
    "Constraint",
    "EventHandle",
    "EventState",
    "Flattening",
    "HierarchicalPolicy",
    "Outcome",
    "ProcedureBuilder",
    "describe",
    "executions_from_visits",
    "expected_executions",
    "policy_chain",
]
