"""The JSON Schema of problem files, for editors and other programs.

The loader does not use it: it finds more, and says where. What the loader accepts the schema accepts.
"""

from __future__ import annotations

from importlib.resources import files


def schema_text() -> str:
    """The schema as it is published, a JSON document."""
    return files("hcssp.files").joinpath("schema.json").read_text(encoding="utf-8")
