"""A flight through convective weather, stated by a problem file: airways, deviations, holding, an alternate.

The file ``starters/aircraft.yaml`` has the network and the weather; this module gives its parameters.
"""

from __future__ import annotations

from typing import Annotated

from hcssp.errors import InvalidProblem
from hcssp.files.problem_file.loading import load
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import STARTERS, Range, Size, scenario

FILE = "aircraft.yaml"


@scenario(
    "aircraft",
    "a flight on airways among thunderstorms: routes, deviations, holding, an alternate",
    Size(2_298, 19, 1),
    small={"fuel": 75},
    large={"storm": 1.0, "fuel": 180, "exposure": 1.0},
    states=FILE,
)
def aircraft(
    *,
    storm: Annotated[
        float, Range("the probability of thunderstorms at departure; later a tenth of it", 0, 1)
    ] = 0.7,
    drift: Annotated[float, Range("the probability that a cell drifts south during a segment", 0, 1)] = 0.35,
    growth: Annotated[
        float, Range("the probability that a cell grows into a line over all airways", 0, 1)
    ] = 0.15,
    decay: Annotated[float, Range("the probability that a cell decays, or a line into a cell", 0, 1)] = 0.15,
    fuel: Annotated[int, Range("the minutes of flight that the fuel lasts", 60, 1_000)] = 120,
    exposure: Annotated[float, Range("the minutes of exposure to weather that are allowed", 0)] = 2.0,
) -> HCSSP:
    """The flight as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    changes = drift + growth + decay
    if changes > 1.0:
        told = f"drift, growth and decay sum to {changes:g}; give probabilities that sum to 1 or less"
        raise InvalidProblem(told)
    values = {
        "storm": storm,
        "drift": drift,
        "growth": growth,
        "decay": decay,
        "fuel": fuel,
        "exposure": exposure,
    }
    problem = load(STARTERS / FILE, parameters=values)
    # Messages name the activities of a built-in problem, not the lines of its file.
    sources = dict.fromkeys((activity.name for activity in problem.activities), "")
    return problem.named(problem.name, problem.description, sources=sources)
