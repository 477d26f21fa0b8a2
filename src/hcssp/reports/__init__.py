"""What people look at: pictures of plans."""

from __future__ import annotations

from hcssp.reports.rooms import draw_rooms, save_rooms

__all__ = ["draw_rooms", "save_rooms"]
