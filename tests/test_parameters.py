from __future__ import annotations

from fractions import Fraction

import pytest

from hcssp import InvalidProblem, find_problem
from hcssp.errors import UnknownName
from hcssp.parameters import Parameter, settings_of
from hcssp.scenarios.scenario import find_scenario, scenarios


@pytest.mark.parametrize("name", ["small-building", "campus"])
def test_the_defaults_are_those_of_the_problem(name: str) -> None:
    scenario = find_scenario(name)
    assert (
        scenario.make(**{parameter.name: parameter.default for parameter in scenario.parameters})
        == scenario.make()
    )


def test_parameters_change_the_problem() -> None:
    problem = find_problem("small-building", {"locked": Fraction(3, 10), "intended": 0.6, "damage": 7})
    assert [outcome.probability for outcome in problem.choices[2].outcomes] == [0.7, 0.3]
    cssp = problem.activities[0].cssp
    assert cssp.costs[1].max() == 7.0
    assert cssp.transitions.data.min() == pytest.approx(0.2)


def test_a_parameter_and_the_scale_add_up() -> None:
    rooms = {activity.name: activity.cssp for activity in find_problem("campus", {"size": 5}, 2).activities}
    assert rooms["around-1"].num_states == find_problem("campus", {"size": 10}).activities[-1].cssp.num_states


def test_every_scenario_says_what_its_parameters_mean() -> None:
    for scenario in scenarios().values():
        names = [parameter.name for parameter in scenario.parameters]
        assert len(set(names)) == len(names)
        assert all(name.isidentifier() for name in names)
        assert all(
            parameter.meaning and parameter.take(parameter.default) == parameter.default
            for parameter in scenario.parameters
        )


def test_what_a_parameter_cannot_be_is_told_all_at_once() -> None:
    parameters = [Parameter("locked", 0.1, "a probability", 0, 1), Parameter("rooms", 2, "a count", 1)]
    with pytest.raises(InvalidProblem) as raised:
        settings_of(parameters, {"locked": Fraction(3, 2), "rooms": 2.5})
    assert raised.value.violations == (
        "the parameter 'locked' is set to 1.5; give a number from 0 to 1",
        "the parameter 'rooms' is set to 2.5; give a whole number of at least 1",
    )
    with pytest.raises(UnknownName, match="no parameter 'loked'; did you mean 'locked'"):
        settings_of(parameters, {"loked": 0.5})
    with pytest.raises(InvalidProblem, match="inf"):
        settings_of(parameters, {"rooms": float("inf")})


def test_a_file_cannot_be_scaled() -> None:
    with pytest.raises(InvalidProblem, match=r"scale 2: only built-in problems can be scaled, not the file"):
        find_problem("mine.yaml", scale=2)
