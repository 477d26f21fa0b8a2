"""What one contestant did on one problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from math import inf, isfinite
from typing import Any

from hcssp.numerics import relative_gap

TracePoint = tuple[float, float, float]
"""Seconds, lower bound, upper bound."""


CLAIMED = "claimed by a results file, not measured by this run"
"""What is noted of a measurement that was taken from a file."""


@dataclass(frozen=True)
class Measurement:
    """What one contestant did on one problem.

    Attributes
    ----------
    instance, domain, states
        The problem, what kind it is, and the states of the flat problem.
    contestant, time_limit
        Who, and for how many seconds at most.
    status
        What it says: ``optimal``, ``feasible``, ``infeasible``, ``unknown``, ``missing`` if it is not
        installed, ``unsupported`` if it does not take such problems, ``failed``.
    lower_bound, upper_bound
        What it says about the best deterministic plan; infinite where it says nothing.
    randomised
        What it says the best plan costs that may draw lots; None if it says nothing.
    first, randomised_seconds
        Seconds until its first plan, and until `randomised` was known; None if never.
    seconds, cpu_seconds
        What it took, without reading the problem.
    trace
        Its interval over time.
    note
        What else there is to say.
    """

    instance: str
    domain: str
    states: int
    contestant: str
    time_limit: float
    status: str
    lower_bound: float = -inf
    upper_bound: float = inf
    randomised: float | None = None
    first: float | None = None
    randomised_seconds: float | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    trace: tuple[TracePoint, ...] = ()
    note: str = ""

    @property
    def gap(self) -> float:
        """The relative gap, ``inf`` while either bound is unknown."""
        return relative_gap(self.lower_bound, self.upper_bound)

    @property
    def proved(self) -> bool:
        """Whether the contestant ended with all that it can say."""
        return self.status in ("optimal", "infeasible")

    @property
    def ran(self) -> bool:
        """Whether the contestant was there and took the problem."""
        return self.status not in ("missing", "unsupported")

    @property
    def is_claimed(self) -> bool:
        """Whether it was taken from a results file, and nothing of it was checked."""
        return self.note.endswith(CLAIMED)

    def as_claim(self) -> Measurement:
        """The same as what a results file claims."""
        return replace(self, note="; ".join(filter(None, (self.note, CLAIMED))))

    def to_document(self) -> dict[str, Any]:
        """The measurement as JSON knows it: infinities are words."""
        document = asdict(self)
        document["trace"] = [[_written(each) for each in point] for point in self.trace]
        return {name: _written(value) for name, value in document.items()}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Measurement:
        """The reverse of :meth:`to_document`.

        Raises
        ------
        ValueError, TypeError, KeyError
            If it is none.
        """
        if set(document) != {each.name for each in fields(cls)}:
            raise ValueError("other keys than those of a measurement")
        numbers = ("time_limit", "lower_bound", "upper_bound", "seconds", "cpu_seconds")
        maybe = ("randomised", "first", "randomised_seconds")
        return cls(
            **{
                **document,
                **{
                    name: str(document[name])
                    for name in ("instance", "domain", "contestant", "status", "note")
                },
                "states": int(document["states"]),
                **{name: float(document[name]) for name in numbers},
                **{name: None if document[name] is None else float(document[name]) for name in maybe},
                "trace": tuple((float(a), float(b), float(c)) for a, b, c in document["trace"]),
            }
        )


def _written(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not isfinite(value) else value
