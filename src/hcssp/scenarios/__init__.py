"""Problems that are worth solving, ready made: ``hcssp.scenarios.rover(stops=5)``."""

from __future__ import annotations

from hcssp.scenarios.aircraft import aircraft
from hcssp.scenarios.campus import campus
from hcssp.scenarios.delivery import delivery
from hcssp.scenarios.elevators import elevators
from hcssp.scenarios.evacuation import evacuation, evacuation_rooms, evacuation_text, small_building
from hcssp.scenarios.patient import patient
from hcssp.scenarios.racetrack import racetrack
from hcssp.scenarios.random_problems import random_cssp, random_procedure
from hcssp.scenarios.routing import routing
from hcssp.scenarios.rover import rover
from hcssp.scenarios.search_and_rescue import search_and_rescue

__all__ = [
    "aircraft",
    "campus",
    "delivery",
    "elevators",
    "evacuation",
    "evacuation_rooms",
    "evacuation_text",
    "patient",
    "racetrack",
    "random_cssp",
    "random_procedure",
    "routing",
    "rover",
    "search_and_rescue",
    "small_building",
]
