"""Errors in the user's input: what is wrong, where, the value and the remedy.

Every error of this library that a user can cause derives from :class:`HcsspError`; the command line
turns them into one message on stderr and exit code 2, never into a traceback.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

Known = TypeVar("Known")


class HcsspError(Exception):
    """Base class of all errors that a user can cause and correct."""


class Located(str):
    """A violation that knows the part it is about, so that a reader of files can name its line.

    >>> print(Located(("walls", 0), "it is too long"))
    walls[0]: it is too long

    Attributes
    ----------
    at
        The way to the part, such as ``("walls", 0)``.
    message
        What is wrong with it.
    """

    at: tuple[str | int, ...]
    message: str

    def __new__(cls, at: tuple[str | int, ...], message: str, place: str = "") -> Self:
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in at)
        violation = super().__new__(cls, f"{place or path.removeprefix('.')}: {message}")
        violation.at, violation.message = at, message
        return violation


class _Violations(HcsspError):
    """One or more broken rules, reported together.

    Parameters
    ----------
    violations
        One sentence for each violation, naming the place, the value and the remedy; a text is a single one.
    """

    def __init__(self, violations: str | Iterable[str]) -> None:
        self.violations = (violations,) if isinstance(violations, str) else tuple(violations)
        count = len(self.violations)
        if count == 1:
            message = self.violations[0]
        else:
            message = f"{count} violations:\n" + "\n".join(f"  - {v}" for v in self.violations)
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy, such as that of another process, would take the message for the violations.
        return type(self), (self.violations,), self.__dict__


class InvalidProblem(_Violations):
    """A problem that breaks one or more rules; all violations are reported together."""


class InvalidOption(HcsspError, TypeError):
    """An argument of a kind or value that cannot be; the message says what to write instead."""


class BudgetSpent(_Violations):
    """Less than nothing is left of a budget for the rest of a plan; the message says of which."""


class InvalidPlan(_Violations):
    """A plan file that cannot be used: it is broken, or for another problem."""


class InvalidCertificate(HcsspError):
    """A certificate that cannot be used: it is damaged, or for another problem."""


class NotProven(HcsspError):
    """A certificate that does not prove what it claims; the message says where it fails."""


class CannotWrite(HcsspError):
    """A file cannot be written; the message says why."""


class ImpossibleObservation(HcsspError):
    """Something was observed that the model calls impossible; the message lists what is possible."""


class DeadEnd(HcsspError):
    """No policy reaches the goal with certainty from the start.

    Attributes
    ----------
    trapped
        The label of a state from which no goal can be reached; None if it is not known.
    """

    trapped: Hashable | None = None


class ImproperPolicy(HcsspError):
    """A policy that does not reach a goal almost surely has no finite expected costs."""


class OutOfPrecision(HcsspError):
    """Probabilities or costs that are too far apart to be computed with in double precision."""


class UnboundedReward(HcsspError):
    """A reward was to be maximised of which one can always have more; the message names where."""


class CostOverflow(OutOfPrecision):
    """A policy ends almost surely, but its expected costs are too large for a number."""


class MissingDependency(HcsspError):
    """An optional dependency is needed; the message says what to install."""


class NoSolution(HcsspError):
    """A policy was asked of a result that has none."""


class UnsupportedProblem(HcsspError):
    """The method's assumptions do not hold for the problem; the message names a method whose do."""


_MOST_COMPARED = 5000
_MOST_LISTED, _LONGEST_LIST, _NEAREST = 30, 400, 6
"""Limits for large problems: names compared, names listed, characters of a list, nearest names."""


class UnknownName(HcsspError):
    """A name that is not among those there are; the message suggests the nearest.

    Parameters
    ----------
    kind
        What is named: "method", "problem" ...
    name
        The name that is not there.
    known
        Those that are.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches

        names = sorted(known)
        few = len(names) <= _MOST_COMPARED
        nearest = get_close_matches(name.lower(), names, n=1) if few else ()
        guess = f"; did you mean {nearest[0]!r}?" if nearest else ";"
        shown = names[:_MOST_LISTED]
        if few and len(", ".join(names)) > _LONGEST_LIST:
            # A long list hides the name that was meant: only the nearest ones are listed.
            shown = get_close_matches(name, names, n=_NEAREST, cutoff=0.0)
        there_are = ", ".join(shown) or "none"
        if len(names) > len(shown):
            there_are += f" and {len(names) - len(shown)} more"
        super().__init__(f"there is no {kind} {name!r}{guess} available: {there_are}")


def looked_up(kind: str, name: str, known: Mapping[str, Known]) -> Known:
    """What is called `name` among those there are.

    Raises
    ------
    UnknownName
        If there is none; the message lists those there are.
    """
    if name not in known:
        raise UnknownName(kind, name, known)
    return known[name]


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for a message: ``'a', 'b'``; of very many only the first."""
    shown = ", ".join(repr(name) for name in names[:most])
    return (shown + (f" and {len(names) - most} more" if len(names) > most else "")) or "none"


def did_you_mean(name: str, known: Sequence[str], there_are: str = "available:") -> str:
    """The nearest of the known names as a question, or all of them.

    >>> did_you_mean("wals", ["walls", "slip"]), did_you_mean("x", ["walls", "slip"])
    ("did you mean 'walls'?", "available: 'walls', 'slip'")
    """
    from difflib import get_close_matches

    # Among very many a search would take long, and a list of all is of no use.
    nearest = get_close_matches(name, known[:1000], n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else f"{there_are} {listed(known)}"
