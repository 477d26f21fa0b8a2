"""Tables for pandas, which is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hcssp.errors import MissingDependency


def frame(columns: Mapping[str, Sequence[Any]], index: str | None = None) -> Any:
    """A ``pandas.DataFrame`` of these columns.

    Parameters
    ----------
    columns
        From names to values, all equally many.
    index
        The column that names the rows, if one does.

    Raises
    ------
    MissingDependency
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "tables need pandas; install it with: pip install 'hcssp[notebook]'"
        ) from error
    made = pd.DataFrame({name: list(values) for name, values in columns.items()})
    return made if index is None else made.set_index(index)
