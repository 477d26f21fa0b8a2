"""Problems that are worth solving, ready made."""

from __future__ import annotations

from hcssp.scenarios.evacuation import evacuation, evacuation_rooms, evacuation_text, small_building

__all__ = ["evacuation", "evacuation_rooms", "evacuation_text", "small_building"]
