"""The parameters of built-in problems: named numbers with a default, which the user may set otherwise.

>>> locked = Parameter("locked", 0.01, "the probability that a door is locked", 0, 1)
>>> print(locked)
locked = 0.01  the probability that a door is locked
>>> settings_of([locked], {"locked": 0.05})
{'locked': 0.05}
>>> settings_of([locked], {"locked": 1.5})
Traceback (most recent call last):
    ...
hcssp.errors.InvalidProblem: the parameter 'locked' is set to 1.5; give a number from 0 to 1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite

from hcssp.errors import InvalidProblem, UnknownName

Number = int | float | Fraction
"""What a parameter or a parameter can be set to; a fraction is exact."""


@dataclass(frozen=True)
class Parameter:
    """A number of a built-in problem that can be set.

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
            If it is not a number that the parameter can be set to.
        """
        number = float(value)
        if not isfinite(number) or not self.least <= number <= self.most or (self.whole and number % 1.0):
            what = "a whole number" if self.whole else "a number"
            message = f"the parameter {self.name!r} is set to {number:g}; give {what}{self._range()}"
            raise InvalidProblem([message])
        return int(number) if self.whole else number

    def _range(self) -> str:
        if isfinite(self.least) and isfinite(self.most):
            return f" from {self.least:g} to {self.most:g}"
        return f" of at least {self.least:g}" if isfinite(self.least) else ""


def settings_of(parameters: Sequence[Parameter], settings: Mapping[str, Number]) -> dict[str, int | float]:
    """The settings as the problem's function wants them.

    Raises
    ------
    UnknownName
        If a name is none of the parameters'.
    InvalidProblem
        If values are not what the parameters can be set to; all are reported together.
    """
    known = {parameter.name: parameter for parameter in parameters}
    found: list[str] = []
    values: dict[str, int | float] = {}
    for name, value in settings.items():
        if name not in known:
            raise UnknownName("parameter", name, known)
        try:
            values[name] = known[name].take(value)
        except InvalidProblem as error:
            found += error.violations
    if found:
        raise InvalidProblem(found)
    return values
