"""The dials of ready-made problems: named numbers with a default, which the user may set otherwise.

>>> locked = Dial("locked", 0.01, "the probability that a door is locked", 0, 1)
>>> print(locked)
locked = 0.01  the probability that a door is locked
>>> turned([locked], {"locked": 0.05})
{'locked': 0.05}
>>> turned([locked], {"locked": 1.5})
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: the dial 'locked' is set to 1.5; give a number from 0 to 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

from hcssp.errors import InvalidProblem, UnknownName

Number = int | float | Fraction
"""What a dial or a parameter can be set to; a fraction is exact."""


@dataclass(frozen=True)
class Dial:
    """A number of a ready-made problem that can be set.

    Attributes
    ----------
    name
        What it is called, and what the function that makes the problem calls it.
    default
        What it is unless it is set; if that is an integer, only whole numbers can be set.
    meaning
        What it says, in a few words.
    least, most
        Between what it must lie.
    """

    name: str
    default: int | float
    meaning: str
    least: float = -inf
    most: float = inf

    def __str__(self) -> str:
        return f"{self.name} = {self.default:g}  {self.meaning}"

    @property
    def whole(self) -> bool:
        """Whether it counts something."""
        return isinstance(self.default, int)

    def take(self, value: Number) -> int | float:
        """The value as the problem's function wants it.

        Raises
        ------
        InvalidProblem
            If it is not a number that the dial can be set to.
        """
        number = float(value)
        if not isfinite(number) or not self.least <= number <= self.most or (self.whole and number % 1.0):
            what = "a whole number" if self.whole else "a number"
            told = f"the dial {self.name!r} is set to {number:g}; give {what}{self._range()}"
            raise InvalidProblem([told])
        return int(number) if self.whole else number

    def _range(self) -> str:
        if isfinite(self.least) and isfinite(self.most):
            return f" from {self.least:g} to {self.most:g}"
        return f" of at least {self.least:g}" if isfinite(self.least) else ""


def turned(dials: Sequence[Dial], settings: Mapping[str, Number]) -> dict[str, int | float]:
    """The settings as the problem's function wants them.

    Raises
    ------
    UnknownName
        If a name is none of the dials'.
    InvalidProblem
        If values are not what the dials can be set to; all are reported together.
    """
    known = {dial.name: dial for dial in dials}
    found: list[str] = []
    values: dict[str, int | float] = {}
    for name, value in settings.items():
        if name not in known:
            raise UnknownName("dial", name, known)
        try:
            values[name] = known[name].take(value)
        except InvalidProblem as error:
            found += error.violations
    if found:
        raise InvalidProblem(found)
    return values
