"""Problems of other tools: read from their languages and formats, and written for them.

Each tool is an extra, imported only by what needs it (:mod:`hcssp.exchange.models`).
"""

from __future__ import annotations

MODEL_SUFFIXES = (".prism", ".nm", ".pm", ".jani", ".drn", ".umb")
"""The suffixes of models in PRISM, JANI, DRN and UMB."""

PPDDL_SUFFIXES = (".pddl", ".ppddl")
"""The suffixes of problems in PPDDL."""
