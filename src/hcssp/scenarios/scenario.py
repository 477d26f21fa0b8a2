"""Built-in problems by name. Each is a function with parameters, described without calling it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from importlib import import_module
from inspect import signature
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar, get_type_hints

from hcssp.cssp.model import CSSP
from hcssp.errors import InvalidProblem, UnknownName
from hcssp.parameters import Number, Parameter, settings_of
from hcssp.procedure import HCSSP, Outcome, ProcedureBuilder
from hcssp.procedure.builder import ActivityHandle, EventHandle

P = ParamSpec("P")
T = TypeVar("T")

STARTERS = Path(__file__).with_name("starters")
"""The folder of the problem files that ``hcssp new`` writes."""

BLANK = STARTERS / "blank.yaml"
"""A small problem file with comments that explain every line."""


class Size(NamedTuple):
    """How large a problem is: states of the flat problem, activities, and bounds."""

    states: int
    activities: int
    bounds: int

    @classmethod
    def of(cls, problem: HCSSP) -> Size:
        """The size of a problem that is there."""
        return cls(problem.flattening.num_states, problem.num_activities, problem.num_constraints)

    def __str__(self) -> str:
        parts = (
            (self.states, "state", "states"),
            (self.activities, "activity", "activities"),
            (self.bounds, "bound", "bounds"),
        )
        return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts)


@dataclass(frozen=True, eq=False)
class Scenario:
    """A built-in problem.

    Attributes
    ----------
    name, description
        The name, and a description in one line.
    build
        Builds the problem. Its first argument multiplies every length; parameters that are set are keywords.
    parameters
        The numbers that can be set, each with its default.
    size
        Its size with default parameters, so that a list of all problems builds none of them.
    small, large
        Settings, those of `make`, for a quick comparison of methods and for a thorough one.
    states
        The file in :data:`STARTERS` that states the whole problem; empty if a function generates it.
    """

    name: str
    description: str
    build: Callable[..., HCSSP]
    parameters: tuple[Parameter, ...]
    size: Size
    small: Mapping[str, int | float] = field(default_factory=dict)
    large: Mapping[str, int | float] = field(default_factory=dict)
    states: str = ""

    def make(self, scale: int = 1, **settings: Number) -> HCSSP:
        """The problem, with every length multiplied by `scale` and parameters set.

        Raises
        ------
        UnknownName
            If there is no such parameter.
        InvalidProblem
            If a parameter cannot be set so, or nothing can be made of it.
        """
        return self.build(scale, **settings_of(self.parameters, settings))

    @property
    def starter_file(self) -> Path | None:
        """A file to begin with, which a person can edit: the problem itself, or a simpler one."""
        path = STARTERS / (self.states or f"{self.name}.yaml")
        return path if path.exists() else None

    def file_to_begin(self, scale: int = 1, **settings: Number) -> tuple[str, str]:
        """A problem file, and a note on how it differs from the built-in problem; empty if it does not."""
        from hcssp.files.problem_file.dumping import dump_problem

        as_it_is = not settings and scale == 1
        if self.states and scale == 1:
            return self.text(**settings), ""
        if as_it_is and self.starter_file is not None:
            note = "a file to begin with; --set and --scale write the built-in problem"
            return self.starter_file.read_text(encoding="utf-8"), note
        if as_it_is:
            chosen = " ".join(f"--set {name}={value:g}" for name, value in self.small.items())
            made = self.make(scale, **{name: Fraction(value) for name, value in self.small.items()})
            return dump_problem(made), f"a small one, to begin with: {chosen}"
        return dump_problem(self.make(scale, **settings)), ""

    def text(self, **settings: Number) -> str:
        """The problem file of a problem that a file states, with its name and these parameters."""
        values: dict[str, int | float] = {each.name: each.default for each in self.parameters}
        values |= settings_of(self.parameters, settings)
        written = ", ".join(f"{name}: {repr(value).removesuffix('.0')}" for name, value in values.items())
        head = {"name": self.name, "description": f'"{self.description}"', "parameters": f"{{{written}}}"}
        text = (STARTERS / self.states).read_text(encoding="utf-8")
        for key, value in head.items():
            text = re.sub(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
        return text


REGISTERED: dict[str, Scenario] = {}
"""The built-in problems whose modules have been imported, by name."""


def register(made: Scenario) -> None:
    """Let a built-in problem be found by its name."""
    REGISTERED[made.name] = made


class Range(NamedTuple):
    """The meaning and the range of a parameter of a function: ``Annotated[int, Range(...)]``."""

    meaning: str
    least: float = -inf
    most: float = inf


def parameters_of(make: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of a function whose annotations have ranges.

    >>> from typing import Annotated
    >>> def walk(*, slip: Annotated[float, Range("the probability of slipping", 0, 1)] = 0.1) -> None: ...
    >>> print(*parameters_of(walk))
    slip = 0.1  the probability of slipping
    """
    hints = get_type_hints(make, include_extras=True)
    defaults = signature(make).parameters.values()
    return tuple(Parameter(each.name, each.default, *hints[each.name].__metadata__[0]) for each in defaults)


def checked(make: Callable[P, T]) -> Callable[P, T]:
    """The function, which refuses parameters outside of their ranges."""
    parameters = parameters_of(make)

    @wraps(make)
    def checking(*args: P.args, **settings: P.kwargs) -> T:
        settings_of(parameters, settings)  # type: ignore[arg-type]
        return make(*args, **settings)

    return checking


def scenario(
    name: str,
    description: str,
    size: Size,
    *,
    small: Mapping[str, int | float],
    large: Mapping[str, int | float],
    lengths: Sequence[str] = (),
    states: str = "",
) -> Callable[[Callable[P, HCSSP]], Callable[P, HCSSP]]:
    """Register what a function makes as a :class:`Scenario`; its parameters are those of the function.

    Parameters
    ----------
    name, description, size, small, large, states
        As in :class:`Scenario`.
    lengths
        The parameters that a scale multiplies.
    """

    def decorate(make: Callable[P, HCSSP]) -> Callable[P, HCSSP]:
        parameters = parameters_of(make)
        defaults = {parameter.name: parameter.default for parameter in parameters}
        making: Callable[..., HCSSP] = checked(make)

        def build(scale: int, **settings: int | float) -> HCSSP:
            if scale != 1 and not lengths:
                known = ", ".join(defaults)
                message = f"scale {scale}: this problem has no lengths; set its parameters: {known}"
                raise InvalidProblem(message)
            scaled = {length: scale * settings.get(length, defaults[length]) for length in lengths}
            return making(**{**settings, **scaled})

        made = Scenario(name, description, build, parameters, size, small, large, states)
        register(made)
        return making

    return decorate


class Mission(ProcedureBuilder):
    """A procedure whose constraints count the costs of all its activities."""

    def add(self, name: str, problem: CSSP | HCSSP, room: str = "") -> ActivityHandle:
        """Add an activity that constraints count."""
        handle = self.add_activity(name, problem, room)
        self._counted.append(handle)
        return handle

    def run(
        self,
        here: EventHandle,
        choice: str,
        name: str,
        problem: CSSP | HCSSP,
        there: EventHandle,
        room: str = "",
        exits: Mapping[Hashable, EventHandle] | None = None,
    ) -> None:
        """Add an activity, and the choice at an event that runs it and leads to another."""
        handle = self.add(name, problem, room)
        self.add_choice(here, choice, to=[Outcome(1.0, there, runs=handle, exits=exits or {})])

    def under(self, bounds: Mapping[str, float], **probability_of: str) -> Self:
        """The same with constraints that count the cost of their name; some are probabilities."""
        for cost, bound in bounds.items():
            counts = dict.fromkeys(self._counted, cost)
            of = probability_of.get(cost, "")
            self.add_constraint(cost, at_most=bound, counts=counts, probability_of=of)
        return self

    @cached_property
    def _counted(self) -> list[ActivityHandle]:
        return []


def single_state(
    cost_names: Sequence[str],
    actions: Mapping[str, Mapping[str, float]],
    here: str = "before",
    there: str = "after",
    done: float = 1.0,
) -> CSSP:
    """One state with some actions and their costs; each leads to the goal with probability `done`."""
    from hcssp.cssp.builder import CSSPBuilder

    way = CSSPBuilder(cost_names=tuple(cost_names))
    before, after = way.add_state(here), way.add_goal(there)
    to = {after: 1.0} if done == 1.0 else {after: done, before: 1.0 - done}
    for action, costs in actions.items():
        way.add_action(before, action, to=to, costs=dict(costs))
    return way.build()


_NAMES = (
    "evacuation", "evacuation-text", "small-building", "campus", "aircraft", "delivery", "elevators",
    "patient", "racetrack", "random", "rover", "routing", "search-and-rescue",
)  # fmt: skip
_HOMES = {"evacuation-text": "evacuation", "small-building": "evacuation", "random": "random_problems"}
"""The built-in problems; and their modules in :mod:`hcssp.scenarios.domains` where these have other names."""


def scenarios() -> dict[str, Scenario]:
    """All built-in problems, by name."""
    return {name: find_scenario(name) for name in _NAMES}


def find_scenario(name: str) -> Scenario:
    """The scenario called `name`.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    if name not in _NAMES:
        raise UnknownName("problem", name, _NAMES)
    import_module(f"hcssp.scenarios.domains.{_HOMES.get(name, name.replace('-', '_'))}")
    return REGISTERED[name]
