"""What solvers are compared on: every built-in problem in a small and in a large setting, or random ones.

>>> [instance.name for instance in suite("small")][:2]
['evacuation', 'evacuation-text']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hcssp.errors import InvalidProblem, UnknownName
from hcssp.exchange.reading import Question
from hcssp.files.named_problem import find_problem, is_file
from hcssp.parameters import Number
from hcssp.procedure import HCSSP
from hcssp.scenarios.scenario import find_scenario, scenarios

SUITES = {"small": 3.0, "full": 60.0, "paper": 10.0}
"""The suites, each with the seconds that a solver has for a problem if nothing is said."""


CENTRE = {"activities": 20, "branching": 3, "tightness": 0.5}
"""The setting of random procedures from which the settings of the suite ``paper`` differ in one parameter."""


OTHERS = {"activities": (5, 10, 50, 100), "branching": (2, 6), "tightness": (0.25, 0.75)}
"""The other values of each of these parameters."""


PAPER_STATES = 25
"""The states of an activity of the suite ``paper``."""


PAPER_REPEATS = 30
"""The random instances of each setting of the suite ``paper``, unless another number is asked for."""


PAPER_METHODS = (
    "exact",
    "budget-allocation:mode=sharp,gap=1e-6",
    "budget-allocation:mode=published,gap=1e-6",
    "anytime",
    "milp",
)
"""The methods that the suite ``paper`` compares; all of them stop at the same gap."""


PAPER_ITERATIONS = tuple(
    f"{method},iterations={number}" for method in PAPER_METHODS[1:3] for number in (1, 5)
)
"""The same with other numbers l of iterations of stage 2, compared at the central setting."""


def without_repeat(name: str) -> str:
    """The name of an instance without the number of its repetition.

    >>> without_repeat("rover #2"), without_repeat("rover")
    ('rover', 'rover')
    """
    return re.sub(r" #\d+$", "", name)


@dataclass(frozen=True)
class Instance:
    """A built-in problem in one setting, or a problem file.

    Attributes
    ----------
    domain
        The name of the built-in problem, or the file.
    settings
        What its parameters, and its scale, are set to.
    repeat
        Which repetition it is. A built-in problem with a seed is another one in every repetition, and any
        other problem is the same.
    bounds
        Bounds instead of those of the problem, by name.
    question
        What is asked of a model of another tool.
    """

    domain: str
    settings: Mapping[str, Number] = field(default_factory=dict)
    repeat: int = 0
    bounds: Mapping[str, float] = field(default_factory=dict)
    question: Question | None = None

    @property
    def name(self) -> str:
        """The domain and what is set, for people."""
        said = [f"{name} {float(value):g}" for name, value in self.settings.items()]
        said += [f"{name} at most {bound:g}" for name, bound in self.bounds.items()]
        name = f"{self.domain} ({', '.join(said)})" if said else self.domain
        return f"{name} #{self.repeat + 1}" if self.repeat else name

    def problem(self) -> HCSSP:
        """The problem itself."""
        settings = dict(self.settings)
        scale = int(settings.pop("scale", 1))
        if self.repeat and not is_file(self.domain):
            defaults = {each.name: each.default for each in find_scenario(self.domain).parameters}
            if "seed" in defaults:
                settings["seed"] = settings.get("seed", defaults["seed"]) + self.repeat
        return find_problem(self.domain, settings, scale, self.question).with_bounds(self.bounds)


def suite(
    name: str,
    domains: Iterable[str] = (),
    repeats: int = 1,
    settings: Mapping[str, Number] | None = None,
    bounds: Mapping[str, float] | None = None,
    question: Question | None = None,
) -> list[Instance]:
    """The instances of a suite.

    Parameters
    ----------
    name
        ``small`` for one small setting of every domain, ``full`` for a small, the usual and a large one.
    domains
        Only these, among them problem files; all built-in problems if none is named.
    repeats
        How often each is solved; see :class:`Instance`.
    settings
        Parameters of every problem, instead of the settings of the suite.
    bounds, question
        As in :class:`Instance`, for every problem.

    Raises
    ------
    UnknownName
        If there is no such suite or domain.
    """
    if name not in ("small", "full"):
        raise UnknownName("suite", name, SUITES)
    found: list[Instance] = []
    for domain in list(domains) or list(scenarios()):
        asked: list[Mapping[str, Number]] = [settings or {}]
        if is_file(domain):
            if not Path(domain).is_file():
                raise InvalidProblem([f"{domain}: there is no such file"])
        elif not settings:
            scenario = find_scenario(domain)
            asked = [scenario.small] if name == "small" else [scenario.small, {}, scenario.large]
        about = question if is_file(domain) else None
        for each in asked:
            instances = [
                Instance(domain, dict(each), repeat, dict(bounds or {}), about) for repeat in range(repeats)
            ]
            found += [instance for instance in instances if instance not in found]
    return found


def paper_suite(methods: Sequence[str] = (), repeats: int = PAPER_REPEATS) -> list[tuple[Instance, str]]:
    """The random procedures of the suite ``paper``, each with the methods that solve it.

    The first instances of all settings come first, so that an interrupted run has as many of each.

    Parameters
    ----------
    methods
        Only these; by default :data:`PAPER_METHODS`, and :data:`PAPER_ITERATIONS` at the central setting.
    repeats
        The instances of each setting.
    """
    settings = [CENTRE, *(CENTRE | {name: value} for name, values in OTHERS.items() for value in values)]
    return [
        (Instance("random", {**setting, "states": PAPER_STATES}, repeat), method)
        for repeat in range(repeats)
        for setting in settings
        for method in methods or (PAPER_METHODS + PAPER_ITERATIONS if setting is CENTRE else PAPER_METHODS)
    ]
