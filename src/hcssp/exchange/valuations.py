"""States called by the values of their variables, made into texts when somebody looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hcssp.cssp.labels import LazyLabels


class ValuationLabels(LazyLabels):
    """One text for every state: ``x=3, crashed=false``.

    >>> labels = ValuationLabels(("x", "crashed"), ([0, 3], [True, False]))
    >>> labels[1], labels.index("x=0, crashed=true")
    ('x=3, crashed=false', 0)

    Parameters
    ----------
    variables
        Their names.
    columns
        For every variable its value in each state; None where a state has no such variable.
    """

    def __init__(self, variables: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        self.variables = tuple(variables)
        self.columns = tuple(columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def _label(self, position: int) -> str:
        values = zip(self.variables, self.columns, strict=True)
        known = ((name, column[position]) for name, column in values)
        return ", ".join(f"{name}={_shown(value)}" for name, value in known if value is not None)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
