"""The hierarchical problem: a procedure of events, choices and activities that are C-SSPs.

State one with :class:`ProcedureBuilder`, look at it with ``print``, turn it into one C-SSP with
:class:`Flattening`; :class:`ProcedurePolicy` is what a solver answers.
"""

from __future__ import annotations

from hcssp.procedure.builder import ActivityHandle, EventHandle, ProcedureBuilder
from hcssp.procedure.chain import policy_chain
from hcssp.procedure.description import describe
from hcssp.procedure.elements import Activity, Choice, Constraint, Outcome
from hcssp.procedure.entries import EventState
from hcssp.procedure.executions import executions_from_visits, expected_executions
from hcssp.procedure.flattening import Flattening
from hcssp.procedure.implicit import ImplicitProcedure
from hcssp.procedure.model import HCSSP
from hcssp.procedure.nesting import Nesting, Use
from hcssp.procedure.policy import ProcedurePolicy
from hcssp.procedure.single import as_procedure, as_procedure_policy, as_single_policy

__all__ = [
    "HCSSP",
    "Activity",
    "ActivityHandle",
    "Choice",
    "Constraint",
    "EventHandle",
    "EventState",
    "Flattening",
    "ImplicitProcedure",
    "Nesting",
    "Outcome",
    "ProcedureBuilder",
    "ProcedurePolicy",
    "Use",
    "as_procedure",
    "as_procedure_policy",
    "as_single_policy",
    "describe",
    "executions_from_visits",
    "expected_executions",
    "policy_chain",
]
