"""Documents that people write, read with care: limits, line numbers, and all mistakes told together."""

from __future__ import annotations

from hcssp.files.reading.document import read_document
from hcssp.files.reading.fields import Field
from hcssp.files.reading.findings import Findings
from hcssp.files.reading.limits import Limits

__all__ = ["Field", "Findings", "Limits", "read_document"]
