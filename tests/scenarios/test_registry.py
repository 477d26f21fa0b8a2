"""What is written down about the built-in problems is true, and what is promised of all of them holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import hcssp
from hcssp.cli import main
from hcssp.errors import InvalidProblem
from hcssp.scenarios.scenario import Size, scenarios

DOMAINS = [name for name, each in scenarios().items() if not each.states and name != "campus"]


@pytest.mark.parametrize("name", scenarios())
def test_the_size_is_what_is_written_down(name: str) -> None:
    scenario = scenarios()[name]
    assert Size.of(scenario.make()) == scenario.size


def test_a_size_in_words() -> None:
    assert str(Size(1_000, 1, 2)) == "1,000 states, 1 activity, 2 bounds"


@pytest.mark.parametrize("name", DOMAINS)
def test_a_small_setting_is_small(name: str) -> None:
    scenario = scenarios()[name]
    problem = scenario.make(**scenario.small)
    assert Size.of(problem).states < scenario.size.states
    assert (problem.name, problem.description) == (name, scenario.description)


@pytest.mark.parametrize("name", scenarios())
def test_a_large_setting_is_made_of_parameters(name: str) -> None:
    parameters = {parameter.name: parameter for parameter in scenarios()[name].parameters}
    for parameter, value in scenarios()[name].large.items():
        assert parameter == "scale" or parameters[parameter].take(value) == value


@pytest.mark.parametrize("name", scenarios())
def test_a_new_file_can_be_edited_and_solved(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert main(["new", name, "--out", str(file)]) == 0
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 600
    problem = hcssp.load(file)
    assert (problem.name, problem.num_constraints) == (name, scenarios()[name].size.bounds)
    if problem.flattening.num_states < 2_000:
        plan = hcssp.solve(problem, stop=hcssp.FirstPlan())
        assert plan.evaluate().keeps_bounds()


def test_lengths_are_multiplied() -> None:
    rover = scenarios()["rover"].make(2, stops=1, width=10, height=6)
    world = rover.world(0)
    assert world is not None
    assert (world.width, world.height) == (20, 12)


def test_a_problem_without_lengths_cannot_be_scaled() -> None:
    with pytest.raises(InvalidProblem, match="scale 2: this problem has no lengths; set its parameters"):
        scenarios()["patient"].make(2)


def test_parameters_are_checked_in_functions_as_well() -> None:
    with pytest.raises(InvalidProblem, match="the parameter 'failure' is set to 2; give a number from 0"):
        hcssp.scenarios.rover(failure=2.0)
