"""Certificates of the command line: written beside the plan, once the search has ended."""

from __future__ import annotations

from math import inf, isfinite
from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from hcssp.contract.plan import Plan
    from hcssp.procedure import HCSSP

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

    def in_words(self, asked: str, problem: HCSSP) -> str:
        """What is written where, and how to check it: `asked` states the problem on a command line."""
        if self.interval is None:
            return f"No certificate is written to {self._path}: nothing was found out."
        from hcssp.procedure.aim import Aim
        from hcssp.procedure.units import called
        from hcssp.reports.figures import between, rounded_down, rounded_up

        lower, upper = self.interval
        aim = Aim.of(problem)
        primary, limit = called(problem, aim.name), aim.limit(lower)
        if lower == inf:
            proven = "no plan keeps the bounds"
        elif isfinite(upper) and not aim.greatest:
            proven = f"the best deterministic plan has an expected {primary} {between(lower, upper)}"
        else:
            worse = f"above {rounded_up(limit, 6)}" if aim.greatest else f"below {rounded_down(limit, 6)}"
            proven = f"no plan that keeps the bounds has an expected {primary} {worse}"
        lines = [f"The certificate {self._path} proves: {proven}."]
        if self._told > lower + WORTH_TELLING * abs(lower):
            told = aim.limit(self._told)
            more = "that there is none"
            if isfinite(told):
                more = rounded_up(told, 6) if aim.greatest else rounded_down(told, 6)
            lines.append(f"The search told more, {more}; that is not in the certificate.")
        lines.append(f"Verify it: hcssp check {asked} {quote(str(self._path))}")
        return "\n".join(lines)
