from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from hcssp.contract.plan import Plan
from hcssp.contract.progress import MaxIterations
from hcssp.contract.proof import Ending, Infeasible, Interval, Reason
from hcssp.cssp.grid import GridWorld
from hcssp.reports.plan_text import (
    MOST_STATES,
    Style,
    aligned,
    constraint_summaries,
    plan_in_words,
    what_more_would_save,
)
from hcssp.solving.solve import solve
from known_optima import attempts, knapsack
from small_procedures import retrying
from solved_building import solved_building


def test_a_plan_of_a_single_problem_tells_its_actions() -> None:
    words = str(solve(knapsack(7.5))).split("\n\n")
    assert words[0] == "plan: least expected time, damage at most 7.5"
    assert words[1].splitlines() == [
        "Actions",
        "  state   action  visits",
        "  room-0   hurry  1.0000",
        "  room-1   hurry  1.0000",
        "  room-2    walk  1.0000",
        "  room-3    walk  1.0000",
    ]
    assert words[2].startswith("Bounds\n  damage: 7 expected, at most 7.5 allowed; price ")
    assert words[3].startswith("Proven\n  the best deterministic plan has an expected time of ")
    assert "Choices" not in "".join(words)


def test_of_many_states_the_busiest_are_told() -> None:
    plan = solve(GridWorld(10, 10, start=(0, 1), goal=(11, 10), slip=0.1).to_cssp())
    lines = str(plan).split("\n\n")[1].splitlines()
    assert len(lines) == 2 + MOST_STATES + 1
    visits = [float(line.split()[-1]) for line in lines[2:-1]]
    assert visits == sorted(visits, reverse=True)
    problem = plan.as_procedure().problem.activities[0].cssp
    acting = np.count_nonzero(plan.evaluate().visits[~problem.goals] > 0.0)
    assert lines[-1].startswith(f"  and {acting - MOST_STATES} more states")


def test_it_is_called_what_the_user_calls_it() -> None:
    plan = solved_building()
    assert str(plan).startswith("small-building: least expected time, damage at most 2\n")
    assert plan_in_words(plan, name="mine.yaml").startswith("mine.yaml: least expected time")


def test_headings_are_bold_where_that_is_wanted() -> None:
    plan = solve(retrying())
    bold = plan_in_words(plan, Style(enabled=True))
    assert "\x1b[1mChoices\x1b[0m" in bold
    assert "\x1b" not in str(plan)
    assert bold.replace("\x1b[1m", "").replace("\x1b[0m", "") == str(plan)


def test_without_bounds_that_is_said() -> None:
    words = str(solve(attempts(0.5)))
    assert words.startswith("plan: least expected tries, no bounds")
    assert "Bounds\n  there are none" in words


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (Plan(retrying()), "Proven\n  nothing yet"),
        (Plan(retrying(), proof=Infeasible()), "Proven\n  no deterministic policy keeps the bounds"),
        (
            Plan(retrying(), proof=Infeasible(ends=False)),
            "Proven\n  no policy ends: every policy may reach a state",
        ),
        (
            Plan(retrying(), proof=Interval(3.0)),
            "no plan has an expected time below 3.000000; no plan is known yet",
        ),
        (
            Plan(retrying(), proof=Interval(-inf, 7.0)),
            "only that this plan keeps its bounds and has an expected time of 7",
        ),
        (
            Plan(retrying(), proof=Interval(6.0, 8.0)),
            "this plan is feasible; its cost could be lower by at most 25%",
        ),
        (Plan(retrying(), proof=Interval(7.0, 7.0)), "this plan is optimal (relative gap 0)"),
    ],
)
def test_no_more_is_told_than_is_proven(plan: Plan, told: str) -> None:
    assert told in str(plan)
    # What is not proven is not told in passing, either.
    assert ("optimal" in str(plan)) == (plan.status == "optimal")


def test_bounds_are_rounded_so_that_they_stay_true() -> None:
    words = str(Plan(retrying(), proof=Interval(6.12345678, 6.87654321)))
    assert "between 6.123456 and 6.876544" in words


def test_why_it_stopped_is_told_with_its_detail() -> None:
    plan = replace(solve(retrying(), stop=MaxIterations(0)), ending=Ending(Reason.CRITERION, "battery low"))
    assert "Stopped because a stop criterion was met (battery low): method exact, " in str(plan)


def test_an_infeasible_problem_has_no_prices() -> None:
    plan = Plan(retrying(), proof=Infeasible(), prices={"damage": 3.0, "damage-at-last": 0.0})
    assert "price" not in str(plan)


def test_a_bound_of_nothing_has_no_price() -> None:
    plan = solve(knapsack(0.0))
    assert plan.prices == {}
    words = " ".join(str(plan).split())
    assert "a bound of 0 has no price: actions with such a cost are excluded" in words
    assert "; price" not in words
    assert constraint_summaries(plan.as_procedure())[0].price is None
    assert what_more_would_save(plan.as_procedure().problem, plan.prices) == ""
    # Where it is loosened, the search begins without prices, and ends with one.
    assert set(plan.resolve(damage=7.5).prices or {}) == {"damage"}


def test_columns_are_aligned() -> None:
    assert aligned([["name", "n"], ["a", "10"]]) == "  name   n\n  a     10"
