"""Rows that cost nothing, taken very often."""

from __future__ import annotations

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from reproductions.asking import verdicts


def waiting(success: float, ride: float, taxi: float | None) -> CSSP:
    """Walk home for 10, or wait for nothing until the bus comes, which takes `ride`; perhaps take a taxi."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    here, there, home = plan.add_state("here"), plan.add_state("there"), plan.add_goal("home")
    plan.add_action(here, "walk", to=home, costs={"time": 10})
    plan.add_action(here, "wait", to={there: success, here: 1 - success})
    if taxi is not None:
        plan.add_action(here, "taxi", to=home, costs={"time": taxi})
    plan.add_action(there, "ride", to=home, costs={"time": ride})
    return plan.build()


def check_waiting_for_nothing() -> list[str]:
    cases = [
        (2.0**-30, 9.99, None),
        (2.0**-30, 9.9, 1000.0),
        (2.0**-20, 9.9999, 1000.0),
        (2.0**-20, 9.99995, None),
        (2.0**-10, 9.9999999, 1000.0),
    ]
    return verdicts((f"wait {case}", waiting(*case)) for case in cases)


def two_buses(success: float, first: float, second: float, taxi: float) -> CSSP:
    """Wait for one of two buses, for nothing, or take a taxi."""
    plan = CSSPBuilder(cost_names=("time", "damage"))
    stop, one, other = (plan.add_state(name) for name in ("stop", "bus A", "bus B"))
    home = plan.add_goal("home")
    plan.add_action(stop, "wait for A", to={one: success, stop: 1 - success})
    plan.add_action(stop, "wait for B", to={other: success, stop: 1 - success})
    plan.add_action(stop, "taxi", to=home, costs={"time": taxi})
    plan.add_action(one, "ride", to=home, costs={"time": first})
    plan.add_action(other, "ride", to=home, costs={"time": second})
    plan.set_initial(stop)
    return plan.build()


def check_two_buses() -> list[str]:
    numbers = [
        (2.0**-20, 9.9999, 1e3),
        (2.0**-30, 9.9, 1e3),
        (2.0**-14, 9.9999, 1e6),
        (2.0**-10, 9.9999, 1e6),
    ]
    cases = [(p, *pair, taxi) for p, good, taxi in numbers for pair in ((good, 10.0), (10.0, good))]
    return verdicts((f"buses {case}", two_buses(*case)) for case in cases)
