"""The problem that a user names: a built-in one or a file, perhaps with other numbers.

>>> print(find_problem("small-building", {"locked": 0.3}).choices[2].outcomes[1].probability)
0.3
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hcssp.errors import InvalidProblem
from hcssp.exchange import MODEL_SUFFIXES, PPDDL_SUFFIXES
from hcssp.parameters import Number
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import find_scenario

if TYPE_CHECKING:
    from hcssp.cssp.model import CSSP
    from hcssp.exchange.reading import Question

SUFFIXES = (".yaml", ".yml", ".json", *MODEL_SUFFIXES, *PPDDL_SUFFIXES)
"""The suffixes of problem files, and of models of other tools."""


def is_file(name: str) -> bool:
    """Whether a file is meant and not a built-in problem: it has a suffix, or is in another folder."""
    path = Path(name)
    return path.suffix.lower() in SUFFIXES or path.name != name


def find_problem(
    name: str | Path,
    parameters: Mapping[str, Number] | None = None,
    scale: int = 1,
    question: Question | None = None,
) -> HCSSP:
    """The problem of that name, or in that file.

    Parameters
    ----------
    name
        A built-in problem's name, or a problem file: its name ends in .yaml, .yml or .json, or it is in
        another folder; or a model of PRISM (.prism, .nm, .pm), JANI (.jani), DRN (.drn) or UMB (.umb), or a
        problem in PPDDL (.pddl, .ppddl).
    parameters
        Values of parameters of the file or of the built-in problem; the others keep their defaults.
    scale
        Multiplies every length of a built-in problem.
    question
        What is asked about a model; `parameters` are constants of it, too.

    Raises
    ------
    UnknownName
        If there is no such problem, or no such parameter.
    InvalidProblem
        If the file is not in order, a parameter cannot be so, or a file is to be scaled.
    """
    if not is_file(str(name)):
        if question is not None:
            raise InvalidProblem(f"{name}: constants, costs and goals apply to models in files only")
        return find_scenario(str(name)).make(scale, **(parameters or {}))
    if scale != 1:
        message = f"only built-in problems can be scaled, not the file {name}"
        raise InvalidProblem(f"scale {scale}: {message}")
    from hcssp.exchange.reading import Question
    from hcssp.files.problem_file.loading import load

    suffix = Path(name).suffix.lower()
    if suffix in PPDDL_SUFFIXES:
        return _planned(name, parameters or {}, question or Question()).procedure
    if question is not None and question.domain is not None:
        raise InvalidProblem(f"{name}: only problems in PPDDL have a domain in a separate file")
    if suffix in MODEL_SUFFIXES:
        return _asked(name, parameters or {}, question or Question()).procedure
    if question is not None:
        message = "a problem file states its costs and goals itself"
        raise InvalidProblem(f"{name}: constants, costs and goals apply to models; {message}")
    return load(name, parameters=parameters)


def parameters_of(name: str | Path, parameters: Mapping[str, Number] | None = None) -> dict[str, Number]:
    """The parameters of a problem file, or those of a built-in problem that are not whole numbers.

    >>> parameters_of("small-building", {"locked": 0.3})["locked"]
    0.3

    Parameters
    ----------
    name, parameters
        As for :func:`find_problem`. A model of another tool has none that are known here.
    """
    given = dict(parameters or {})
    if not is_file(str(name)):
        settable = find_scenario(str(name)).parameters
        return {each.name: given.get(each.name, each.default) for each in settable if not each.whole}
    if Path(name).suffix.lower() in (*MODEL_SUFFIXES, *PPDDL_SUFFIXES):
        return {}
    from hcssp.files.problem_file.loading import load_parameters

    return dict(load_parameters(name, given))


def _planned(name: str | Path, parameters: Mapping[str, Number], question: Question) -> CSSP:
    """A problem in PPDDL; its domain is in the same file unless another one is named."""
    if parameters or question.constants or question.goal or question.property or question.props:
        raise InvalidProblem(f"{name}: a problem in PPDDL states its constants and its goal itself")
    from hcssp.exchange.ppddl_model import from_ppddl

    files = (name,) if question.domain is None else (question.domain, name)
    most: dict[str, Any] = {} if question.max_states is None else {"max_states": question.max_states}
    return from_ppddl(
        *files, minimise=question.minimise, costs=question.costs or (), give_up=question.give_up, **most
    )


def constants_of(parameters: Mapping[str, Number]) -> dict[str, str]:
    """Parameters as constants of a model, as they are written there.

    >>> constants_of({"B": 3, "p": 0.25})
    {'B': '3', 'p': '0.25'}
    """
    numbers = {name: float(value) for name, value in parameters.items()}
    return {name: str(int(value)) if value.is_integer() else repr(value) for name, value in numbers.items()}


def _asked(name: str | Path, parameters: Mapping[str, Number], question: Question) -> CSSP:
    """A model of another tool as a problem."""
    from hcssp.exchange.reading import load_model
    from hcssp.exchange.storm import written_constants

    constants = dict(written_constants(str(name), question.constants)) | constants_of(parameters)
    if question.property is not None or question.props is not None:
        if question.minimise or question.goal or question.costs or question.give_up:
            message = "a property states costs and goal itself; leave out minimise, goal, costs, give_up"
            raise InvalidProblem(f"{name}: {message}")
        from hcssp.exchange.objectives import load_question

        asked, props = question.property or "", question.props
        return load_question(
            name, asked, props=props, constants=constants, max_states=question.max_states
        ).problem
    return load_model(
        name,
        constants=constants,
        minimise=question.minimise,
        goal=question.goal,
        costs=question.costs,
        give_up=question.give_up,
        max_states=question.max_states,
    )
