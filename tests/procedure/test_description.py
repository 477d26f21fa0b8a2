from __future__ import annotations

from itertools import pairwise

from hcssp.procedure import Outcome, ProcedureBuilder
from small_procedures import retrying


def test_printing_shows_cycles_and_shared_events_once() -> None:
    assert str(retrying()) == (
        "procedure: 3 events, 2 activities, 2 constraints; minimise time\n"
        "start\n"
        "  choose cross\n"
        "    run cross (2 states), reach hall\n"
        "      choose leave\n"
        "        0.8: run leave (2 states), reach out, the end\n"
        "        0.2: reach start (see above)\n"
        "constraint damage <= 2: counts damage of cross, leave\n"
        "constraint damage-at-last <= inf: counts damage of leave"
    )


def test_a_long_procedure_can_be_printed() -> None:
    plan = ProcedureBuilder()
    events = [plan.add_event(f"event-{index}") for index in range(3000)]
    for here, there in pairwise(events):
        plan.add_choice(here, "on", to=[Outcome(1.0, there)])
    assert len(str(plan.build(start=events[0], end=events[-1])).splitlines()) == 1 + 1 + 2 * 2999
