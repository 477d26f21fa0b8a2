"""What is written down about the ready-made problems is true, and what is promised of all of them holds."""

from __future__ import annotations

import inspect

import pytest

import hcssp
from hcssp.errors import InvalidProblem
from hcssp.scenarios import registry
from hcssp.scenarios.registry import SCENARIOS
from hcssp.scenarios.scenario import Scenario, Size

DOMAINS = [name for name, each in SCENARIOS.items() if each.building is None and name != "campus"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_size_is_what_is_written_down(name: str) -> None:
    scenario = SCENARIOS[name]
    assert Size.of(scenario.make()) == scenario.size


def test_a_size_in_words() -> None:
    assert str(Size(1_000, 1, 2)) == "1,000 states, 1 activity, 2 bounds"


@pytest.mark.parametrize("name", DOMAINS)
def test_a_small_setting_is_small(name: str) -> None:
    scenario = SCENARIOS[name]
    problem = scenario.make(**scenario.small)
    assert Size.of(problem).states < scenario.size.states
    assert (problem.name, problem.description) == (name, scenario.description)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_large_setting_is_made_of_dials(name: str) -> None:
    dials = {dial.name: dial for dial in SCENARIOS[name].dials}
    for dial, value in SCENARIOS[name].large.items():
        assert dial == "scale" or dials[dial].take(value) == value


@pytest.mark.parametrize("name", ["aircraft", "delivery", "elevators", "patient", "rover", "routing"])
def test_a_function_has_the_dials_with_their_defaults(name: str) -> None:
    parameters = inspect.signature(getattr(hcssp.scenarios, name)).parameters
    assert {dial.name: dial.default for dial in SCENARIOS[name].dials} == {
        each.name: each.default for each in parameters.values()
    }


def test_lengths_are_multiplied() -> None:
    rover = SCENARIOS["rover"].make(2, stops=1, width=10, height=6)
    world = rover.world(0)
    assert world is not None
    assert (world.width, world.height) == (20, 12)


def test_a_problem_without_lengths_cannot_be_scaled() -> None:
    with pytest.raises(InvalidProblem, match="scale 2: this problem has no lengths; set its dials: grades"):
        SCENARIOS["patient"].make(2)


def test_dials_are_checked_in_functions_as_well() -> None:
    with pytest.raises(InvalidProblem, match="the dial 'failure' is set to 2; give a number from 0 to 0"):
        hcssp.scenarios.rover(failure=2.0)


def test_the_list_knows_every_scenario_of_a_module() -> None:
    listed = [each for each in vars(registry).values() if isinstance(each, Scenario)]
    assert {each.name for each in listed} <= SCENARIOS.keys()
    assert len(listed) == 8
