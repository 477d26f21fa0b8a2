"""Figures of a cost or a probability, as people are told them: a probability is a percentage.

>>> from hcssp.procedure.probabilities import with_probability
>>> from hcssp.scenarios import small_building
>>> building = with_probability(small_building(), "locked out", of="door-locked", at_most=0.25)
>>> measure = Measure.of(building, "locked out")
>>> measure.expected, measure.given(0.25), measure.used(0.2, 0.25)
('probability of door-locked', '25%', '20%')
>>> damage = Measure.of(building, "damage")
>>> damage.expected, damage.given(0.25), damage.used(0.2, 0.25)
('expected damage', '0.25', '0.2000')
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from hcssp.procedure import HCSSP
from hcssp.procedure.units import called, expected, probability_of
from hcssp.reports.figures import DIGITS, given, in_table, rounded, used


@dataclass(frozen=True)
class Measure:
    """How to speak of a cost or a constraint.

    Attributes
    ----------
    name
        What to call it, with its unit.
    expected
        What to call what a plan has of it.
    is_probability
        Whether it is a probability.
    """

    name: str
    expected: str
    is_probability: bool = False

    @classmethod
    def of(cls, problem: HCSSP, name: str) -> Measure:
        """That of the primary cost or a constraint of a problem."""
        return cls(called(problem, name), expected(problem, name), bool(probability_of(problem, name)))

    def given(self, value: float) -> str:
        """A figure that somebody gave, such as a bound."""
        return self._told(given(self._scaled(value)))

    def rounded(self, value: float) -> str:
        """A computed figure."""
        return self._told(rounded(self._scaled(value)))

    def in_table(self, value: float | None) -> str:
        """A figure of a table."""
        if value is None or not isfinite(value) or not self.is_probability:
            return in_table(value)
        return self._told(rounded(100.0 * value))

    def used(self, cost: float, bound: float, digits: int = DIGITS) -> str:
        """What is used of a bound, told apart from the bound unless it is the whole of it."""
        return self._told(used(self._scaled(cost), self._scaled(bound), digits))

    def _scaled(self, value: float) -> float:
        return 100.0 * value if self.is_probability else value

    def _told(self, text: str) -> str:
        if not self.is_probability:
            return text
        # Zeros behind the decimals of a percentage say nothing.
        short = text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
        return f"{short}%"
