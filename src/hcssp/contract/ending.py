"""Why a search ended: an enumerated reason, and a detail for people where there is more to say.

What is proven is another question (:mod:`hcssp.contract.proof`): no reason makes a plan optimal or a problem
infeasible.

>>> Ending(Reason.GAP).in_words
'the wanted gap was reached'
>>> str(Ending(Reason.CRITERION, "battery low"))
'criterion (battery low)'
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a search ended."""

    PROVED = "proved"
    INFEASIBLE = "infeasible"
    GAP = "gap"
    TARGET = "target"
    FIRST_PLAN = "first plan"
    TIME_LIMIT = "time limit"
    NO_IMPROVEMENT = "no improvement"
    ITERATIONS = "iterations"
    MEMORY = "memory"
    CRITERION = "criterion"
    INTERRUPTED = "interrupted"
    RELAXATION = "relaxation solved"
    CONVERGED = "converged"
    ROUNDING = "rounding"
    FAILED = "failed"
    EXHAUSTED = "exhausted"
    UNKNOWN = "unknown"


_IN_WORDS = {
    Reason.PROVED: "the proof was complete",
    Reason.INFEASIBLE: "it was proven that there is no plan",
    Reason.GAP: "the wanted gap was reached",
    Reason.TARGET: "the target was reached",
    Reason.FIRST_PLAN: "a plan was found",
    Reason.TIME_LIMIT: "the time limit was reached",
    Reason.NO_IMPROVEMENT: "no better plan had been found for long enough",
    Reason.ITERATIONS: "the limit of iterations was reached",
    Reason.MEMORY: "the limit of memory was reached",
    Reason.CRITERION: "a stop criterion said so",
    Reason.INTERRUPTED: "it was interrupted",
    Reason.RELAXATION: "the linear program was solved",
    Reason.CONVERGED: "the method had nothing left that could tighten its bounds",
    Reason.ROUNDING: "what was left open cannot be told apart in double precision",
    Reason.FAILED: "the solver behind it failed",
    Reason.EXHAUSTED: "the method had nothing left to do",
    Reason.UNKNOWN: "it was cut short",
}


@dataclass(frozen=True)
class Ending:
    """Why a search ended.

    Attributes
    ----------
    reason
        The reason.
    detail
        What else there is to say; empty if nothing.
    """

    reason: Reason
    detail: str = ""

    @property
    def in_words(self) -> str:
        """The reason as a clause, to follow "because"."""
        return _IN_WORDS[self.reason] + (f" ({self.detail})" if self.detail else "")

    def __str__(self) -> str:
        return str(self.reason) + (f" ({self.detail})" if self.detail else "")
