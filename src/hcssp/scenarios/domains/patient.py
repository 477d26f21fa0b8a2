"""A patient's treatment: how much to give and when to rest, under limits of toxicity.

A course of treatment goes week by week. The state is how large the tumour is, in grades, and how much
toxicity the body carries. A full dose shrinks the tumour more often than half a dose and burdens more; in a
week of rest the body recovers, and the tumour may grow. Too much toxicity means a stay in hospital. A course
ends in remission, or because the tumour has become resistant, and then another drug is tried; if that fails
as well, symptoms are treated. After remission the treatment is consolidated.

Weeks are minimised; the toxicity, the stays in hospital and the probability that
no remission is reached are bounded.
"""

from __future__ import annotations

from typing import Annotated

from hcssp.cssp.builder import CSSPBuilder
from hcssp.cssp.model import CSSP
from hcssp.procedure import HCSSP, Outcome
from hcssp.scenarios.scenario import Mission, Range, Size, scenario, single_state

WEEKS, TOXICITY, HOSPITAL, FAILURE = "weeks", "toxicity", "hospital", "failure"
COSTS = (WEEKS, TOXICITY, HOSPITAL, FAILURE)
REMISSION, RESISTANT = "remission", "resistant"


ABOUT = "patient", "courses of treatment under limits of toxicity"


@scenario(
    *ABOUT,
    Size(83, 6, 3),
    small={"grades": 3, "burdens": 2},
    large={
        "grades": 16,
        "burdens": 12,
        "toxicity": 60.0,
        "hospital": 1.0,
        "failure": 0.4,
        "resistance": 0.01,
    },
)
def patient(
    *,
    grades: Annotated[int, Range("how large the tumour can be", 2, 60)] = 5,
    burdens: Annotated[
        int, Range("how much toxicity the body can carry before it must be treated", 2, 60)
    ] = 4,
    resistance: Annotated[
        float, Range("the probability that a dose makes the tumour resistant", 0.0001, 0.5)
    ] = 0.02,
    growth: Annotated[float, Range("the probability that the tumour grows in a week of rest", 0, 0.9)] = 0.2,
    toxicity: Annotated[float, Range("the toxicity allowed", 0)] = 10.0,
    hospital: Annotated[float, Range("the stays in hospital allowed", 0)] = 0.5,
    failure: Annotated[float, Range("the probability of no remission that is allowed", 0, 1)] = 0.1,
) -> HCSSP:
    """The treatment as a problem.

    Raises
    ------
    InvalidProblem
        If a parameter has a value that is not allowed.
    """
    plan = Mission(*ABOUT)
    begin, again = plan.add_event("diagnosis"), plan.add_event("resistant")
    better, over = plan.add_event("in-remission"), plan.add_event("over")
    strong = _weeks(grades, burdens, resistance, growth, 0.85, 0.5, 2)
    mild = _weeks(grades, burdens, 1.5 * resistance, growth, 0.65, 0.35, 1)
    for kind, course in (("strong", strong), ("mild", mild)):
        plan.run(begin, f"{kind} drug", f"first-{kind}", course, better, exits={RESISTANT: again})
    palliation = plan.add_event("symptoms")
    plan.run(again, "another course", "second-strong", strong, better, exits={RESISTANT: palliation})
    plan.add_choice(again, "treat symptoms", to=[Outcome(1.0, palliation)])
    care = single_state(COSTS, {"treat symptoms": {WEEKS: 26.0, FAILURE: 1.0}})
    plan.run(palliation, "treat symptoms", "palliation", care, over)
    short = single_state(COSTS, {"two weeks": {WEEKS: 2.0, FAILURE: 0.04}})
    fully = single_state(COSTS, {"six weeks": {WEEKS: 6.0, TOXICITY: 1.0, FAILURE: 0.01}})
    plan.run(better, "consolidate shortly", "consolidate-shortly", short, over)
    plan.run(better, "consolidate fully", "consolidate-fully", fully, over)
    # The last step says how likely it was in vain, and there is one.
    bounds = {TOXICITY: toxicity, HOSPITAL: hospital, FAILURE: failure}
    return plan.under(bounds, failure="no remission").build(start=begin, end=over)


def _weeks(
    grades: int, burdens: int, resistance: float, growth: float, full: float, half: float, burden: int
) -> CSSP:
    """The weeks of a course: states are a grade of the tumour and a burden of toxicity."""
    course = CSSPBuilder(cost_names=COSTS)
    label = "tumour {}, toxicity {}".format
    states = {
        (grade, carried): course.add_state(label(grade, carried))
        for grade in range(1, grades + 1)
        for carried in range(burdens + 1)
    }
    remission, resistant = course.add_goal(REMISSION), course.add_goal(RESISTANT)
    for (grade, carried), here in states.items():
        if carried == burdens:
            out = {states[grade, 0]: 1.0}
            if grade < grades:
                out = {states[grade, 0]: 0.8, states[grade + 1, 0]: 0.2}
            course.add_action(here, "hospital", to=out, costs={WEEKS: 2.0, HOSPITAL: 1.0})
            continue
        for dose, shrinks, added in (("full dose", full, burden), ("half a dose", half, (burden + 1) // 2)):
            after = min(carried + added, burdens)
            smaller = remission if grade == 1 else states[grade - 1, after]
            to = {smaller: (1.0 - resistance) * shrinks, resistant: resistance}
            to[states[grade, after]] = (1.0 - resistance) * (1.0 - shrinks)
            # The higher the burden already is, the worse a dose is borne.
            course.add_action(here, dose, to=to, costs={WEEKS: 1.0, TOXICITY: added * (1.0 + carried / 2)})
        rested = max(carried - 1, 0)
        to = {states[grade, rested]: 1.0}
        if grade < grades and growth > 0.0:
            to = {states[grade, rested]: 1.0 - growth, states[grade + 1, rested]: growth}
        course.add_action(here, "rest", to=to, costs={WEEKS: 1.0})
    course.set_initial(states[(grades + 1) // 2 + 1, 0])
    return course.build()
