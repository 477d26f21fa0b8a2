"""Models in the languages PRISM and JANI as problems, built by the model checker Storm.

Storm is asked for the states that can be reached, up to the goal, with their labels, the rewards of states
and choices, and the values of the variables, by which states are then called.

Storm is free software under the GPL and no part of this package; ``pip install 'hcssp[storm]'``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from hcssp.cssp.model import CSSP, BoolArray, states_of_rows
from hcssp.errors import InvalidProblem, did_you_mean, listed
from hcssp.exchange.explicit_model import ExplicitModel
from hcssp.exchange.extras import extra
from hcssp.exchange.posing import GOAL, posed
from hcssp.exchange.storm import (
    INTERNAL,
    LOCATION,
    UNNAMED,
    explicit,
    refuse_other_kinds,
    storm_at_work,
    truth_values,
)

logger = logging.getLogger(__name__)

Language = Literal["PRISM", "JANI"]

Constants = Mapping[str, Any] | str
"""Values of constants that a model leaves open, by name or as a text such as ``"B=10,p=0.5"``."""

LANGUAGES: dict[str, Language] = {".prism": "PRISM", ".nm": "PRISM", ".pm": "PRISM", ".jani": "JANI"}
"""What the names of models end in, and their language."""

_OUT_OF_RANGE = "out_of_bounds"
"""Storm's label of where a variable has left its range."""


def from_prism(
    source: str | Path,
    *,
    constants: Constants | None = None,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A model in the language of PRISM as a problem; its reward models are the costs.

    Parameters
    ----------
    source
        A file, or the text of a model: whatever has several lines.
    constants
        What the constants are that the model leaves open, as in ``{"B": 10}`` or ``"B=10"``.
    minimise
        The reward model to minimise; by default the first. A model without rewards counts its ``"steps"``.
    goal
        Where it ends: a label, or an expression such as ``"x=3 & !crashed"``; several are alternatives. By
        default the label ``goal``, if there is one; without it the rewards of the whole, endless run count.
    bounds
        Upper bounds on other reward models, by name.
    costs
        The reward models besides the one to minimise; by default all that there are.
    give_up
        What it costs to end where the goal can no longer be reached; without it such states are avoided.

    Raises
    ------
    MissingDependency
        If stormpy is not installed.
    InvalidProblem
        If Storm cannot read the model, or it is no C-SSP: continuous time, negative rewards.
    UnknownName
        If there is no such label or reward model.
    """
    model = read_symbolic(source, "PRISM", constants, goal)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def from_jani(
    source: str | Path,
    *,
    constants: Constants | None = None,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A model in JANI as a problem; its transient numbers are the costs. As :func:`from_prism` otherwise.

    Raises
    ------
    MissingDependency, InvalidProblem, UnknownName
        As :func:`from_prism` does.
    """
    model = read_symbolic(source, "JANI", constants, goal)
    return posed(model, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def from_storm(
    model: Any,
    *,
    minimise: str | None = None,
    goal: str | Sequence[str] | None = None,
    bounds: Mapping[str, float] | None = None,
    costs: Sequence[str] | None = None,
    give_up: float | Mapping[str, float] | None = None,
) -> CSSP:
    """A sparse model that Storm has built, an MDP or a DTMC, as a problem.

    Parameters
    ----------
    model
        The model, as stormpy gives it.
    goal
        Labels of the states where it ends.
    minimise, bounds, costs, give_up
        As in :func:`from_prism`.

    Raises
    ------
    InvalidProblem, UnknownName
        As :func:`from_prism` does.
    """
    read = explicit(model)
    return posed(read, minimise=minimise, goal=goal, bounds=bounds, costs=costs, give_up=give_up)


def read_symbolic(
    source: str | Path,
    language: Language,
    constants: Constants | None = None,
    goal: str | Sequence[str] | None = None,
    *,
    whole: bool = False,
) -> ExplicitModel:
    """A model as arrays, explored up to its goal or as a whole; every text of `goal` is one of its labels.

    Raises
    ------
    MissingDependency, InvalidProblem, UnknownName
        As :func:`from_prism` does.
    """
    stormpy = extra("stormpy", "storm", f"reading a {language} model")
    if isinstance(source, str) and "\n" in source:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_text(source, encoding="utf-8")
            return _read(stormpy, path, "the model", language, constants, goal, whole)
    path = Path(source)
    if not path.is_file():
        raise InvalidProblem([f"{source}: there is no such file"])
    return replace(_read(stormpy, path, str(source), language, constants, goal, whole), name=path.stem)


def _read(
    stormpy: Any,
    path: Path,
    place: str,
    language: Language,
    constants: Constants | None,
    goal: str | Sequence[str] | None,
    whole: bool,
) -> ExplicitModel:
    with storm_at_work(stormpy, place, path):
        if language == "PRISM":
            program = stormpy.parse_prism_program(str(path), prism_compatibility=True)
        else:
            program, _ = stormpy.parse_jani_model(str(path))
    refuse_other_kinds(program.model_type.name, place)
    program = _instantiated(stormpy, program, place, constants)
    named = _labels(program, language)
    wanted = (goal,) if isinstance(goal, str) else tuple(goal or ())
    formulas = {text: _formula(stormpy, program, place, text, named) for text in wanted}
    # A goal that nobody named is one all the same, so nothing behind it need be explored.
    ends = [] if whole else [*formulas.values()] or [f'"{GOAL}"'] * (GOAL in named)
    with storm_at_work(stormpy, place, path):
        options = stormpy.BuilderOptions()
        if ends:
            (reach,) = stormpy.parse_properties(f"P=? [F ({' | '.join(map(str, ends))})]", program)
            options = stormpy.BuilderOptions([reach])
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        options.set_build_state_valuations()
        # Without it a variable that leaves its range silently takes another value.
        options.set_add_out_of_bounds_state()
        built = stormpy.build_model(program, options=options)
        masks = {text: truth_values(stormpy, built, formula) for text, formula in formulas.items()}
    model = explicit(built, place, _variables(program, language))
    labels = {**model.labels, **masks}
    _refuse_out_of_range(model, labels.pop(_OUT_OF_RANGE, None), place)
    order = [reward.name or UNNAMED for reward in program.reward_models] if language == "PRISM" else []
    rewards = {name: model.rewards[name] for name in dict.fromkeys((*order, *sorted(model.rewards)))}
    paid = model.transition_rewards
    if paid is not None:
        before = list(model.rewards)
        paid = paid.paying(paid.costs[[before.index(name) for name in rewards]])
    averaged = _averaged_by_storm(path) if language == "JANI" else []
    if averaged:
        logger.warning(
            "%s: the rewards %s depend on the destination of an edge, and Storm gives their mean; expected "
            "costs are right, but what a single run spends is not known",
            place,
            listed(averaged),
        )
    return replace(model, rewards=rewards, labels=labels, transition_rewards=paid)


def _averaged_by_storm(path: Path) -> list[str]:
    """The rewards that the destinations of an edge of a JANI model assign differently."""
    document = json.loads(path.read_text(encoding="utf-8-sig"))
    automata = document.get("automata", [])
    declared = [each for part in (document, *automata) for each in part.get("variables", [])]
    transient = {each["name"] for each in declared if each.get("transient")}
    found: dict[str, None] = {}
    for edge in (edge for automaton in automata for edge in automaton.get("edges", [])):
        values = [
            {each["ref"]: each["value"] for each in to.get("assignments", []) if each["ref"] in transient}
            for to in edge.get("destinations", [])
        ]
        names = dict.fromkeys(name for each in values for name in each)
        found |= {
            name: None for name in names if any(each.get(name) != values[0].get(name) for each in values)
        }
    return list(found)


def _instantiated(stormpy: Any, program: Any, place: str, constants: Constants | None) -> Any:
    """The model with all constants; those that are missing or unknown are told together."""
    given = dict(written_constants(place, constants))
    known = {constant.name: constant.defined for constant in program.constants}
    open_ = [name for name, defined in known.items() if not defined]
    found = []
    for name in given:
        if name not in known:
            found.append(f"{place}: there is no constant {name!r}; {did_you_mean(name, open_)}")
        elif known[name]:
            found.append(f"{place}: the constant {name!r} has its value in the model; leave it out")
    if missing := [name for name in open_ if name not in given]:
        example = ",".join(f"{name}=..." for name in missing)
        found.append(f"{place}: {listed(missing)} must be given; say {example} as the constants")
    if found:
        raise InvalidProblem(found)
    if not given:
        return program
    with storm_at_work(stormpy, place):
        text = ",".join(f"{name}={value}" for name, value in given.items())
        instantiated, _ = stormpy.instantiate_constants(program, text)
        return instantiated.substitute_constants()


def written_constants(place: str, constants: Constants | None) -> Iterator[tuple[str, str]]:
    """Constants and their values as texts.

    >>> dict(written_constants("the model", "B=10, p=0.5"))
    {'B': '10', 'p': '0.5'}
    """
    if not isinstance(constants, str):
        for name, value in (constants or {}).items():
            yield name, str(value).lower() if isinstance(value, bool) else str(value)
        return
    for part in filter(None, map(str.strip, constants.split(","))):
        name, separator, value = (each.strip() for each in part.partition("="))
        if not (separator and name and value):
            raise InvalidProblem([f"{place}: {part!r} is not of the form NAME=VALUE, such as B=10"])
        yield name, value


def _formula(stormpy: Any, program: Any, place: str, goal: str, named: Collection[str]) -> Any:
    """A goal as a formula about states: a label, or an expression on the variables."""
    text = f'"{goal}"' if goal in named else goal
    try:
        with storm_at_work(stormpy, place):
            (parsed,) = stormpy.parse_properties(f"P=? [F ({text})]", program)
            return parsed.get_raw_formula().subformula.subformula
    except InvalidProblem as error:
        labels = f"the labels are {listed(sorted(named))}"
        raise InvalidProblem(
            [f"{place}: the goal {goal!r} is no label and no expression; {labels}. {error}"]
        ) from error


def _refuse_out_of_range(model: ExplicitModel, outside: BoolArray | None, place: str) -> None:
    """Raise an error that names an action after which a variable is out of its range, if there is one."""
    if outside is None or not outside.any():
        return
    states = states_of_rows(model.row_start)
    leaving = (model.transitions @ outside > 0.0) & ~outside[states]
    row = int(np.flatnonzero(leaving)[0])
    where = f"state {model.state_names[int(states[row])]!r}, action {model.action_names[row]!r}"
    raise InvalidProblem([f"{place}: {where}: a variable leaves its range; mend the guard or the update"])


def _labels(program: Any, language: Language) -> set[str]:
    """The names of labels; in JANI these are variables that are true or false and last for a moment."""
    if language == "PRISM":
        return {label.name for label in program.labels}
    return {
        variable.name
        for variable in program.global_variables
        if variable.is_transient and variable.expression_variable.has_boolean_type()
    }


def _variables(program: Any, language: Language) -> list[str]:
    """The names of the variables in the order of the model, without those that last for a moment."""
    if language == "PRISM":
        return [*(variable.name for variable in program.variables), *INTERNAL]
    held = [*program.global_variables, *(each for part in program.automata for each in part.variables)]
    places = [LOCATION + automaton.name for automaton in program.automata]
    return [*places, *(variable.name for variable in held if not variable.is_transient), *INTERNAL]
