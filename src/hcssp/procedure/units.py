"""What costs are measured in, for words and pictures.

>>> from hcssp.scenarios import small_building
>>> building = with_units(small_building(), {"time": "s"})
>>> called(building, "time"), called(building, "damage")
('time (s)', 'damage')
"""

from __future__ import annotations

from collections.abc import Mapping

from hcssp.procedure.model import HCSSP


def with_units(problem: HCSSP, units: Mapping[str, str]) -> HCSSP:
    """The same problem, whose costs are measured in `units`, by the names of costs."""
    return problem.measured_in(units)


def probability_of(problem: HCSSP, name: str) -> str:
    """What a constraint bounds the probability of; empty if it bounds an expected cost, or there is none."""
    return next((each.probability_of for each in problem.constraints if each.name == name), "")


def expected(problem: HCSSP, name: str) -> str:
    """What is told about a cost or a constraint: ``expected time (s)``, or ``probability of crashed``."""
    prefix = "" if probability_of(problem, name) else "expected "
    return f"{prefix}{called(problem, name)}"


def called(problem: HCSSP, name: str) -> str:
    """What to call a cost or a constraint: its name, with the unit of what it counts if there is one.

    What bounds a probability is called so: ``probability of crashed``.
    """
    what = probability_of(problem, name)
    if what:
        return f"probability of {what}"
    if not problem.units:
        return name
    counted = {
        problem.activities[activity].cssp.cost_names[cost]
        for constraint in problem.constraints
        if constraint.name == name
        for activity, cost in constraint.counts.items()
    }
    units = {problem.units.get(each) for each in counted or {name}}
    unit = units.pop() if len(units) == 1 else None
    return f"{name} ({unit})" if unit else name
