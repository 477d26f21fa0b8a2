"""Certificates of the command line: written beside the plan, once the search has ended."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hcssp.contract.plan import Plan

WORTH_TELLING = 1e-9
"""A certificate that proves less than the search told by a larger share than this is said to."""


class ProofSaver:
    """Writes the certificate of a search, whatever it ended with.

    Parameters
    ----------
    path
        Where to.

    Attributes
    ----------
    interval
        What the certificate proves; None while there is none.

    Raises
    ------
    CannotWrite
        If no file can be written there.
    """

    def __init__(self, path: Path) -> None:
        from hcssp.files.atomic import check_writable

        check_writable(path)
        self._path = path
        self.interval: tuple[float, float] | None = None
        self._told = -inf

    def finish(self, plan: Plan) -> None:
        """Make the certificate and write it.

        Raises
        ------
        CannotWrite
            If it cannot be written.
        """
        from hcssp.contract.ending import Reason
        from hcssp.proofs.assembly import claimed_interval

        if plan.ending.reason is Reason.INTERRUPTED and plan.lower_bound == -inf:
            # Nothing was found out, and whoever interrupts does not want it to be found out now.
            return
        plan.save_certificate(self._path)
        self.interval = claimed_interval(plan.certificate)
        self._told = plan.lower_bound

    def document(self) -> dict[str, Any] | None:
        """What is written where, for a program; None if nothing is."""
        if self.interval is None:
            return None
        from hcssp.reports.figures import plain

        lower, upper = self.interval
        return {
            "file": str(self._path),
            "lower_bound": plain(lower),
            "upper_bound": plain(upper),
            "infeasible": lower == inf,
        }

    def in_words(self, problem: str, primary: str) -> str:
        """What is written where, and how to check it."""
        if self.interval is None:
            return f"No certificate is written to {self._path}: nothing was found out."
        from hcssp.reports.figures import between, rounded_down

        lower, upper = self.interval
        if lower == inf:
            proven = "no plan keeps the bounds"
        elif isfinite(upper):
            proven = f"the best deterministic plan has an expected {primary} {between(lower, upper)}"
        else:
            proven = f"no plan that keeps the bounds has an expected {primary} below {rounded_down(lower, 6)}"
        lines = [f"The certificate {self._path} proves: {proven}."]
        if self._told > lower + WORTH_TELLING * abs(lower):
            more = "that there is none" if self._told == inf else f"{rounded_down(self._told, 6)}"
            lines.append(f"The search told more, {more}; that is not in the certificate.")
        lines.append(f"Verify it: hcssp check {problem} {self._path}")
        return "\n".join(lines)
