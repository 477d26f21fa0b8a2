"""Workers that are gone."""

from __future__ import annotations

from hcssp.errors import HcsspError


class LostWorker(HcsspError):
    """A task was not finished since the worker that had it died, each time it was tried."""
