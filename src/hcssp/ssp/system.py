r"""What is asked of whoever evaluates policies: values and visits, as precisely as they are needed.

The values of a policy solve a linear system. One may factorise it (:mod:`hcssp.ssp.policy_system`) or sweep
over it (:mod:`hcssp.ssp.sweep_system`). Callers do not ask which: they say how far the answer may be off.
"""

from __future__ import annotations

from typing import Protocol

from hcssp.cssp.model import FloatArray, IntArray
from hcssp.errors import ImproperPolicy
from hcssp.ssp.balance import Balance

EXACT = 1e-13
"""The tolerance, relative to the largest value, of what is meant to be exact up to rounding."""


class System(Protocol):
    """Evaluates policies of one problem, given as one row for each live state.

    Attributes
    ----------
    balance
        The problem.
    default_tolerance
        How far the values are off, relative to the largest, if nothing more precise is asked for.
    """

    balance: Balance
    default_tolerance: float

    def values(self, rows: IntArray, tolerance: float | None = None) -> FloatArray:
        """Expected costs to go under the policy `rows`, shape ``(num_live, num_costs)``.

        Parameters
        ----------
        rows
            One row for each live state.
        tolerance
            How far the values may be off, relative to the largest; None for the default. Zero asks for the
            best there is, whatever it costs.

        Raises
        ------
        ImproperPolicy
            If the policy does not reach a goal almost surely.
        OutOfPrecision
            If it does, but so late that its values cannot be computed.
        """

    def visits(self, rows: IntArray, initial: FloatArray | None = None) -> FloatArray:
        """Expected visits of each live state under the policy `rows`.

        Parameters
        ----------
        rows
            One row for each live state.
        initial
            How often it begins in each live state, in expectation; None for the problem's own distribution.
        """

    def answers(self, rows: IntArray, taken: IntArray) -> FloatArray | None:
        """How each of some rows, taken instead of a policy's, answers to a unit cost in the states of all.

        With the system ``A`` of the policy, the rows ``B`` and their states ``D``, that is ``B A^-1 E_D``.

        Parameters
        ----------
        rows
            The policy: one row for each live state.
        taken
            Other rows, not many.

        Returns
        -------
        None where it takes as long as evaluating as many policies.
        """

    def release(self) -> None:
        """Give back the memory of what is quickly made again; answers stay the same."""


def require_proper(balance: Balance, rows: IntArray) -> None:
    """Raise :class:`ImproperPolicy` if the policy `rows` may go on for ever; the graph alone decides."""
    if not balance.is_proper(rows):
        raise ImproperPolicy("the policy does not reach a goal almost surely")
