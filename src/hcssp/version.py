"""The version, in the one place that the package, its command and its build read it from."""

from __future__ import annotations

__version__ = "1.0.0"
