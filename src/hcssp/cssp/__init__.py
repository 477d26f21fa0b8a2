"""A constrained stochastic shortest path problem (C-SSP): state it, check it, prepare it.

Four ways to make one: :class:`CSSPBuilder`, :func:`explore`, :func:`from_arrays` and
:class:`GridWorld`. All of them validate once and give a frozen :class:`CSSP`.
"""

from __future__ import annotations

from hcssp.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
