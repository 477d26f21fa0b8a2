"""The hierarchical problem: a procedure of events, choices and activities that are C-SSPs.

State one with :class:`ProcedureBuilder`, look at it with ``print``, turn it into one C-SSP with
:class:`Flattening`; :class:`ProcedurePolicy` is the result of a solver.
"""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
