"""What contestants are compared on: every ready-made problem, in a small and in a large setting.

>>> [instance.name for instance in suite("small")][:2]
['evacuation', 'evacuation-text']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hcssp.errors import UnknownName
from hcssp.procedure import HCSSP
from hcssp.scenarios.registry import SCENARIOS, find_scenario

SUITES = {"small": 3.0, "full": 60.0}
"""The suites, each with the seconds that a contestant has for a problem if nothing is said."""


@dataclass(frozen=True)
class Instance:
    """A ready-made problem in one setting.

    Attributes
    ----------
    domain
        The name of the ready-made problem.
    settings
        What its dials, and its scale, are set to.
    """

    domain: str
    settings: Mapping[str, int | float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The domain and what is set, for people."""
        told = ", ".join(f"{name} {value:g}" for name, value in self.settings.items())
        return f"{self.domain} ({told})" if told else self.domain

    def problem(self) -> HCSSP:
        """The problem itself."""
        return find_scenario(self.domain).make(**self.settings)  # type: ignore[arg-type]


def suite(name: str, domains: Iterable[str] = ()) -> list[Instance]:
    """The instances of a suite.

    Parameters
    ----------
    name
        ``small`` for one small setting of every domain, ``full`` for a small, the usual and a large one.
    domains
        Only these; all if none is named.

    Raises
    ------
    UnknownName
        If there is no such suite or domain.
    """
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    wanted = [find_scenario(each).name for each in domains] or list(SCENARIOS)
    found = []
    for domain in wanted:
        scenario = SCENARIOS[domain]
        settings = [scenario.small] if name == "small" else [scenario.small, {}, scenario.large]
        for each in settings:
            instance = Instance(domain, dict(each))
            if instance not in found:
                found.append(instance)
    return found
