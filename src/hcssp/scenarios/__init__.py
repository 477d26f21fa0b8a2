"""Problems that are worth solving, ready made."""

from __future__ import annotations

from hcssp.scenarios.campus import campus
from hcssp.scenarios.evacuation import evacuation, evacuation_rooms, evacuation_text, small_building

__all__ = ["campus", "evacuation", "evacuation_rooms", "evacuation_text", "small_building"]
