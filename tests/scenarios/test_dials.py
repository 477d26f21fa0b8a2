from __future__ import annotations

from fractions import Fraction

import pytest

from hcssp import InvalidProblem, find_problem
from hcssp.errors import UnknownName
from hcssp.scenarios.dials import Dial, turned
from hcssp.scenarios.registry import SCENARIOS, find_scenario


@pytest.mark.parametrize("name", ["small-building", "campus"])
def test_the_defaults_are_those_of_the_problem(name: str) -> None:
    scenario = find_scenario(name)
    assert scenario.make(**{dial.name: dial.default for dial in scenario.dials}) == scenario.make()


def test_dials_change_the_problem() -> None:
    problem = find_problem("small-building", {"locked": Fraction(3, 10), "intended": 0.6, "damage": 7})
    assert [outcome.probability for outcome in problem.choices[2].outcomes] == [0.7, 0.3]
    cssp = problem.activities[0].cssp
    assert cssp.costs[1].max() == 7.0
    assert cssp.transitions.data.min() == pytest.approx(0.2)


def test_a_dial_and_the_scale_add_up() -> None:
    rooms = {activity.name: activity.cssp for activity in find_problem("campus", {"size": 5}, 2).activities}
    assert rooms["around-1"].num_states == find_problem("campus", {"size": 10}).activities[-1].cssp.num_states


def test_every_scenario_says_what_its_dials_mean() -> None:
    for scenario in SCENARIOS.values():
        names = [dial.name for dial in scenario.dials]
        assert len(set(names)) == len(names)
        assert all(name.isidentifier() for name in names)
        assert all(dial.meaning and dial.take(dial.default) == dial.default for dial in scenario.dials)


def test_what_a_dial_cannot_be_is_told_all_at_once() -> None:
    dials = [Dial("locked", 0.1, "a probability", 0, 1), Dial("rooms", 2, "a count", 1)]
    with pytest.raises(InvalidProblem) as raised:
        turned(dials, {"locked": Fraction(3, 2), "rooms": 2.5})
    assert raised.value.violations == (
        "the dial 'locked' is set to 1.5; give a number from 0 to 1",
        "the dial 'rooms' is set to 2.5; give a whole number of at least 1",
    )
    with pytest.raises(UnknownName, match="no dial 'loked'; did you mean 'locked'"):
        turned(dials, {"loked": 0.5})
    with pytest.raises(InvalidProblem, match="inf"):
        turned(dials, {"rooms": float("inf")})


def test_a_file_cannot_be_scaled() -> None:
    with pytest.raises(InvalidProblem, match=r"scale 2: only built-in problems can be scaled, not the file"):
        find_problem("mine.yaml", scale=2)
